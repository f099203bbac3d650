//! A link of constant rate behind a drop-tail queue.

use units::{Bytes, Rate, Span, Time};

use crate::{DropTail, Limit};

/// The clock of a transmitter: how long each packet takes, with no rounding drift.
///
/// What a division leaves over is carried to the next packet of the same busy period, so that n packets of s bytes
/// take exactly floor(n·s·8·10⁹ / rate) ns.
#[derive(Clone, Debug)]
pub struct Serialiser {
    rate: u64,
    /// Carried over, in units of 1/rate ns; always less than `rate`.
    carry: u64,
    free_at: Time,
    /// Quotient and remainder of the last size seen: nearly all packets have one size, and divisions are slow.
    last: (u64, u64, u64),
}

impl Serialiser {
    /// A transmitter of `rate`, idle.
    ///
    /// # Panics
    /// At rate zero, which scenarios refuse.
    pub fn new(rate: Rate) -> Serialiser {
        assert!(rate > Rate::ZERO, "a link needs a rate");
        Serialiser { rate: rate.as_bps(), carry: 0, free_at: Time::ZERO, last: (0, 0, 0) }
    }

    /// When the transmitter has nothing to send.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Takes a packet that arrives at `now`, behind those taken before: (first bit out, last bit out). The nanosecond in
    /// which the last bit leaves is still of the busy period.
    #[inline]
    pub fn transmit(&mut self, now: Time, size: Bytes) -> (Time, Time) {
        let start = if now > self.free_at {
            self.carry = 0;
            now
        } else {
            self.free_at
        };
        if self.last.0 != size.get() {
            let bit_ns = u128::from(size.get()) * 8_000_000_000;
            let rate = u128::from(self.rate);
            self.last = (size.get(), (bit_ns / rate) as u64, (bit_ns % rate) as u64);
        }
        let (_, mut ns, remainder) = self.last;
        self.carry += remainder;
        if self.carry >= self.rate {
            self.carry -= self.rate;
            ns += 1;
        }
        self.free_at = start + Span::from_nanos(ns);
        (start, self.free_at)
    }
}

/// What became of a packet that arrived at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its transmission runs from `start` to `end`; it waited `start` - arrival.
    Departs {
        /// First bit out.
        start: Time,
        /// Last bit out.
        end: Time,
    },
    /// The queue had no room.
    Dropped,
}

/// A link: a drop-tail queue, then a transmitter of constant rate.
///
/// Since nothing but arrivals changes such a link, the departure of a packet is known when it is accepted: no event is
/// needed for it. Arrivals must be told in order of time.
#[derive(Clone, Debug)]
pub struct Link {
    serialiser: Serialiser,
    queue: DropTail,
}

impl Link {
    /// An idle link.
    pub fn new(rate: Rate, limit: Limit) -> Link {
        Link { serialiser: Serialiser::new(rate), queue: DropTail::new(limit) }
    }

    /// A packet of `size` bytes arrives.
    #[inline]
    pub fn arrive(&mut self, now: Time, size: Bytes) -> Verdict {
        self.queue.release(now);
        if now >= self.serialiser.free_at() {
            let (start, end) = self.serialiser.transmit(now, size);
            return Verdict::Departs { start, end };
        }
        if !self.queue.has_room(size) {
            return Verdict::Dropped;
        }
        let (start, end) = self.serialiser.transmit(now, size);
        self.queue.push(start, size);
        Verdict::Departs { start, end }
    }

