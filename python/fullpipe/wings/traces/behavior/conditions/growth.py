"""The growth of a window between losses: Reno's segment a round trip, CUBIC's curve, and slow start."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullpipe.wings.traces.behavior.conditions.declare import Condition, Occasion
from fullpipe.wings.traces.behavior.conditions.window import decreases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.wings.traces.behavior.observed import Observed, Values
    from fullpipe.wings.traces.behavior.rules import Rules

_ROUNDS = 8.0
"""The least number of round trips over which growth is measured."""
_POINTS = 12
_REACH = 0.06
_FULL, _FULL_ROWS = 0.95, 0.9
"""A flow with less of its window in flight, in less of the rows, is not limited by it, and need not grow."""
_ROOM = 3.0
"""Segments that may be missing: those of an ACK, before others are sent."""


def _reno(trace: Observed, _: Rules) -> Iterator[Occasion]:
    values = trace.column("cwnd" if trace.has("cwnd") else "inflight")
    for begin, end in trace.quiet():
        rows = trace.rows(begin, end - trace.at(trace.rtt, end))
        rounds = _rounds(trace, rows)
        if rounds < _ROUNDS or not _is_full(trace, rows):
            continue
        grown = (values[rows.stop - 1] - values[rows.start]) / trace.segment
        least, most = 0.85 - 2 / rounds, 1.15 + 2 / rounds
        yield Occasion(float(trace.time[rows.start]), float(grown / rounds), (least, most))


def _rounds(trace: Observed, rows: slice) -> float:
    """Returns the number of round trips of a part of a trace."""
    if rows.stop - rows.start < 3:
        return 0.0
    steps = np.diff(trace.time[rows])
    return float(np.sum(steps / trace.rtt[rows][1:]))


def _is_full(trace: Observed, rows: slice) -> bool:
    """Returns whether the window is the limit."""
    if not (trace.has("cwnd") and trace.has("inflight")):
        return True
    cwnd, inflight = trace.column("cwnd")[rows], trace.column("inflight")[rows]
    full = (inflight >= _FULL * cwnd) | (inflight >= cwnd - _ROOM * trace.segment)
    return float(np.mean(full)) >= _FULL_ROWS


def _cubic(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    beta, c = rules.number("beta"), rules.number("c")
    cwnd = trace.column("cwnd")
    fast = not rules.has("fast_convergence") or rules.flag("fast_convergence")
    for event, before, after, _ in decreases(trace):
        rtt = trace.at(trace.rtt, event.begin)
        later = [each.begin for each in trace.episodes if each.begin > event.end]
        begin, end = event.recovered, later[0] if later else trace.last
        rows = trace.rows(begin, end - rtt)
        if _rounds(trace, rows) < _ROUNDS or not _is_full(trace, rows):
            continue
        peaks = [before]
        if fast:  # a peak below the last one: RFC 9438 §4.7
            peaks.append(before * (1 + beta) / 2)
        # Linux keeps the slope of W_est also above cwnd_prior.
        prior = np.inf if rules.profile == "linux" else before
        epoch = _Epoch(begin, after, prior)
        curves = [_curve(trace, rows, epoch, peak, c, beta) for peak in peaks]
        at = np.linspace(rows.start, rows.stop - 1, _POINTS).astype(int) - rows.start
        windows = cwnd[rows][at]
        curve = min(
            (each[at] for each in curves), key=lambda each: np.abs(windows / each - 1).max()
        )
        errors = windows / curve - 1
        worst = int(np.argmax(np.abs(errors)))
        error, reach = float(errors[worst]), _REACH + 3 * trace.segment / after
        yield Occasion(
            float(trace.time[rows.start]),
            abs(error),
            (0.0, reach),
            f"CUBIC's window is {abs(error):.0%} {'above' if error > 0 else 'below'} its curve at"
            f" {trace.time[rows][at[worst]]:.2f} s, {windows[worst] / 1e3:.0f} instead of {curve[worst] / 1e3:.0f} kB;"
            f" judged between {begin:.2f} and {end:.2f} s",
        )


class _Epoch(NamedTuple):
    """The end of the last recovery before congestion avoidance, the window after it, and cwnd_prior, in bytes."""

    since: float
    after: float
    prior: float


def _curve(
    trace: Observed, rows: slice, epoch: _Epoch, peak: float, c: float, beta: float
) -> Values:
    """Returns the larger of W_cubic and W_est, in bytes (RFC 9438 §4.2 and §4.3)."""
    mss = trace.segment
    start, top = epoch.after / mss, max(peak, epoch.after) / mss
    k = np.cbrt((top - start) / c)
    times, rtts = trace.time[rows], trace.rtt[rows]
    # The target is that of a round trip later, and the window reaches it a round trip later.
    elapsed = times - epoch.since
    cubic = c * (elapsed - k) ** 3 + top
    alpha = 3 * (1 - beta) / (1 + beta)
    rounds = np.concatenate([[0.0], np.cumsum(np.diff(times) / rtts[1:])])
    rounds += max(float(elapsed[0] / rtts[0]), 0.0)
    reno = start + alpha * rounds
    # From cwnd_prior on, W_est grows as Reno's window does.
    prior = epoch.prior / mss
    reno = np.minimum(reno, prior) + np.maximum(reno - prior, 0.0) / alpha
    larger: Values = np.maximum(np.maximum(cubic, reno), start) * mss
    return larger


def _slow_start(trace: Observed, _: Rules) -> Iterator[Occasion]:
    cwnd, delivered = trace.column("cwnd"), trace.column("delivered")
    end = trace.losses[0].begin if trace.losses else trace.end
    rows = trace.rows(float(trace.time[0]), end)
    known = np.flatnonzero(np.isfinite(cwnd[rows]) & np.isfinite(delivered[rows])) + rows.start
    if len(known) < 3:
        return
    first = known[0]
    grown, acked = cwnd[known] - cwnd[first], delivered[known] - delivered[first]
    slack = 4 * trace.segment
    share = (grown - slack) / np.maximum(acked, trace.segment)
    worst = int(np.argmax(share))
    late = np.flatnonzero(share > 1.05)
    row = int(late[0]) if len(late) else worst
    yield Occasion(float(trace.time[known[row]]), float(share[row]), (float("-inf"), 1.05))


CONDITIONS = (
    Condition(
        key="reno-growth",
        what="growth in a round trip",
        unit="segments",
        rule="Reno adds one segment in a round trip",
        sections={"newreno": "RFC 5681 §3.1, congestion avoidance"},
        needs=("cwnd|inflight", "loss", "rtt|srtt"),
        occasions="time of eight round trips between losses in which the window is the limit",
        because="15 % for the RTT, which grows with the queue, and two segments",
        measure=_reno,
    ),
    Condition(
        key="cubic-curve",
        what="largest distance of the window from W_cubic or W_est",
        unit="",
        rule="CUBIC's window follows its curve, concave up to the last peak, then convex",
        sections={"cubic": "RFC 9438 §4.2, §4.3"},
        needs=("cwnd", "loss", "rtt|srtt"),
        occasions="time of eight round trips between losses in which the window is the limit",
        because="6 % for the start of the epoch, which a trace does not tell, and three segments",
        measure=_cubic,
    ),
    Condition(
        key="slow-start",
        what="growth of the window / data acknowledged, until the first loss",
        unit="",
        rule="Slow start adds at most the acknowledged data to the window",
        sections={"newreno": "RFC 5681 §3.1, equation 2", "cubic": "RFC 9438 §4.10"},
        needs=("cwnd", "delivered"),
        occasions="three samples before the first loss",
        because="5 %, and four segments",
        measure=_slow_start,
    ),
)
