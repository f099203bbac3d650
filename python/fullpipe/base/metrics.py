"""Types of a run's metrics, in SI units. The values come from Rust; `docs/reference/metrics.md` has their formulas."""

from typing import Literal, NotRequired, TypedDict


class Distribution(TypedDict):
    """A distribution of delays, in seconds; all None when there was no sample."""

    min: float | None
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


UNTOLD = frozenset(
    {
        *("goodput_bps", "sent", "retransmits", "loss_fraction", "drops", "marks", "ack_drops"),
        *("responses", "frames", "lost_frames", "packets", "events"),
    }
)
"""Numbers of a run and its flows that measurements of other programs can lack: None stands for them."""


class SlowdownMetrics(TypedDict):
    """Slowdowns of `count` flows: completion time divided by the completion time alone on the path."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float


class DecadeMetrics(TypedDict):
    """Slowdowns of flows with `from_bytes` up to ten times as many bytes; None where no flow has completed.

    `flows` is measured; `srpt` and `ps` are those of the ideal servers SRPT and processor sharing. `unfinished` flows
    had not completed at the end and count in none of the three.
    """

    from_bytes: int
    unfinished: int
    flows: SlowdownMetrics | None
    srpt: SlowdownMetrics | None
    ps: SlowdownMetrics | None


class SlowdownsMetrics(TypedDict):
    """Slowdowns of all flows of a workload, and by decade of their sizes, the smallest first."""

    all: DecadeMetrics | None
    decades: list[DecadeMetrics]


class DriftMetrics(TypedDict):
    """The course of a number within the measured window."""

    first: float
    """Mean of the first third of the window."""
    last: float
    """Mean of the last third."""
    tau: float
    """Kendall's tau of twelve batch means and time."""
    warm_up_s: NotRequired[float]
    """End of the warm-up by MSER, if it is after `measure_from`."""
    settled: NotRequired[float]
    """Mean from that time on."""


class FlowDriftMetrics(TypedDict, total=False):
    """The courses of a flow's numbers; a number that is not tested has none."""

    goodput_bps: DriftMetrics
    rtt_s: DriftMetrics
    queue_delay_s: DriftMetrics
    loss_fraction: DriftMetrics


class WorkloadDriftMetrics(TypedDict, total=False):
    """The courses of a workload's numbers; a number that is not tested has none."""

    concurrent: DriftMetrics


class LinkDriftMetrics(TypedDict, total=False):
    """The courses of a link's numbers; a number that is not tested has none."""

    utilization: DriftMetrics
    queue_delay_s: DriftMetrics


class DriftingMetrics(TypedDict):
    """A number that drifts."""

    of: Literal["flow", "workload", "link"]
    name: str
    """Name of the flow, workload or link."""
    metric: str
    test: Literal["trend", "warm-up"]
    """The test that found it."""


class SteadinessMetrics(TypedDict):
    """Whether the numbers of a run are steady within the measured window."""

    verdict: Literal["steady", "drifts", "changes", "untested"]
    changes: str
    """Changes on purpose within the tested part of the window, in clauses; empty without one."""
    tested_until_s: NotRequired[float]
    """The end of the tested part of the window, if arrivals stop before the end of the run."""
    drifting: list[DriftingMetrics]


def decade_text(from_bytes: int) -> str:
    """Returns the range from `from_bytes` to ten times as much: "1 to 10 kB"."""
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


# The rest is written by tests/python/docs/test_metrics.py from the rows in crates/trace/src/metrics.rs.


