"""Spread of the runs: cumulative distributions, and throughput against delay with ellipses."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.report.model import DECADES, Cloud, Clouds, Line, Lines, Section
from fullpipe.report.values import titled
from fullpipe.runs.view.left import left_out
from fullpipe.stats import cdf, ellipse, quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.report.model import Block
    from fullpipe.report.values import Group, Measures
    from fullpipe.stats import Quantity

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
    """Returns distributions over the seeds, those of each place on their own.

    A place is a setting of the swept numbers. With many places there are no distributions: one over
    all of them would mix their differences with the spread.
    """
    some = [
        group
        for group in groups
        if max((len(values) for values in group.values.values()), default=0) >= _LEAST_RUNS
    ]
    places = _by_scene(some)
    if not some:
        return None
    few = [group for group in groups if group not in some and group.values]
    note = [left_out(_names(few), len(groups), f"fewer than {_LEAST_RUNS} runs")]
    blocks: list[Block] = []
    if len(places) <= _MOST_PLACES:
        blocks = [
            chart
            for scene, those in places.items()
            for metric in measures.at("spread")
            for chart in _charts(scene, those, metric)
        ]
        alike = [
            metric
            for metric in measures.at("spread")
            if any(group.of(metric.column) for group in some)
            and not any(_spreads(those, metric) for those in places.values())
        ]
        words = [metric.words for metric in alike]
        note.insert(
            0, left_out(words, len(measures.at("spread")), "the runs of each do not differ")
        )
    else:
        note.insert(
            0,
            f"No shares of runs: there are {len(places)} settings, and charts of at most {_MOST_PLACES}.",
        )
    if blocks:
        note.insert(0, _LINES)
    plots = clouds(some, measures)
    told = " ".join(filter(None, note))
    return Section("Distributions", [*blocks, *plots], told) if blocks or plots else None


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


def _charts(scene: str, groups: Sequence[Group], metric: Quantity) -> Iterator[Lines]:
    """Yields charts of all contenders, each of at most seven lines and, with many, of one kind of application."""
    known = [group for group in groups if group.of(metric.column)]
    parts: dict[object, list[Group]] = defaultdict(list)
    for group in known:
        parts[(group.role, group.kind) if len(known) > _MOST_LINES else group.kind].append(group)
    for part in parts.values():
        swept = len({group.contender for group in part}) > 1
        if not _spreads(part, metric):
            continue
        for first in range(0, len(part), _MOST_LINES):
            some = part[first : first + _MOST_LINES]
            whose = ", ".join(dict.fromkeys(group.contender for group in some))
            several = len(parts) > 1 or len(part) > len(some)
            title = "; ".join(filter(None, (titled(metric), scene, whose if several else "")))
            lines = [
                _line(group, group.label_of(metric.column, swept=swept), metric) for group in some
            ]
            yield Lines(title, titled(metric), "share of runs", lines, stepped=True)


def _line(group: Group, label: str, metric: Quantity) -> Line:
    found, scale = cdf(group.of(metric.column)), metric.scale
    x = np.concatenate([found.values[:1], found.values]) * scale
    low, high = np.concatenate([[0.0], found.low]), np.concatenate([[found.high[0]], found.high])
    shares = np.concatenate([[0.0], found.shares])
    return Line(label, x, shares, low, high, algorithm=group.algorithm)


def clouds(groups: Sequence[Group], measures: Measures) -> list[Clouds]:
    """Returns a scatter plot of throughput over delay for each setting; many are small, and side by side."""
    delay, rate = _across(groups, measures), _up(measures)
    if delay is None or rate is None:
        return []
    places: dict[str, list[Cloud]] = defaultdict(list)
    left: dict[str, list[str]] = defaultdict(list)
    for group in groups:
        place = _place(group)
        x, y = (group.values.get(each.column, {}) for each in (delay, rate))
        seeds = sorted(x.keys() & y.keys())
        label = group.contender if "case" in group.settings else group.label
        if len(seeds) < _LEAST_RUNS or len(places[place]) == _MOST_IN_CLOUDS:
            left[place].append(label)
        else:
            xs, ys = (
                [x[seed] * delay.scale for seed in seeds],
                [y[seed] * rate.scale for seed in seeds],
            )
            places[place].append(Cloud(label, xs, ys, ellipse(xs, ys), group.algorithm))
    drawn = {place: found for place, found in places.items() if found}
    shown = list(drawn.items())[:_MOST_CLOUDS]
    more = left_out([place for place in drawn if place not in dict(shown)], len(drawn))
    title = f"Throughput over {delay.words}"
    small = len(shown) > _FEW_CLOUDS
    xs = [x for _, found in shown for cloud in found for x in cloud.x]
    log = small and bool(xs) and min(xs) > 0 and max(xs) / min(xs) >= DECADES
    return [
        Clouds(
            place if small else ", ".join(filter(None, (title, place))),
            titled(delay),
            titled(rate),
            found,
            _SMALL if small else _LARGE,
            " ".join(filter(None, (left_out(left[place], len(found) + len(left[place])), more))),
            log,
            title if small else "",
        )
        for place, found in shown
    ]


def _across(groups: Sequence[Group], measures: Measures) -> Quantity | None:
    """Returns the delay of the x axis: the first one that was asked for, else one that the runs have."""
    if measures.asked:
        return next((each for each in measures.every if each.unit in ("ms", "s")), None)
    usual = ("queue_delay_s.p95", "rtt_s.p95", "rtt_s.mean")
    there = (each for each in usual if any(group.of(each) for group in groups))
    return next(map(quantity, there), None)


def _up(measures: Measures) -> Quantity | None:
    """Returns the rate of the y axis."""
    if measures.asked:
        return next((each for each in measures.every if each.unit == "Mbit/s"), None)
    return quantity("goodput_bps")


def _place(group: Group) -> str:
    """Returns the title of the cloud's plot: contenders of one kind at one setting of the swept numbers."""
    case = group.settings.get("case", "")
    return ", ".join(filter(None, (case, group.scene, group.kind if group.kind != "bulk" else "")))
