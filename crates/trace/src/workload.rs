//! Measurements of the flows that arrive: totals per workload, and a row for each flow.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::drift::{Drift, Ratio, WorkloadDrift};
use crate::series::Series;
use crate::slowdown::Slowdowns;
use crate::summary::{loss_fraction, shares};
use crate::{Distribution, FlowCounters, FlowMeter, Histogram, MeasuredTime, WorkloadSummary};

/// A flow that has arrived. About 50 bytes, because there may be a million of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Index of its workload.
    pub workload: u32,
    /// Time at which its SYN left.
    pub start: Time,
    /// Size.
    pub bytes: Bytes,
    /// Two-way propagation delay at its start.
    pub rtt: Span,
    /// Completion time that it would have alone on the path.
    pub alone: Span,
    /// Completion time, from its SYN to the arrival of its last byte; `None` if it did not
    /// complete.
    pub completion: Option<Span>,
}

/// Measurements of one workload.
#[derive(Clone, Debug)]
pub struct WorkloadMeter {
    window: MeasuredTime,
    arrived: u64,
    /// Flows refused because too many were active.
    refused: u64,
    completed: u64,
    completion: Histogram,
    bytes: Bytes,
    rtt: Histogram,
    queue: Histogram,
    sent: u64,
    retransmits: u64,
    delivered: Bytes,
    drops: u64,
    marks: u64,
    ack_drops: u64,
    held: Vec<Span>,
    /// Number of active flows now, the time of its last change, its maximum, and its integral over
    /// time.
    active: u64,
    since: Time,
    most: u64,
    area: u128,
    /// The next edge of `course`, the integral at equal parts of the window.
    next: Time,
    course: Option<Series<u128>>,
}

impl WorkloadMeter {
    /// Creates an empty meter for a sender with `limits` [limits](WorkloadMeter::on_limits).
    pub fn new(window: MeasuredTime, limits: usize) -> WorkloadMeter {
        let course = Series::new(window, false);
        WorkloadMeter {
            window,
            next: course.as_ref().map_or(Time::MAX, Series::next),
            course,
            arrived: 0,
            refused: 0,
            completed: 0,
            completion: Histogram::default(),
            bytes: Bytes::ZERO,
            rtt: Histogram::default(),
            queue: Histogram::default(),
            sent: 0,
            retransmits: 0,
            delivered: Bytes::ZERO,
            drops: 0,
            marks: 0,
            ack_drops: 0,
            held: vec![Span::ZERO; limits],
            active: 0,
            since: Time::ZERO,
            most: 0,
            area: 0,
        }
    }

    /// Records that a flow begins.
    pub fn on_arrival(&mut self, now: Time) {
        self.arrived += u64::from(self.window.holds(now));
        self.turn(now);
        self.active += 1;
        if self.window.holds(now) {
            self.most = self.most.max(self.active);
        }
    }

    /// Records that a flow was refused because too many are active.
    pub fn on_refused(&mut self, now: Time) {
        self.arrived += u64::from(self.window.holds(now));
        self.refused += u64::from(self.window.holds(now));
    }

    /// Records that a flow's connection was closed.
    pub fn on_departure(&mut self, now: Time) {
        self.turn(now);
        self.active -= 1;
    }

    /// Records that a flow is complete; it counts if `end` is within the window.
    pub fn on_complete(&mut self, start: Time, end: Time, bytes: Bytes) {
        if self.window.holds(end) {
            self.completed += 1;
            self.completion.add(end - start);
            self.bytes += bytes;
        }
    }

    /// Moves a flow's measurements into this meter and resets them there.
    pub fn take(&mut self, flow: &mut FlowMeter) {
        flow.rtt.pour(&mut self.rtt);
        flow.queue.pour(&mut self.queue);
        self.sent += core::mem::take(&mut flow.sent);
        self.retransmits += core::mem::take(&mut flow.retransmits);
        self.delivered += core::mem::take(&mut flow.delivered);
        self.drops += core::mem::take(&mut flow.drops);
        self.marks += core::mem::take(&mut flow.marks);
        self.ack_drops += core::mem::take(&mut flow.ack_drops);
    }

    /// Adds the time for which each reason limited a flow.
    pub fn on_limits(&mut self, held: &[Span]) {
        for (sum, held) in self.held.iter_mut().zip(held) {
            *sum += *held;
        }
    }

    /// Adds the counters of a queue that counts drops and marks itself.
    pub fn on_tally(&mut self, tallied: FlowCounters) {
        self.drops += tallied.drops;
        self.marks += tallied.marks;
        self.ack_drops += tallied.ack_drops;
    }

    /// Returns the number of active flows.
    pub fn active(&self) -> u64 {
        self.active
    }

    fn turn(&mut self, now: Time) {
        while self.next <= now {
            self.hold(self.next);
            let course = self.course.as_mut();
            self.next = course.map_or(Time::MAX, |course| course.pass(self.next, self.area));
        }
        self.hold(now);
    }

    fn hold(&mut self, now: Time) {
        let held = now
            .min(self.window.to)
            .since(self.since.max(self.window.from));
        self.area += u128::from(self.active) * u128::from(held.as_nanos());
        self.since = now;
        // The flows active at the start of the window count for the maximum, too.
        if held > Span::ZERO {
            self.most = self.most.max(self.active);
        }
    }