class FlowMetrics(TypedDict):
    """The metrics of one flow."""

    name: str
    """Name of the flow in the scenario."""
    cc: str
    """Congestion-control algorithm, as named in the scenario. A program that uses TCP has the one
    that the kernel used for the largest connection; another one its parameter `cc`, or UDP.
    """
    goodput_bps: float
    """8 · (bytes delivered in order to the application within the window) / (min(end, last byte) −
    max(start, `measure_from`)), rounded to whole bit/s. `start` is the time at which the SYN
    leaves, including start jitter; *last byte* is the arrival of a transfer's last byte at the
    receiver. Zero for a transfer that was complete before `measure_from`. With `cc = "none"` and
    `transport = "datagram"`, all payload bytes that arrive count, in whichever order.
    """
    max_min_share: float | None
    """`goodput_bps` divided by the flow's max-min fair rate while it was active. That rate assumes
    the mean rate of each link, caps each flow's demand at its application's rate, and serves
    unresponsive flows first. 1 is fair. None for an unresponsive flow, for a flow that was never
    active or has a fair rate of zero, and if demands or link rates do not follow from the
    scenario alone.
    """
    rtt_s: Distribution
    """Round-trip times measured by the sender, one sample for each ACK that yields one; see **RTT**
    below.
    """
    queue_delay_s: Distribution
    """Queueing delay of each packet that reached the receiver, retransmissions and duplicates
    included: the sum over all links of (first bit sent − arrival at the queue). The packet's own
    transmission time is not included. Dropped packets give no sample.
    """
    sent: int
    """Data packets that left the sender, including retransmissions and loss probes, excluding SYNs."""
    retransmits: int
    """Data packets in `sent` that had been sent before, whether or not the retransmission was
    necessary.
    """
    loss_fraction: float
    """`retransmits` / `sent`; 0 if nothing was sent. This is the loss rate as the sender sees it,
    the usual one in TCP statistics. With `transport = "datagram"`, which has no retransmissions,
    it is the number of packets that the sender declared lost / `sent`.
    """
    drops: int
    """The flow's data packets that were dropped by a queue or a policer, or lost randomly: the loss
    that happened in the network.
    """
    marks: int
    """The flow's data packets that a queue marked CE, counted when they leave the queue."""
    ack_drops: int
    """The flow's ACKs that were lost on the way back: dropped by the queue or the policer of a link
    on its `reverse_route`, or lost randomly, on such a link or before it (`path.reverse_loss`).
    """
    completion_s: float | None
    """Flow completion time over the whole run: arrival of the last byte at the receiver − departure
    of the first SYN. None for a flow that did not complete.
    """
    responses: int
    """Responses whose last byte arrived within the window, for a flow whose application sends
    requests; 0 for other flows.
    """
    response_s: Distribution
    """Response time of each response in `responses`: arrival of its last byte at the receiver −
    request. The SYN counts as the first request. The client's think time is not included.
    """
    frames: int
    """Frames whose last byte arrived within the window, for a flow whose application is a media
    source; 0 for other flows.
    """
    lost_frames: int
    """Frames that the encoder handed over within the window and that were not complete at the end of
    the run: some of their packets were lost, discarded by the sender, or still on the way.
    """
    frame_delay_s: Distribution
    """Frame delay of each frame in `frames`: arrival of its last byte at the receiver − the time at
    which the encoder handed it over. It includes the time in the sender's queue.
    """
    limited_by: dict[str, float]
    """Share of time for which each reason limited the flow."""
    drift: NotRequired[FlowDriftMetrics]
    """Course of `goodput_bps`, of the means of `rtt_s` and `queue_delay_s`, and of `loss_fraction`
    within the window; see steadiness. Empty for a flow that is not active for the whole window.
    """


class WorkloadMetrics(TypedDict):
    """The metrics of one workload: of all its flows together."""

    name: str
    """Name of the workload in the scenario."""
    cc: str
    """Congestion-control algorithm, as named in the scenario."""
    goodput_bps: float
    """8 · (bytes delivered in order within the window, summed over the workload's flows) / length of
    the window.
    """
    arrived: int
    """Flows that arrived within the window: flows whose SYN left, and flows that were refused."""
    refused: int
    """Flows in `arrived` that were not started because 200,000 flows were active; a warning reports
    them.
    """
    completed: int
    """Flows whose last byte reached the receiver within the window, including flows that arrived
    before it.
    """
    unfinished: int
    """Flows active at the end of the run whose last byte had not arrived."""
    completed_bytes: int
    """Sum of the sizes of the flows in `completed`."""
    completion_s: Distribution
    """Flow completion time of each flow in `completed`: arrival of the last byte at the receiver −
    departure of the SYN.
    """
    slowdown: SlowdownsMetrics
    """Slowdown, the completion time divided by the completion time alone on the path, of the flows
    that arrived within the window and were complete at the end of the run. `all` covers all of
    them; `decades` groups them by size, from `from_bytes` up to ten times that. Each group has
    `unfinished`, the number of flows that were not complete and are in no other value, and three
    sets of values: `flows` as measured, and the same flows under the ideal servers `srpt` and
    `ps` (ideal servers; None if the link rate changes or if workloads have different routes).
    Each set has `count`, `mean`, and exact `p50`, `p95` and `p99`.
    """
    concurrent: float
    """Mean number of active flows over the window. A flow is active from its SYN until the sender
    knows that everything has arrived.
    """
    most_concurrent: int
    """Largest number of active flows at one time within the window."""
    rtt_s: Distribution
    """Round-trip times measured by the senders, as in a flow's `rtt_s`, over all flows."""
    queue_delay_s: Distribution
    """Queueing delays of delivered packets, as in a flow's `queue_delay_s`, over all flows."""
    sent: int
    """Data packets that left the senders, as in a flow's `sent`, over all flows."""
    retransmits: int
    """Data packets in `sent` that had been sent before, over all flows."""
    loss_fraction: float
    """`retransmits` / `sent` over all flows; 0 if nothing was sent."""
    drops: int
    """Data packets dropped by queues and policers or lost randomly, over all flows."""
    marks: int
    """Data packets that queues marked CE, over all flows."""
    ack_drops: int
    """ACKs dropped or lost on the way back, as in a flow's `ack_drops`, over all flows."""
    limited_by: dict[str, float]
    """Share of time for which each reason limited the flows: the sum over all flows for that reason,
    divided by the sum over all flows and reasons.
    """
    drift: NotRequired[WorkloadDriftMetrics]
    """Course of `concurrent` within the window; see steadiness."""


