//! Traffic that does not react to congestion: full packets at a constant rate, like a UDP flood or
//! a badly implemented video call.

use fullpipe_cc::EcnCodepoint;
use fullpipe_units::{Bytes, Rate, Time};

use crate::wire::Segment;

/// A source of constant rate.
#[derive(Clone, Debug)]
pub struct Unresponsive {
    rate: Rate,
    ecn: EcnCodepoint,
    smss: Bytes,
    started: Time,
    next: u64,
}

impl Unresponsive {
    /// Creates a source that sends payload at `rate` from `now` on, in packets with codepoint
    /// `ecn` and a payload of `smss`.
    pub fn new(rate: Rate, ecn: EcnCodepoint, smss: Bytes, now: Time) -> Unresponsive {
        Unresponsive {
            rate,
            ecn,
            smss,
            started: now,
            next: 0,
        }
    }

    /// Returns the time at which the next packet leaves.
    pub fn next_at(&self) -> Time {
        // Computed from the start each time, so that rounding errors do not accumulate.
        self.started + self.rate.time_for(self.smss * self.next)
    }

    /// Returns the packet that leaves at `now`.
    pub fn send(&mut self, now: Time) -> Segment {
        let seq = self.next;
        self.next += 1;
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
}
