"""Measures of how BBR probes for bandwidth; they need a trace, and leave out what is before `measure_from`.

A probe is a time without break in which the flow paces at more than its estimate: ProbeBW_UP of BBRv2 and v3, the
phase with a gain of 1.25 of BBRv1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fullpipe.reproduce.measures.queue import queue_delay

if TYPE_CHECKING:
    import polars as pl

    from fullpipe.reproduce.measures.run_view import RunView

PAYLOAD = 1448 / 1500
"""Of a packet at the bottleneck, what BBR's estimates count."""

_GAIN = 1.1
_PEAK_RTTMIN = 0.5


def up_peak_rttmin(run: RunView, flow: int) -> float:
    """The greatest queueing delay of each probe of the flow, in RTTmin; mean over its probes. NaN without one."""
    time, delay = queue_delay(run)
    peaks = [
        float(delay[(time >= begin) & (time <= end + run.scenario.rtt_s)].max())
        for begin, end in _probes(run, flow)
    ]
    return _mean(peaks)


def up_length_rttmin(run: RunView, flow: int) -> float:
    """How long a probe of the flow lasts, in RTTmin; mean over its probes. NaN without one."""
    return _mean([(end - begin) / run.scenario.rtt_s for begin, end in _probes(run, flow)])


def peaks_in_up(run: RunView, flow: int) -> float:
    """The share of the queue's humps whose greatest delay lies in a probe of the flow, 0 to 1. NaN without a hump.

    A hump is a time without break above 0.5 RTTmin; up to one RTTmin after the probe counts, too.
    """
    import numpy as np

    time, delay = queue_delay(run)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], delay > _PEAK_RTTMIN, [0])).astype(int)))
    tops = [
        time[begin + int(delay[begin:end].argmax())]
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
    ]
    probes = _probes(run, flow)
    return _mean(
        [
            float(any(begin <= top <= end + run.scenario.rtt_s for begin, end in probes))
            for top in tops
        ]
    )


def bw_overestimate(run: RunView, flow: int) -> float:
    """The flow's estimate of the bandwidth over what the bottleneck gives to payload, less 1.

    Mean over time.
    """
    return _max_bw(run, flow) / (run.scenario.rate_bps * PAYLOAD) - 1


def bw_sum_overestimate(run: RunView, _flow: int) -> float:
    """The sum of the flows' estimates of the bandwidth over what the bottleneck gives to payload, less 1.

    Mean over time.
    """
    whole = sum(_max_bw(run, flow) for flow in range(len(run.metrics["flows"])))
    return whole / (run.scenario.rate_bps * PAYLOAD) - 1


def _max_bw(run: RunView, flow: int) -> float:
    """The mean of the flow's estimate over time, in bit/s."""
    rows, cc = _rows(run, flow)
    return float(rows[f"{cc}.max_bw"].mean())  # type: ignore[arg-type]


def _probes(run: RunView, flow: int) -> list[tuple[float, float]]:
    """When each whole probe of the flow began and ended, in s."""
    import numpy as np

    rows, cc = _rows(run, flow)
    time = rows["time"].to_numpy()
    gain = rows[f"{cc}.pacing_gain"].to_numpy()
    edges = [int(edge) + 1 for edge in np.flatnonzero(np.diff((gain > _GAIN).astype(int)))]
    # one that had begun before is left out, and one that goes on
    first = 0 if edges and gain[edges[0]] > _GAIN else 1
    return [
        (float(time[begin]), float(time[end])) for begin, end in list(pairwise(edges[first:]))[::2]
    ]


def _rows(run: RunView, flow: int) -> tuple[pl.DataFrame, str]:
    """The flow's rows of the trace, and its algorithm."""
    import polars as pl

    one = run.metrics["flows"][flow]
    of_flow = (pl.col("flow") == one["name"]) & (pl.col("time") >= run.metrics["measure_from_s"])
    return run.trace().filter(of_flow), one["cc"]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


MEASURES = (up_peak_rttmin, up_length_rttmin, peaks_in_up, bw_overestimate, bw_sum_overestimate)
