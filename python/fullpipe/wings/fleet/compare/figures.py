"""Figures of a comparison, as blocks of a report."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.report.model import Density, Line, Lines
from fullpipe.runs.view.table import short
from fullpipe.stats.clusters import alone
from fullpipe.wings.fleet.compare import metrics
from fullpipe.wings.fleet.compare.bands import KM_A_MS, bands, envelope
from fullpipe.wings.fleet.compare.count import over_time
from fullpipe.wings.fleet.compare.hexagons import HEIGHT, WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fullpipe.report.model import Block
    from fullpipe.stats.sketch import Buckets
    from fullpipe.wings.fleet.compare.estimate import Estimates
    from fullpipe.wings.fleet.compare.hexagons import Hexagons
    from fullpipe.wings.fleet.compare.metrics import Measure, Metric

    Values = NDArray[np.float64]

_POINTS = 240
_TAIL_FROM = 1e-3
_SHOWN = {
    "loss": ("Loss of a connection", "loss, %", 100.0),
    "throughput": ("Throughput of requests (nginx)", "throughput, Mbit/s", 1e-6),
    "busy_rate": ("Rate of connections while busy", "rate, Mbit/s", 1e-6),
    "bandwidth": ("Bandwidth of connections", "bandwidth, Mbit/s", 1e-6),
    "inflight": ("Packets in flight", "packets in flight", 1.0),
    "rtt": ("RTT", "RTT, ms", 1e3),
    "rwnd": ("Time limited by the receive window", "share of the connection's busy time, %", 100.0),
    "reordering": ("Degree of reordering", "reordering, packets", 1.0),
}


def distribution(estimates: Estimates, measure: Measure) -> Lines | None:
    """Draws a measure's cumulative distribution, with a pointwise 95 % band."""
    counts = estimates.counted.strata.get(("rtt", measure.name))
    if counts is None or not counts.any():
        return None
    assert measure.buckets
    title, label, scale = _SHOWN[measure.name]
    pooled = counts.sum(axis=(0, 1, 2), dtype=np.float64)
    at = _places(pooled)
    lines = []
    for arm, name in enumerate(estimates.plan.arms):
        upto = estimates.distribution(measure, arm)[:, at]
        if np.isfinite(upto[0]).any():
            x = measure.buckets.edges[at] * scale
            low, high = _band(upto, estimates, measure, arm)
            lines.append(Line(name, x, upto[0], low, high, style=arm))
    zero = pooled[0] / pooled.sum()
    note = f"{zero:.0%} of all values are 0." if zero > 0.005 else ""
    what = "requests" if measure.table == "requests" else "connections"
    return Lines(
        title,
        label,
        f"share of {what}",
        lines,
        stepped=True,
        log_x=measure is not metrics.RWND,
        note=note,
    )


def tail(estimates: Estimates) -> Lines | None:
    """Draws the share of connections with a higher loss on logarithmic axes, which show outliers."""
    measure = metrics.LOSS
    counts = estimates.counted.strata.get(("rtt", measure.name))
    if counts is None or not counts.any():
        return None
    assert measure.buckets
    lines = []
    for arm, name in enumerate(estimates.plan.arms):
        own = counts[arm].sum(axis=(0, 1), dtype=np.float64)
        if not own.any():
            continue
        above = 1 - np.cumsum(own) / own.sum()
        there = np.flatnonzero((above > 0.5 / own.sum()) & (measure.buckets.edges >= _TAIL_FROM))
        there = there[:: max(len(there) // _POINTS, 1)]
        if len(there):
            x = np.asarray(measure.buckets.edges[there] * 100, dtype=np.float64)
            lines.append(Line(name, x, above[there].astype(np.float64), style=arm))
    title = "Share of connections with a higher loss"
    note = "Connections that lost more than 60 % count as outliers."
    return (
        Lines(title, "loss, %", "share of connections", lines, note=note, log_x=True, log_y=True)
        if lines
        else None
    )


def over(estimates: Estimates, metric: Metric) -> Lines | None:
    """Draws a metric over time, with its band; returns None if all data are from one time step."""
    plan = estimates.plan
    if metric.measure.name not in estimates.counted.times or plan.times < 2:
        return None
    unit, size = next(
        (unit, size)
        for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))
        if plan.step_us * plan.times / 1e6 >= 2 * size
    )
    step = plan.step_us / 1e6 / size
    x = np.asarray((np.arange(plan.times) + 0.5) * step, dtype=np.float64)
    found = estimates.over_time(metric) * metric.quantity.scale
    lines = []
    for arm, name in enumerate(plan.arms):
        spreads = [
            alone(each, estimates.clusters[metric.measure.table], arm) for each in found[arm]
        ]
        y = np.array([each.value for each in spreads])
        if np.isfinite(y).any():
            low, high = np.array([each.interval() for each in spreads]).T
            known = np.isfinite(low)
            lines.append(
                Line(
                    name,
                    x,
                    y,
                    np.where(known, np.maximum(low, 0), y),
                    np.where(known, high, y),
                    style=arm,
                )
            )
    if not lines:
        return None
    words = metric.quantity.words
    label = f"{unit} since {plan.start:%Y-%m-%d %H:%M} UTC" if plan.start else unit
    return Lines(words[0].upper() + words[1:], label, metric.quantity.unit, lines)


