"""Numbers of a flow that most captures have: of its data in flight, delivery rate, RTT, and losses.

Times are in RTTs, except where an algorithm has a clock of its own; sizes are relative to the flow's
median or BDP. An absent number is -1, which no feature has otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fullpipe.wings.traces.behavior.observed import LacksError

if TYPE_CHECKING:
    from fullpipe.wings.traces.behavior.observed import Event, Observed, Values

FEATURES = (
    "losses",
    "backoff",
    "backoff_spread",
    "first_backoff",
    "growth",
    "growth_spread",
    "early_growth",
    "late_growth",
    "middle",
    "linear_error",
    "epoch_per_k",
    "epoch_rtts",
    "falls_without_loss",
    "dips",
    "dip_interval_s",
    "dip_depth",
    "dip_duration_s",
    "period_rtts",
    "period_power",
    "fast_power",
    "slow_power",
    "start_growth",
    "start_peak",
    "start_drop",
    "low",
    "high",
    "spread",
    "rate_low",
    "rate_spread",
    "delay_median",
    "delay_high",
    "delay_low",
    "delay_of_flight",
    "flight_bdp",
)
"""Names of the numbers, in their order."""
LEAST_S = 8.0
"""The shortest trace that shows an algorithm's habits."""
_ABSENT = -1.0
_LOW = 0.6
_EPOCH_RTTS = 8


def features(trace: Observed) -> Values:
    """Returns the numbers of a flow, shape (features,).

    Raises:
        LacksError: When the trace is too short, or has no data in flight, delivered data or RTT.
    """
    if trace.end - float(trace.time[0]) < LEAST_S:
        raise LacksError(f"the trace is shorter than {LEAST_S:g} s")
    for name in ("inflight", "delivered"):
        trace.column(name)
    found = dict.fromkeys(FEATURES, _ABSENT)
    grid = _Grid(trace)
    _of_losses(trace, grid, found)
    _of_dips(grid, found)
    _of_periods(grid, found)
    _of_start(grid, found)
    _of_levels(grid, found)
    values = np.array([found[name] for name in FEATURES])
    finite: Values = np.nan_to_num(values, nan=_ABSENT, posinf=1e3, neginf=_ABSENT)
    return finite


class _Grid:
    """The flow at equal steps of about an RTT: medians of the data in flight and the RTT, and rates."""

    def __init__(self, trace: Observed) -> None:
        _, rtts = trace.samples("rtt" if trace.has("rtt") else "srtt")
        self.base = float(np.quantile(rtts, 0.01))
        inflight = trace.column("inflight")
        begin = float(trace.time[np.flatnonzero(inflight > 0)[0]]) if (inflight > 0).any() else 0.0
        self.begin = begin
        self.step = max(self.base, 2 * trace.gap)
        edges = np.arange(begin, trace.end, self.step)
        if len(edges) < 20:
            raise LacksError("the trace has less than 20 round trips")
        self.time = edges[:-1] + self.step / 2
        self.flight = _medians(trace.time, inflight, edges)
        self.rtt = _medians(trace.time, trace.rtt, edges)
        delivered = trace.column("delivered")
        known = np.isfinite(delivered)
        self.rate = 8 * np.diff(np.interp(edges, trace.time[known], delivered[known])) / self.step
        self.segment = trace.segment
        self.peak_rate = float(np.quantile(self.rate, 0.98))
        self.bdp = max(self.peak_rate * self.base / 8, 2 * trace.segment)
        # The habits of an algorithm show after its start.
        self.steady = max(int(len(self.time) / 5), 5)
        later = self.flight[self.steady :]
        self.median = max(float(np.median(later)), trace.segment)


def _medians(time: Values, values: Values, edges: Values) -> Values:
    number = np.clip(np.searchsorted(edges, time, side="right") - 1, -1, len(edges) - 2)
    found = np.full(len(edges) - 1, np.nan)
    known = np.isfinite(values) & (number >= 0)
    order = np.argsort(number[known], kind="stable")
    sorted_number, sorted_values = number[known][order], values[known][order]
    cuts = np.flatnonzero(np.diff(sorted_number)) + 1
    for group, which in zip(
        np.split(sorted_values, cuts),
        sorted_number[np.r_[0, cuts]] if len(cuts) or len(order) else [],
        strict=False,
    ):
        found[which] = np.median(group)
    filled = np.isfinite(found)
    if filled.any():
        at = np.arange(len(found))
        found = np.interp(at, at[filled], found[filled])
    return found


