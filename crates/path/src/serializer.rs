//! The clock of a transmitter.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::Rates;

/// Transmission times of packets, without rounding drift.
///
/// The remainder of each division is carried over to the next packet of the same busy period, so
/// that n packets of s bytes take exactly floor(n·s·8·10⁹ / rate) ns.
#[derive(Clone, Debug)]
pub struct Serializer {
    rate: u64,
    /// Remainder carried over, in units of 1/rate ns; always less than `rate`.
    carry: u64,
    free_at: Time,
    /// Quotient and remainder of the last packet size: nearly all packets have one size, and
    /// divisions are slow.
    last: (u64, u64, u64),
}

impl Serializer {
    /// Creates an idle transmitter of `rate`.
    ///
    /// # Panics
    /// If the rate is zero, which scenarios refuse.
    pub fn new(rate: Rate) -> Serializer {
        assert!(rate > Rate::ZERO, "a link needs a rate above zero");
        Serializer {
            rate: rate.as_bps(),
            carry: 0,
            free_at: Time::ZERO,
            last: (0, 0, 0),
        }
    }

    /// Returns the time at which the transmitter has nothing left to send.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Accepts a packet that arrives at `now`, behind those accepted before; returns (first bit
    /// out, last bit out). The nanosecond in which the last bit leaves still belongs to the busy
    /// period.
    #[inline]
    pub fn transmit(&mut self, now: Time, size: Bytes) -> (Time, Time) {
        let start = self.begin(now);
        (start, self.send(start, size))
    }

    /// Accepts a packet at a rate that may change even while it is sent: its last bit leaves when
    /// the integral of the rate since `start` reaches the packet's bits. The amount carried over is
    /// work (bit·ns/s), which a change of the rate does not alter.
    #[inline]
    pub fn transmit_at(&mut self, now: Time, size: Bytes, rates: &mut Rates) -> (Time, Time) {
        if let Some(rate) = rates.settled() {
            self.set_rate(rate);
            return self.transmit(now, size);
        }
        self.transmit_while_changing(now, size, rates)
    }

    /// As [`transmit_at`](Serializer::transmit_at), if the rate may still change.
    #[inline(never)]
    fn transmit_while_changing(
        &mut self,
        now: Time,
        size: Bytes,
        rates: &mut Rates,
    ) -> (Time, Time) {
        let start = self.begin(now);
        self.set_rate(rates.at(start));
        let carry = self.carry;
        let end = self.send(start, size);
        if end < rates.next_change() || rates.next_change() == Time::MAX {
            return (start, end);
        }
        let mut work = u128::from(size.get()) * BYTE + u128::from(carry);
        let mut at = start;
        while rates.next_change() < Time::MAX {
            let done = u128::from((rates.next_change() - at).as_nanos()) * u128::from(self.rate);
            if work < done {
                break;
            }
            work -= done;
            at = rates.next_change();
            self.set_rate(rates.at(at));
        }
        let rate = u128::from(self.rate);
        self.carry = (work % rate) as u64;
        self.free_at = at + Span::from_nanos(u64::try_from(work / rate).unwrap_or(u64::MAX));
        (start, self.free_at)
    }

    /// Returns the time at which the first bit of a packet that arrives at `now` leaves.
    #[inline]
    fn begin(&mut self, now: Time) -> Time {
        if now > self.free_at {
            self.carry = 0;
            now
        } else {
            self.free_at
        }
    }

    /// Sends from `start` on at the current rate; returns the time at which the last bit leaves.
    #[inline]
    fn send(&mut self, start: Time, size: Bytes) -> Time {
        if self.last.0 != size.get() {
            let work = u128::from(size.get()) * BYTE;
            let rate = u128::from(self.rate);
            self.last = (size.get(), (work / rate) as u64, (work % rate) as u64);
        }
        let (_, mut ns, remainder) = self.last;
        self.carry += remainder;
        if self.carry >= self.rate {
            self.carry -= self.rate;
            ns += 1;
        }
        self.free_at = start + Span::from_nanos(ns);
        self.free_at
    }

    #[inline]
    fn set_rate(&mut self, rate: Rate) {
        if rate.as_bps() != self.rate {
            self.rate = rate.as_bps();
            self.last = (0, 0, 0);
        }
    }
}