def times(estimates: Estimates) -> list[Lines]:
    """Draws all metrics that are counted over time."""
    wanted = {measure.name for measure in over_time(estimates.plan)}
    found = [over(estimates, metric) for metric in metrics.METRICS if metric.measure.name in wanted]
    return [each for each in found if each]


def by_rtt(estimates: Estimates, metric: Metric) -> Lines | None:
    """Draws a metric over the minimum RTT."""
    plan = estimates.plan
    if len(plan.rtt.middles) < 3:
        return None
    values: dict[str, list[tuple[float, float, float, float]]] = {}
    for label, there in estimates.by("rtt").items():
        number = plan.rtt.labels.index(label)
        each = next((one for one in there if one.metric is metric), None)
        if each is None or number >= len(plan.rtt.middles):
            continue
        for arm, name in enumerate(plan.arms):
            spread = alone(
                each.values[arm] * metric.quantity.scale, estimates.clusters["connections"], arm
            )
            if math.isfinite(spread.value):
                low, high = spread.interval()
                known = math.isfinite(low)
                values.setdefault(name, []).append(
                    (
                        plan.rtt.middles[number] * 1e3,
                        spread.value,
                        max(low, 0.0) if known else spread.value,
                        high if known else spread.value,
                    )
                )
    words = metric.quantity.words
    lines = []
    for name, rows in values.items():
        x, y, below, above = np.array(rows).T
        lines.append(Line(name, x, y, below, above, style=plan.arms.index(name)))
    title = f"{words[0].upper()}{words[1:]} by minimum RTT"
    return (
        Lines(title, "minimum RTT, ms", metric.quantity.unit, lines, log_x=True) if lines else None
    )


def densities(
    estimates: Estimates,
    found: Sequence[Hexagons],
    titles: Sequence[str],
    x: tuple[str, float],
    y: tuple[str, float],
) -> list[Block]:
    """Draws one density per arm, all with the same axes."""
    pictures = [each.middles() for each in found]
    used = [each for each in pictures if len(each[0])]
    if not used:
        return []
    moves = math.log10(x[1]), math.log10(y[1])
    reach = [
        edge
        for axis in (0, 1)
        for edge in _reach(
            np.concatenate([each[axis] for each in used]) + moves[axis],
            np.concatenate([each[2] for each in used]),
        )
    ]
    return [
        Density(
            title,
            x[0],
            y[0],
            (picture[0] + moves[0], picture[1] + moves[1]),
            picture[2],
            (WIDTH, HEIGHT),
            (reach[0], reach[1], reach[2], reach[3]),
        )
        for picture, title in zip(pictures, titles, strict=True)
        if len(picture[0])
    ]