    /// Returns the course of the number of active flows.
    fn drifts(&self) -> WorkloadDrift {
        let Some(course) = &self.course else {
            return WorkloadDrift::default();
        };
        let part = course.part().as_nanos() as f64;
        let totals = course.finish(self.area);
        let parts: Vec<Ratio> = totals
            .windows(2)
            .map(|pair| Ratio {
                sum: (pair[1] - pair[0]) as f64,
                of: part,
            })
            .collect();
        WorkloadDrift {
            concurrent: Drift::of(&parts[course.tested()]),
        }
    }
}

impl WorkloadSummary {
    /// Computes a workload's metrics from its meter at the end of the run.
    pub fn new(
        name: String,
        cc: String,
        mut meter: WorkloadMeter,
        slowdown: Slowdowns,
        limits: &[&'static str],
    ) -> WorkloadSummary {
        let MeasuredTime { from, to, .. } = meter.window;
        meter.turn(to);
        let drift = meter.drifts();
        let WorkloadMeter {
            sent, retransmits, ..
        } = meter;
        WorkloadSummary {
            name,
            cc,
            goodput_bps: Rate::from_delivery(meter.delivered, to - from).as_f64(),
            arrived: meter.arrived,
            refused: meter.refused,
            completed: meter.completed,
            unfinished: meter.active,
            completed_bytes: meter.bytes.get(),
            completion_s: Distribution::from(&meter.completion),
            slowdown,
            concurrent: meter.area as f64 / (to - from).as_nanos() as f64,
            most_concurrent: meter.most,
            rtt_s: Distribution::from(&meter.rtt),
            queue_delay_s: Distribution::from(&meter.queue),
            sent,
            retransmits,
            loss_fraction: loss_fraction(sent, retransmits),
            drops: meter.drops,
            marks: meter.marks,
            ack_drops: meter.ack_drops,
            limited_by: shares(limits, &meter.held),
            drift,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn what_ends_within_the_window_is_complete_and_what_is_under_way_is_counted_over_time() {
        let window = MeasuredTime::new(at(1_000), at(5_000));
        let mut meter = WorkloadMeter::new(window, 1);
        for start in [500, 2_000, 3_000] {
            meter.on_arrival(at(start));
        }
        meter.on_complete(at(500), at(2_990), Bytes::new(1_000));
        meter.on_departure(at(3_000));
        meter.on_complete(at(2_000), at(5_001), Bytes::new(1));
        meter.on_refused(at(4_000));
        let summary = WorkloadSummary::new(
            "web".into(),
            "cubic".into(),
            meter,
            Slowdowns::default(),
            &["cwnd"],
        );
        assert_eq!(
            (
                summary.arrived,
                summary.refused,
                summary.completed,
                summary.unfinished
            ),
            (3, 1, 1, 2)
        );
        assert_eq!(
            (summary.completed_bytes, summary.completion_s.mean),
            (1_000, Some(2.49))
        );
        // One flow is active from 1 s on, two from 2 s on; at 3 s one arrives and one departs.
        assert!(
            (summary.concurrent - (1.0 + 2.0 * 3.0) / 4.0).abs() < 1e-12,
            "{}",
            summary.concurrent
        );
        assert_eq!(summary.most_concurrent, 3, "for an instant");
    }

    #[test]
    fn the_course_of_the_active_flows_has_their_mean_between_edges() {
        let second = |number: u64| at(number * 1_000);
        let window = MeasuredTime::new(second(60), second(120));
        let mut meter = WorkloadMeter::new(window, 1);
        // One flow more every two seconds.
        for number in 0..60 {
            meter.on_arrival(second(2 * number));
        }
        let of = |meter: WorkloadMeter| {
            let slowdowns = Slowdowns::default();
            WorkloadSummary::new("web".into(), "cubic".into(), meter, slowdowns, &["cwnd"])
        };
        let drift = of(meter.clone()).drift.concurrent.unwrap();
        assert_eq!((drift.first, drift.last, drift.tau), (35.5, 55.5, 1.0));
        // Without an event in the window, all parts are alike.
        let mut still = WorkloadMeter::new(window, 1);
        still.on_arrival(second(10));
        let drift = of(still).drift.concurrent.unwrap();
        assert_eq!((drift.first, drift.last, drift.tau), (1.0, 1.0, 0.0));
    }

    #[test]
    fn what_a_flow_measured_is_the_workloads_and_the_next_flow_begins_from_nothing() {
        let window = MeasuredTime::new(at(0), at(5_000));
        let (mut meter, mut flow) = (WorkloadMeter::new(window, 1), FlowMeter::new(window, at(0)));
        for n in 0..100 {
            flow.on_sent(at(n), n == 7);
            flow.on_rtt(at(n), Span::from_millis(n));
            flow.on_delivered(at(n), Span::from_millis(2 * n), Bytes::new(10));
        }
        meter.take(&mut flow);
        flow.restart(at(200));
        assert_eq!(
            (flow.sent, flow.ended(), flow.rtt.histogram().weight()),
            (0, None, 0)
        );
        flow.on_rtt(at(300), Span::from_millis(1_000));
        meter.take(&mut flow);
        let summary = WorkloadSummary::new(
            "web".into(),
            "cubic".into(),
            meter,
            Slowdowns::default(),
            &["cwnd"],
        );
        assert_eq!(
            (summary.sent, summary.retransmits, summary.loss_fraction),
            (100, 1, 0.01)
        );
        assert!(
            (summary.goodput_bps - 1_600.0).abs() < 1.0,
            "1000 bytes in 5 s"
        );
        assert_eq!(summary.rtt_s.max, Some(1.0));
        assert!((summary.rtt_s.mean.unwrap() - (4.95 + 1.0) / 101.0).abs() < 1e-12);
        assert!((summary.queue_delay_s.mean.unwrap() - 0.099).abs() < 1e-12);
    }
}
