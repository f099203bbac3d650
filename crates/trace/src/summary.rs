//! The metrics of a run, as `--json` prints them: SI units, `null` where there is no sample.

use std::collections::BTreeMap;

use fullpipe_units::Span;
use serde::{Deserialize, Serialize};

use crate::{Distribution, FlowMeter, Histogram, LinkMeter, WorkloadSummary};

/// One flow's metrics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Its name in the scenario.
    pub name: String,
    /// Its algorithm.
    pub cc: String,
    /// In-order application bytes over the time it was active, bit/s.
    pub goodput_bps: f64,
    /// Round-trip times, one sample an ACK.
    pub rtt_s: Distribution,
    /// Time spent waiting in queues, one sample a packet delivered.
    pub queue_delay_s: Distribution,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// `retransmits / sent`.
    pub loss_fraction: f64,
    /// Its data packets that queues or policers dropped or chance lost.
    pub drops: u64,
    /// Its data packets that queues marked CE.
    pub marks: u64,
    /// Its ACKs that links of its way back dropped or lost.
    pub ack_drops: u64,
    /// From SYN to the last byte; `null` for a flow that did not end.
    pub completion_s: Option<f64>,
    /// Answers that its client got.
    pub responses: u64,
    /// Their times, from the request to the last byte.
    pub response_s: Distribution,
    /// Share of its active time that each limit held.
    pub limited_by: BTreeMap<&'static str, f64>,
}

impl FlowSummary {
    /// From its meter and the time that each limit held.
    pub fn new(
        name: String,
        cc: String,
        meter: &FlowMeter,
        limits: &[&'static str],
        held: &[Span],
    ) -> FlowSummary {
        let sent = meter.sent;
        let answered = meter
            .responses
            .as_ref()
            .map_or_else(Histogram::default, |responses| responses.times.clone());
        FlowSummary {
            name,
            cc,
            goodput_bps: meter.goodput().as_f64(),
            rtt_s: Distribution::from(&meter.rtt.histogram()),
            queue_delay_s: Distribution::from(&meter.queue.histogram()),
            sent,
            retransmits: meter.retransmits,
            loss_fraction: loss_fraction(sent, meter.retransmits),
            drops: meter.drops,
            marks: meter.marks,
            ack_drops: meter.ack_drops,
            completion_s: meter
                .last_byte
                .map(|last| (last - meter.start).as_secs_f64()),
            responses: answered.weight(),
            response_s: Distribution::from(&answered),
            limited_by: shares(limits, held),
        }
    }
}

/// One link's metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Its name.
    pub name: String,
    /// Share of the time it was sending.
    pub utilisation: f64,
    /// Queueing delay over time.
    pub queue_delay_s: Distribution,
    /// Share of the time in which that is one RTT of the path at most.
    pub queue_within_1_rtt: Option<f64>,
    /// Share of the time in which that is two RTTs of the path at most.
    pub queue_within_2_rtts: Option<f64>,
    /// Data packets that its queue dropped.
    pub drops: u64,
    /// Data packets that chance lost on it.
    pub losses: u64,
    /// Data packets that its policer dropped.
    pub policed: u64,
    /// Copies of data packets that came to it.
    pub duplicates: u64,
    /// Data packets that its queue marked CE.
    pub marks: u64,
    /// Data packets that left it, in the whole run.
    pub packets: u64,
    /// ACKs that left it, in the whole run.
    pub acks: u64,
    /// ACKs that its queue or its policer dropped or chance lost on it.
    pub ack_drops: u64,
    /// ACKs that waited in its queue and were replaced by later ones.
    pub acks_filtered: u64,
}

