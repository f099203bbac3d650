"""The table of results: a row per point and contender, with medians over the seeds and intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fullpipe.report.model import Number, Section, Table
from fullpipe.report.values import is_of_run, shown, titled
from fullpipe.results.words import short
from fullpipe.stats import medians

_MOST_COLUMNS = 8
_LEAST_METRICS = 3
_TOO_FEW = 5
"""The most seeds without a 95 % interval of their median."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Block, Cell
    from fullpipe.report.values import Group
    from fullpipe.stats import Interval, Quantity


def section(groups: Sequence[Group], metrics: Sequence[Quantity]) -> Section:
    """Returns the tables of results: of the flows' metrics, the most informative first, then of whole runs."""
    of_flows = [each for each in metrics if not is_of_run(each.column)]
    of_runs = [each for each in metrics if is_of_run(each.column)]
    counts = [
        count
        for group in groups
        # In a run's metrics alone, only one contender has values.
        if (count := max((len(group.of(each.column)) for each in metrics), default=0))
    ]
    least, most = min(counts, default=1), max(counts, default=1)
    number = f"{least} to {most}" if least < most else f"{most}"
    words = f"medians over {number} seeds"
    note = "Sentences and curves are about means."
    if most > _TOO_FEW:
        words += " [95 % interval]"
        if least <= _TOO_FEW:
            note = f"Intervals are those of {_TOO_FEW + 1} seeds and more. {note}"
    else:
        note = f"There are too few seeds for an interval. {note}"
    if most == 1:
        words = ""
        note = "One run each." if len({group.point for group in groups}) > 1 else "One run."
    of = f": {words}" if words else ""
    title = f"{words[:1].upper()}{words[1:]}" or "Metrics"
    tables = _tables(groups, of_flows, (title, f"Further metrics{of}"), contender=True)
    runs = [group for group in groups if any(group.of(each.column) for each in of_runs)]
    # Runs with equal settings differ in the contender.
    alike = len({tuple(group.settings.items()) for group in runs}) < len(runs)
    whole = (f"Whole runs{of}", f"Whole runs, further metrics{of}")
    tables += _tables(runs, of_runs, whole, contender=alike)
    return Section("Results", tables, note)


def _tables(
    groups: Sequence[Group],
    metrics: Sequence[Quantity],
    titles: tuple[str, str],
    *,
    contender: bool,
) -> list[Block]:
    """Returns tables with a row per group, with as many metrics as fit next to the settings."""
    keys = list(dict.fromkeys(key for group in groups for key in group.settings))
    found = iter(medians([group.of(metric.column) for group in groups for metric in metrics]))
    cells = [[_cell(metric, next(found)) for metric in metrics] for _ in groups]
    counts = [max((len(group.of(each.column)) for each in metrics), default=0) for group in groups]
    counted = len(set(counts)) > 1
    heads = [
        (
            *(_sortable(group.settings.get(key, "–")) for key in keys),
            *([group.contender] if contender else []),
            *([Number(count, f"{count}")] if counted else []),
        )
        for group, count in zip(groups, counts, strict=True)
    ]
    names = (
        *map(short, keys),
        *(["contender"] if contender else []),
        *(["runs"] if counted else []),
    )
    each = max(_MOST_COLUMNS - len(names), _LEAST_METRICS)
    tables: list[Block] = []
    for start in range(0, len(metrics), each):
        rows: list[tuple[Cell, ...]] = [
            (*head, *row[start : start + each]) for head, row in zip(heads, cells, strict=True)
        ]
        columns = (*names, *map(titled, metrics[start : start + each]))
        tables.append(Table(titles[start > 0], columns, rows))
    return tables


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