class LinkMetrics(TypedDict):
    """The metrics of one link."""

    name: str
    """Name of the link: `bottleneck` for the link of `[path]`, otherwise the name in its `[[link]]`."""
    utilization: float
    """Time within the window in which the link was sending, divided by the length of the window.
    Headers, retransmissions, SYNs and ACKs count. With a Mahimahi trace: bytes used / bytes
    offered.
    """
    queue_delay_s: Distribution
    """Queueing delay weighted by time: at each instant of the window, how long the packet being
    sent, or held by a shaper at the head of the queue, has waited; zero while the link is idle.
    The `sojourn` of traces, which pictures draw, is that of the packet that arrived last at a
    drop-tail queue: it leads by the queue's length, so its peak may be higher than the maximum
    here while a queue grows until the end.
    """
    queue_within_1_rtt: float | None
    """Share of the window in which the queueing delay is at most `path.rtt` (as at the start of the
    run). During that time the RTT of a flow without an additional delay is at most twice its
    minimum. Exact, not taken from the histogram; idle time counts as within. None if the link
    could not send at any time.
    """
    queue_within_2_rtts: float | None
    """Share of the window in which the queueing delay is at most twice `path.rtt`; otherwise as
    `queue_within_1_rtt`.
    """
    drops: int
    """Data packets that the queue dropped, because it was full or by decision of its AQM, on arrival
    or at the head.
    """
    losses: int
    """Data packets lost randomly (the link's `loss`), before they reach the queue: they take neither
    room in the queue nor time on the link.
    """
    policed: int
    """Data packets that the policer dropped (the link's `policer`), after random loss and before the
    queue; not included in `drops`.
    """
    duplicates: int
    """Duplicates of data packets that arrived at the link (`path.duplicate`), after random loss. If
    a duplicate is dropped, it also counts in `drops` or `policed`, like any packet.
    """
    marks: int
    """Data packets that the queue marked CE, counted when they leave the queue."""
    packets: int
    """Data packets whose last bit left the link during the whole run. For the bottleneck, this is
    the run's `packets`.
    """
    acks: int
    """ACKs whose last bit left the link during the whole run."""
    ack_drops: int
    """ACKs that the queue or the policer dropped, or that were lost randomly."""
    acks_filtered: int
    """ACKs that a later ACK of the same flow replaced in the queue (`ack_filter`)."""
    drift: NotRequired[LinkDriftMetrics]
    """Course of `utilization` and of the mean of `queue_delay_s` within the window; see steadiness."""


class Metrics(TypedDict):
    """The metrics of a run."""

    version: str
    """Version of fullpipe."""
    runner: str
    """Runner that made the run: `sim`, or another of the runners."""
    host: dict[str, str]
    """Description of the machine, as pairs of a name and a text; empty for a simulation, whose
    results do not depend on the machine.
    """
    warnings: list[str]
    """Problems that make the results unreliable, one sentence each. A simulation has one only if it
    turned arriving flows away.
    """
    seed: int
    """Seed of the run. Scenario, version and seed determine every number except the wall time."""
    duration_s: float
    """Length of the run in virtual time."""
    measure_from_s: float
    """Start of the measurement window."""
    flows: list[FlowMetrics]
    """One entry per flow, in the scenario's order; a flow with `count` has that number of entries."""
    workloads: NotRequired[list[WorkloadMetrics]]
    """One entry per workload, in the scenario's order; omitted if there is no workload."""
    links: list[LinkMetrics]
    """One entry per link: the bottleneck, which is the link of `[path]`, then each `[[link]]`."""
    jain: float | None
    """Jain's fairness index, (Σ x)² / (n · Σ x²), where x is the `goodput_bps` of each of the n
    responsive flows (`cc` other than `"none"`). 1 when all are equal or all are zero; 1/n when
    one flow gets everything; None without a responsive flow.
    """
    steadiness: NotRequired[SteadinessMetrics]
    """Whether the numbers are steady within the window."""
    packets: int
    """Data packets whose last bit left the bottleneck during the whole run."""
    events: int
    """Events that the simulator processed during the whole run: packets at links and receivers, ACKs
    at senders, timers, releases by the pacer or the application, and samples of the trace. The
    count is therefore larger with a trace.
    """
    trace_hash: str | None
    """Fingerprint of the trace, 16 hexadecimal digits, see below; None without a trace."""
