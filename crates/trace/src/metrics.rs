//! The metrics of a run: one row each. The structs of [`Summary`] and their JSON,
//! the conditions of `expect`, Python's types, the columns and words of tables and reports, and the
//! tables of `docs/reference/metrics.md` follow from the rows here.
//!
//! A new metric is a row (its doc comment is its definition, for all readers) and the formula where
//! the struct is filled in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Distribution;
use crate::slowdown::Slowdowns;

pub use crate::metric::{Dimension, Form, Metric, SLOWDOWN, STATISTICS, Shown};
use crate::metric::{at, metrics};
use Dimension::{Count, Factor, Index, Packets, Rate, Share, Time, Volume};

metrics! {
    /// The metrics of a run.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct Summary, RUN {
        /// Version of the program.
        version: &'static str = Metric::text(),
        /// What the run was made on: `sim`, or another of [the runners](runners.md).
        runner: String = Metric::text(),
        /// What the runner says of the machine, in words by name; empty for a simulation, which
        /// depends on none.
        host: BTreeMap<String, String> = Metric::text(),
        /// What spoils the run, a sentence each; a simulation has none.
        warnings: Vec<String> = Metric::text(),
        /// Seed of the run; with scenario and version it determines every number but the wall time.
        seed: u64 = Metric::fact(Count),
        /// Length of the run in virtual time.
        duration_s: f64 = Metric::fact(Time),
        /// Start of the window of measurement.
        measure_from_s: f64 = Metric::fact(Time),
        /// One entry a flow, in the scenario's order, `count` counted out.
        flows: Vec<FlowSummary> = Metric::text(),
        /// One entry a workload, in the scenario's order; left out where there are none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        workloads: Vec<WorkloadSummary> = Metric::text(),
        /// One entry a link: the bottleneck, which is that of `[path]`, then each `[[link]]`.
        links: Vec<LinkSummary> = Metric::text(),
        /// (Σ x)² / (n · Σ x²) over the `goodput_bps` x of the n responsive flows (`cc` other than
        /// `"none"`); 1 when all are equal, 1/n when one has everything; 1 when all are zero, `null`
        /// without such a flow.
        jain: Option<f64> = Metric::one(Index, "Jain's index").more_is_better().shown(&[
            at("spread", ""),
            at("maps", ""),
            at("differences", ""),
            at("sweep", ""),
        ]),
        /// Whole run: data packets whose last bit left the bottleneck before the end.
        packets: u64 = Metric::one(Packets, "packets"),
        /// Whole run: steps of the simulator: a packet at a link, a packet at a receiver, an ACK at
        /// the sender, a timer, a release by the pacer or the application, a sampling of the trace.
        /// So it is larger with a trace.
        events: u64 = Metric::fact(Count),
    }
}