/// Work of one byte, in bit·ns/s.
const BYTE: u128 = 8_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timeline;
    use proptest::prelude::*;

    #[test]
    fn a_packet_that_arrives_as_the_last_ends_is_of_the_same_busy_period() {
        // 1500 B at 32258064517 bit/s take 371.99… ns; two of them 743.99…
        let mut serializer = Serializer::new(Rate::from_bps(32_258_064_517));
        let end = serializer.transmit(Time::ZERO, Bytes::new(1500)).1;
        assert_eq!(end, Time::from_nanos(371));
        assert_eq!(
            serializer.transmit(end, Bytes::new(1500)),
            (end, Time::from_nanos(743))
        );
    }

    #[test]
    fn a_billion_packets_do_not_drift() {
        // 1500 B at 7 Mbit/s take 1714285.714… ns each, not an integer. One sum covers the busy
        // period.
        let mut serializer = Serializer::new(Rate::from_mbps(7));
        let mut end = Time::ZERO;
        for n in 1..=1_000_000_u128 {
            end = serializer.transmit(Time::ZERO, Bytes::new(1500)).1;
            if n % 250_000 == 0 {
                assert_eq!(
                    u128::from(end.as_nanos()),
                    n * 1500 * 8_000_000_000 / 7_000_000
                );
            }
        }
        // The carry after 7 packets equals that after none, so a result for 10^6 packets holds for
        // 10^9.
        let (carry, before) = (serializer.carry, end);
        for _ in 0..7 {
            end = serializer.transmit(Time::ZERO, Bytes::new(1500)).1;
        }
        assert_eq!(serializer.carry, carry);
        assert_eq!((end - before).as_nanos(), 12_000_000);
    }

    #[test]
    fn the_packet_being_sent_goes_on_at_the_new_rate() {
        // 1500 B at 12 Mbit/s take 1 ms. After a quarter of that time the rate falls to a tenth.
        let at = |us: u64| Time::from_nanos(us * 1_000);
        let mut rates = Rates::from(Timeline::new(
            Rate::from_mbps(12),
            [(at(250), Rate::from_bps(1_200_000))],
        ));
        let mut serializer = Serializer::new(Rate::from_mbps(12));
        let packet = Bytes::new(1_500);
        assert_eq!(
            serializer.transmit_at(Time::ZERO, packet, &mut rates),
            (Time::ZERO, at(7_750))
        );
        assert_eq!(
            serializer.transmit_at(Time::ZERO, packet, &mut rates),
            (at(7_750), at(17_750))
        );
    }

    proptest! {
        /// Compares with the definition: the n-th packet of a busy period ends in the last
        /// nanosecond at which the integral of the rate does not exceed the work of the first n
        /// packets.
        #[test]
        fn departures_follow_the_integral_of_the_rate(
            first in 1_000_u64..100_000_000_000,
            changes in prop::collection::vec((0_u64..300_000, 1_000_u64..100_000_000_000), 0..8),
            arrivals in prop::collection::vec((0_u64..40_000, prop_oneof![Just(1500_u64), 40_u64..1500]), 1..60),
        ) {
            let mut at = 0;
            let steps: Vec<(u64, u64)> = changes.iter().map(|(gap, rate)| { at += gap; (at, *rate) }).collect();
            let timed = steps.iter().map(|(at, rate)| (Time::from_nanos(*at), Rate::from_bps(*rate)));
            let mut rates = Rates::from(Timeline::new(Rate::from_bps(first), timed));
            let mut serializer = Serializer::new(Rate::from_bps(first));
            // Work from the start of the run until `to`.
            let integral = |to: u64| {
                let (mut sum, mut from, mut rate) = (0_u128, 0, first);
                for (at, next) in &steps {
                    sum += u128::from(to.min(*at) - from.min(to)) * u128::from(rate);
                    (from, rate) = (*at, *next);
                }
                sum + u128::from(to - from.min(to)) * u128::from(rate)
            };
            let (mut now, mut began, mut work, mut free) = (0_u64, 0_u64, 0_u128, 0_u64);
            for (gap, size) in arrivals {
                now += gap;
                if now > free {
                    (began, work) = (now, 0);
                }
                work += u128::from(size) * BYTE;
                let (start, end) = serializer.transmit_at(Time::from_nanos(now), Bytes::new(size), &mut rates);
                prop_assert_eq!(start.as_nanos(), now.max(free));
                free = end.as_nanos();
                prop_assert!(integral(free) - integral(began) <= work, "all of it has left");
                prop_assert!(integral(free + 1) - integral(began) > work, "and not a nanosecond ago");
            }
        }
    }
}
