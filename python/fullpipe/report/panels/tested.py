"""A canned test: its tables as `fullpipe test` prints them, and its verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.report.model import Finding, Section, Table

if TYPE_CHECKING:
    from fullpipe.results.model import Results


def section(results: Results) -> Section | None:
    """Returns the tables of a canned test; None for other results."""
    test = results.tested
    if test is None:
        return None
    tables = [
        Table(each["title"], tuple(each["columns"]), [tuple(row) for row in each["rows"]])
        for each in test["tables"]
    ]
    words = [*test["notes"], f"{test['method'][0].upper()}{test['method'][1:]}."]
    if len(test["seeds"]) > 1:
        words.append(f"What follows is of seed {test['seeds'][0]} alone.")
    return Section(f"Test {test['test']}", [*tables], " ".join(words))


def findings(results: Results) -> list[Finding]:
    """Returns the verdict of a canned test; nothing for other results."""
    return [Finding(each) for each in results.tested["sentences"]] if results.tested else []


def load(results: Results) -> Results:
    """Returns the results without the flows that measure the load of a test: they do not compete with it."""
    if results.tested is None:
        return results
    return replace(results, rows=results.rows.filter(pl.col("flow").is_in(results.tested["load"])))
