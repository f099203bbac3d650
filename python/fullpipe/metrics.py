"""The types of a run's metrics, in SI units. The values come from Rust; `docs/reference/metrics.md` has a formula for each."""

from typing import NotRequired, TypedDict


class Distribution(TypedDict):
    """A distribution of delays, in seconds; all None when there was no sample."""

    min: float | None
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


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


# What follows is written by tests/python/test_metrics.py from the rows in crates/trace/src/metrics.rs.


class FlowMetrics(TypedDict):
    """The metrics of one flow."""

    name: str
    """Name of the flow in the scenario."""
    cc: str
    """Its algorithm, as in the scenario."""
    goodput_bps: float
    """To whole bit/s: 8 · (bytes delivered in order to the application within the window) /
    (min(end, last byte) − max(start, `measure_from`)). `start` is when the SYN leaves, start
    jitter included; a transfer's *last byte* is its arrival at the receiver. Zero for a transfer
    that was over before `measure_from`. For `cc = "none"`: payload bytes that arrived, as there
    is no order to wait for.
    """
    max_min_share: float | None
    """`goodput_bps` over the flow's max-min fair rate while it was active: links at their mean
    rates, demands capped by the application, unresponsive flows served first, below. 1 is fair.
    None for an unresponsive flow, for one that was never active or was left nothing, and where
    demands or rates are not known from the scenario.
    """
    rtt_s: Distribution
    """One sample an ACK that yields one, see below."""
    queue_delay_s: Distribution
    """One sample a packet that reached the receiver, retransmissions and duplicates included: the
    sum over all links of (first bit out − arrival at the queue). The packet's own transmission is
    not in it; a packet that was dropped has no sample.
    """
    sent: int
    """Data packets that left the sender, retransmissions and loss probes included, SYN not."""
    retransmits: int
    """Those of them that had been sent before, needed or not."""
    loss_fraction: float
    """`retransmits` / `sent`; 0 when nothing was sent. It is what the sender believes it lost, as
    users of TCP statistics know it.
    """
    drops: int
    """Its data packets that a queue or a policer dropped or chance lost. It is what the network
    lost.
    """
    marks: int
    """Its data packets that a queue marked CE, counted when they leave the queue."""
    ack_drops: int
    """Its ACKs that the queue or the policer of a link on its `reverse_route` dropped, or that
    chance lost, there or before (`path.reverse_loss`).
    """
    completion_s: float | None
    """Whole run: last byte at the receiver − first SYN; None for a flow that did not end."""
    responses: int
    """Answers whose last byte arrived within the window, of a flow whose application asks for some;
    0 for others.
    """
    response_s: Distribution
    """One sample each of these: last byte at the receiver − request. The first request is the SYN;
    the client's thinking is in none.
    """
    limited_by: dict[str, float]
    """Share of the time that each limit held, below."""


class WorkloadMetrics(TypedDict):
    """The metrics of one workload: of all its flows together."""

    name: str
    """Name of the workload in the scenario."""
    cc: str
    """Its algorithm, as in the scenario."""
    goodput_bps: float
    """8 · (bytes delivered in order within the window, of all its flows) / length of the window."""
    arrived: int
    """Flows whose SYN left within the window, or would have left."""
    refused: int
    """Those of them that were turned away, since 200,000 flows were under way; a warning says so."""
    completed: int
    """Flows whose last byte was at the receiver within the window; they may have arrived before."""
    unfinished: int
    """Flows under way at the end, that had not got their last byte."""
    completed_bytes: int
    """What the completed ones carried."""
    completion_s: Distribution
    """One sample each of these: last byte at the receiver − SYN."""
    slowdown: SlowdownsMetrics
    """Completion over that alone of the flows that arrived within the window and were complete at
    the end: `all`, and `decades` of their sizes, each with `from_bytes` (up to ten times that),
    `unfinished` (those not complete, which are in none of the others), and of `flows`, and of the
    same flows by `srpt` and by `ps` (servers that know; None where the rate changes or workloads
    differ in their routes), the `count`, the `mean`, and exact `p50`, `p95`, `p99`.
    """
    concurrent: float
    """Mean over the window of how many are under way: from the SYN until the sender knows that
    everything has arrived.
    """
    most_concurrent: int
    """The most of them at once within the window."""
    rtt_s: Distribution
    """As of one flow, of all."""
    queue_delay_s: Distribution
    """As of one flow, of all."""
    sent: int
    """As of one flow, of all."""
    retransmits: int
    """As of one flow, of all."""
    loss_fraction: float
    """As of one flow, of all."""
    drops: int
    """As of one flow, of all."""
    marks: int
    """As of one flow, of all."""
    ack_drops: int
    """As of one flow, of all."""
    limited_by: dict[str, float]
    """The time that each limit held, summed over flows, over the sum of all."""


