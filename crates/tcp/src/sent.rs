//! The data that was sent and is not yet cumulatively acknowledged, and the snapshots of the
//! connection taken at each transmission.

use fullpipe_cc::{EcnCodepoint, Snapshot};
use fullpipe_units::{Bytes, Time};

/// State of a sent segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// In flight.
    Outstanding,
    /// Declared lost and not retransmitted since.
    Lost,
    /// Selectively acknowledged.
    Sacked,
}

/// A sent segment, in 16 bytes, since a flow may have a hundred thousand of them. A SACKed segment
/// no longer needs its snapshot, so those fields hold the lengths of SACKed runs instead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    inflight_or_run: u64,
    burst_or_run: u32,
    pub(crate) size: u16,
    pub(crate) state: State,
    pub(crate) transmissions: u8,
}

impl Sent {
    /// Creates the record of a segment that leaves in `burst`.
    #[inline]
    pub(crate) fn new(snapshot: &Snapshot, burst: u32, transmissions: u8) -> Sent {
        Sent {
            inflight_or_run: snapshot.inflight.get(),
            burst_or_run: burst,
            size: snapshot.size,
            state: State::Outstanding,
            transmissions,
        }
    }

    /// Returns the data in flight, including this segment, when it was last sent.
    #[inline]
    fn inflight(&self) -> Bytes {
        debug_assert_ne!(self.state, State::Sacked);
        Bytes::new(self.inflight_or_run)
    }

    /// Returns the burst in which it was last sent.
    #[inline]
    pub(crate) fn burst(&self) -> u32 {
        debug_assert_ne!(self.state, State::Sacked);
        self.burst_or_run
    }

    /// Marks the segment as SACKed: a run of one segment.
    #[inline]
    pub(crate) fn sack(&mut self) {
        self.state = State::Sacked;
        (self.inflight_or_run, self.burst_or_run) = (1, 1);
    }

    /// Returns the number of segments, from this one on, that are known to be SACKed.
    #[inline]
    pub(crate) fn sacked_from_here(&self) -> u64 {
        debug_assert_eq!(self.state, State::Sacked);
        u64::from(self.burst_or_run.max(1))
    }

    /// Returns the number of segments, up to this one, that are known to be SACKed.
    #[inline]
    pub(crate) fn sacked_up_to_here(&self) -> u64 {
        debug_assert_eq!(self.state, State::Sacked);
        self.inflight_or_run
    }

    #[inline]
    pub(crate) fn set_sacked_from_here(&mut self, segments: u64) {
        debug_assert_eq!(self.state, State::Sacked);
        self.burst_or_run = segments as u32;
    }

    #[inline]
    pub(crate) fn set_sacked_up_to_here(&mut self, segments: u64) {
        debug_assert_eq!(self.state, State::Sacked);
        self.inflight_or_run = segments;
    }
}

/// The sent segments in a power-of-two ring by sequence number.
#[derive(Debug)]
pub(crate) struct SentRing {
    ring: Box<[Sent]>,
    mask: u64,
}

/// Largest number of records that a finished flow's buffers keep for the next flow: small enough
/// that memory use follows the number of active flows.
pub(crate) const KEPT: usize = 256;

const NONE: Sent = Sent {
    inflight_or_run: 0,
    burst_or_run: 0,
    size: 0,
    state: State::Sacked,
    transmissions: 0,
};

impl SentRing {
    pub(crate) fn new() -> SentRing {
        SentRing {
            ring: vec![NONE; 16].into(),
            mask: 15,
        }
    }

    /// Empties the ring for another flow; a ring larger than [`KEPT`] is freed.
    pub(crate) fn cleared(self) -> SentRing {
        if self.ring.len() > KEPT {
            SentRing::new()
        } else {
            self
        }
    }

    #[inline]
    pub(crate) fn get(&self, seq: u64) -> &Sent {
        &self.ring[(seq & self.mask) as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, seq: u64) -> &mut Sent {
        &mut self.ring[(seq & self.mask) as usize]
    }

    /// Makes room for segment `next`, not yet sent, in addition to everything from `una` on.
    #[inline]
    pub(crate) fn reserve(&mut self, una: u64, next: u64) {
        if next - una > self.mask {
            self.grow(una, next);
        }
    }

    #[cold]
    fn grow(&mut self, una: u64, next: u64) {
        let size = self.ring.len() * 2;
        let mut ring: Box<[Sent]> = vec![NONE; size].into();
        for seq in una..next {
            ring[(seq & (size as u64 - 1)) as usize] = *self.get(seq);
        }
        self.ring = ring;
        self.mask = size as u64 - 1;
    }
}

/// The part of their snapshots that segments sent together share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    pub(crate) sent: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: Bytes,
    pub(crate) lost: Bytes,
    delivered_ce: Bytes,
    /// Number of segments that still refer to this burst.
    users: u32,
    app_limited: bool,
    ecn: EcnCodepoint,
}

