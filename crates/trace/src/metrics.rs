//! The metrics of a run, one row each. These rows generate the structs of [`Summary`] and their
//! JSON, the conditions of `expect`, Python's types, the columns and words of tables and reports,
//! and the tables of `docs/reference/metrics.md`.
//!
//! To add a metric, add a row (its doc comment is the definition that every reader sees) and
//! compute its value where the struct is filled in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Distribution;
use crate::drift::{FlowDrift, LinkDrift, WorkloadDrift};
use crate::slowdown::Slowdowns;
use crate::steadiness::Steadiness;

pub use crate::metric::{Dimension, Form, Metric, SLOWDOWN, STATISTICS, Shown};
use crate::metric::{at, metrics};
use Dimension::{Count, Factor, Index, Packets, Rate, Share, Time, Volume};

metrics! {
    /// The metrics of a run.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct Summary, RUN {
        /// Version of fullpipe.
        version: &'static str = Metric::text(),
        /// Runner that made the run: `sim`, or another of [the runners](../guide/runners.md).
        runner: String = Metric::text(),
        /// Description of the machine, as pairs of a name and a text; empty for a simulation, whose
        /// results do not depend on the machine.
        host: BTreeMap<String, String> = Metric::text(),
        /// Problems that make the results unreliable, one sentence each. A simulation has one only if
        /// it turned arriving flows away.
        warnings: Vec<String> = Metric::text(),
        /// Seed of the run. Scenario, version and seed determine every number except the wall time.
        seed: u64 = Metric::fact(Count),
        /// Length of the run in virtual time.
        duration_s: f64 = Metric::fact(Time),
        /// Start of the measurement window.
        measure_from_s: f64 = Metric::fact(Time),
        /// One entry per flow, in the scenario's order; a flow with `count` has that number of
        /// entries.
        flows: Vec<FlowSummary> = Metric::text(),
        /// One entry per workload, in the scenario's order; omitted if there is no workload.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        workloads: Vec<WorkloadSummary> = Metric::text(),
        /// One entry per link: the bottleneck, which is the link of `[path]`, then each `[[link]]`.
        links: Vec<LinkSummary> = Metric::text(),
        /// Jain's fairness index, (Σ x)² / (n · Σ x²), where x is the `goodput_bps` of each of the
        /// n responsive flows (`cc` other than `"none"`). 1 when all are equal or all are zero; 1/n
        /// when one flow gets everything; `null` without a responsive flow.
        jain: Option<f64> = Metric::one(Index, "Jain's index").more_is_better().shown(&[
            at("spread", ""),
            at("maps", ""),
            at("differences", ""),
            at("sweep", ""),
        ]),
        /// Whether the numbers are [steady](#steadiness) within the window.
        steadiness: Steadiness = Metric::text(),
        /// Data packets whose last bit left the bottleneck during the whole run.
        packets: u64 = Metric::one(Packets, "packets"),
        /// Events that the simulator processed during the whole run: packets at links and
        /// receivers, ACKs at senders, timers, releases by the pacer or the application, and
        /// samples of the trace. The count is therefore larger with a trace.
        events: u64 = Metric::fact(Count),
    }
}

