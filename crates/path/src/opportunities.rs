//! A transmitter that sends only at the given instants of a mahimahi trace.

use std::sync::Arc;

use fullpipe_units::{Bytes, Span, Time};

/// Delivery opportunities at the milliseconds of a repeating trace, by the rules of mahimahi's
/// `LinkQueue`.
///
/// Each opportunity carries [`SIZE`](Opportunities::SIZE) bytes, of one packet or of several. A
/// packet larger than the bytes left continues in the next opportunity. Bytes of an opportunity
/// are lost if no packet that arrived before it can use them.
#[derive(Clone, Debug)]
pub struct Opportunities {
    /// Times in ascending order; the last is the length of the trace, and above zero.
    times: Arc<[u32]>,
    /// The next opportunity: its index in `times`, and the number of repetitions before it.
    next: (usize, u64),
    /// Time of the opportunity used last, in the run, and the bytes left of it.
    at: Time,
    left: u64,
    /// Time of the trace at which the run begins.
    begin: Span,
}

const MILLISECOND: u64 = 1_000_000;

impl Opportunities {
    /// Bytes of one opportunity: a packet of 1500 bytes as read from a TUN device, with a header of
    /// 4 bytes.
    pub const SIZE: Bytes = Bytes::new(1_504);
    /// Size of the IP packet that fills one opportunity.
    pub(crate) const PACKET: Bytes = Bytes::new(1_500);
    const HEADER: Bytes = Bytes::new(4);

    /// Opportunities at `times`, in milliseconds; the run begins at the time `begin` of them. The
    /// trace repeats, shifted by the time of its last opportunity.
    ///
    /// # Panics
    /// If `times` is empty, or the last is zero, which scenarios refuse.
    pub fn new(times: Arc<[u32]>, begin: Span) -> Opportunities {
        assert!(
            times.last().is_some_and(|last| *last > 0),
            "a trace lasts for some time"
        );
        debug_assert!(times.is_sorted());
        Opportunities {
            next: Opportunities::first_from(&times, Time::ZERO + begin),
            times,
            at: Time::ZERO,
            left: 0,
            begin,
        }
    }