impl LinkSummary {
    /// From its meter.
    pub fn new(name: String, meter: &LinkMeter) -> LinkSummary {
        let within = meter.within_rtts();
        LinkSummary {
            name,
            utilisation: meter.utilisation(),
            queue_delay_s: Distribution::from(&meter.queue_delay()),
            queue_within_1_rtt: within.map(|[one, _]| one),
            queue_within_2_rtts: within.map(|[_, two]| two),
            drops: meter.drops,
            losses: meter.losses,
            policed: meter.policed,
            duplicates: meter.duplicates,
            marks: meter.marks,
            packets: meter.packets,
            acks: meter.acks,
            ack_drops: meter.ack_drops,
            acks_filtered: meter.acks_filtered,
        }
    }
}

/// The metrics of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of the program that made it.
    pub version: &'static str,
    /// What it was run on: "sim", or the name of another runner.
    pub runner: String,
    /// What a runner says of the machine, in words by name; nothing of a simulation, which depends
    /// on none.
    pub host: BTreeMap<String, String>,
    /// What spoils the run, a sentence each.
    pub warnings: Vec<String>,
    /// Seed of the run.
    pub seed: u64,
    /// Its length.
    pub duration_s: f64,
    /// What was before does not count.
    pub measure_from_s: f64,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// The workloads, in the scenario's order; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadSummary>,
    /// The links; the bottleneck first.
    pub links: Vec<LinkSummary>,
    /// Jain's fairness index of the goodputs of the responsive flows; `null` without any.
    pub jain: Option<f64>,
    /// Data packets that left the bottleneck, in the whole run.
    pub packets: u64,
    /// Steps of the simulation.
    pub events: u64,
}

/// Retransmissions of all that was sent.
pub(crate) fn loss_fraction(sent: u64, retransmits: u64) -> f64 {
    if sent == 0 {
        0.0
    } else {
        retransmits as f64 / sent as f64
    }
}

