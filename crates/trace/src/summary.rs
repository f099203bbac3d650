//! Computes metrics, in SI units, from meters. A metric without a sample is `None`.

use std::collections::BTreeMap;

use fullpipe_units::Span;

use crate::{Distribution, FlowMeter, FlowSummary, Histogram, LinkMeter, LinkSummary};

impl FlowSummary {
    /// Computes a flow's metrics from its meter and the time for which each reason limited it.
    /// Metrics that depend on other flows remain unset.
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
        let frames = meter.frames.as_ref();
        let delays = frames.map_or_else(Histogram::default, |frames| frames.delays.clone());
        FlowSummary {
            name,
            cc,
            goodput_bps: meter.goodput().as_f64(),
            max_min_share: None,
            rtt_s: Distribution::from(&meter.rtt.histogram()),
            queue_delay_s: Distribution::from(&meter.queue.histogram()),
            sent,
            retransmits: meter.retransmits,
            loss_fraction: loss_fraction(sent, meter.retransmits + meter.lost),
            drops: meter.drops,
            marks: meter.marks,
            ack_drops: meter.ack_drops,
            completion_s: meter
                .last_byte
                .map(|last| (last - meter.start).as_secs_f64()),
            responses: answered.weight(),
            response_s: Distribution::from(&answered),
            frames: delays.weight(),
            lost_frames: frames.map_or(0, |frames| frames.lost),
            frame_delay_s: Distribution::from(&delays),
            limited_by: shares(limits, held),
            drift: meter.drifts(),
        }
    }
}

impl LinkSummary {
    /// Computes a link's metrics from its meter.
    pub fn new(name: String, meter: &LinkMeter) -> LinkSummary {
        let within = meter.within_rtts();
        LinkSummary {
            name,
            utilization: meter.utilization(),
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
            drift: meter.drifts(),
        }
    }
}

/// Retransmissions divided by all packets sent; 0 if nothing was sent.
pub(crate) fn loss_fraction(sent: u64, retransmits: u64) -> f64 {
    if sent == 0 {
        0.0
    } else {
        retransmits as f64 / sent as f64
    }
}

/// Returns the share of the time for which each reason limited a flow.
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

/// Returns Jain's fairness index, (Σx)² / (n·Σx²); `None` without a flow, 1 when all are zero.
pub fn jain(rates: &[f64]) -> Option<f64> {
    if rates.is_empty() {
        return None;
    }
    // In one order, so that the last bit doesn't depend on the order of the flows.
    let mut rates = rates.to_vec();
    rates.sort_unstable_by(f64::total_cmp);
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

    /// The worked example of docs/reference/metrics.md.
    #[test]
    fn goodput_counts_from_the_later_of_start_and_measure_from_to_the_last_byte() {
        let mut meter = FlowMeter::new(MeasuredTime::new(at(1_000), at(5_000)), at(500));
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
        let window = MeasuredTime::new(at(1_000), at(5_000));
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
            "no meter observed a queue"
        );
    }

    #[test]
    fn a_response_counts_when_it_ends_within_the_window() {
        let mut meter =
            FlowMeter::new(MeasuredTime::new(at(1_000), at(5_000)), at(0)).with_responses(true);
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
            "all responses that ended during the run"
        );
    }

    #[test]
    fn a_link_weighs_waiting_by_time() {
        let rtt = Span::from_millis(10);
        let mut meter =
            LinkMeter::new(MeasuredTime::new(at(0), at(1_000)), Span::from_secs(1), rtt);
        meter.on_transmission(Span::from_millis(10), at(0), at(250), true);
        meter.on_transmission(Span::from_millis(20), at(250), at(500), true);
        meter.on_transmission(Span::from_millis(40), at(900), at(1_100), true);
        let link = LinkSummary::new("bottleneck".into(), &meter);
        assert!(
            (link.utilization - 0.6).abs() < 1e-12,
            "the last one counts only until the end of the run"
        );
        let mean = 0.010 * 0.25 + 0.020 * 0.25 + 0.040 * 0.1;
        assert!((link.queue_delay_s.mean.unwrap() - mean).abs() < 1e-12);
        assert_eq!(link.queue_delay_s.min, Some(0.0), "idle for 400 ms");
        assert_eq!(meter.packets(), 2, "one was still on the wire");
        assert_eq!(
            (link.queue_within_1_rtt, link.queue_within_2_rtts),
            (Some(0.65), Some(0.9)),
            "a delay equal to the bound is within it"
        );
    }

    #[test]
    fn what_a_shaper_holds_back_waits_too() {
        let rtt = Span::from_millis(10);
        let mut meter =
            LinkMeter::new(MeasuredTime::new(at(0), at(1_000)), Span::from_secs(1), rtt);
        meter.on_held(Span::from_millis(15), at(0), at(100));
        meter.on_transmission(Span::from_millis(15), at(100), at(200), true);
        meter.on_held(Span::from_micros(20_001), at(900), at(1_100));
        assert_eq!(meter.within_rtts(), Some([0.7, 0.9]));
        let nothing = LinkMeter::new(MeasuredTime::new(at(0), at(0)), Span::ZERO, rtt);
        assert_eq!(nothing.within_rtts(), None);
    }
}
