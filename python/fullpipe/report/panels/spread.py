"""Spread of the runs: cumulative distributions, and throughput against delay with ellipses."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullpipe.report.colors import turns_of
from fullpipe.report.model import DECADES, Cloud, Clouds, Line, Lines, Section
from fullpipe.report.values import titled
from fullpipe.runs.view.left import left_out
from fullpipe.stats import cdf, ellipse, quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.report.model import Block
    from fullpipe.report.values import Group, Measures
    from fullpipe.stats import Quantity

_TITLE = "Distributions"
_LEAST_RUNS = 3
_MOST_LINES = 7
_FEW_CLOUDS, _MOST_CLOUDS = 6, 60
_MOST_IN_CLOUDS = 24
_MOST_PLACES = 3
_LARGE = "Ellipses: one standard deviation. Better is up and to the right."
_SMALL = (
    "Points are means, ellipses one standard deviation of the runs. Better is up and to the right."
)
_LINES = "Each line is the share of runs up to a value; the shade is the 95 % band of the whole line (Kolmogorov)."


def section(groups: Sequence[Group], measures: Measures) -> Section | None:
    """Returns distributions over the seeds, and scatter plots; None if no contender has enough seeds."""
    if all(_count(group) < _LEAST_RUNS for group in groups):
        return None
    parts = [shares(groups, measures), scatter(groups, measures)]
    blocks = [block for each in parts for block in each.blocks]
    # Words of both parts about the same contenders are said once.
    note = " ".join(dict.fromkeys(said for each in parts for said in filter(None, each.notes)))
    return Section(_TITLE, blocks, note) if blocks else None


class _Part(NamedTuple):
    """Charts of one kind, and words about them."""

    blocks: Sequence[Block]
    notes: Sequence[str]

    def section(self) -> Section:
        """Returns a section of these charts alone."""
        return Section(_TITLE, [*self.blocks], " ".join(filter(None, self.notes)))


def shares(groups: Sequence[Group], measures: Measures) -> _Part:
    """Returns distributions over the seeds, those of each place on their own.

    A place is a setting of the swept numbers. With many places there are no distributions: one over
    all of them would mix their differences with the spread.
    """
    some = [group for group in groups if _count(group) >= _LEAST_RUNS]
    if not some:
        return _Part([], [f"No contender has {_LEAST_RUNS} runs."])
    places = _by_scene(some)
    few = _few(groups)
    if len(places) > _MOST_PLACES:
        said = f"No distributions: drawn are those of up to {_MOST_PLACES} settings, not of {len(places)}."
        return _Part([], [said, few])
    wanted = measures.at("spread")
    names = {group.label: group.algorithm for group in some}
    turns = dict(zip(names, turns_of([*names.values()]), strict=True))
    blocks = [
        chart
        for scene, those in places.items()
        for metric in wanted
        for chart in _charts(scene, those, metric, turns)
    ]
    alike = [
        metric.words
        for metric in wanted
        if any(group.of(metric.column) for group in some)
        and not any(_spreads(those, metric) for those in places.values())
    ]
    left = left_out(alike, len(wanted), "the runs of each do not differ")
    return _Part(blocks, [_LINES if blocks else "", left, few])


def _count(group: Group) -> int:
    """Returns the number of a group's runs."""
    return max((len(values) for values in group.values.values()), default=0)


def _few(groups: Sequence[Group]) -> str:
    """Returns the groups with too few runs, in words."""
    few = [group for group in groups if _count(group) < _LEAST_RUNS and group.values]
    return left_out(_names(few), len(groups), f"fewer than {_LEAST_RUNS} runs")


def _names(groups: Sequence[Group]) -> list[str]:
    return [", ".join(filter(None, (group.label, group.scene))) for group in groups]


def _spreads(groups: Sequence[Group], metric: Quantity) -> bool:
    """Returns whether the runs of any contender differ."""
    return any(np.ptp(group.of(metric.column)) > 0 for group in groups if group.of(metric.column))