class LinkMetrics(TypedDict):
    """The metrics of one link."""

    name: str
    """`bottleneck` for that of `[path]`, else as in its `[[link]]`."""
    utilization: float
    """Time within the window in which the link was sending / length of the window. Headers,
    retransmissions, SYNs and ACKs count. By a mahimahi trace: bytes used / bytes offered.
    """
    queue_delay_s: Distribution
    """Weighted by time: at each instant of the window the waiting time of the packet being sent, or
    that a shaper holds back to be sent next; zero when there is none.
    """
    queue_within_1_rtt: float | None
    """Share of the window in which that is at most `path.rtt`, as it is at the start: so long the
    RTT of a flow without a delay of its own is twice its least at most. Exact, not out of the
    histogram; an idle link is within. None where nothing could be sent.
    """
    queue_within_2_rtts: float | None
    """The same with twice `path.rtt`."""
    drops: int
    """Data packets that the queue dropped: because it was full, or because it so decided, on arrival
    or at its head.
    """
    losses: int
    """Data packets that chance lost (the link's `loss`), in front of the queue: they take no room
    and no time.
    """
    policed: int
    """Data packets that the policer dropped (the link's `policer`), behind random loss and in front
    of the queue; not among `drops`.
    """
    duplicates: int
    """Copies of data packets that came to it (`path.duplicate`), behind random loss; what befalls
    them counts among `drops` and `policed` as for every packet.
    """
    marks: int
    """Data packets that the queue marked CE, counted when they leave it."""
    packets: int
    """Whole run: data packets whose last bit left the link before the end; the bottleneck's are the
    run's `packets`.
    """
    acks: int
    """Whole run: the same for ACKs."""
    ack_drops: int
    """ACKs that the queue or the policer dropped or chance lost."""
    acks_filtered: int
    """ACKs in whose place a later one of the same flow was put while they waited (`ack_filter`)."""


class Metrics(TypedDict):
    """The metrics of a run."""

    version: str
    """Version of the program."""
    runner: str
    """What the run was made on: `sim`, or another of the runners."""
    host: dict[str, str]
    """What the runner says of the machine, in words by name; empty for a simulation, which depends
    on none.
    """
    warnings: list[str]
    """What spoils the run, a sentence each; a simulation has none."""
    seed: int
    """Seed of the run; with scenario and version it determines every number but the wall time."""
    duration_s: float
    """Length of the run in virtual time."""
    measure_from_s: float
    """Start of the window of measurement."""
    flows: list[FlowMetrics]
    """One entry a flow, in the scenario's order, `count` counted out."""
    workloads: NotRequired[list[WorkloadMetrics]]
    """One entry a workload, in the scenario's order; left out where there are none."""
    links: list[LinkMetrics]
    """One entry a link: the bottleneck, which is that of `[path]`, then each `[[link]]`."""
    jain: float | None
    """(Σ x)² / (n · Σ x²) over the `goodput_bps` x of the n responsive flows (`cc` other than
    `"none"`); 1 when all are equal, 1/n when one has everything; 1 when all are zero, None
    without such a flow.
    """
    packets: int
    """Whole run: data packets whose last bit left the bottleneck before the end."""
    events: int
    """Whole run: steps of the simulator: a packet at a link, a packet at a receiver, an ACK at the
    sender, a timer, a release by the pacer or the application, a sampling of the trace. So it is
    larger with a trace.
    """
    trace_hash: str | None
    """Fingerprint of the trace, 16 hexadecimal digits, see below; None without a trace."""
