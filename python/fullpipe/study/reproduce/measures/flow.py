"""Measures of one flow, from the run's metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.study.reproduce.measures.run_view import known, share

if TYPE_CHECKING:
    from fullpipe.base.metrics import FlowMetrics
    from fullpipe.study.reproduce.measures.run_view import RunView


def goodput_mbps(run: RunView, flow: int) -> float:
    """Goodput in Mbit/s from the flow's SYN to its last byte, or to the end of the run."""
    return _flow(run, flow)["goodput_bps"] / 1e6


@share
def goodput_share(run: RunView, flow: int) -> float:
    """Goodput of the flow divided by the sum of all flows' goodputs, 0 to 1. NaN if all are zero."""
    whole = sum(each["goodput_bps"] for each in run.metrics["flows"])
    return _flow(run, flow)["goodput_bps"] / whole if whole else float("nan")


def goodput_ratio(run: RunView, flow: int) -> float:
    """Goodput of the flow divided by the mean goodput of the others. Infinite if theirs is zero, NaN without others."""
    others = [
        each["goodput_bps"] for number, each in enumerate(run.metrics["flows"]) if number != flow
    ]
    if not others:
        return float("nan")
    return (
        _flow(run, flow)["goodput_bps"] * len(others) / sum(others) if sum(others) else float("inf")
    )


def rtt_mean_ms(run: RunView, flow: int) -> float:
    """Mean of the flow's RTT samples in ms, delayed-ACK time included. NaN without samples."""
    return known(_flow(run, flow)["rtt_s"]["mean"], 1e3)


def rtt_p50_ms(run: RunView, flow: int) -> float:
    """Median of the flow's RTT samples in ms. NaN without samples."""
    return known(_flow(run, flow)["rtt_s"]["p50"], 1e3)


def rtt_p95_ms(run: RunView, flow: int) -> float:
    """95th percentile of the flow's RTT samples in ms. NaN without samples."""
    return known(_flow(run, flow)["rtt_s"]["p95"], 1e3)


def rtt_p99_ms(run: RunView, flow: int) -> float:
    """99th percentile of the flow's RTT samples in ms. NaN without samples."""
    return known(_flow(run, flow)["rtt_s"]["p99"], 1e3)


def retransmits(run: RunView, flow: int) -> float:
    """Data packets that the flow retransmitted."""
    return float(_flow(run, flow)["retransmits"])


def _flow(run: RunView, flow: int) -> FlowMetrics:
    return run.metrics["flows"][flow]


MEASURES = (
    goodput_mbps,
    goodput_share,
    goodput_ratio,
    rtt_mean_ms,
    rtt_p50_ms,
    rtt_p95_ms,
    rtt_p99_ms,
    retransmits,
)
