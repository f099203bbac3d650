//! Traffic that does not react to congestion: full packets at a constant rate, like a UDP flood or
//! a badly implemented video call, or at rates of a schedule, like bursts.

use fullpipe_cc::EcnCodepoint;
use fullpipe_units::{Bytes, Rate, Time};

use crate::wire::Segment;

/// A source whose rate follows a schedule.
#[derive(Clone, Debug)]
pub struct Unresponsive {
    rate: Rate,
    ecn: EcnCodepoint,
    smss: Bytes,
    /// Begin of the present rate.
    since: Time,
    /// Packets since then.
    sent: u64,
    /// Number of the next packet.
    next: u64,
    /// Later rates, latest first.
    later: Vec<(Time, Rate)>,
}

impl Unresponsive {
    /// Creates a source that sends payload at `rate` from `now` on, in packets with codepoint
    /// `ecn` and a payload of `smss`.
    pub fn new(rate: Rate, ecn: EcnCodepoint, smss: Bytes, now: Time) -> Unresponsive {
        Unresponsive {
            rate,
            ecn,
            smss,
            since: now,
            sent: 0,
            next: 0,
            later: Vec::new(),
        }
    }

    /// Sets another rate from each of the given times on, which ascend; zero is a pause. A rate
    /// begins with a packet.
    #[must_use]
    pub fn changing(mut self, changes: impl IntoIterator<Item = (Time, Rate)>) -> Unresponsive {
        self.later = changes.into_iter().collect();
        self.later.reverse();
        self.change();
        self
    }

    /// Returns the time at which the next packet leaves; [`Time::MAX`] if none does.
    pub fn next_at(&self) -> Time {
        if self.rate == Rate::ZERO {
            return Time::MAX;
        }
        // Computed from the start each time, so that rounding errors do not accumulate.
        self.since + self.rate.time_for(self.smss * self.sent)
    }

    /// Applies the changes until the next packet.
    fn change(&mut self) {
        while let Some((at, rate)) = self.later.last().copied() {
            if at > self.next_at() {
                return;
            }
            self.later.pop();
            self.rate = rate;
            self.since = self.since.max(at);
            self.sent = 0;
        }
    }

    /// Returns the packet that leaves at `now`.
    pub fn send(&mut self, now: Time) -> Segment {
        let seq = self.next;
        self.next += 1;
        self.sent += 1;
        self.change();
        Segment {
            seq,
            sent: now,
            echo: Time::ZERO,
            size: self.smss.get() as u16,
            syn: false,
            retransmit: false,
            push: false,
            ecn: self.ecn,
            ce: false,
            cwr: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SMSS;
    use fullpipe_units::Span;

    #[test]
    fn keeps_its_rate_exactly() {
        let mut source = Unresponsive::new(
            Rate::from_bps(7_777_777),
            EcnCodepoint::NotEct,
            SMSS,
            Time::from_nanos(3),
        );
        for _ in 0..1_000_000 {
            let at = source.next_at();
            source.send(at);
        }
        let expected = Span::from_nanos((1_000_000_u128 * 1448 * 8_000_000_000 / 7_777_777) as u64);
        let error = (source.next_at() - Time::from_nanos(3))
            .as_nanos()
            .abs_diff(expected.as_nanos());
        assert!(error <= 1, "{error} ns");
    }

    #[test]
    fn follows_its_schedule_and_begins_each_rate_with_a_packet() {
        let at = |us: u64| Time::from_nanos(us * 1000);
        // A packet of 1448 B takes 1158.4 us at 10 Mbit/s, and half of that at 20 Mbit/s.
        let changes = [
            (at(500), Rate::from_mbps(10)), // before the start: the rate of the start
            (at(4_000), Rate::ZERO),
            (at(9_000), Rate::from_mbps(20)),
            (at(10_000), Rate::ZERO),
        ];
        let mut source =
            Unresponsive::new(Rate::ZERO, EcnCodepoint::NotEct, SMSS, at(1_000)).changing(changes);
        let mut left = Vec::new();
        while source.next_at() < Time::MAX {
            let now = source.next_at();
            left.push((now.as_nanos(), source.send(now).seq));
        }
        let times = [1_000_000, 2_158_400, 3_316_800, 9_000_000, 9_579_200];
        assert_eq!(left, times.into_iter().zip(0..).collect::<Vec<_>>());
    }
}