    /// Returns the time at which the last bit of all accepted packets leaves.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.at
    }

    /// Returns the time at which the first byte of a packet leaves that may leave from `earliest`
    /// on.
    pub fn start(&self, earliest: Time) -> Time {
        if self.left > 0 && self.at >= earliest {
            self.at
        } else {
            self.time(self.find(earliest))
        }
    }

    /// Accepts a packet that may leave from `earliest` on, behind those accepted before; returns
    /// (first byte out, last byte out).
    pub fn transmit(&mut self, earliest: Time, size: Bytes) -> (Time, Time) {
        if self.left == 0 || self.at < earliest {
            self.next = self.find(earliest);
            self.open();
        }
        let start = self.at;
        let mut bytes = Opportunities::charged(size).get();
        while bytes > self.left {
            bytes -= self.left;
            self.open();
        }
        self.left -= bytes;
        (start, self.at)
    }

    /// Returns the bytes of the opportunities that a packet of `size` uses.
    #[inline]
    pub fn charged(size: Bytes) -> Bytes {
        size + Opportunities::HEADER
    }

    /// Returns the number of opportunities before `time`, from the start of the trace on.
    pub fn before(&self, time: Time) -> u64 {
        let (place, round) = Opportunities::first_from(&self.times, time + self.begin);
        round * self.times.len() as u64 + place as u64
    }

    /// Moves on to the next opportunity.
    fn open(&mut self) {
        (self.at, self.left) = (self.time(self.next), Opportunities::SIZE.get());
        self.next.0 += 1;
        if self.next.0 == self.times.len() {
            self.next = (0, self.next.1 + 1);
        }
    }

    /// Returns the first unused opportunity from `earliest` on.
    #[inline]
    fn find(&self, earliest: Time) -> (usize, u64) {
        if self.time(self.next) >= earliest {
            self.next
        } else {
            Opportunities::first_from(&self.times, earliest + self.begin)
        }
    }

    fn first_from(times: &[u32], earliest: Time) -> (usize, u64) {
        let ms = earliest.as_nanos().div_ceil(MILLISECOND);
        // An opportunity at the very end of a round comes before those at the start of the next.
        let round = ms.saturating_sub(1) / Opportunities::length(times);
        let within = ms - round * Opportunities::length(times);
        (
            times.partition_point(|time| u64::from(*time) < within),
            round,
        )
    }

    #[inline]
    fn time(&self, (place, round): (usize, u64)) -> Time {
        let ms = round * Opportunities::length(&self.times) + u64::from(self.times[place]);
        Time::ZERO + Span::from_nanos(ms.saturating_mul(MILLISECOND)).saturating_sub(self.begin)
    }

    /// Returns the length of the trace, in milliseconds.
    #[inline]
    fn length(times: &[u32]) -> u64 {
        u64::from(times[times.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Returns the departure times in ms of packets that all wait at the start.
    fn departures(times: &[u32], sizes: &[u64]) -> Vec<(u64, u64)> {
        let mut link = Opportunities::new(times.into(), Span::ZERO);
        let earliest = Time::from_nanos(1);
        let in_ms = |time: Time| time.as_nanos() / MILLISECOND;
        sizes
            .iter()
            .map(|size| link.transmit(earliest, Bytes::new(*size)))
            .map(|(from, to)| (in_ms(from), in_ms(to)))
            .collect()
    }

    #[test]
    fn an_opportunity_carries_one_full_packet_or_several_small_ones() {
        assert_eq!(
            departures(&[1, 3, 4], &[1_500, 1_500, 1_500]),
            [(1, 1), (3, 3), (4, 4)]
        );
        // 4 × (372 + 4) = 1504.
        assert_eq!(
            departures(&[1, 3], &[372, 372, 372, 372, 372]),
            [(1, 1), (1, 1), (1, 1), (1, 1), (3, 3)]
        );
        // Of 1504 bytes 1004 are used and 500 are left; the next packet needs those and 1004 − 500
        // = 504 of the second opportunity.
        assert_eq!(
            departures(&[2, 5, 9], &[1_000, 1_000, 1_000, 500]),
            [(2, 2), (2, 5), (5, 9), (9, 9)]
        );
        // Several opportunities in one millisecond.
        assert_eq!(
            departures(&[7, 7, 7, 8], &[1_500, 1_400, 1_500, 1_500]),
            [(7, 7), (7, 7), (7, 7), (7, 8)]
        );
    }

    #[test]
    fn a_trace_begins_again_when_its_last_opportunity_is_over() {
        assert_eq!(
            departures(&[2, 5], &[1_500; 5]),
            [(2, 2), (5, 5), (7, 7), (10, 10), (12, 12)]
        );
        // The first opportunity of the next round is at the same time as the last of this one.
        assert_eq!(
            departures(&[0, 3], &[1_500; 4]),
            [(3, 3), (3, 3), (6, 6), (6, 6)]
        );
    }

    #[test]
    fn a_trace_may_begin_at_a_later_opportunity() {
        let from = |begin: u64, times: &[u32]| {
            let mut link = Opportunities::new(times.into(), Span::from_millis(begin));
            let sent = |_| link.transmit(Time::from_nanos(1), Bytes::new(1_500)).1;
            (0..4).map(sent).collect::<Vec<_>>()
        };
        assert_eq!(from(0, &[2, 5, 9]), [ms(2), ms(5), ms(9), ms(11)]);
        assert_eq!(from(4, &[2, 5, 9]), [ms(1), ms(5), ms(7), ms(10)]);
        // The opportunity of the first instant is too early, as in a trace that begins with zero.
        assert_eq!(from(5, &[2, 5, 9]), [ms(4), ms(6), ms(9), ms(13)]);
        let link = Opportunities::new([2, 5, 9].as_slice().into(), Span::from_millis(4));
        assert_eq!(link.before(ms(8)) - link.before(ms(0)), 3, "at 1, 5 and 7");
    }

    #[test]
    fn what_nobody_can_use_is_lost() {
        let mut link = Opportunities::new([1, 2, 3].as_slice().into(), Span::ZERO);
        let after = |time: Time| time + Span::from_nanos(1);
        assert_eq!(link.transmit(after(ms(0)), Bytes::new(100)), (ms(1), ms(1)));
        assert_eq!(
            link.start(after(ms(1))),
            ms(2),
            "it arrived at the opportunity's time, too late for the bytes left"
        );
        assert_eq!(
            link.start(ms(1)),
            ms(1),
            "had it arrived earlier, it would leave"
        );
        assert_eq!(
            link.transmit(after(ms(1_000_000)), Bytes::new(1_500)),
            (ms(1_000_001), ms(1_000_001))
        );
        assert_eq!(link.before(ms(0)), 0);
        assert_eq!(link.before(ms(3)), 2);
        assert_eq!(link.before(after(ms(6))), 6);
    }

    /// mahimahi's loop, opportunity by opportunity in integer milliseconds; returns (arrival,
    /// departure) of each packet.
    fn reference(times: &[u32], arrivals: &[(u64, u64)], until: u64) -> Vec<(u64, u64)> {
        let (mut base, mut place, mut departed) = (0, 0, Vec::new());
        let mut waiting: std::collections::VecDeque<(u64, u64)> = [].into();
        let mut transit = None;
        let mut arrivals = arrivals.iter().copied().peekable();
        for now in 0..=until {
            while base + u64::from(times[place]) <= now {
                place += 1;
                if place == times.len() {
                    (place, base) = (0, base + u64::from(times[times.len() - 1]));
                }
                let mut bytes = 1_504;
                while bytes > 0 {
                    let Some((came, left)) = transit.take().or_else(|| waiting.pop_front()) else {
                        break;
                    };
                    if left <= bytes {
                        bytes -= left;
                        departed.push((came, now));
                    } else {
                        transit = Some((came, left - bytes));
                        bytes = 0;
                    }
                }
            }
            while let Some((came, size)) = arrivals.next_if(|(came, _)| *came == now) {
                waiting.push_back((came, size + 4));
            }
        }
        departed
    }

    proptest! {
        #[test]
        fn departures_are_mahimahis(
            gaps in prop::collection::vec(prop_oneof![3 => 0_u32..3, 1 => 0_u32..60], 1..40),
            arrivals in prop::collection::vec(
                (prop_oneof![3 => 0_u64..2, 1 => 0_u64..100], prop_oneof![Just(1_500_u64), 1_u64..1_500]), 1..150),
            begin in prop_oneof![Just(0), 0_u64..400],
        ) {
            let mut at = 0;
            let mut times: Vec<u32> = gaps.iter().map(|gap| { at += gap; at }).collect();
            times.push(at.max(1));
            let mut now = 0;
            let arrivals: Vec<(u64, u64)> = arrivals.iter().map(|(gap, size)| { now += gap; (now, *size) }).collect();
            let begin = begin % u64::from(times[times.len() - 1]);
            let mut link = Opportunities::new(times.as_slice().into(), Span::from_millis(begin));
            let (mut ours, mut last) = (Vec::new(), Time::ZERO);
            for (came, size) in &arrivals {
                let earliest = ms(*came) + Span::from_nanos(1);
                let expected = link.start(earliest);
                let (start, end) = link.transmit(earliest, Bytes::new(*size));
                prop_assert_eq!(start, expected);
                prop_assert!(start > ms(*came) && start >= last && end >= start, "in order, after its arrival");
                last = end;
                ours.push((came + begin, end.as_nanos() / MILLISECOND + begin));
            }
            let until = last.as_nanos() / MILLISECOND + begin;
            let arrivals: Vec<(u64, u64)> = arrivals.iter().map(|(came, size)| (came + begin, *size)).collect();
            prop_assert_eq!(ours, reference(&times, &arrivals, until));
        }

        #[test]
        fn opportunities_are_counted_round_by_round(times in prop::collection::vec(0_u32..50, 1..20), until in 0_u64..200) {
            let mut times = times;
            times.sort_unstable();
            times.push(50);
            let all = (0..10).flat_map(|round| times.iter().map(move |time| round * 50 + u64::from(*time)));
            let link = Opportunities::new(times.as_slice().into(), Span::ZERO);
            prop_assert_eq!(link.before(ms(until)), all.filter(|time| *time < until).count() as u64);
        }
    }
}
