"""Measures of BBR's bandwidth probing; they need a trace, and exclude time before `measure_from`.

A probe is a contiguous period in which the flow paces faster than its estimate: ProbeBW_UP of BBRv2
and BBRv3, and the phase with a gain of 1.25 of BBRv1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fullpipe.study.reproduce.measures.queue import queue_delay
from fullpipe.study.reproduce.measures.run_view import share

if TYPE_CHECKING:
    import polars as pl

    from fullpipe.study.reproduce.measures.run_view import RunView

PAYLOAD = 1448 / 1500
"""Share of a packet at the bottleneck that BBR's estimates count."""

_GAIN = 1.1
_PEAK_RTTMIN = 0.5


def up_peak_rttmin(run: RunView, flow: int) -> float:
    """Maximum queueing delay in a probe of the flow, in RTTmin, mean over its probes. NaN without probes."""
    time, delay = queue_delay(run)
    peaks = [
        float(delay[(time >= begin) & (time <= end + run.scenario.rtt_s)].max())
        for begin, end in _probes(run, flow)
    ]
    return _mean(peaks)


def up_length_rttmin(run: RunView, flow: int) -> float:
    """Duration of a probe of the flow, in RTTmin, mean over its probes. NaN without probes."""
    return _mean([(end - begin) / run.scenario.rtt_s for begin, end in _probes(run, flow)])


@share
def peaks_in_up(run: RunView, flow: int) -> float:
    """Share of the queue's peaks that lie in a probe of the flow, 0 to 1. NaN without peaks.

    A peak is the maximum of a contiguous period above 0.5 RTTmin. A probe counts as one RTTmin longer.
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
    """Excess of the flow's bandwidth estimate over the bottleneck's payload rate, as a share of that rate.

    The value is estimate / payload rate - 1, with the mean of the estimate over time.
    """
    return _max_bw(run, flow) / (run.scenario.rate_bps * PAYLOAD) - 1


def bw_sum_overestimate(run: RunView, _flow: int) -> float:
    """Excess of the sum of the flows' bandwidth estimates over the bottleneck's payload rate, as a share of it.

    The value is sum / payload rate - 1, with the mean of each estimate over time.
    """
    whole = sum(_max_bw(run, flow) for flow in range(len(run.metrics["flows"])))
    return whole / (run.scenario.rate_bps * PAYLOAD) - 1


def _max_bw(run: RunView, flow: int) -> float:
    """Returns the mean over time of the flow's bandwidth estimate, in bit/s."""
    rows, cc = _rows(run, flow)
    return float(rows[f"{cc}.max_bw"].mean())  # type: ignore[arg-type]


def _probes(run: RunView, flow: int) -> list[tuple[float, float]]:
    """Returns the begin and end of each complete probe of the flow, in s."""
    import numpy as np

    rows, cc = _rows(run, flow)
    time = rows["time"].to_numpy()
    gain = rows[f"{cc}.pacing_gain"].to_numpy()
    edges = [int(edge) + 1 for edge in np.flatnonzero(np.diff((gain > _GAIN).astype(int)))]
    # probes that began before the first row or go on after the last one are left out
    first = 0 if edges and gain[edges[0]] > _GAIN else 1
    return [
        (float(time[begin]), float(time[end])) for begin, end in list(pairwise(edges[first:]))[::2]
    ]


def _rows(run: RunView, flow: int) -> tuple[pl.DataFrame, str]:
    """Returns the flow's rows of the trace, and its algorithm."""
    import polars as pl

    one = run.metrics["flows"][flow]
    of_flow = (pl.col("flow") == one["name"]) & (pl.col("time") >= run.metrics["measure_from_s"])
    return run.trace().filter(of_flow), one["cc"]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


MEASURES = (up_peak_rttmin, up_length_rttmin, peaks_in_up, bw_overestimate, bw_sum_overestimate)