def _by_scene(groups: Sequence[Group]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        found[group.scene].append(group)
    return found


def _charts(
    scene: str, groups: Sequence[Group], metric: Quantity, turns: Mapping[str, int]
) -> Iterator[Lines]:
    """Yields charts of all contenders, each of at most seven lines and, with many, of one kind of application."""
    known = [group for group in groups if group.of(metric.column)]
    parts: dict[object, list[Group]] = defaultdict(list)
    for group in known:
        parts[(group.role, group.kind) if len(known) > _MOST_LINES else group.kind].append(group)
    parts = {key: part for key, part in parts.items() if _spreads(part, metric)}
    head = "; ".join(filter(None, (titled(metric), scene)))
    several = len(parts) > 1 or any(len(part) > _MOST_LINES for part in parts.values())
    for part in parts.values():
        swept = len({group.contender for group in part}) > 1
        for first in range(0, len(part), _MOST_LINES):
            some = part[first : first + _MOST_LINES]
            whose = ", ".join(dict.fromkeys(group.contender for group in some))
            lines = [
                replace(
                    _line(group, group.label_of(metric.column, swept=swept), metric),
                    turn=turns[group.label],
                )
                for group in some
            ]
            yield Lines(
                whose if several else head,
                titled(metric),
                "share of runs",
                lines,
                stepped=True,
                row=head if several else "",
            )


def _line(group: Group, label: str, metric: Quantity) -> Line:
    found, scale = cdf(group.of(metric.column)), metric.scale
    x = np.concatenate([found.values[:1], found.values]) * scale
    low, high = np.concatenate([[0.0], found.low]), np.concatenate([[found.high[0]], found.high])
    shares = np.concatenate([[0.0], found.shares])
    return Line(label, x, shares, low, high, algorithm=group.algorithm)


def scatter(groups: Sequence[Group], measures: Measures) -> _Part:
    """Returns a scatter plot of throughput over delay for each setting; many are small, and side by side."""
    delay, rate = across(groups, measures), up(measures)
    if delay is None or rate is None:
        return _Part([], [])
    places: dict[str, list[Cloud]] = defaultdict(list)
    left: dict[str, list[str]] = defaultdict(list)
    for group in groups:
        place = _place(group)
        x, y = (group.values.get(each.column, {}) for each in (delay, rate))
        seeds = sorted(x.keys() & y.keys())
        label = group.contender if "case" in group.settings else group.label
        if len(seeds) < _LEAST_RUNS:
            left[place].append(label)
        else:
            xs, ys = (
                [x[seed] * delay.scale for seed in seeds],
                [y[seed] * rate.scale for seed in seeds],
            )
            places[place].append(Cloud(label, xs, ys, ellipse(xs, ys), group.algorithm))
    why = f"no contender has {_LEAST_RUNS} runs with both values"
    if not places:
        return _Part([], [f"{why[0].upper()}{why[1:]}."])
    known = {each.label: each.algorithm for found in places.values() for each in found}
    count = len({*places, *left})
    shown = list(places.items())[:_MOST_CLOUDS]
    more = left_out([*places][_MOST_CLOUDS:], count)
    none = left_out([place or "the scenario" for place in left if place not in places], count, why)
    title = f"Throughput over {delay.words}"
    small = len(shown) > _FEW_CLOUDS
    xs = [x for _, found in shown for cloud in found for x in cloud.x]
    log = small and bool(xs) and min(xs) > 0 and max(xs) / min(xs) >= DECADES

    def plot(place: str, found: list[Cloud], left_: Sequence[str]) -> Clouds:
        return Clouds(
            place if small else ", ".join(filter(None, (title, place))),
            titled(delay),
            titled(rate),
            found,
            _SMALL if small else _LARGE,
            left_out(left_, len(places[place]) + len(left[place])),
            log,
            title if small else "",
            tuple(known.items()),
        )

    blocks = [
        plot(
            place,
            found[:_MOST_IN_CLOUDS],
            [*left[place], *(each.label for each in found[_MOST_IN_CLOUDS:])],
        )
        for place, found in shown
    ]
    return _Part(blocks, [more, none])


def both(groups: Sequence[Group], measures: Measures) -> list[Quantity]:
    """Returns the metrics of scatter plots: delay and rate."""
    return [each for each in (across(groups, measures), up(measures)) if each is not None]


def across(groups: Sequence[Group], measures: Measures) -> Quantity | None:
    """Returns the delay of the x axis: the first one that was asked for, else one that the runs have."""
    if measures.asked:
        return next((each for each in measures.every if each.unit in ("ms", "s")), None)
    usual = ("queue_delay_s.p95", "rtt_s.p95", "rtt_s.mean")
    there = (each for each in usual if any(group.of(each) for group in groups))
    return next(map(quantity, there), None)


def up(measures: Measures) -> Quantity | None:
    """Returns the rate of the y axis."""
    if measures.asked:
        return next((each for each in measures.every if each.unit == "Mbit/s"), None)
    return quantity("goodput_bps")


def _place(group: Group) -> str:
    """Returns the title of the cloud's plot: contenders of one kind at one setting of the swept numbers."""
    case = group.settings.get("case", "")
    return ", ".join(filter(None, (case, group.scene, group.kind if group.kind != "bulk" else "")))