metrics! {
    /// The metrics of one flow.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct FlowSummary, FLOW {
        /// Name of the flow in the scenario.
        name: String = Metric::text(),
        /// Congestion-control algorithm, as named in the scenario. A program that uses TCP has the one that
        /// the kernel used for the largest connection; another one its parameter `cc`, or UDP.
        cc: String = Metric::text(),
        /// 8 · (bytes delivered in order to the application within the window) / (min(end, last
        /// byte) − max(start, `measure_from`)), rounded to whole bit/s. `start` is the time at
        /// which the SYN leaves, including start jitter; *last byte* is the arrival of a transfer's
        /// last byte at the receiver. Zero for a transfer that was complete before `measure_from`.
        /// With `cc = "none"` and `transport = "datagram"`, all payload bytes that arrive count, in
        /// whichever order.
        goodput_bps: f64 = Metric::one(Rate, "goodput").more_is_better().shown(&[
            at("report", ""),
            at("spread", ""),
            at("maps", ""),
            at("differences", ""),
            at("compare", ""),
            at("sweep", ""),
        ]),
        /// `goodput_bps` divided by the flow's [max-min fair rate](#max-min-fair-rates) while it
        /// was active. That rate assumes the mean rate of each link, caps each flow's demand at its
        /// application's rate, and serves unresponsive flows first. 1 is fair. `null` for an
        /// unresponsive flow, for a flow that was never active or has a fair rate of zero, and if
        /// demands or link rates do not follow from the scenario alone.
        max_min_share: Option<f64> = Metric::one(Factor, "share of the max-min fair rate")
            .shown(&[at("report", "")]),
        /// Round-trip times measured by the sender, one sample for each ACK that yields one; see
        /// **RTT** below.
        rtt_s: Distribution = Metric::delays("RTT").shown(&[
            at("report", "mean"),
            at("report", "p95"),
            at("spread", "mean"),
        ]),
        /// Queueing delay of each packet that reached the receiver, retransmissions and duplicates
        /// included: the sum over all links of (first bit sent − arrival at the queue). The
        /// packet's own transmission time is not included. Dropped packets give no sample.
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
        /// Data packets that left the sender, including retransmissions and loss probes, excluding
        /// SYNs.
        sent: u64 = Metric::one(Packets, "sent packets"),
        /// Data packets in `sent` that had been sent before, whether or not the retransmission was
        /// necessary.
        retransmits: u64 = Metric::one(Packets, "retransmissions")
            .less_is_better()
            .shown(&[at("sweep", "")]),
        /// `retransmits` / `sent`; 0 if nothing was sent. This is the loss rate as the sender sees
        /// it, the usual one in TCP statistics. With `transport = "datagram"`, which has no
        /// retransmissions, it is the number of packets that the sender declared lost / `sent`.
        loss_fraction: f64 = Metric::one(Share, "retransmission rate").less_is_better().shown(&[
            at("report", ""),
            at("spread", ""),
            at("maps", ""),
            at("differences", ""),
            at("compare", ""),
        ]),
        /// The flow's data packets that were dropped by a queue or a policer, or lost randomly: the
        /// loss that happened in the network.
        drops: u64 = Metric::one(Packets, "dropped packets").less_is_better(),
        /// The flow's data packets that a queue marked CE, counted when they leave the queue.
        marks: u64 = Metric::one(Packets, "marked packets"),
        /// The flow's ACKs that were lost on the way back: dropped by the queue or the policer of a
        /// link on its `reverse_route`, or lost randomly, on such a link or before it
        /// (`path.reverse_loss`).
        ack_drops: u64 = Metric::one(Packets, "dropped ACKs").less_is_better(),
        /// Flow completion time over the whole run: arrival of the last byte at the receiver −
        /// departure of the first SYN. `null` for a flow that did not complete.
        completion_s: Option<f64> = Metric::one(Time, "completion time").less_is_better().shown(&[
            at("report", ""),
            at("spread", ""),
            at("differences", ""),
        ]),
        /// Responses whose last byte arrived within the window, for a flow whose
        /// [application](models/endpoint.md#applications) sends requests; 0 for other flows.
        responses: u64 = Metric::one(Count, "responses"),
        /// Response time of each response in `responses`: arrival of its last byte at the receiver
        /// − request. The SYN counts as the first request. The client's think time is not included.
        response_s: Distribution = Metric::delays("response time"),
        /// Frames whose last byte arrived within the window, for a flow whose
        /// [application](models/endpoint.md#applications) is a media source; 0 for other flows.
        frames: u64 = Metric::one(Count, "frames"),
        /// Frames that the encoder handed over within the window and that were not complete at the
        /// end of the run: some of their packets were lost, discarded by the sender, or still on
        /// the way.
        lost_frames: u64 = Metric::one(Count, "incomplete frames").less_is_better(),
        /// Frame delay of each frame in `frames`: arrival of its last byte at the receiver − the
        /// time at which the encoder handed it over. It includes the time in the sender's queue.
        frame_delay_s: Distribution = Metric::delays("frame delay"),
        /// Share of time for which each reason [limited the flow](#what-limits-a-flow).
        limited_by: BTreeMap<&'static str, f64> = Metric::one(Share, "share of time limited by")
            .form(Form::Shares),
        /// Course of `goodput_bps`, of the means of `rtt_s` and `queue_delay_s`, and of
        /// `loss_fraction` within the window; see [steadiness](#steadiness). Empty for a flow that
        /// is not active for the whole window.
        drift: FlowDrift = Metric::text(),
    }
}

