"""Curves over a swept number: a line for each contender and value of a second number, a chart for each of the rest."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullpipe.report.colors import color_of
from fullpipe.report.model import DECADES, Line, Lines, Section
from fullpipe.report.values import ALL, is_of_run, mean_of, placed, several_have, titled
from fullpipe.results.overlay import factors
from fullpipe.results.words import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fullpipe.report.values import Group, Measures
    from fullpipe.results.model import Axis, Results
    from fullpipe.results.overlay import Factor
    from fullpipe.stats import Quantity

_MOST_LINES = 8
"""Lines of a chart; more make several charts."""
_MOST_SECOND = 5
"""Values of a second number that a chart has as lines; more make a chart each."""
_MOST_IN_ROW = 12
_LEAST_SPAN = 7.9


class _Looks(NamedTuple):
    """Numbers of what tells lines apart: those of a contender are the same in all charts of a figure."""

    marks: dict[str, int]
    seconds: dict[str, int]
    turns: dict[tuple[str, str], tuple[int, int]]
    """Index of the color of each contender at a value of the second number, and its turn among those of the color."""

    def given(self, line: Line, algorithm: str, contender: str, second: str) -> Line:
        """Returns a line with its looks."""
        color = color_of(algorithm)
        turn = sum(each == color for each, _ in self.turns.values())
        return replace(
            line,
            algorithm=algorithm,
            style=self.seconds.setdefault(second, len(self.seconds)) if second else None,
            mark=self.marks.setdefault(contender, len(self.marks)),
            turn=self.turns.setdefault((contender, second), (color, turn))[1],
        )


@dataclass(frozen=True)
class _Plan:
    """Part of each swept key in the charts.

    Attributes:
        axis: The number of the x axis.
        others: Keys that vary in step with it.
        second: Keys of the number whose values are lines; empty without one.
        rest: Keys of the numbers whose values are charts.
        asked: Whether a user has chosen the second number, which is then lines of any count.
        looks: The looks of the lines of all charts.
    """

    axis: Axis
    others: Sequence[str] = ()
    second: Factor = ()
    rest: tuple[str, ...] = ()
    asked: bool = False
    looks: _Looks = field(default_factory=lambda: _Looks({}, {}, {}))

    def at(self, group: Group) -> str:
        """Returns a group's value of the second number, in words; empty without one."""
        return placed({key: group.varied[key] for key in self.second[:1] if key in group.varied})

    def chart(self, group: Group) -> str:
        """Returns the values of a group that its chart is for, in words; empty without any."""
        return placed({key: group.varied[key] for key in self.rest if key in group.varied})


def section(
    results: Results, groups: Sequence[Group], measures: Measures, over: Sequence[str] = ()
) -> Section | None:
    """Returns charts of each metric over a swept number; None if no number was swept.

    The x axis is the number with the most values. With a second number, a chart has a line for each of its
    values and each contender. Charts for each value of a third number, and of words such as queues, are side by side.

    Args:
        results: The results.
        groups: The contenders.
        measures: The metrics.
        over: Keys of the numbers of the x axis and of the lines, instead of those.
    """
    plan = _planned(results, over)
    if plan is None:
        return None
    charts = [chart for metric in measures.at("maps") for chart in _charts(groups, metric, plan)]
    seeds = max(
        (len(group.of(each.column)) for group in groups for each in measures.every), default=0
    )
    note = "Means over the seeds; the shaded band is the 95 % interval." if seeds > 2 else ""
    return Section("Curves", list(charts), note) if charts else None


def _planned(results: Results, over: Sequence[str]) -> _Plan | None:
    _, numbers = factors(results.axes, results.points)
    if not numbers:
        return None
    known = {axis.key: axis for axis in results.axes}

    def count(factor: Factor) -> int:
        return len(known[factor[0]].values)

    def wanted(factor: Factor) -> int:
        return min((over.index(key) for key in factor if key in over), default=len(over))

    first, *further = sorted(numbers, key=lambda each: (wanted(each), -count(each)))
    lines = next(
        (each for each in further if count(each) <= _MOST_SECOND or wanted(each) < len(over)), ()
    )
    rest = tuple(each[0] for each in further if each != lines)
    key, *others = first
    return _Plan(known[key], others, lines, rest, asked=wanted(lines) < len(over))


def _charts(groups: Sequence[Group], metric: Quantity, plan: _Plan) -> Iterator[Lines]:
    """Yields the charts of a metric: by kind of application, and by contender if there are many lines."""
    known = [group for group in groups if group.of(metric.column)]
    parts: dict[object, list[Group]] = {"": known} if known else {}
    if known and not is_of_run(metric.column) and len({group.kind for group in known}) > 1:
        parts = _parts(known, lambda group: group.kind)
    if any(_width(part, metric, plan) > _MOST_LINES for part in parts.values()):
        parts = _parts(known, lambda group: (group.role, group.kind))
    for part in parts.values():
        whose = ", ".join(dict.fromkeys(group.contender for group in part))
        own = plan
        if plan.second and not plan.asked and _width(part, metric, plan) > _MOST_LINES:
            own = replace(plan, second=(), rest=(*plan.second[:1], *plan.rest))
        yield from _row(part, metric, own, whose if len(parts) > 1 else "")


