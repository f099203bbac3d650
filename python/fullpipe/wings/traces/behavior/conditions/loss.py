"""The losses of a flow: the end of slow start with the first of them, and their rate next to the model's."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.stats import student
from fullpipe.wings.traces.behavior.conditions.declare import Condition, Occasion
from fullpipe.wings.traces.behavior.observed import LacksError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fullpipe.wings.traces.behavior.observed import Observed, Values
    from fullpipe.wings.traces.behavior.rules import Rules

_STEPS = 4
"""Steps in the least RTT, in which growth and acknowledged data are compared."""
_LEAST, _PART = 16.0, 8
"""Growth is measured over this number of acknowledged segments, and this part of the window, at least."""
_SLACK = 2.0
_MOST_GROWTH = 0.75
"""Slow start adds all of the acknowledged data to the window, CUBIC at most half of them: its target is at most 1.5
windows in a round trip (RFC 9438 §4.2). Reno adds a segment."""
FACTOR = 2.0
"""Accepted losses as a multiple of the model's: a receiver that acknowledges every second packet lets two at once
into a full queue, where the model may send one."""
_ALL = 100.0
"""A bound from here on, in %, can't be missed."""
LEAST_RUNS = 2
"""An interval needs this number of runs of the model."""


def _end_of_slow_start(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    beta = rules.number("beta") if rules.has("beta") else 0.5
    step = float(trace.least_rtt[-1]) / _STEPS
    if trace.gap > 2 * step:
        raise LacksError("the trace has less than two rows in a round trip")
    every = [*trace.losses, None]
    for event, later in pairwise(every):
        if event is None:
            return
        rtt = trace.at(trace.rtt, event.begin)
        end = later.begin if later else trace.last
        times = np.arange(event.begin - rtt, end, step)
        cwnd, acked = _sampled(trace, "cwnd", times), _sampled(trace, "delivered", times)
        # A compliant sender has at most this threshold, and slow start below it, even after a timeout.
        threshold = beta * np.fmax.accumulate(cwnd)
        judged = (times[:-1] >= trace.recovered(event.alone)) & (cwnd[:-1] > threshold[:-1])
        found = _fastest(cwnd, acked, judged, trace.segment)
        if found is None:
            continue
        row, share, most = found
        yield Occasion(
            float(times[row]),
            share,
            (0.0, most),
            f"slow start has not ended with the loss at {event.begin:.2f} s: at {times[row]:.2f} s the window"
            f" grows by {share:.0%} of the acknowledged data",
        )


def _sampled(trace: Observed, name: str, times: Values) -> Values:
    """Returns the values of a column at the last row up to each time; NaN before the first one."""
    rows = np.searchsorted(trace.time, times, side="right") - 1
    values: Values = np.where(rows >= 0, trace.column(name)[rows], np.nan)
    return values


def _fastest(
    cwnd: Values, acked: Values, judged: NDArray[np.bool_], segment: float
) -> tuple[int, float, float] | None:
    """Returns the step at which the window grows most next to the acknowledged data, that share, and its bound.

    Only steps that are `judged` count, without a fall of the window between them. A window that grows by more than
    the acknowledged data is restored, after a loss that was none.
    """
    grown, new = np.diff(cwnd), np.diff(acked)
    usable = judged & (grown >= 0) & (new >= 0)
    stretch = np.concatenate([[0], np.cumsum(~usable)])
    total = np.concatenate([[0.0], np.cumsum(np.where(usable, np.minimum(grown, new), 0.0))])
    data = np.concatenate([[0.0], np.cumsum(np.where(usable, new, 0.0))])
    need = data + np.fmax(_LEAST * segment, cwnd / _PART)
    last = np.searchsorted(data, need, side="left")
    first = np.flatnonzero(last < len(data))
    first = first[stretch[last[first]] == stretch[first]]
    if not len(first):
        return None
    last = last[first]
    new_data = data[last] - data[first]
    share, most = (
        (total[last] - total[first]) / new_data,
        _MOST_GROWTH + _SLACK * segment / new_data,
    )
    worst = int(np.argmax(share - most))
    return int(first[worst]), float(share[worst]), float(most[worst])


def lost_packets(trace: Observed) -> Values:
    """Returns the number of lost packets up to each row.

    Raises:
        LacksError: When the trace counts no losses.
    """
    if trace.has("lost"):
        counted: Values = trace.column("lost") / trace.segment
        return counted
    name = "lost_packets" if trace.has("lost_packets") else "retransmits"
    return trace.column(name)


def _sent(trace: Observed) -> float:
    """Returns the number of packets of the trace: the acknowledged and the lost ones."""
    return float(trace.column("delivered")[-1]) / trace.segment + _total(trace)


def _total(trace: Observed) -> float:
    return float(np.nan_to_num(lost_packets(trace)[-1]))


def loss_rate(algorithm: str, runs: Sequence[Observed]) -> Condition:
    """Returns the condition that a trace loses at most a multiple of the losses of its model.

    Args:
        algorithm: The algorithm.
        runs: Runs of its model over the path of the trace, with different seeds.
    """

    def measure(trace: Observed, _: Rules) -> Iterator[Occasion]:
        if len(runs) < LEAST_RUNS:
            raise LacksError(
                f"the model has fewer than {LEAST_RUNS} runs, so its losses have no interval"
            )
        sent = _sent(trace)
        if sent <= 0:
            return
        most = 100 * (FACTOR * _upper(runs) + _pipe(runs) / trace.segment / sent)
        if most >= _ALL:
            raise LacksError(
                f"the trace has {sent:.0f} packets, and all may be lost: a full pipe of the model is"
                f" {_pipe(runs) / trace.segment:.0f}"
            )
        lost = 100 * np.nan_to_num(lost_packets(trace)) / sent
        beyond = np.flatnonzero(lost > most)
        row = int(beyond[0]) if len(beyond) else len(lost) - 1
        yield Occasion(float(trace.time[row]), float(lost[-1]), (0.0, most))

    return Condition(
        key="loss-rate",
        what="packets lost / packets sent",
        unit="%",
        rule="A flow loses at most twice as many of its packets as the model, and a full pipe once",
        sections={algorithm: "bound by the model's runs"},
        needs=("loss", "delivered"),
        occasions="packet that was acknowledged or lost",
        because="twice the upper end of the interval of 95 % for a further run of the model, since an ACK of two "
        "packets lets two into a full queue; and once the model's largest rate times its largest RTT, the losses of a "
        "slow start that only they end",
        measure=measure,
    )


def _upper(runs: Sequence[Observed]) -> float:
    """Returns the upper end of the prediction interval of the loss rate of a further run."""
    rates = [_total(each) / sent if (sent := _sent(each)) > 0 else 0.0 for each in runs]
    mean = sum(rates) / len(rates)
    _, high = student(rates)
    return mean + (high - mean) * math.sqrt(len(rates) + 1)


def _pipe(runs: Sequence[Observed]) -> float:
    """Returns the bytes that fit in the path with its queue, as far as the runs fill it: rate times RTT."""
    return max(float(each.most_bandwidth[-1]) * float(np.nanmax(each.rtt)) / 8 for each in runs)


CONDITIONS = (
    Condition(
        key="slow-start-end",
        what="growth of the window / data acknowledged, after a loss",
        unit="",
        rule="Slow start ends with the first loss",
        sections={
            "newreno": "RFC 5681 §3.1, RFC 9002 §7.3.1",
            "cubic": "RFC 9438 §4.10, RFC 9002 §7.3.1",
        },
        needs=("cwnd", "delivered", "loss", "rtt|srtt"),
        occasions="loss after which the window grows",
        because="all acknowledged data in slow start, at most half of them in CUBIC's congestion avoidance "
        "(RFC 9438 §4.2): three quarters, and two segments",
        measure=_end_of_slow_start,
    ),
)