/// Share of the time that each limit held.
pub(crate) fn shares(limits: &[&'static str], held: &[Span]) -> BTreeMap<&'static str, f64> {
    let total: f64 = held.iter().map(|span| span.as_secs_f64()).sum();
    let share = |span: &Span| {
        if total > 0.0 {
            span.as_secs_f64() / total
        } else {
            0.0
        }
    };
    limits.iter().copied().zip(held.iter().map(share)).collect()
}

/// Jain's fairness index: (Σx)² / (n·Σx²); none for no flow, 1 when all are zero.
pub fn jain(rates: &[f64]) -> Option<f64> {
    if rates.is_empty() {
        return None;
    }
    let (sum, squares) = rates
        .iter()
        .fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    Some(if squares == 0.0 {
        1.0
    } else {
        sum * sum / (rates.len() as f64 * squares)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MeasuredTime, Response};
    use fullpipe_units::{Bytes, Rate, Time};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn jain_is_jains() {
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0, 0.0]), Some(1.0));
    }

    /// The worked example of docs/metrics.md.
    #[test]
    fn goodput_counts_from_the_later_of_start_and_measure_from_to_the_last_byte() {
        let mut meter = FlowMeter::new(
            MeasuredTime {
                from: at(1_000),
                to: at(5_000),
            },
            at(500),
        );
        meter.on_delivered(at(900), Span::ZERO, Bytes::new(1_000_000));
        meter.on_delivered(at(1_500), Span::from_millis(10), Bytes::new(250_000));
        meter.on_delivered(at(3_000), Span::from_millis(30), Bytes::new(250_000));
        assert_eq!(
            meter.goodput(),
            Rate::from_mbps(1),
            "500 kB in the 4 s from 1 s to 5 s"
        );
        meter.on_complete(at(3_000));
        assert_eq!(
            meter.goodput(),
            Rate::from_mbps(2),
            "500 kB in the 2 s from 1 s to 3 s"
        );
        let flow = FlowSummary::new("a".into(), "cubic".into(), &meter, &[], &[]);
        assert_eq!(flow.completion_s, Some(2.5));
        assert_eq!(flow.queue_delay_s.mean, Some(0.02));
    }

    #[test]
    fn what_the_ends_saw_each_comes_to_one_flow() {
        let window = MeasuredTime {
            from: at(1_000),
            to: at(5_000),
        };
        let (mut sender, mut receiver) =
            (FlowMeter::new(window, at(0)), FlowMeter::new(window, at(0)));
        sender.on_sent(at(1_000), false);
        sender.on_sent(at(1_001), true);
        receiver.on_received(at(999), Bytes::new(1));
        receiver.on_received(at(3_000), Bytes::new(250_000));
        receiver.on_complete(at(3_000));
        let flow = FlowSummary::new(
            "a".into(),
            "cubic".into(),
            &sender.with_receiver(receiver),
            &[],
            &[],
        );
        assert_eq!((flow.sent, flow.retransmits, flow.goodput_bps), (2, 1, 1e6));
        assert_eq!(
            (flow.completion_s, flow.queue_delay_s.mean),
            (Some(3.0), None),
            "nobody saw a queue"
        );
    }

    #[test]
    fn a_response_counts_when_it_ends_within_the_window() {
        let mut meter = FlowMeter::new(
            MeasuredTime {
                from: at(1_000),
                to: at(5_000),
            },
            at(0),
        )
        .with_responses(true);
        let response = |start, end| Response {
            start: at(start),
            end: at(end),
            bytes: Bytes::new(1),
        };
        for (start, end) in [
            (0, 999),
            (900, 1_000),
            (2_000, 2_300),
            (4_000, 5_000),
            (4_500, 5_001),
        ] {
            meter.on_response(response(start, end));
        }
        let flow = FlowSummary::new("a".into(), "cubic".into(), &meter, &[], &[]);
        assert_eq!(
            (flow.responses, flow.response_s.min, flow.response_s.max),
            (3, Some(0.1), Some(1.0))
        );
        assert!((flow.response_s.mean.unwrap() - 1.4 / 3.0).abs() < 1e-12);
        assert_eq!(
            meter.take_responses().unwrap().len(),
            4,
            "what the run saw of them"
        );
    }

    #[test]
    fn a_link_weighs_waiting_by_time() {
        let rtt = Span::from_millis(10);
        let mut meter = LinkMeter::new(
            MeasuredTime {
                from: at(0),
                to: at(1_000),
            },
            Span::from_secs(1),
            rtt,
        );
        meter.on_transmission(Span::from_millis(10), at(0), at(250), true);
        meter.on_transmission(Span::from_millis(20), at(250), at(500), true);
        meter.on_transmission(Span::from_millis(40), at(900), at(1_100), true);
        let link = LinkSummary::new("bottleneck".into(), &meter);
        assert!(
            (link.utilisation - 0.6).abs() < 1e-12,
            "the last one is cut at the end of the run"
        );
        let mean = 0.010 * 0.25 + 0.020 * 0.25 + 0.040 * 0.1;
        assert!((link.queue_delay_s.mean.unwrap() - mean).abs() < 1e-12);
        assert_eq!(link.queue_delay_s.min, Some(0.0), "idle for 400 ms");
        assert_eq!(meter.packets(), 2, "one was still on the wire");
        assert_eq!(
            (link.queue_within_1_rtt, link.queue_within_2_rtts),
            (Some(0.65), Some(0.9)),
            "what is at most is within"
        );
    }

    #[test]
    fn what_a_shaper_holds_back_waits_too() {
        let rtt = Span::from_millis(10);
        let mut meter = LinkMeter::new(
            MeasuredTime {
                from: at(0),
                to: at(1_000),
            },
            Span::from_secs(1),
            rtt,
        );
        meter.on_held(Span::from_millis(15), at(0), at(100));
        meter.on_transmission(Span::from_millis(15), at(100), at(200), true);
        meter.on_held(Span::from_micros(20_001), at(900), at(1_100));
        assert_eq!(meter.within_rtts(), Some([0.7, 0.9]));
        let nothing = LinkMeter::new(
            MeasuredTime {
                from: at(0),
                to: at(0),
            },
            Span::ZERO,
            rtt,
        );
        assert_eq!(nothing.within_rtts(), None);
    }
}