metrics! {
    /// The metrics of one flow.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct FlowSummary, FLOW {
        /// Name of the flow in the scenario.
        name: String = Metric::text(),
        /// Its algorithm, as in the scenario.
        cc: String = Metric::text(),
        /// To whole bit/s: 8 · (bytes delivered in order to the application within the window) /
        /// (min(end, last byte) − max(start, `measure_from`)). `start` is when the SYN leaves, start
        /// jitter included; a transfer's *last byte* is its arrival at the receiver. Zero for a
        /// transfer that was over before `measure_from`. For `cc = "none"`: payload bytes that
        /// arrived, as there is no order to wait for.
        goodput_bps: f64 = Metric::one(Rate, "goodput").more_is_better().shown(&[
            at("report", ""),
            at("spread", ""),
            at("maps", ""),
            at("differences", ""),
            at("compare", ""),
            at("sweep", ""),
        ]),
        /// `goodput_bps` over the flow's max-min fair rate while it was active: links at their mean
        /// rates, demands capped by the application, unresponsive flows served first,
        /// [below](#max-min-fair-rates). 1 is fair. `null` for an unresponsive flow, for one that was
        /// never active or was left nothing, and where demands or rates are not known from the
        /// scenario.
        max_min_share: Option<f64> = Metric::one(Factor, "share of the max-min fair rate")
            .shown(&[at("report", "")]),
        /// One sample an ACK that yields one, see below.
        rtt_s: Distribution = Metric::delays("RTT").shown(&[
            at("report", "mean"),
            at("report", "p95"),
            at("spread", "mean"),
        ]),
        /// One sample a packet that reached the receiver, retransmissions and duplicates included:
        /// the sum over all links of (first bit out − arrival at the queue). The packet's own
        /// transmission is not in it; a packet that was dropped has no sample.
        queue_delay_s: Distribution = Metric::delays("queueing delay").shown(&[
            at("report", "mean"),
            at("report", "p95"),
            at("spread", "p95"),
            at("spread", "mean"),
            at("maps", "p95"),
            at("differences", "p95"),
            at("compare", "p95"),
            at("sweep", "mean"),
        ]),
        /// Data packets that left the sender, retransmissions and loss probes included, SYN not.
        sent: u64 = Metric::one(Packets, "sent packets"),
        /// Those of them that had been sent before, needed or not.
        retransmits: u64 = Metric::one(Packets, "retransmissions")
            .less_is_better()
            .shown(&[at("sweep", "")]),
        /// `retransmits` / `sent`; 0 when nothing was sent. It is what the sender believes it lost,
        /// as users of TCP statistics know it.
        loss_fraction: f64 = Metric::one(Share, "retransmitted share").less_is_better().shown(&[
            at("report", ""),
            at("spread", ""),
            at("maps", ""),
            at("differences", ""),
            at("compare", ""),
        ]),
        /// Its data packets that a queue or a policer dropped or chance lost. It is what the network
        /// lost.
        drops: u64 = Metric::one(Packets, "dropped packets").less_is_better(),
        /// Its data packets that a queue marked CE, counted when they leave the queue.
        marks: u64 = Metric::one(Packets, "marked packets"),
        /// Its ACKs that the queue or the policer of a link on its `reverse_route` dropped, or that
        /// chance lost, there or before (`path.reverse_loss`).
        ack_drops: u64 = Metric::one(Packets, "dropped ACKs").less_is_better(),
        /// Whole run: last byte at the receiver − first SYN; `null` for a flow that did not end.
        completion_s: Option<f64> = Metric::one(Time, "completion time").less_is_better().shown(&[
            at("report", ""),
            at("spread", ""),
            at("differences", ""),
        ]),
        /// Answers whose last byte arrived within the window, of a flow whose
        /// [application](models/endpoint.md#applications) asks for some; 0 for others.
        responses: u64 = Metric::one(Count, "answers"),
        /// One sample each of these: last byte at the receiver − request. The first request is the
        /// SYN; the client's thinking is in none.
        response_s: Distribution = Metric::delays("response time"),
        /// Share of the time that each limit held, [below](#what-limits-a-flow).
        limited_by: BTreeMap<&'static str, f64> = Metric::one(Share, "share of time limited by")
            .form(Form::Shares),
    }
}

metrics! {
    /// The metrics of one workload: of all its flows together.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct WorkloadSummary, WORKLOAD {
        /// Name of the workload in the scenario.
        name: String = Metric::text(),
        /// Its algorithm, as in the scenario.
        cc: String = Metric::text(),
        /// 8 · (bytes delivered in order within the window, of all its flows) / length of the window.
        goodput_bps: f64 = Metric::one(Rate, "goodput").more_is_better(),
        /// Flows whose SYN left within the window, or would have left.
        arrived: u64 = Metric::one(Count, "arrived flows"),
        /// Those of them that were turned away, since 200,000 flows were under way; a warning says
        /// so.
        refused: u64 = Metric::one(Count, "refused flows").less_is_better(),
        /// Flows whose last byte was at the receiver within the window; they may have arrived before.
        completed: u64 = Metric::one(Count, "completed flows").more_is_better(),
        /// Flows under way at the end, that had not got their last byte.
        unfinished: u64 = Metric::one(Count, "unfinished flows").less_is_better(),
        /// What the completed ones carried.
        completed_bytes: u64 = Metric::one(Volume, "completed bytes").more_is_better(),
        /// One sample each of these: last byte at the receiver − SYN.
        completion_s: Distribution = Metric::delays("completion time"),
        /// [Completion over that alone](workloads.md#slowdown) of the flows that arrived within the
        /// window and were complete at the end: `all`, and `decades` of their sizes, each with
        /// `from_bytes` (up to ten times that), `unfinished` (those not complete, which are in none
        /// of the others), and of `flows`, and of the same flows by `srpt` and by `ps` ([servers
        /// that know](workloads.md#servers-that-know); `null` where the rate changes or workloads
        /// differ in their routes), the `count`, the `mean`, and exact `p50`, `p95`, `p99`.
        slowdown: Slowdowns = Metric::one(Factor, "slowdown")
            .form(Form::Slowdowns)
            .less_is_better()
            .shown(&[at("report", "mean"), at("differences", "mean")]),
        /// Mean over the window of how many are under way: from the SYN until the sender knows that
        /// everything has arrived.
        concurrent: f64 = Metric::one(Count, "concurrent flows"),
        /// The most of them at once within the window.
        most_concurrent: u64 = Metric::one(Count, "most concurrent flows"),
        /// As of one flow, of all.
        rtt_s: Distribution = Metric::delays("RTT"),
        /// As of one flow, of all.
        queue_delay_s: Distribution = Metric::delays("queueing delay"),
        /// As of one flow, of all.
        sent: u64 = Metric::one(Packets, "sent packets"),
        /// As of one flow, of all.
        retransmits: u64 = Metric::one(Packets, "retransmissions").less_is_better(),
        /// As of one flow, of all.
        loss_fraction: f64 = Metric::one(Share, "retransmitted share").less_is_better(),
        /// As of one flow, of all.
        drops: u64 = Metric::one(Packets, "dropped packets").less_is_better(),
        /// As of one flow, of all.
        marks: u64 = Metric::one(Packets, "marked packets"),
        /// As of one flow, of all.
        ack_drops: u64 = Metric::one(Packets, "dropped ACKs").less_is_better(),
        /// The time that each limit held, summed over flows, over the sum of all.
        limited_by: BTreeMap<&'static str, f64> = Metric::one(Share, "share of time limited by")
            .form(Form::Shares),
    }
}

