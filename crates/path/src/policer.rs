//! A policer: a token bucket without a queue.

use fullpipe_units::{Bytes, Rate, Time};

use crate::bucket::Bucket;
use crate::impairment::{Argument, Impairment, Unit};

pub(crate) static POLICER: Impairment = Impairment {
    name: "policer",
    keys: &["policer"],
    named: false,
    purpose: "A token bucket in front of the queue drops packets that exceed it.",
    arguments: &[
        Argument::first("rate", Unit::Rate, "The rate at which tokens arrive."),
        Argument::needed(
            "burst",
            Unit::Size,
            "The size of the bucket, which begins full.",
        ),
    ],
    example: "10mbit burst 60kB",
    source: "tc-police(8)",
};

/// Lets a packet pass iff the bucket has tokens for all of it, and drops it otherwise: no packet
/// waits.
///
/// A single-rate meter as in RFC 2697 with an excess burst of zero, whose red packets are dropped.
#[derive(Clone, Debug)]
pub struct Policer(Bucket);

impl Policer {
    /// Creates a full bucket.
    pub fn new(rate: Rate, burst: Bytes) -> Policer {
        Policer(Bucket::full(rate, burst))
    }

    /// Returns whether a packet of `size` that arrives at `now` passes. `now` must not decrease
    /// from call to call.
    pub fn admits(&mut self, now: Time, size: Bytes) -> bool {
        self.0.fill(now);
        self.0.take(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::BYTE;
    use fullpipe_units::Span;
    use proptest::prelude::*;

    #[test]
    fn a_burst_passes_and_then_one_packet_for_each_of_its_times() {
        // 12 Mbit/s: one packet of 1500 bytes per millisecond.
        let mut policer = Policer::new(Rate::from_mbps(12), Bytes::new(4_500));
        let packet = Bytes::new(1_500);
        let at_once = (0..10)
            .filter(|_| policer.admits(Time::ZERO, packet))
            .count();
        assert_eq!(at_once, 3);
        let just_before = Time::ZERO + Span::from_nanos(999_999);
        assert!(!policer.admits(just_before, packet));
        assert!(
            policer.admits(Time::ZERO + Span::from_millis(1), packet),
            "a dropped packet costs no tokens"
        );
    }

    proptest! {
        #[test]
        fn in_any_interval_no_more_passes_than_burst_and_rate_allow(
            rate in 1_000_u64..10_000_000_000,
            burst in 1_500_u64..200_000,
            arrivals in prop::collection::vec((0_u64..3_000_000, 40_u64..1_501), 1..200),
        ) {
            let mut policer = Policer::new(Rate::from_bps(rate), Bytes::new(burst));
            let (mut now, mut passed) = (0, Vec::new());
            for (gap, size) in arrivals {
                now += gap;
                let level = passed.iter().fold((u128::from(burst) * BYTE, 0_u64), |(level, last), (at, size)| {
                    (refilled(level, at - last, rate, burst) - u128::from(*size) * BYTE, *at)
                });
                let tokens = refilled(level.0, now - level.1, rate, burst);
                let passes = policer.admits(Time::from_nanos(now), Bytes::new(size));
                prop_assert_eq!(passes, u128::from(size) * BYTE <= tokens, "exactly the packets that conform pass");
                if passes {
                    passed.push((now, size));
                }
            }
            for (i, (from, _)) in passed.iter().enumerate() {
                let mut sum = 0;
                for (to, size) in &passed[i..] {
                    sum += u128::from(*size) * BYTE;
                    prop_assert!(sum <= u128::from(burst) * BYTE + u128::from(to - from) * u128::from(rate));
                }
            }
        }
    }

    fn refilled(level: u128, ns: u64, rate: u64, burst: u64) -> u128 {
        (level + u128::from(ns) * u128::from(rate)).min(u128::from(burst) * BYTE)
    }
}