    /// Packets and bytes that wait at `now`, without the one being sent.
    pub fn backlog(&mut self, now: Time) -> (u64, Bytes) {
        self.queue.release(now);
        self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// The same link stepped packet by packet, departure by departure: slow, obvious, in exact rational time.
    struct Stepped {
        rate: u128,
        limit: u64,
        queue: VecDeque<(u64, u128)>,
        sending_until: Option<(u64, u128)>,
        /// When the last packet ended, and what its division left over.
        ended: (u64, u128),
    }

    impl Stepped {
        fn depart_until(&mut self, now: u64, done: &mut Vec<(u64, u64)>) {
            while let Some((end, carry)) = self.sending_until.filter(|(end, _)| *end <= now) {
                self.sending_until = None;
                self.ended = (end, carry);
                if let Some((_, size)) = self.queue.pop_front() {
                    self.begin(end, carry, size, done);
                }
            }
        }

        fn begin(&mut self, at: u64, carry: u128, size: u128, done: &mut Vec<(u64, u64)>) {
            let exact = size * 8_000_000_000 + carry;
            let end = at + (exact / self.rate) as u64;
            self.sending_until = Some((end, exact % self.rate));
            done.push((at, end));
        }

        fn arrive(&mut self, now: u64, size: u128, done: &mut Vec<(u64, u64)>) -> bool {
            self.depart_until(now, done);
            if self.sending_until.is_none() {
                let carry = if self.ended.0 == now { self.ended.1 } else { 0 };
                self.begin(now, carry, size, done);
            } else if (self.queue.len() as u64) < self.limit {
                self.queue.push_back((now, size));
            } else {
                return false;
            }
            true
        }
    }

    proptest! {
        #[test]
        fn known_departures_equal_stepping_bit_for_bit(
            rate in 1_000_u64..100_000_000_000,
            limit in 1_u64..20,
            arrivals in prop::collection::vec((0_u64..40_000, prop_oneof![Just(1500_u64), 40_u64..1500]), 1..300),
        ) {
            let mut link = Link::new(Rate::from_bps(rate), Limit::Packets(limit));
            let mut stepped = Stepped {
                rate: u128::from(rate),
                limit,
                queue: VecDeque::new(),
                sending_until: None,
                ended: (0, 0),
            };
            let (mut now, mut ours, mut theirs) = (0, Vec::new(), Vec::new());
            for (gap, size) in arrivals {
                now += gap;
                let verdict = link.arrive(Time::from_nanos(now), Bytes::new(size));
                let accepted = stepped.arrive(now, u128::from(size), &mut theirs);
                prop_assert_eq!(link.backlog(Time::from_nanos(now)).0, stepped.queue.len() as u64);
                match verdict {
                    Verdict::Departs { start, end } => ours.push((start.as_nanos(), end.as_nanos())),
                    Verdict::Dropped => {}
                }
                prop_assert_eq!(verdict != Verdict::Dropped, accepted);
            }
            stepped.depart_until(u64::MAX, &mut theirs);
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn packets_in_are_packets_out_dropped_or_queued(
            limit in 1_u64..50, gaps in prop::collection::vec(0_u64..30_000, 1..500),
        ) {
            let mut link = Link::new(Rate::from_mbps(1_000), Limit::Packets(limit));
            let (mut now, mut departures, mut last, mut dropped) = (0, Vec::new(), Time::ZERO, 0_usize);
            for gap in &gaps {
                now += gap;
                match link.arrive(Time::from_nanos(now), Bytes::new(1500)) {
                    Verdict::Departs { start, end } => {
                        prop_assert!(start >= last && start >= Time::from_nanos(now), "order kept, sojourn not negative");
                        last = end;
                        departures.push(start);
                    }
                    Verdict::Dropped => dropped += 1,
                }
                let (packets, bytes) = link.backlog(Time::from_nanos(now));
                prop_assert!(packets <= limit);
                prop_assert_eq!(bytes, Bytes::new(1500) * packets);
            }
            let queued = departures.iter().filter(|start| **start > Time::from_nanos(now)).count();
            prop_assert_eq!(link.backlog(Time::from_nanos(now)).0 as usize, queued);
            prop_assert_eq!(departures.len() + dropped, gaps.len());
        }
    }

    #[test]
    fn a_packet_that_arrives_as_the_last_ends_is_of_the_same_busy_period() {
        // 1500 B at 32258064517 bit/s take 371.99… ns; two of them 743.99…
        let mut serialiser = Serialiser::new(Rate::from_bps(32_258_064_517));
        let end = serialiser.transmit(Time::ZERO, Bytes::new(1500)).1;
        assert_eq!(end, Time::from_nanos(371));
        assert_eq!(serialiser.transmit(end, Bytes::new(1500)), (end, Time::from_nanos(743)));
    }

    #[test]
    fn a_billion_packets_do_not_drift() {
        // 1500 B at 7 Mbit/s take 1714285.714… ns each: no integer. The busy period is walked in one sum.
        let mut serialiser = Serialiser::new(Rate::from_mbps(7));
        let mut end = Time::ZERO;
        for n in 1..=1_000_000_u128 {
            end = serialiser.transmit(Time::ZERO, Bytes::new(1500)).1;
            if n % 250_000 == 0 {
                assert_eq!(u128::from(end.as_nanos()), n * 1500 * 8_000_000_000 / 7_000_000);
            }
        }
        // The carry after 7 packets is the carry after none: what holds for 10^6 packets holds for 10^9.
        let (carry, before) = (serialiser.carry, end);
        for _ in 0..7 {
            end = serialiser.transmit(Time::ZERO, Bytes::new(1500)).1;
        }
        assert_eq!(serialiser.carry, carry);
        assert_eq!((end - before).as_nanos(), 12_000_000);
    }
}