def _parts(groups: Sequence[Group], of: Callable[[Group], object]) -> dict[object, list[Group]]:
    found: dict[object, list[Group]] = defaultdict(list)
    for group in groups:
        found[of(group)].append(group)
    return found


def _is_parted(groups: Sequence[Group], metric: Quantity, plan: _Plan) -> bool:
    """Returns whether words make charts: with a second number, or with too many lines for one chart."""
    swept = several_have(groups, metric.column)
    labels = {group.label_of(metric.column, swept=swept) for group in groups}
    several = len({group.words for group in groups}) > 1
    return several and (bool(plan.second) or len(labels) > _MOST_LINES)


def _width(groups: Sequence[Group], metric: Quantity, plan: _Plan) -> int:
    """Returns the most lines of a chart."""
    parted = _is_parted(groups, metric, plan)
    found = defaultdict(set)
    for group in groups:
        found[group.words if parted else ""].add(
            (group.contender, "" if parted else group.words, plan.at(group))
        )
    return max(map(len, found.values()))


def _row(groups: Sequence[Group], metric: Quantity, plan: _Plan, whose: str) -> Iterator[Lines]:
    """Yields the charts of some contenders: one, or several side by side."""
    parted = _is_parted(groups, metric, plan)
    charts = _parts(
        groups,
        lambda group: ", ".join(filter(None, (group.words if parted else "", plan.chart(group)))),
    )
    swept = several_have(groups, metric.column)
    whole = is_of_run(metric.column) and not swept

    def label(group: Group) -> str:
        if not parted:
            return group.label_of(metric.column, swept=swept)
        return ALL if whole else group.contender

    several = len({*map(label, groups)}) > 1
    lines = {
        str(name): _lines(those, metric, plan, label, several=several)
        for name, those in charts.items()
    }
    head = f"{metric.words[0].upper()}{metric.words[1:]} over {short(plan.axis.key)}"
    head = f"{head}, {whose}" if whose else head
    pieces = [
        (name, own[first : first + _MOST_LINES])
        for name, own in lines.items()
        for first in range(0, max(len(own), 1), _MOST_LINES)
    ]
    if len(pieces) > len(lines):  # a chart of its own for each part of the lines
        pieces = [
            (", ".join(filter(None, (name, f"lines from {some[0].label}"))), some)
            for name, some in pieces
        ]
    every = [each for _, own in pieces for each in own]
    if log := is_over_decades(every):
        pieces = [(name, _above_zero(own, every)) for name, own in pieces]
    rows = -(-len(pieces) // _MOST_IN_ROW)
    for number, (name, own) in enumerate(pieces):
        which = f" ({number // _MOST_IN_ROW + 1} of {rows})" if rows > 1 else ""
        row = f"{head}{which}" if len(pieces) > 1 else ""
        yield _chart(name if row else head, row, own, metric, plan, log=log)


def _lines(
    groups: Sequence[Group],
    metric: Quantity,
    plan: _Plan,
    label_of: Callable[[Group], str],
    *,
    several: bool,
) -> list[Line]:
    """Returns the lines of a chart; with `several` contenders in its row, each is named."""
    values: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    algorithms = {}
    for group in groups:
        label = label_of(group)
        algorithms[label] = ALL if label == ALL else group.algorithm
        values[label, plan.at(group)][group.varied[plan.axis.key]] += group.of(metric.column)
    return [
        plan.looks.given(
            _line(
                ", ".join(filter(None, (label if several or not second else "", second))),
                of,
                plan.axis.positions,
                metric,
            ),
            algorithms[label],
            label,
            second,
        )
        for (label, second), of in values.items()
    ]


def _chart(
    title: str, row: str, lines: list[Line], metric: Quantity, plan: _Plan, *, log: bool
) -> Lines:
    axis, positions = plan.axis, list(plan.axis.positions.values())
    unit = f", {axis.unit}" if axis.unit else ""
    also = f", with {' and '.join(map(short, plan.others))} in step" if plan.others else ""
    return Lines(
        title,
        f"{short(axis.key)}{unit}{also}",
        titled(metric),
        lines,
        log_x=is_geometric(positions),
        log_y=log,
        marks=tuple(sorted(set(positions))),
        row=row,
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


def _above_zero(lines: Sequence[Line], every: Sequence[Line]) -> list[Line]:
    """Returns lines whose bands have a place on a logarithmic axis: they end a little below the least value of all."""
    least = 0.8 * min(float(np.nanmin(each.y)) for each in every)
    return [
        each if each.low is None else replace(each, low=np.maximum(each.low, least))
        for each in lines
    ]


def is_geometric(values: Sequence[float]) -> bool:
    """Returns whether a logarithmic axis suits values: three or more over a factor of eight, at about equal ratios."""
    found = sorted(set(values))
    if len(found) < 3 or found[0] <= 0 or found[-1] / found[0] < _LEAST_SPAN:
        return False
    ratios = [math.log(after / before) for before, after in pairwise(found)]
    steps = [after - before for before, after in pairwise(found)]
    return float(np.std(ratios) / np.mean(ratios)) <= float(np.std(steps) / np.mean(steps))


def is_over_decades(lines: Sequence[Line]) -> bool:
    """Returns whether the values of y span two decades, and none is zero or less."""
    values = np.concatenate([np.empty(0), *(line.y[np.isfinite(line.y)] for line in lines)])
    if not len(values) or values.min() <= 0:
        return False
    return bool(values.max() / values.min() >= DECADES)