/// The bursts to which a segment in the window still refers, in a ring by number.
#[derive(Debug)]
pub(crate) struct Bursts {
    ring: Box<[Burst]>,
    mask: u32,
    /// Numbers of the oldest burst in use and of the next burst.
    oldest: u32,
    next: u32,
}

impl Bursts {
    pub(crate) fn new() -> Bursts {
        let none = Burst {
            sent: Time::ZERO,
            first_sent: Time::ZERO,
            delivered_at: Time::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            delivered_ce: Bytes::ZERO,
            users: 0,
            app_limited: false,
            ecn: EcnCodepoint::NotEct,
        };
        Bursts {
            ring: vec![none; 8].into(),
            mask: 7,
            oldest: 0,
            next: 0,
        }
    }

    /// Empties the ring for another flow, as [`SentRing::cleared`].
    pub(crate) fn cleared(self) -> Bursts {
        if self.ring.len() > KEPT {
            Bursts::new()
        } else {
            Bursts {
                oldest: 0,
                next: 0,
                ..self
            }
        }
    }

    /// Returns the two oldest bursts and the slot of the next one.
    #[inline]
    pub(crate) fn ends(&self) -> [&Burst; 3] {
        [
            self.get(self.oldest),
            self.get(self.oldest.wrapping_add(1)),
            self.get(self.next),
        ]
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &Burst {
        &self.ring[(number & self.mask) as usize]
    }

    /// Returns the number of the burst to which a segment with this snapshot belongs.
    #[inline(always)] // once for each packet
    pub(crate) fn join(&mut self, snapshot: &Snapshot) -> u32 {
        if self.next != self.oldest {
            let number = self.next.wrapping_sub(1);
            let last = &mut self.ring[(number & self.mask) as usize];
            // These fields identify a burst: the other fields change only together with one of
            // them.
            if last.sent == snapshot.sent
                && last.delivered == snapshot.delivered
                && last.lost == snapshot.lost
                && last.app_limited == snapshot.app_limited
                && last.ecn == snapshot.ecn
            {
                last.users += 1;
                return number;
            }
        }
        if self.next.wrapping_sub(self.oldest) > self.mask {
            self.grow();
        }
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.ring[(number & self.mask) as usize] = Burst {
            sent: snapshot.sent,
            first_sent: snapshot.first_sent,
            delivered_at: snapshot.delivered_at,
            delivered: snapshot.delivered,
            lost: snapshot.lost,
            delivered_ce: snapshot.delivered_ce,
            users: 1,
            app_limited: snapshot.app_limited,
            ecn: snapshot.ecn,
        };
        number
    }

    /// Removes a segment's reference to burst `number`; returns the time at which the burst left.
    #[inline]
    pub(crate) fn leave(&mut self, number: u32) -> Time {
        let burst = &mut self.ring[(number & self.mask) as usize];
        let sent = burst.sent;
        burst.users -= 1;
        if burst.users == 0 && number == self.oldest {
            self.oldest = number.wrapping_add(1);
            if self.oldest != self.next && self.get(self.oldest).users == 0 {
                self.release();
            }
        }
        sent
    }

    #[inline(never)] // usually bursts are left in order
    fn release(&mut self) {
        while self.oldest != self.next && self.get(self.oldest).users == 0 {
            self.oldest = self.oldest.wrapping_add(1);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = self.ring.len() * 2;
        let mut ring = vec![self.ring[0]; size].into_boxed_slice();
        let mut number = self.oldest;
        while number != self.next {
            ring[number as usize & (size - 1)] = *self.get(number);
            number = number.wrapping_add(1);
        }
        self.ring = ring;
        self.mask = size as u32 - 1;
    }

    /// Returns the snapshot of a segment.
    #[inline]
    pub(crate) fn snapshot(&self, sent: &Sent) -> Snapshot {
        let burst = self.get(sent.burst());
        Snapshot {
            sent: burst.sent,
            first_sent: burst.first_sent,
            delivered_at: burst.delivered_at,
            delivered: burst.delivered,
            delivered_ce: burst.delivered_ce,
            lost: burst.lost,
            inflight: sent.inflight(),
            size: sent.size,
            app_limited: burst.app_limited,
            ecn: burst.ecn,
            retransmit: sent.transmissions > 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stay_small() {
        assert_eq!(size_of::<Sent>(), 16);
        assert!(size_of::<Burst>() <= 64);
    }
}
