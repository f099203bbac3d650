"""The table of results: a row per point and contender, with medians over the seeds and intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fullpipe.report.model import Number, Section, Table
from fullpipe.report.values import shown, titled
from fullpipe.results.words import short
from fullpipe.stats import medians

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Cell
    from fullpipe.report.values import Group
    from fullpipe.stats import Interval, Quantity


def section(groups: Sequence[Group], metrics: Sequence[Quantity]) -> Section:
    """Returns the table of results."""
    keys = list(dict.fromkeys(key for group in groups for key in group.settings))
    samples = [group.of(metric.column) for group in groups for metric in metrics]
    found = iter(medians(samples))
    rows = [_row(group, keys, metrics, [next(found) for _ in metrics]) for group in groups]
    runs = {len(group.of(metric.column)) for group in groups for metric in metrics} - {0}
    most = max(runs, default=1)
    note = "Median over the seeds" + (
        " [95 % interval]." if most > 5 else "; there are too few seeds for an interval."
    )
    note = note if most > 1 else "One run each."
    columns = (*map(short, keys), "contender", "runs", *map(titled, metrics))
    return Section(
        "Results", [Table("Medians over the seeds" if most > 1 else "Metrics", columns, rows)], note
    )


def _row(
    group: Group, keys: Sequence[str], metrics: Sequence[Quantity], found: Sequence[Interval]
) -> tuple[Cell, ...]:
    runs = max(len(group.of(metric.column)) for metric in metrics)
    settings = [_sortable(group.settings.get(key, "–")) for key in keys]
    return (*settings, group.contender, Number(runs, f"{runs}"), *map(_cell, metrics, found))


def _sortable(text: str) -> Cell:
    """Returns a cell with a value as written, sorted by its leading number if it has one."""
    digits = len(text) - len(text.lstrip("0123456789."))
    try:
        return Number(float(text[:digits]), text)
    except ValueError:
        return text


def _cell(metric: Quantity, found: Interval) -> Number:
    if math.isnan(found.value):
        return Number(None, "–")
    text = shown(metric, found.value)
    if found.high > found.low:
        text += f" [{shown(metric, found.low)}, {shown(metric, found.high)}]"
    return Number(found.value, text)
