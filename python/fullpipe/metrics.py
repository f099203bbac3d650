"""The types of a run's metrics, in SI units. The values come from Rust; `docs/metrics.md` has a formula for each."""

from typing import TypedDict


class Quantiles(TypedDict):
    """The distribution of a delay, in seconds; all None when there was no sample."""

    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


class RttQuantiles(Quantiles):
    """The distribution of the RTT samples, in seconds."""

    min: float | None


class FlowMetrics(TypedDict):
    """What became of one flow.

    `completion_s` is the time from its SYN to its last byte, None unless it was a transfer that ended; `limited_by`
    the share of time (0 to 1) during which each limit held; `loss_fraction` retransmitted / sent data packets.
    """

    name: str
    cc: str
    goodput_bps: float
    rtt_s: RttQuantiles
    queue_delay_s: Quantiles
    retransmits: int
    loss_fraction: float
    completion_s: float | None
    limited_by: dict[str, float]


class LinkMetrics(TypedDict):
    """What became of one link; `utilisation` is a share (0 to 1), `drops` and `marks` count packets."""

    name: str
    utilisation: float
    queue_delay_s: Quantiles
    drops: int
    marks: int


class Metrics(TypedDict):
    """A run's metrics.

    `jain` is Jain's index of the flows' goodputs, `packets` the data packets that left the bottleneck, `events` those
    that the simulator handled.
    """

    seed: int
    duration_s: float
    flows: list[FlowMetrics]
    links: list[LinkMetrics]
    jain: float | None
    packets: int
    events: int
