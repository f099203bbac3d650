"""Measures of a flow's limits, above all those of the host, from the run's metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.study.reproduce.measures.run_view import known, share

if TYPE_CHECKING:
    from fullpipe.study.reproduce.measures.run_view import RunView


@share
def limited_by_cwnd(run: RunView, flow: int) -> float:
    """Share of time in which the congestion window limits the flow, in recovery or not, 0 to 1."""
    shares = run.metrics["flows"][flow]["limited_by"]
    return shares["cwnd"] + shares["recovery"]


@share
def limited_by_pacing(run: RunView, flow: int) -> float:
    """Share of time in which the pacing rate limits the flow, 0 to 1."""
    return run.metrics["flows"][flow]["limited_by"]["pacing"]


@share
def limited_by_host(run: RunView, flow: int) -> float:
    """Share of time in which the host limits the flow, 0 to 1."""
    return run.metrics["flows"][flow]["limited_by"]["host"]


def rtt_min_us(run: RunView, flow: int) -> float:
    """Minimum of the flow's RTT samples in µs. NaN without samples."""
    return known(run.metrics["flows"][flow]["rtt_s"]["min"], 1e6)


def rtt_p50_us(run: RunView, flow: int) -> float:
    """Median of the flow's RTT samples in µs. NaN without samples."""
    return known(run.metrics["flows"][flow]["rtt_s"]["p50"], 1e6)


def rtt_max_us(run: RunView, flow: int) -> float:
    """Maximum of the flow's RTT samples in µs. NaN without samples."""
    return known(run.metrics["flows"][flow]["rtt_s"]["max"], 1e6)


MEASURES = (limited_by_cwnd, limited_by_pacing, limited_by_host, rtt_min_us, rtt_p50_us, rtt_max_us)
