"""A canned test: its tables as `fullpipe test` prints them, its verdict, and the flows that are its load."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.report.model import Finding, Number, Section, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.base.metrics import Metrics
    from fullpipe.report.model import Cell
    from fullpipe.results.model import Results

_LOAD = ("download", "upload")
_NUMBER = re.compile(r"<?([\d,]+\.?\d*)( \[.*\])?")


def section(results: Results) -> Section | None:
    """Returns the tables of a canned test; None for other results."""
    test = results.tested
    if test is None:
        return None
    tables = [
        Table(
            each["title"],
            tuple(" ".join(column.split()) for column in each["columns"]),
            [tuple(map(_cell, row)) for row in each["rows"]],
        )
        for each in test["tables"]
    ]
    words = [*test["notes"], f"{test['method'][0].upper()}{test['method'][1:]}."]
    if len(test["seeds"]) > 1:
        words.append(f"The other sections show seed {test['seeds'][0]} alone.")
    return Section(f"Test {test['test']}", [*tables], " ".join(words))


def _cell(text: str) -> Cell:
    found = _NUMBER.fullmatch(text)
    return Number(float(found[1].replace(",", "")), text) if found else text


def findings(results: Results) -> list[Finding]:
    """Returns the verdict of a canned test; nothing for other results."""
    return [Finding(each) for each in results.tested["sentences"]] if results.tested else []


def load(results: Results) -> Results:
    """Returns the results without the flows that measure the load of a test: they do not compete with it."""
    if results.tested is None:
        return results
    return replace(results, rows=results.rows.filter(pl.col("flow").is_in(_names(results))))


def load_of_run(
    results: Results, metrics: Metrics, tables: Mapping[str, pl.DataFrame]
) -> tuple[Metrics, Mapping[str, pl.DataFrame]]:
    """Returns the metrics and the trace of the load alone; everything of a run that is no test."""
    if results.tested is None:
        return metrics, tables
    names = _names(results)
    flows = [flow for flow in metrics["flows"] if flow["name"] in names]
    kept = {
        name: rows.filter(pl.col("flow").cast(pl.String).is_in(names))
        if "flow" in rows.columns
        else rows
        for name, rows in tables.items()
    }
    return {**metrics, "flows": flows}, kept


def _names(results: Results) -> list[str]:
    roles = results.tested["roles"] if results.tested else {}
    return [name for name, role in roles.items() if role in _LOAD]
