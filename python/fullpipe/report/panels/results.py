"""The table of results: a row a point and contender, its median over the seeds and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.report.kept import short
from fullpipe.report.model import Number, Section, Table
from fullpipe.report.values import shown, titled
from fullpipe.stats import median

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Cell
    from fullpipe.report.values import Group
    from fullpipe.stats import Quantity


def section(groups: Sequence[Group], metrics: Sequence[Quantity]) -> Section:
    """The results."""
    keys = list(dict.fromkeys(key for group in groups for key in group.settings))
    rows = [_row(group, keys, metrics) for group in groups]
    runs = {len(group.of(metric.column)) for group in groups for metric in metrics} - {0}
    note = "Median over the seeds, [95 % interval]." if max(runs, default=1) > 1 else "One run each: no interval."
    columns = (*map(short, keys), "contender", "runs", *map(titled, metrics))
    return Section("Results", [Table("Medians over the seeds", columns, rows)], note)


def _row(group: Group, keys: Sequence[str], metrics: Sequence[Quantity]) -> tuple[Cell, ...]:
    runs = max(len(group.of(metric.column)) for metric in metrics)
    settings = [_sortable(group.settings.get(key, "–")) for key in keys]
    return (*settings, group.contender, Number(runs, f"{runs}"), *(_cell(group, metric) for metric in metrics))


def _sortable(text: str) -> Cell:
    """A value as written, sorted by its leading number where it has one."""
    digits = len(text) - len(text.lstrip("0123456789."))
    try:
        return Number(float(text[:digits]), text)
    except ValueError:
        return text


def _cell(group: Group, metric: Quantity) -> Number:
    values = group.of(metric.column)
    if not values:
        return Number(None, "–")
    found = median(values)
    text = shown(metric, found.value)
    if found.high > found.low:
        text += f" [{shown(metric, found.low)}, {shown(metric, found.high)}]"
    return Number(found.value, text)