metrics! {
    /// The metrics of one workload, over all its flows.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct WorkloadSummary, WORKLOAD {
        /// Name of the workload in the scenario.
        name: String = Metric::text(),
        /// Congestion-control algorithm, as named in the scenario.
        cc: String = Metric::text(),
        /// 8 · (bytes delivered in order within the window, summed over the workload's flows) /
        /// length of the window.
        goodput_bps: f64 = Metric::one(Rate, "goodput").more_is_better(),
        /// Flows that arrived within the window: flows whose SYN left, and flows that were refused.
        arrived: u64 = Metric::one(Count, "arrived flows"),
        /// Flows in `arrived` that were not started because 200,000 flows were active; a warning
        /// reports them.
        refused: u64 = Metric::one(Count, "refused flows").less_is_better(),
        /// Flows whose last byte reached the receiver within the window, including flows that
        /// arrived before it.
        completed: u64 = Metric::one(Count, "completed flows").more_is_better(),
        /// Flows active at the end of the run whose last byte had not arrived.
        unfinished: u64 = Metric::one(Count, "unfinished flows").less_is_better(),
        /// Sum of the sizes of the flows in `completed`.
        completed_bytes: u64 = Metric::one(Volume, "completed bytes").more_is_better(),
        /// Flow completion time of each flow in `completed`: arrival of the last byte at the
        /// receiver − departure of the SYN.
        completion_s: Distribution = Metric::delays("completion time"),
        /// [Slowdown](../guide/workloads.md#slowdown), the completion time divided by the
        /// completion time alone on the path, of the flows that arrived within the window and were
        /// complete at the end of the run. `all` covers all of them; `decades` groups them by size,
        /// from `from_bytes` up to ten times that. Each group has `unfinished`, the number of flows
        /// that were not complete and are in no other value, and three sets of values: `flows` as
        /// measured, and the same flows under the ideal servers `srpt` and `ps` ([ideal
        /// servers](../guide/workloads.md#servers-that-know); `null` if the link rate changes or if
        /// workloads have different routes). Each set has `count`, `mean`, and exact `p50`, `p95`
        /// and `p99`.
        slowdown: Slowdowns = Metric::one(Factor, "slowdown")
            .form(Form::Slowdowns)
            .less_is_better()
            .shown(&[at("report", "mean"), at("differences", "mean")]),
        /// Mean number of active flows over the window. A flow is active from its SYN until the
        /// sender knows that everything has arrived.
        concurrent: f64 = Metric::one(Count, "concurrent flows"),
        /// Largest number of active flows at one time within the window.
        most_concurrent: u64 = Metric::one(Count, "most concurrent flows"),
        /// Round-trip times measured by the senders, as in a flow's `rtt_s`, over all flows.
        rtt_s: Distribution = Metric::delays("RTT"),
        /// Queueing delays of delivered packets, as in a flow's `queue_delay_s`, over all flows.
        queue_delay_s: Distribution = Metric::delays("queueing delay"),
        /// Data packets that left the senders, as in a flow's `sent`, over all flows.
        sent: u64 = Metric::one(Packets, "sent packets"),
        /// Data packets in `sent` that had been sent before, over all flows.
        retransmits: u64 = Metric::one(Packets, "retransmissions").less_is_better(),
        /// `retransmits` / `sent` over all flows; 0 if nothing was sent.
        loss_fraction: f64 = Metric::one(Share, "retransmission rate").less_is_better(),
        /// Data packets dropped by queues and policers or lost randomly, over all flows.
        drops: u64 = Metric::one(Packets, "dropped packets").less_is_better(),
        /// Data packets that queues marked CE, over all flows.
        marks: u64 = Metric::one(Packets, "marked packets"),
        /// ACKs dropped or lost on the way back, as in a flow's `ack_drops`, over all flows.
        ack_drops: u64 = Metric::one(Packets, "dropped ACKs").less_is_better(),
        /// Share of time for which each reason [limited the flows](#what-limits-a-flow): the sum
        /// over all flows for that reason, divided by the sum over all flows and reasons.
        limited_by: BTreeMap<&'static str, f64> = Metric::one(Share, "share of time limited by")
            .form(Form::Shares),
        /// Course of `concurrent` within the window; see [steadiness](#steadiness).
        drift: WorkloadDrift = Metric::text(),
    }
}

