"""Curves over a swept number: a line for each contender, with its interval over the seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.report.colors import COLORS
from fullpipe.report.model import Line, Lines, Section
from fullpipe.report.values import ALL, is_of_run, mean_of, several_have, titled
from fullpipe.results.overlay import factors
from fullpipe.results.words import short
from fullpipe.runs.view.left import left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fullpipe.report.values import Group, Measures
    from fullpipe.results.model import Axis, Results
    from fullpipe.stats import Quantity

_MOST_LINES = len(COLORS)
_LEAST_SPAN = 7.9


def section(results: Results, groups: Sequence[Group], measures: Measures) -> Section | None:
    """Returns a chart per metric over the swept number; None unless the results have just one."""
    _, numbers = factors(results.axes, results.points)
    if len(numbers) != 1:
        return None
    key, *others = numbers[0]
    axis = next(each for each in results.axes if each.key == key)
    charts = [
        chart for metric in measures.at("maps") for chart in _charts(groups, metric, axis, others)
    ]
    seeds = max(
        (len(group.of(each.column)) for group in groups for each in measures.every), default=0
    )
    note = "Means over the seeds; the shaded band is the 95 % interval." if seeds > 2 else ""
    return Section("Curves", list(charts), note) if charts else None


def _charts(
    groups: Sequence[Group], metric: Quantity, axis: Axis, others: Sequence[str]
) -> list[Lines]:
    """Returns one chart of all contenders; with several kinds of application, or too many lines, one of each part."""
    known = [group for group in groups if group.of(metric.column)]
    if not known:
        return []
    parts: dict[object, list[Group]] = {"": known}
    if not is_of_run(metric.column) and len({group.kind for group in known}) > 1:
        parts = _parts(known, lambda group: group.kind)
    if max(len({group.label for group in part}) for part in parts.values()) > _MOST_LINES:
        parts = _parts(known, lambda group: (group.role, group.kind))
    return [_chart(part, metric, axis, others, several=len(parts) > 1) for part in parts.values()]


def _parts(groups: Sequence[Group], of: Callable[[Group], object]) -> dict[object, list[Group]]:
    found: dict[object, list[Group]] = defaultdict(list)
    for group in groups:
        found[of(group)].append(group)
    return found


def _chart(
    groups: Sequence[Group], metric: Quantity, axis: Axis, others: Sequence[str], *, several: bool
) -> Lines:
    swept = several_have(groups, metric.column)
    lines: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    algorithms = {}
    for group in groups:
        label = group.label_of(metric.column, swept=swept)
        algorithms[label] = ALL if label == ALL else group.algorithm
        lines[label][group.varied[axis.key]] += group.of(metric.column)
    shown = list(lines.items())[:_MOST_LINES]
    positions = axis.positions
    log = is_geometric(list(positions.values()))
    unit = f", {axis.unit}" if axis.unit else ""
    whose = ", ".join(dict.fromkeys(group.contender for group in groups)) if several else ""
    note = left_out(list(lines)[_MOST_LINES:], len(lines))
    also = f", with {' and '.join(map(short, others))} in step" if others else ""
    title = f"{metric.words[0].upper()}{metric.words[1:]} over {short(axis.key)}"
    return Lines(
        f"{title}, {whose}" if whose else title,
        f"{short(axis.key)}{unit}{also}",
        titled(metric),
        [
            replace(_line(label, values, positions, metric), algorithm=algorithms[label])
            for label, values in shown
        ],
        note=note,
        log_x=log,
        marks=tuple(sorted(set(positions.values()))),
    )


def _line(
    label: str, values: Mapping[str, list[float]], positions: Mapping[str, float], metric: Quantity
) -> Line:
    found = sorted((positions[at], mean_of(of, metric.column)) for at, of in values.items() if of)
    x = np.array([at for at, _ in found])
    y, low, high = (
        np.array([interval[part] for _, interval in found]) * metric.scale for part in range(3)
    )
    if not np.isfinite(low).any():
        return Line(label, x, y)
    # Where a point has too few runs for an interval, the band has no width.
    return Line(
        label, x, y, np.where(np.isfinite(low), low, y), np.where(np.isfinite(high), high, y)
    )


def is_geometric(values: Sequence[float]) -> bool:
    """Returns whether a logarithmic axis suits values: three or more over a factor of eight, at about equal ratios."""
    found = sorted(set(values))
    if len(found) < 3 or found[0] <= 0 or found[-1] / found[0] < _LEAST_SPAN:
        return False
    ratios = [math.log(after / before) for before, after in pairwise(found)]
    steps = [after - before for before, after in pairwise(found)]
    return float(np.std(ratios) / np.mean(ratios)) <= float(np.std(steps) / np.mean(steps))
