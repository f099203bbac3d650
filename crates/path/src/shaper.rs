//! A shaper: a token bucket between the queue and the transmitter.

use fullpipe_units::{Bytes, Rate, Time};

use crate::Timeline;
use crate::bucket::Bucket;
use crate::impairment::{Argument, Impairment, Unit};

pub(crate) static SHAPER: Impairment = Impairment {
    name: "shaper",
    keys: &["shaper"],
    named: false,
    purpose: "A token bucket holds back the packet at the head of the queue until it conforms.",
    arguments: &[
        Argument::first("rate", Unit::Rate, "The rate at which tokens arrive."),
        Argument::needed(
            "burst",
            Unit::Size,
            "The size of the bucket, which begins full.",
        ),
    ],
    example: "20mbit burst 30kB",
    source: "tc-tbf(8)",
};

/// Holds the packet at the head of the queue back until the bucket has tokens for all of it, as
/// tc-tbf(8) does.
///
/// Packets wait in the link's queue (tbf's inner qdisc, with its limit); a burst leaves at the
/// link's rate (tbf's peakrate).
#[derive(Clone, Debug)]
pub struct Shaper(Bucket);

impl Shaper {
    /// Creates a full bucket. A packet larger than `burst` would never leave.
    pub fn new(rate: Rate, burst: Bytes) -> Shaper {
        Shaper(Bucket::full(rate, burst))
    }
}

/// The shaper over time; a new one begins with a full bucket.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Timeline<Option<Shaper>>);

impl Gate {
    /// Returns the gate of `shapers`; `None` if there never is a shaper.
    pub(crate) fn new(shapers: Timeline<Option<Shaper>>) -> Option<Box<Gate>> {
        (!matches!(shapers.constant(), Some(None))).then(|| Box::new(Gate(shapers)))
    }

    /// Returns the time at which a packet of `size`, at the head of the queue since `now`, may
    /// leave. It must be the next packet to leave, and `now` must not decrease from call to call.
    pub(crate) fn opens_at(&mut self, now: Time, size: Bytes) -> Time {
        let mut at = now;
        loop {
            let Some(shaper) = self.0.at(at) else {
                return at;
            };
            shaper.0.fill(at);
            let opens = shaper.0.holds_at(size);
            if opens < self.0.next_change() {
                return opens;
            }
            at = self.0.next_change();
        }
    }

    /// Returns whether a packet of `size` that arrives at `now` may leave at once.
    pub(crate) fn is_open(&mut self, now: Time, size: Bytes) -> bool {
        self.0.at(now).as_mut().is_none_or(|shaper| {
            shaper.0.fill(now);
            shaper.0.holds_at(size) <= now
        })
    }

    /// Records the departure of a packet of `size`.
    pub(crate) fn pass(&mut self, now: Time, size: Bytes) {
        if let Some(shaper) = self.0.at(now) {
            shaper.0.fill(now);
            let paid = shaper.0.take(size);
            debug_assert!(paid, "nothing leaves before the gate opens");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::BYTE;
    use crate::{Limit, Measured, Transmitter, VaryingLink, Verdict};
    use fullpipe_units::Span;
    use proptest::prelude::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    #[test]
    fn a_burst_leaves_at_the_links_rate_and_then_a_packet_for_each_of_its_times() {
        // 1500 bytes take 0.1 ms on the link, and 1 ms to earn. The burst is of three packets.
        let shaper = Shaper::new(Rate::from_mbps(12), Bytes::new(4_500));
        let transmitter = Transmitter::serial(Timeline::from(Rate::from_mbps(120)).into());
        let mut link = VaryingLink::new(
            transmitter,
            Limit::Packets(3).into(),
            None.into(),
            Some(shaper).into(),
        );
        let packet = Bytes::new(1_500);
        let mut start = |now: Time| match link.arrive(now, packet) {
            Verdict::Departs { start, .. } => Some(start),
            _ => None,
        };
        assert_eq!(start(at(0)), Some(at(0)));
        assert_eq!(
            start(at(0)),
            Some(at(100)),
            "there are tokens, but the link is busy"
        );
        assert_eq!(
            start(at(0)),
            Some(at(200)),
            "tokens for 1500 + 300 bytes are left"
        );
        assert_eq!(
            start(at(0)),
            Some(at(1_000)),
            "1 ms earned the first packet's tokens"
        );
        assert_eq!(start(at(0)), None, "three wait");
        assert_eq!(start(at(100)), Some(at(2_000)), "one has left the queue");
        // All tokens are earned again after 3 ms without a packet.
        assert_eq!(start(at(5_000)), Some(at(5_000)));
        assert_eq!(start(at(5_000)), Some(at(5_100)));
    }

    #[test]
    fn what_waits_for_tokens_keeps_the_link_from_sending() {
        let shaper = Shaper::new(Rate::from_mbps(12), Bytes::new(1_500));
        let transmitter = Transmitter::serial(Timeline::from(Rate::from_mbps(120)).into());
        let mut link = VaryingLink::new(
            transmitter,
            Limit::Packets(9).into(),
            None.into(),
            Some(shaper).into(),
        );
        let packet = Bytes::new(1_500);
        link.arrive(at(0), packet);
        assert_eq!(
            link.measured(),
            Measured {
                held_since: at(0),
                start: at(0),
                sent_from: at(0)
            }
        );
        assert_eq!(
            link.arrive(at(50), packet),
            Verdict::Departs {
                start: at(1_000),
                end: at(1_100)
            }
        );
        // The second packet was at the head of the queue since the departure of the first one.
        assert_eq!(
            link.measured(),
            Measured {
                held_since: at(100),
                start: at(1_000),
                sent_from: at(1_000)
            }
        );
    }

    proptest! {
        /// Each packet leaves in the first nanosecond, after its arrival and its predecessor's
        /// departure, at which it conforms.
        #[test]
        fn each_packet_leaves_as_soon_as_it_conforms(
            rate in 1_000_u64..10_000_000_000,
            burst in 1_500_u64..100_000,
            arrivals in prop::collection::vec((0_u64..3_000_000, 40_u64..1_501), 1..100),
        ) {
            let shaper = Shaper::new(Rate::from_bps(rate), Bytes::new(burst));
            let mut gate = Gate::new(Some(shaper).into()).expect("a gate");
            let most = u128::from(burst) * BYTE;
            // Level of the bucket at `now` after these packets have left, computed from the start
            // by the definition.
            let level = |left: &[(u64, u64)], now: u64| {
                let refilled = |level: u128, ns: u64| most.min(level + u128::from(ns) * u128::from(rate));
                let after = left.iter().fold((most, 0), |(level, last), (at, size)| {
                    (refilled(level, at - last) - u128::from(*size) * BYTE, *at)
                });
                refilled(after.0, now - after.1)
            };
            let (mut now, mut left) = (0, Vec::<(u64, u64)>::new());
            for (gap, size) in arrivals {
                now += gap;
                let at_head = now.max(left.last().map_or(0, |(at, _)| *at));
                let at_once = gate.is_open(Time::from_nanos(at_head), Bytes::new(size));
                let opens = gate.opens_at(Time::from_nanos(at_head), Bytes::new(size)).as_nanos();
                gate.pass(Time::from_nanos(opens), Bytes::new(size));
                let price = u128::from(size) * BYTE;
                prop_assert!(level(&left, opens) >= price);
                prop_assert!(opens == at_head || level(&left, opens - 1) < price);
                prop_assert_eq!(at_once, opens == at_head);
                left.push((opens, size));
            }
        }
    }
}