metrics! {
    /// The metrics of one link.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct LinkSummary, LINK {
        /// Name of the link: `bottleneck` for the link of `[path]`, otherwise the name in its
        /// `[[link]]`.
        name: String = Metric::text(),
        /// Time within the window in which the link was sending, divided by the length of the
        /// window. Headers, retransmissions, SYNs and ACKs count. With a Mahimahi trace: bytes used
        /// / bytes offered.
        utilization: f64 = Metric::one(Share, "utilization")
            .more_is_better()
            .shown(&[at("report", ""), at("maps", ""), at("differences", "")]),
        /// Queueing delay weighted by time: at each instant of the window, how long the packet
        /// being sent, or held by a shaper at the head of the queue, has waited; zero while the
        /// link is idle. The `sojourn` of traces, which pictures draw, is that of the packet that
        /// arrived last at a drop-tail queue: it leads by the queue's length, so its peak may be
        /// higher than the maximum here while a queue grows until the end.
        queue_delay_s: Distribution = Metric::delays("queueing delay")
            .shown(&[at("report", "p50"), at("report", "p99")]),
        /// Share of the window in which the queueing delay is at most `path.rtt` (as at the start
        /// of the run). During that time the RTT of a flow without an additional delay is at most
        /// twice its minimum. Exact, not taken from the histogram; idle time counts as within.
        /// `null` if the link could not send at any time.
        queue_within_1_rtt: Option<f64> =
            Metric::one(Share, "share of time with a queue of 1 RTT or less").more_is_better(),
        /// Share of the window in which the queueing delay is at most twice `path.rtt`; otherwise
        /// as `queue_within_1_rtt`.
        queue_within_2_rtts: Option<f64> =
            Metric::one(Share, "share of time with a queue of 2 RTTs or less").more_is_better(),
        /// Data packets that the queue dropped, because it was full or by decision of its AQM, on
        /// arrival or at the head.
        drops: u64 = Metric::one(Packets, "dropped packets").less_is_better(),
        /// Data packets lost randomly (the link's `loss`), before they reach the queue: they take
        /// neither room in the queue nor time on the link.
        losses: u64 = Metric::one(Packets, "randomly lost packets"),
        /// Data packets that the policer dropped (the link's `policer`), after random loss and
        /// before the queue; not included in `drops`.
        policed: u64 = Metric::one(Packets, "policed packets").less_is_better(),
        /// Duplicates of data packets that arrived at the link (`path.duplicate`), after random
        /// loss. If a duplicate is dropped, it also counts in `drops` or `policed`, like any
        /// packet.
        duplicates: u64 = Metric::one(Packets, "duplicated packets"),
        /// Data packets that the queue marked CE, counted when they leave the queue.
        marks: u64 = Metric::one(Packets, "marked packets"),
        /// Data packets whose last bit left the link during the whole run. For the bottleneck, this
        /// is the run's `packets`.
        packets: u64 = Metric::one(Packets, "packets"),
        /// ACKs whose last bit left the link during the whole run.
        acks: u64 = Metric::one(Packets, "ACKs"),
        /// ACKs that the queue or the policer dropped, or that were lost randomly.
        ack_drops: u64 = Metric::one(Packets, "dropped ACKs").less_is_better(),
        /// ACKs that a later ACK of the same flow replaced in the queue (`ack_filter`).
        acks_filtered: u64 = Metric::one(Packets, "filtered ACKs"),
        /// Course of `utilization` and of the mean of `queue_delay_s` within the window; see
        /// [steadiness](#steadiness).
        drift: LinkDrift = Metric::text(),
    }
}

/// All tables, each with the name of the object that its metrics describe.
pub const TABLES: [(&str, &[Metric]); 4] = [
    ("run", RUN),
    ("flow", FLOW),
    ("workload", WORKLOAD),
    ("link", LINK),
];
