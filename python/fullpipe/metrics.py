"""The types of a run's metrics, in SI units. The values come from Rust; `docs/metrics.md` has a formula for each."""

from typing import NotRequired, TypedDict


class Distribution(TypedDict):
    """A distribution of delays, in seconds; all None when there was no sample."""

    min: float | None
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


class FlowMetrics(TypedDict):
    """What became of one flow.

    `sent`, `retransmits`, `drops` and `marks` count data packets, `ack_drops` ACKs, `loss_fraction`
    is retransmits / sent, `completion_s` the time from the SYN to the last byte (None for a flow
    that did not end), `responses` the answers that its client got, `response_s` the times from
    request to last byte, `limited_by` the share of time, 0 to 1, that each limit held.
    """

    name: str
    cc: str
    goodput_bps: float
    rtt_s: Distribution
    queue_delay_s: Distribution
    sent: int
    retransmits: int
    loss_fraction: float
    drops: int
    marks: int
    ack_drops: int
    completion_s: float | None
    responses: int
    response_s: Distribution
    limited_by: dict[str, float]


class SlowdownMetrics(TypedDict):
    """Slowdowns of `count` flows: completion time over that alone on the path."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float


class DecadeMetrics(TypedDict):
    """Flows from `from_bytes` up to ten times that: those complete, by SRPT and by processor sharing; None without one.

    `unfinished` were under way at the end and are in none of the others.
    """

    from_bytes: int
    unfinished: int
    flows: SlowdownMetrics | None
    srpt: SlowdownMetrics | None
    ps: SlowdownMetrics | None


class SlowdownsMetrics(TypedDict):
    """Of all flows of a workload, and by decade of their sizes, the smallest first."""

    all: DecadeMetrics | None
    decades: list[DecadeMetrics]


class WorkloadMetrics(TypedDict):
    """What became of the flows that arrived of one workload, all together.

    `arrived` counts flows, `refused` those of them that found too many under way, `completed` those
    whose last byte came, `unfinished` those under way at the end, `completed_bytes` what the
    completed ones carried and `completion_s` the times that they took, from SYN to last byte.
    `concurrent` is how many were under way in the mean over time, `most_concurrent` the most. The
    rest is as of one flow, of all of them.
    """

    name: str
    cc: str
    goodput_bps: float
    arrived: int
    refused: int
    completed: int
    unfinished: int
    completed_bytes: int
    completion_s: Distribution
    slowdown: SlowdownsMetrics
    concurrent: float
    most_concurrent: int
    rtt_s: Distribution
    queue_delay_s: Distribution
    sent: int
    retransmits: int
    loss_fraction: float
    drops: int
    marks: int
    ack_drops: int
    limited_by: dict[str, float]


class LinkMetrics(TypedDict):
    """What became of one link.

    `utilisation` is a share, 0 to 1, as are `queue_within_1_rtt` and `queue_within_2_rtts`, of the
    time in which the queueing delay is one RTT of the path at most, or two (None of no time);
    `drops` (of the queue), `losses` (by chance), `policed` (dropped by the policer), `duplicates`
    (copies made on the way) and `marks` count data packets, `packets` those that left it in the
    whole run. `acks` counts the ACKs that left it in the whole run, `ack_drops` those that it
    dropped or lost, `acks_filtered` those that waited in its queue and were replaced.
    """

    name: str
    utilisation: float
    queue_delay_s: Distribution
    queue_within_1_rtt: float | None
    queue_within_2_rtts: float | None
    drops: int
    losses: int
    policed: int
    duplicates: int
    marks: int
    packets: int
    acks: int
    ack_drops: int
    acks_filtered: int


class Metrics(TypedDict):
    """A run's metrics.

    `runner` is what it was run on, `host` what that says of the machine, in words by name,
    `warnings` what spoils the run, a sentence each; a simulation has neither facts of a host nor
    warnings.

    What was before `measure_from_s` does not count; `jain` is Jain's index of the responsive flows'
    goodputs (None without any), `packets` the data packets that left the bottleneck in the whole
    run, `events` the simulator's steps, `trace_hash` the trace's fingerprint, 16 hexadecimal digits
    (None without a trace). `workloads` is there where flows arrive.
    """

    version: str
    runner: str
    host: dict[str, str]
    warnings: list[str]
    seed: int
    duration_s: float
    measure_from_s: float
    flows: list[FlowMetrics]
    workloads: NotRequired[list[WorkloadMetrics]]
    links: list[LinkMetrics]
    jain: float | None
    packets: int
    events: int
    trace_hash: str | None


def decade_text(from_bytes: int) -> str:
    """The sizes from there up to ten times that: "1 to 10 kB"."""
    least, unit = _whole(from_bytes)
    most, most_unit = _whole(10 * from_bytes)
    return (
        f"{least} to {most} {unit}"
        if unit == most_unit
        else f"{least} {unit} to {most} {most_unit}"
    )


def _whole(size: int) -> tuple[int, str]:
    power = min((len(str(size)) - 1) // 3, 4)
    return size // 1000**power, ("B", "kB", "MB", "GB", "TB")[power]
