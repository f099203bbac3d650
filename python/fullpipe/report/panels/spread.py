"""Spread of the runs: cumulative distributions, and throughput against delay with ellipses."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.report.model import Cloud, Clouds, Line, Lines, Section
from fullpipe.report.values import titled
from fullpipe.stats import cdf, ellipse, quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.report.model import Block
    from fullpipe.report.values import Group, Measures
    from fullpipe.stats import Quantity

_LEAST_RUNS = 3
_MOST_LINES = 7
_MOST_CLOUDS = 6
_MOST_PLACES = 3


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
    blocks: list[Block] = []
    if len(places) <= _MOST_PLACES:
        blocks = [
            chart
            for scene, those in places.items()
            for metric in measures.at("spread")
            for chart in _charts(scene, those, metric)
        ]
    note = "Each line is the share of runs up to a value; the shade is the 95 % band of the whole line (Kolmogorov)."
    clouds = _clouds(some)
    return (
        Section("Distributions", [*blocks, *clouds], note if blocks else "")
        if blocks or clouds
        else None
    )


def _by_scene(groups: Sequence[Group]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        found[group.scene].append(group)
    return found


def _charts(scene: str, groups: Sequence[Group], metric: Quantity) -> Iterator[Lines]:
    """Yields a chart of all contenders; of many, one for each kind of application and flow."""
    known = [group for group in groups if group.of(metric.column)]
    parts: dict[object, list[Group]] = defaultdict(list)
    for group in known:
        parts[(group.role, group.kind) if len(known) > _MOST_LINES else group.kind].append(group)
    for part in parts.values():
        swept = len({group.contender for group in part}) > 1
        lines = [_line(group, group.label_of(metric.column, swept=swept), metric) for group in part]
        whose = ", ".join(dict.fromkeys(group.contender for group in part))
        if len(lines) <= _MOST_LINES and any(np.ptp(line.x[1:]) > 0 for line in lines):
            title = "; ".join(
                filter(None, (titled(metric), scene, whose if len(parts) > 1 else ""))
            )
            yield Lines(title, titled(metric), "share of runs", lines, stepped=True)


def _line(group: Group, label: str, metric: Quantity) -> Line:
    found, scale = cdf(group.of(metric.column)), metric.scale
    x = np.concatenate([found.values[:1], found.values]) * scale
    low, high = np.concatenate([[0.0], found.low]), np.concatenate([[found.high[0]], found.high])
    shares = np.concatenate([[0.0], found.shares])
    return Line(label, x, shares, low, high, algorithm=group.algorithm)


def _clouds(groups: Sequence[Group]) -> list[Block]:
    """Returns a scatter plot for each of the first few settings."""
    delay, rate = quantity("rtt_s.mean"), quantity("goodput_bps")
    assert delay is not None
    assert rate is not None
    places: dict[str, list[Cloud]] = defaultdict(list)
    for group in groups:
        place = _place(group)
        x, y = (group.values.get(each.column, {}) for each in (delay, rate))
        seeds = sorted(x.keys() & y.keys())
        if len(seeds) >= _LEAST_RUNS and len(places[place]) < _MOST_LINES:
            xs, ys = (
                [x[seed] * delay.scale for seed in seeds],
                [y[seed] * rate.scale for seed in seeds],
            )
            label = group.contender if "case" in group.settings else group.label
            places[place].append(Cloud(label, xs, ys, ellipse(xs, ys), group.algorithm))
    shown = list(places.items())[:_MOST_CLOUDS]
    more = len(places) - len(shown)
    return [
        Clouds(
            "Throughput and delay"
            + (f", {place}" if place else "")
            + (f" (the first of {len(places)} settings)" if more and number == 0 else ""),
            titled(delay),
            titled(rate),
            clouds,
        )
        for number, (place, clouds) in enumerate(shown)
        if clouds
    ]


def _place(group: Group) -> str:
    """Returns the title of the cloud's plot: contenders of one kind at one setting of the swept numbers."""
    case = group.settings.get("case", "")
    return ", ".join(filter(None, (case, group.scene, group.kind if group.kind != "bulk" else "")))