def _of_losses(trace: Observed, grid: _Grid, found: dict[str, float]) -> None:
    events = [each for each in trace.losses if each.begin > grid.begin]
    rtts = (trace.end - grid.begin) / float(np.median(grid.rtt))
    found["losses"] = float(np.log1p(100 * len(events) / rtts))
    backoffs, growths, early, late, middles, errors, per_k, lengths = ([] for _ in range(8))
    for number, event in enumerate(events):
        end = events[number + 1].begin if number + 1 < len(events) else trace.end
        before, after = _around(grid, event)
        if before > 4 * grid.segment:
            if number:
                backoffs.append(after / before)
            else:  # that of slow start, whose window was larger than the last one without loss
                found["first_backoff"] = after / before
        rtt = float(np.interp(event.end, grid.time, grid.rtt))
        inside = (grid.time > event.end + 2.5 * rtt) & (grid.time < end - grid.step)
        if (end - event.end) / rtt < _EPOCH_RTTS or inside.sum() < 6:
            continue
        flight, time, rtts_inside = grid.flight[inside], grid.time[inside], grid.rtt[inside]
        rounds = np.cumsum(np.full(len(time), grid.step) / rtts_inside)
        grown = (flight[-1] - flight[0]) / grid.segment
        growths.append(grown / rounds[-1])
        third = max(len(flight) // 3, 2)
        span = flight[-1] - flight[0]
        if span > 2 * grid.segment:
            early.append((flight[third] - flight[0]) / span)
            late.append((flight[-1] - flight[-third]) / span)
            middles.append((flight[len(flight) // 2] - flight[0]) / span)
            line = flight[0] + span * (rounds - rounds[0]) / max(rounds[-1] - rounds[0], 1e-9)
            errors.append(float(np.abs(flight - line).mean() / span))
        if number + 1 < len(events):
            lengths.append((end - event.end) / rtt)
            k = np.cbrt(max(before - after, grid.segment) / grid.segment / 0.4)
            per_k.append((end - event.end) / k)
    for name, values in (
        ("backoff", backoffs),
        ("growth", growths),
        ("early_growth", early),
        ("late_growth", late),
        ("middle", middles),
        ("linear_error", errors),
        ("epoch_per_k", per_k),
        ("epoch_rtts", lengths),
    ):
        if values:
            found[name] = float(np.median(values))
    if len(backoffs) > 1:
        found["backoff_spread"] = float(np.std(backoffs))
    if len(growths) > 1:
        found["growth_spread"] = float(np.std(growths))
    near = np.zeros(len(grid.time), dtype=bool)
    for event in events:
        near |= (grid.time > event.begin - 2 * grid.step) & (grid.time < event.end + 4 * grid.step)
    falls = grid.flight[1:] < 0.8 * grid.flight[:-1]
    falls &= ~near[1:]
    found["falls_without_loss"] = float(np.log1p(100 * falls[grid.steady :].sum() / rtts))


def _around(grid: _Grid, event: Event) -> tuple[float, float]:
    """Returns the data in flight before losses, and when they are repaired."""
    rtt = float(np.interp(event.begin, grid.time, grid.rtt))
    earlier = grid.flight[(grid.time > event.begin - 3 * rtt) & (grid.time < event.begin)]
    later = grid.flight[(grid.time > event.end + 1.5 * rtt) & (grid.time < event.end + 4 * rtt)]
    before = float(earlier.max()) if len(earlier) else 0.0
    return before, float(np.median(later)) if len(later) else before


def _of_dips(grid: _Grid, found: dict[str, float]) -> None:
    flight, time = grid.flight[grid.steady :], grid.time[grid.steady :]
    low = np.concatenate([[False], flight < _LOW * grid.median, [False]])
    edges = np.flatnonzero(np.diff(low.astype(int)))
    begins, ends = edges[::2], edges[1::2]
    found["dips"] = float(np.log1p(60 * len(begins) / (time[-1] - time[0])))
    if not len(begins):
        return
    found["dip_depth"] = float(
        np.median([flight[a:b].min() / grid.median for a, b in zip(begins, ends, strict=True)])
    )
    found["dip_duration_s"] = float(np.median((ends - begins) * grid.step))
    if len(begins) > 1:
        found["dip_interval_s"] = float(np.median(np.diff(time[begins])))


def _of_periods(grid: _Grid, found: dict[str, float]) -> None:
    flight = grid.flight[grid.steady :] / grid.median
    change = np.clip(flight, 0.3, 2.0)
    change = change - change.mean()
    power = np.abs(np.fft.rfft(change * np.hanning(len(change)))) ** 2
    total = float(power[1:].sum())
    if total <= 1e-9 or len(power) < 4:
        found["period_power"] = 0.0
        return
    period = len(change) * grid.step / grid.base / np.arange(1, len(power))
    best = int(np.argmax(power[1:]))
    found["period_rtts"] = float(np.log(period[best]))
    found["period_power"] = float(power[1:][best] / total)
    found["fast_power"] = float(power[1:][(period > 5) & (period < 11)].sum() / total)
    found["slow_power"] = float(power[1:][period > 60].sum() / total)


def _of_start(grid: _Grid, found: dict[str, float]) -> None:
    first = grid.flight[: max(grid.steady, 12)]
    top = int(np.argmax(first))
    peak = float(first[top])
    found["start_peak"] = peak / grid.bdp
    rise = np.flatnonzero(first >= 0.5 * peak)
    if len(rise) and rise[0] > 0 and first[0] > 0:
        found["start_growth"] = float(np.log2(first[rise[0]] / first[0]) / rise[0])
    after = first[top : top + 8]
    found["start_drop"] = float(after.min() / peak) if peak > 0 and len(after) > 1 else _ABSENT


def _of_levels(grid: _Grid, found: dict[str, float]) -> None:
    flight, rtt = grid.flight[grid.steady :], grid.rtt[grid.steady :]
    rate = grid.rate[grid.steady :]
    low, high = np.quantile(flight, [0.05, 0.95])
    found["low"], found["high"] = float(low / grid.median), float(high / grid.median)
    found["spread"] = float(flight.std() / grid.median)
    found["flight_bdp"] = float(grid.median / grid.bdp)
    found["rate_low"] = float(np.quantile(rate, 0.05) / max(grid.peak_rate, 1.0))
    found["rate_spread"] = float(rate.std() / max(float(rate.mean()), 1.0))
    delay = rtt / grid.base
    found["delay_median"] = float(np.median(delay))
    found["delay_high"] = float(np.quantile(delay, 0.95))
    found["delay_low"] = float(np.mean(delay < 1.1))
    if flight.std() > 0 and rtt.std() > 0:
        found["delay_of_flight"] = float(np.corrcoef(flight, rtt)[0, 1])
