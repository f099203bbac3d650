//! Round trips counted by packets: the `Round` of draft-ietf-ccwg-bbr-06 §5.5.1.

use fullpipe_units::Bytes;

/// Counts round trips: one ends when a packet sent after its start is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundCounter {
    count: u64,
    end: Bytes,
}

impl RoundCounter {
    /// Takes the newest packet of an ACK ([`Snapshot::delivered`](crate::Snapshot::delivered)) and
    /// the current [`Conn::delivered`](crate::Conn::delivered). Returns true if a round begins with
    /// this ACK.
    ///
    /// The very first ACK begins the first round.
    #[inline]
    pub fn on_ack(&mut self, packet_delivered: Bytes, delivered: Bytes) -> bool {
        let begins = packet_delivered >= self.end;
        if begins {
            self.end = delivered;
            self.count += 1;
        }
        begins
    }

    /// Begins a round now without counting it: it ends when a packet sent from now on is
    /// acknowledged.
    #[inline]
    pub fn restart(&mut self, delivered: Bytes) {
        self.end = delivered;
    }

    /// Returns the number of rounds begun so far.
    #[inline]
    pub const fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_the_first_packet_sent_after_its_start() {
        let mut round = RoundCounter::default();
        assert!(
            round.on_ack(Bytes::ZERO, Bytes::new(1_000)),
            "the first ACK begins the first round"
        );
        assert!(
            !round.on_ack(Bytes::ZERO, Bytes::new(10_000)),
            "sent before the round began"
        );
        assert!(
            round.on_ack(Bytes::new(1_000), Bytes::new(11_000)),
            "sent on the ACK that began the round"
        );
        assert!(!round.on_ack(Bytes::new(10_000), Bytes::new(12_000)));
        assert_eq!(round.count(), 2);
    }

    #[test]
    fn a_restart_begins_a_round_but_counts_none() {
        let mut round = RoundCounter::default();
        round.on_ack(Bytes::ZERO, Bytes::new(1_000));
        round.restart(Bytes::new(5_000));
        assert!(!round.on_ack(Bytes::new(4_999), Bytes::new(6_000)));
        assert!(round.on_ack(Bytes::new(5_000), Bytes::new(7_000)));
        assert_eq!(round.count(), 2);
    }
}
