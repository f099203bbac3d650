"""Spread of the runs: cumulative distributions, and throughput against delay with ellipses."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.report.model import Cloud, Clouds, Line, Lines, Section
from fullpipe.report.values import titled
from fullpipe.stats import cdf, ellipse, is_shown, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Block
    from fullpipe.report.values import Group
    from fullpipe.stats import Quantity

_LEAST_RUNS = 3
_MOST_LINES = 7
_MOST_CLOUDS = 6


def section(groups: Sequence[Group], metrics: Sequence[Quantity]) -> Section | None:
    """Returns distributions over the seeds."""
    some = [
        group
        for group in groups
        if max((len(values) for values in group.values.values()), default=0) >= _LEAST_RUNS
    ]
    if not some:
        return None
    pooled = len(some) > _MOST_LINES
    blocks: list[Block] = [
        chart
        for metric in metrics
        if is_shown(metric.column, "spread") and (chart := _chart(some, metric, pooled)) is not None
    ]
    blocks += _clouds(some)
    note = (
        "Each line is the share of runs up to a value, over all settings and seeds together. It includes the "
        "differences between settings."
        if pooled
        else "Each line is the share of runs up to a value; the shade is the 95 % band of the whole line (Kolmogorov)."
    )
    return Section("Distributions", blocks, note)


def _chart(groups: Sequence[Group], metric: Quantity, pooled: bool) -> Lines | None:
    values: dict[str, list[float]] = defaultdict(list)
    for group in groups:
        label = (
            group.contender if pooled or not group.place else f"{group.contender}, {group.place}"
        )
        values[label] += group.of(metric.column)
    lines = [
        _line(label, those, metric.scale, band=not pooled)
        for label, those in values.items()
        if those
    ]
    if not lines or len(lines) > _MOST_LINES or all(np.ptp(line.x[1:]) == 0 for line in lines):
        return None
    return Lines(titled(metric), titled(metric), "share of runs", lines, stepped=True)


def _line(label: str, values: Sequence[float], scale: float, band: bool) -> Line:
    found = cdf(values)
    x = np.concatenate([found.values[:1], found.values]) * scale
    low, high = np.concatenate([[0.0], found.low]), np.concatenate([[found.high[0]], found.high])
    shares = np.concatenate([[0.0], found.shares])
    return Line(label, x, shares, low if band else None, high if band else None)


def _clouds(groups: Sequence[Group]) -> list[Block]:
    """Returns a scatter plot for each of the first few settings."""
    delay, rate = quantity("rtt_s.mean"), quantity("goodput_bps")
    assert delay is not None
    assert rate is not None
    places: dict[str, list[Cloud]] = defaultdict(list)
    for group in groups:
        x, y = (group.values.get(each.column, {}) for each in (delay, rate))
        seeds = sorted(x.keys() & y.keys())
        if len(seeds) >= _LEAST_RUNS and len(places[group.place]) < _MOST_LINES:
            xs, ys = (
                [x[seed] * delay.scale for seed in seeds],
                [y[seed] * rate.scale for seed in seeds],
            )
            places[group.place].append(Cloud(group.contender, xs, ys, ellipse(xs, ys)))
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