def paths(estimates: Estimates) -> tuple[list[Block], list[tuple[str, str, str, float]], list[str]]:
    """Draws bandwidth over minimum RTT; returns figures, rows of a table of bands, and sentences."""
    plan, counted = estimates.plan, estimates.counted
    if not counted.near:
        return [], [], []
    distances = bands(_buckets(metrics.MIN_RTT), _pooled(estimates, metrics.MIN_RTT))
    rates = bands(_buckets(metrics.BANDWIDTH), _pooled(estimates, metrics.BANDWIDTH))
    pictures = densities(
        estimates,
        counted.near,
        [f"Minimum RTT and bandwidth, {arm}" for arm in plan.arms],
        ("minimum RTT, ms", 1e3),
        ("bandwidth, Mbit/s", 1e-6),
    )
    across = tuple(math.log10(band.middle * 1e-6) for band in rates)
    upright = tuple(math.log10(band.middle * 1e3) for band in distances)
    marked: list[Block] = []
    for each in pictures:
        assert isinstance(each, Density)
        marked.append(replace(each, across=across, upright=upright))
    rows = [
        (
            "distance",
            f"{short(band.middle * 1e3)} ms ({short(band.low * 1e3)} to {short(band.high * 1e3)})",
            f"up to {_round(band.middle * 1e3 * KM_A_MS):,} km of fiber",
            band.share,
        )
        for band in distances
    ]
    rows += [
        (
            "rate",
            f"{short(band.middle * 1e-6)} Mbit/s ({short(band.low * 1e-6)} to {short(band.high * 1e-6)})",
            "an access rate, or another common limit",
            band.share,
        )
        for band in rates
    ]
    return marked, rows, _envelopes(estimates)


def _envelopes(estimates: Estimates) -> list[str]:
    """Describes in a sentence how each arm's largest bandwidths depend on the RTT."""
    said = []
    for arm, near in zip(estimates.plan.arms, estimates.counted.near, strict=True):
        line = envelope(near)
        if line:
            window = (
                f", as expected if a window of {line.window_bytes / 1e6:.2g} MB is the limit"
                if line.low <= -1 <= line.high or abs(line.slope + 1) < 0.25
                else ", so no single window is the limit"
            )
            said.append(
                f"{arm}: among the connections with above-median minimum RTT, the 95th percentile of bandwidth varies "
                f"as RTT to the power {line.slope:.2f} ({line.low:.2f} to {line.high:.2f}){window}."
            )
    return said


def _round(value: float) -> int:
    digits = max(math.floor(math.log10(value)) - 1, 0) if value > 0 else 0
    return int(round(value, -digits))


def _pooled(estimates: Estimates, measure: Measure) -> Values:
    return np.asarray(
        estimates.counted.strata["rtt", measure.name].sum(axis=(0, 1, 2), dtype=np.float64)
    )


def _buckets(measure: Measure) -> Buckets:
    assert measure.buckets
    return measure.buckets


def _reach(values: Values, counts: Values) -> tuple[float, float]:
    """Returns the range that holds 99.9 % of the values, with a margin."""
    order = np.argsort(values)
    upto = np.cumsum(counts[order]) / counts.sum()
    low, high = (values[order][np.searchsorted(upto, share)] for share in (0.0005, 0.9995))
    return float(low) - 0.1, float(high) + 0.1


def _places(counts: Values) -> NDArray[np.int64]:
    """Returns at most _POINTS bucket edges that span nearly all values other than zero."""
    upto = np.cumsum(counts[1:]) / max(counts[1:].sum(), 1)
    first, last = (int(np.searchsorted(upto, share)) for share in (0.0005, 0.9999))
    last = min(last + 1, len(upto))
    return np.unique(np.linspace(first, last, min(_POINTS, last - first + 1)).astype(np.int64))


def _band(
    upto: Values, estimates: Estimates, measure: Measure, arm: int
) -> tuple[Values, Values] | tuple[None, None]:
    clusters = estimates.clusters[measure.table]
    spreads = [alone(upto[:, at], clusters, arm) for at in range(upto.shape[1])]
    if not math.isfinite(spreads[len(spreads) // 2].error):
        return None, None
    low, high = np.array([each.interval() for each in spreads]).T
    return np.clip(low, 0, 1), np.clip(high, 0, 1)
