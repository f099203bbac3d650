"""Handmade runs for tests of measures and verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from fullpipe.base.metrics import Distribution, FlowMetrics, LinkMetrics, Metrics

NO_DELAY: Distribution = {
    "min": None,
    "mean": None,
    "p50": None,
    "p95": None,
    "p99": None,
    "max": None,
}


@dataclass
class Path:
    """The part of a scenario that measures use."""

    rate_bps: int = 100_000_000
    rtt_s: float = 0.05


@dataclass
class Ran:
    """The part of a run that measures use."""

    metrics: Metrics
    scenario: Path = field(default_factory=Path)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)

    def trace(self, table: str = "flows") -> pl.DataFrame:
        """Returns a table passed to the constructor."""
        return self.tables[table]


def run_of(
    *goodputs_mbps: float, rtt_ms: float | None = 40.0, lost: int = 0, **tables: pl.DataFrame
) -> Ran:
    """Returns a run of flows with these goodputs on 100 Mbit/s and 50 ms; p99 of queueing delay is 40 ms."""
    flows: list[FlowMetrics] = [
        {
            "name": f"cubic-{number}",
            "cc": "cubic",
            "goodput_bps": goodput * 1e6,
            "max_min_share": None,
            "rtt_s": {**NO_DELAY, "mean": None if rtt_ms is None else rtt_ms / 1e3},
            "queue_delay_s": NO_DELAY,
            "sent": 100,
            "retransmits": lost,
            "loss_fraction": 0.0,
            "drops": lost,
            "marks": 0,
            "ack_drops": 0,
            "completion_s": None,
            "responses": 0,
            "response_s": NO_DELAY,
            "frames": 0,
            "lost_frames": 0,
            "frame_delay_s": NO_DELAY,
            "limited_by": {},
        }
        for number, goodput in enumerate(goodputs_mbps, 1)
    ]
    link: LinkMetrics = {
        "name": "bottleneck",
        "utilization": 0.9,
        "queue_delay_s": {
            "min": 0.0,
            "mean": 0.01,
            "p50": 0.005,
            "p95": 0.03,
            "p99": 0.04,
            "max": 0.05,
        },
        "queue_within_1_rtt": 0.6,
        "queue_within_2_rtts": 0.9,
        "drops": lost,
        "losses": 1,
        "policed": 0,
        "duplicates": 0,
        "marks": 0,
        "packets": 100,
        "acks": 0,
        "ack_drops": 0,
        "acks_filtered": 0,
    }
    metrics: Metrics = {
        "version": "0",
        "runner": "sim",
        "host": {},
        "warnings": [],
        "seed": 1,
        "duration_s": 30.0,
        "measure_from_s": 0.0,
        "flows": flows,
        "links": [link],
        "jain": 1.0,
        "packets": 100,
        "events": 100,
        "trace_hash": None,
    }
    return Ran(metrics, tables=tables)
