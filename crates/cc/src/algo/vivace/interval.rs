//! Monitor intervals: spans of sent packets, and what became of them (§3).

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::Snapshot;

/// A monitor interval.
#[derive(Debug)]
pub(super) struct Interval {
    /// The rate at which its packets were paced.
    pub(super) rate: Rate,
    /// Whether its utility is to be computed: it tests a rate. The others fill the time until a
    /// result is known.
    pub(super) tests: bool,
    began: Time,
    /// Number of its first packet.
    first: u64,
    packets: u64,
    sent: Bytes,
    acked: Bytes,
    lost: Bytes,
    /// Numbers of the lost packets: a packet can still arrive after it was declared lost.
    lost_packets: Vec<u64>,
    app_limited: bool,
    slope: Slope,
}

/// The fate of a monitor interval's packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measurement {
    pub(super) rate: Rate,
    /// L: the fraction of its bytes that were lost.
    pub(super) loss: f64,
    /// d(RTT)/dT.
    pub(super) rtt_gradient: f64,
    /// Whether the application limited it, so that it did not reach its rate.
    pub(super) app_limited: bool,
}

impl Interval {
    fn new(rate: Rate, tests: bool, now: Time, first: u64) -> Interval {
        Interval {
            rate,
            tests,
            began: now,
            first,
            packets: 0,
            sent: Bytes::ZERO,
            acked: Bytes::ZERO,
            lost: Bytes::ZERO,
            lost_packets: Vec::new(),
            app_limited: false,
            slope: Slope::default(),
        }
    }

    fn is_complete(&self) -> bool {
        self.acked + self.lost >= self.sent
    }

    fn measurement(&self) -> Measurement {
        Measurement {
            rate: self.rate,
            loss: self.lost.as_f64() / self.sent.as_f64(),
            rtt_gradient: self.slope.value(),
            app_limited: self.app_limited,
        }
    }
}

/// The intervals whose packets are in flight, oldest first; the last one is open.
#[derive(Debug, Default)]
pub(super) struct Intervals(VecDeque<Interval>);

impl Intervals {
    /// Begins an interval with the packet that leaves now.
    pub(super) fn begin(&mut self, rate: Rate, tests: bool, packet: &Snapshot) {
        self.0
            .push_back(Interval::new(rate, tests, packet.sent, packet.number()));
    }

    /// Counts a packet that left. It belongs to the open interval.
    pub(super) fn on_sent(&mut self, packet: &Snapshot) {
        if let Some(open) = self.0.back_mut() {
            open.packets += 1;
            open.sent += Bytes::new(packet.size.into());
            open.app_limited |= packet.app_limited;
        }
    }

    /// Returns whether the packet that leaves at `now` begins an interval. A test lasts for a time
    /// and a number of packets; an interval without measurement until a test `waits`.
    pub(super) fn is_over(&self, now: Time, (time, packets): (Span, u64), waits: bool) -> bool {
        self.0.back().is_none_or(|open| {
            if open.tests {
                now - open.began >= time && open.packets >= packets
            } else {
                waits
            }
        })
    }

    fn of(&mut self, packet: &Snapshot) -> Option<&mut Interval> {
        let number = packet.number();
        let after = self.0.partition_point(|interval| interval.first <= number);
        self.0.get_mut(after.checked_sub(1)?)
    }

    /// Counts an acknowledged packet.
    pub(super) fn on_acked(&mut self, packet: &Snapshot) {
        let Some(interval) = self.of(packet) else {
            return;
        };
        let size = Bytes::new(packet.size.into());
        interval.acked += size;
        let number = packet.number();
        if let Some(place) = interval
            .lost_packets
            .iter()
            .position(|lost| *lost == number)
        {
            interval.lost_packets.swap_remove(place);
            interval.lost -= size;
        }
    }

    /// Counts a lost packet.
    pub(super) fn on_lost(&mut self, packet: &Snapshot) {
        if let Some(interval) = self.of(packet) {
            interval.lost += Bytes::new(packet.size.into());
            interval.lost_packets.push(packet.number());
        }
    }

    /// Counts the RTT sample of a packet.
    pub(super) fn on_rtt(&mut self, packet: &Snapshot, rtt: Span) {
        if let Some(interval) = self.of(packet) {
            let at = packet.sent - interval.began;
            interval.slope.add(at.as_secs_f64(), rtt.as_secs_f64());
        }
    }

    /// Removes the oldest interval, if it is closed and all of its packets were acknowledged or
    /// lost. Returns its measurement, if it tests a rate.
    pub(super) fn take(&mut self) -> Option<Option<Measurement>> {
        let complete = self.0.len() > 1 && self.0.front().is_some_and(Interval::is_complete);
        let interval = complete.then(|| self.0.pop_front()).flatten()?;
        Some(interval.tests.then(|| interval.measurement()))
    }

    /// Discards all intervals: the results of their packets no longer count.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// A least-squares line through points.
#[derive(Debug, Default)]
struct Slope {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Slope {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// Returns the slope of the line; 0 unless two of the points differ in x.
    fn value(&self) -> f64 {
        let spread = self.count * self.xx - self.x * self.x;
        if spread <= f64::EPSILON * self.xx {
            return 0.0;
        }
        (self.count * self.xy - self.x * self.y) / spread
    }
}
