"""Measures of the bottleneck, from the run's metrics. RTTmin is the path's two-way delay without queueing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.study.reproduce.measures.run_view import known, share

if TYPE_CHECKING:
    from fullpipe.base.metrics import LinkMetrics
    from fullpipe.study.reproduce.measures.run_view import RunView


def packets_lost(run: RunView, _flow: int) -> float:
    """Data packets of all flows dropped by queues or policers, or lost randomly."""
    return float(sum(lost(link) for link in run.metrics["links"]))


def lost(link: LinkMetrics) -> int:
    """Returns the number of data packets that a link lost, for any reason."""
    return link["drops"] + link["losses"] + link["policed"]


@share
def utilization(run: RunView, _flow: int) -> float:
    """Share of time in which the bottleneck was sending, 0 to 1."""
    return _bottleneck(run)["utilization"]


def queue_mean_rttmin(run: RunView, _flow: int) -> float:
    """Mean over time of the queueing delay at the bottleneck, in RTTmin."""
    return known(_bottleneck(run)["queue_delay_s"]["mean"], 1 / run.scenario.rtt_s)


def queue_p50_rttmin(run: RunView, _flow: int) -> float:
    """Median over time of the queueing delay at the bottleneck, in RTTmin."""
    return known(_bottleneck(run)["queue_delay_s"]["p50"], 1 / run.scenario.rtt_s)


def queue_p95_rttmin(run: RunView, _flow: int) -> float:
    """95th percentile over time of the queueing delay at the bottleneck, in RTTmin."""
    return known(_bottleneck(run)["queue_delay_s"]["p95"], 1 / run.scenario.rtt_s)


def queue_p99_rttmin(run: RunView, _flow: int) -> float:
    """99th percentile over time of the queueing delay at the bottleneck, in RTTmin."""
    return known(_bottleneck(run)["queue_delay_s"]["p99"], 1 / run.scenario.rtt_s)


def queue_max_rttmin(run: RunView, _flow: int) -> float:
    """Maximum queueing delay at the bottleneck, in RTTmin."""
    return known(_bottleneck(run)["queue_delay_s"]["max"], 1 / run.scenario.rtt_s)


@share
def queue_above_rttmin(run: RunView, _flow: int) -> float:
    """Share of time in which the queueing delay at the bottleneck exceeds one RTTmin, 0 to 1."""
    return 1 - known(_bottleneck(run)["queue_within_1_rtt"])


@share
def queue_within_2_rttmin(run: RunView, _flow: int) -> float:
    """Share of time in which the queueing delay at the bottleneck is at most two RTTmin, 0 to 1."""
    return known(_bottleneck(run)["queue_within_2_rtts"])


def _bottleneck(run: RunView) -> LinkMetrics:
    return run.metrics["links"][0]


MEASURES = (
    packets_lost,
    utilization,
    queue_mean_rttmin,
    queue_p50_rttmin,
    queue_p95_rttmin,
    queue_p99_rttmin,
    queue_max_rttmin,
    queue_above_rttmin,
    queue_within_2_rttmin,
)