metrics! {
    /// The metrics of one link.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct LinkSummary, LINK {
        /// `bottleneck` for that of `[path]`, else as in its `[[link]]`.
        name: String = Metric::text(),
        /// Time within the window in which the link was sending / length of the window. Headers,
        /// retransmissions, SYNs and ACKs count. By a mahimahi trace: bytes used / bytes offered.
        utilization: f64 = Metric::one(Share, "utilization")
            .more_is_better()
            .shown(&[at("report", ""), at("maps", ""), at("differences", "")]),
        /// Weighted by time: at each instant of the window the waiting time of the packet being
        /// sent, or that a shaper holds back to be sent next; zero when there is none.
        queue_delay_s: Distribution = Metric::delays("queueing delay")
            .shown(&[at("report", "p50"), at("report", "p99")]),
        /// Share of the window in which that is at most `path.rtt`, as it is at the start: so long
        /// the RTT of a flow without a delay of its own is twice its least at most. Exact, not out of
        /// the histogram; an idle link is within. `null` where nothing could be sent.
        queue_within_1_rtt: Option<f64> =
            Metric::one(Share, "share of time with a queue of 1 RTT or less").more_is_better(),
        /// The same with twice `path.rtt`.
        queue_within_2_rtts: Option<f64> =
            Metric::one(Share, "share of time with a queue of 2 RTTs or less").more_is_better(),
        /// Data packets that the queue dropped: because it was full, or because it so decided, on
        /// arrival or at its head.
        drops: u64 = Metric::one(Packets, "dropped packets").less_is_better(),
        /// Data packets that chance lost (the link's `loss`), in front of the queue: they take no
        /// room and no time.
        losses: u64 = Metric::one(Packets, "randomly lost packets"),
        /// Data packets that the policer dropped (the link's `policer`), behind random loss and in
        /// front of the queue; not among `drops`.
        policed: u64 = Metric::one(Packets, "policed packets").less_is_better(),
        /// Copies of data packets that came to it (`path.duplicate`), behind random loss; what
        /// befalls them counts among `drops` and `policed` as for every packet.
        duplicates: u64 = Metric::one(Packets, "duplicated packets"),
        /// Data packets that the queue marked CE, counted when they leave it.
        marks: u64 = Metric::one(Packets, "marked packets"),
        /// Whole run: data packets whose last bit left the link before the end; the bottleneck's are
        /// the run's `packets`.
        packets: u64 = Metric::one(Packets, "packets"),
        /// Whole run: the same for ACKs.
        acks: u64 = Metric::one(Packets, "ACKs"),
        /// ACKs that the queue or the policer dropped or chance lost.
        ack_drops: u64 = Metric::one(Packets, "dropped ACKs").less_is_better(),
        /// ACKs in whose place a later one of the same flow was put while they waited (`ack_filter`).
        acks_filtered: u64 = Metric::one(Packets, "filtered ACKs"),
    }
}

/// All tables, each with the name of what its metrics are of.
pub const TABLES: [(&str, &[Metric]); 4] = [
    ("run", RUN),
    ("flow", FLOW),
    ("workload", WORKLOAD),
    ("link", LINK),
];
