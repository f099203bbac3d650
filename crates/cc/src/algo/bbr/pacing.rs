//! Pacing rate, burst size, and the conversion between bytes and segments.

use fullpipe_units::{Bytes, Rate, Span};

use super::lesser;

/// `bbr_min_tso_rate`: below this rate, bursts are single segments.
const MIN_TSO_RATE: Rate = Rate::from_bps(1_200_000);
/// Maximum segments in a burst: the width of Linux's counter.
const MAX_BURST: u64 = 127;
/// The smallest rate in Linux's fixed point: 2^-24 packets of 1500 bytes per microsecond.
const MIN_RATE: Rate = Rate::from_bps(715);
/// The RTT that is assumed before the first sample.
const NOMINAL_RTT: Span = Span::from_millis(1);
/// `GSO_LEGACY_MAX_SIZE`.
const NEAR_BURST: u64 = 65_536;

/// Rule that derives the burst size (`send_quantum`) from the pacing rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct BurstRule {
    /// Duration of a burst at the pacing rate, in seconds.
    pub(super) length: f64,
    /// Adds up to 64 KiB, halved for each 512 us of the minimum RTT: `bbr_tso_rtt_shift`.
    pub(super) by_rtt: bool,
    /// Allows bursts of a single segment at very low rates.
    pub(super) singles: bool,
}

impl BurstRule {
    /// §5.6.3.
    pub(super) const DRAFT: BurstRule = BurstRule {
        length: 1e-3,
        by_rtt: false,
        singles: false,
    };
    /// The draft's, with Linux' addition for a small RTT.
    pub(super) const NEAR: BurstRule = BurstRule {
        by_rtt: true,
        ..BurstRule::DRAFT
    };
    /// Linux 6.12's `tcp_bbr.c`: 1/1024 of a second (`sk_pacing_shift`).
    pub(super) const LINUX_V1: BurstRule = BurstRule {
        length: 1.0 / 1_024.0,
        singles: true,
        ..BurstRule::DRAFT
    };
    /// google/bbr v2alpha.
    pub(super) const LINUX_V2: BurstRule = BurstRule {
        by_rtt: true,
        ..BurstRule::LINUX_V1
    };
    /// google/bbr v3.
    pub(super) const LINUX_V3: BurstRule = BurstRule {
        singles: false,
        ..BurstRule::LINUX_V2
    };
}

/// The pacing rate, and the burst size derived from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    /// The rate in force.
    pub(super) rate: Rate,
    /// The burst size, in whole segments.
    pub(super) quantum: Bytes,
    has_seen_rtt: bool,
    /// 1 - margin, times eight bits per byte.
    bits: f64,
    rule: BurstRule,
    /// Maximum burst size, in bytes.
    max: f64,
    /// Addition to the burst size for a small RTT, in bytes.
    near: f64,
}

impl Pacing {
    /// Starts at the smallest rate; `init_from_rtt` raises it.
    pub(super) fn new(segment: Segment, margin: f64, rule: BurstRule, max: f64) -> Pacing {
        let bits = 8.0 * (1.0 - margin);
        let mut pacing = Pacing {
            rate: MIN_RATE,
            quantum: Bytes::ZERO,
            has_seen_rtt: false,
            bits,
            rule,
            max,
            near: 0.0,
        };
        pacing.refresh(segment);
        pacing
    }

    /// `bbr_init_pacing_rate_from_rtt`: `gain * cwnd / rtt`.
    pub(super) fn init_from_rtt(
        &mut self,
        segment: Segment,
        cwnd: Bytes,
        rtt: Option<Span>,
        gain: f64,
    ) {
        self.has_seen_rtt = rtt.is_some();
        let rtt = rtt.unwrap_or(NOMINAL_RTT).max(Span::from_micros(1));
        self.set(segment, cwnd.as_f64() / rtt.as_secs_f64() * gain);
    }

    /// 1 - margin.
    pub(super) fn margin_left(&self) -> f64 {
        self.bits * 0.125
    }

    /// Returns whether the rate is still based on the nominal RTT.
    #[inline]
    pub(super) fn awaits_rtt(&self) -> bool {
        !self.has_seen_rtt
    }

    /// `bbr_set_pacing_rate`: sets the rate to `bytes_per_second` less the margin; before the pipe
    /// is full, only if that is an increase.
    #[inline]
    pub(super) fn follow(&mut self, segment: Segment, bytes_per_second: f64, full_pipe: bool) {
        if full_pipe || bytes_per_second * self.bits > self.rate.as_f64() {
            self.set(segment, bytes_per_second);
        }
    }

    /// Adapts the burst size to a new minimum RTT.
    pub(super) fn follow_rtt(&mut self, segment: Segment, min_rtt: Span) {
        if !self.rule.by_rtt {
            return;
        }
        let halvings = (min_rtt.as_nanos() / 1_000) >> 9;
        let near = if halvings < 32 {
            (NEAR_BURST >> halvings) as f64
        } else {
            0.0
        };
        if near != self.near {
            self.near = near;
            self.refresh(segment);
        }
    }

    /// Recomputes the burst size for a new segment size.
    pub(super) fn refresh(&mut self, segment: Segment) {
        self.quantum = self.burst(segment);
    }

    #[inline]
    fn set(&mut self, segment: Segment, bytes_per_second: f64) {
        let rate = Rate::from_bps_f64(bytes_per_second * self.bits).max(MIN_RATE);
        if rate != self.rate {
            self.rate = rate;
            self.refresh(segment);
        }
    }

    /// Returns`bbr_tso_segs_goal`, draft-ietf-ccwg-bbr-06 §5.6.3, in whole segments.
    #[inline]
    fn burst(&self, segment: Segment) -> Bytes {
        let bytes = lesser(
            self.rate.as_f64() * (0.125 * self.rule.length) + self.near,
            self.max,
        );
        let singles =
            self.rule.singles && self.rate < MIN_TSO_RATE || self.max < 2.0 * segment.bytes;
        let least = if singles { 1 } else { 2 };
        let segments = ((bytes * segment.per_byte) as u64).clamp(least, MAX_BURST);
        Bytes::from_f64(segments as f64 * segment.bytes)
    }
}

/// The size of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Bytes of a segment.
    pub(super) bytes: f64,
    /// Its reciprocal.
    pub(super) per_byte: f64,
}

impl Segment {
    /// Returns the segments of `smss` bytes.
    pub(super) fn new(smss: Bytes) -> Segment {
        Segment {
            bytes: smss.as_f64(),
            per_byte: 1.0 / smss.as_f64(),
        }
    }

    /// Returns the size of `segments` segments.
    pub(super) fn times(self, segments: f64) -> Bytes {
        Bytes::from_f64(segments * self.bytes)
    }

    /// Returns`bytes`, rounded up to whole segments.
    #[inline]
    pub(super) fn round_up(self, bytes: f64) -> f64 {
        // An excess of a tiny fraction of a segment is a rounding error of the division.
        let segments = bytes * self.per_byte - 1e-9;
        let whole = segments as i64 as f64;
        (if whole < segments { whole + 1.0 } else { whole }) * self.bytes
    }

    /// Returns`bytes`, rounded down to whole segments.
    #[inline]
    pub(super) fn round_down(self, bytes: f64) -> f64 {
        (bytes * self.per_byte + 1e-9) as i64 as f64 * self.bytes
    }

    /// Returns`bytes`, rounded up to an even number of segments.
    #[inline]
    pub(super) fn round_up_to_even(self, bytes: f64) -> f64 {
        let pair = 2.0 * self.bytes;
        let whole = (bytes * self.per_byte * 0.5) as u64 as f64 * pair;
        if whole < bytes { whole + pair } else { whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: BurstRule = BurstRule::LINUX_V1;
    const MAX: f64 = 65_536.0;

    fn burst_at(rate: Rate, rule: BurstRule, min_rtt: Span) -> u64 {
        burst_within(MAX, rate, rule, min_rtt)
    }

    fn burst_within(max: f64, rate: Rate, rule: BurstRule, min_rtt: Span) -> u64 {
        let segment = Segment::new(Bytes::new(1_448));
        let mut pacing = Pacing::new(segment, 0.0, rule, max);
        pacing.follow_rtt(segment, min_rtt);
        pacing.follow(segment, rate.as_f64() / 8.0, true);
        pacing.quantum.get() / 1_448
    }

    #[test]
    fn bursts_last_a_millisecond_within_their_bounds() {
        let burst_at = |rate| burst_at(rate, V1, Span::from_millis(1));
        assert_eq!(burst_at(Rate::from_bps(1_199_000)), 1);
        assert_eq!(burst_at(Rate::from_bps(1_201_000)), 2);
        assert_eq!(burst_at(Rate::from_mbps(20)), 2);
        assert_eq!(burst_at(Rate::from_mbps(100)), 8);
        assert_eq!(burst_at(Rate::from_mbps(10_000)), 45);
    }

    #[test]
    fn linux_sends_more_at_once_when_the_rtt_is_small() {
        let rule = BurstRule::LINUX_V2;
        assert_eq!(
            burst_at(Rate::from_mbps(100), rule, Span::from_millis(50)),
            8
        );
        assert_eq!(
            burst_at(Rate::from_mbps(40), rule, Span::from_micros(4_300)),
            3,
            "1/256 of 64 KiB more"
        );
        assert_eq!(
            burst_at(Rate::from_mbps(100), rule, Span::from_millis(1)),
            31
        );
    }

    #[test]
    fn the_drafts_least_burst_is_two_segments() {
        let rule = BurstRule::DRAFT;
        assert_eq!(
            burst_at(Rate::from_bps(100_000), rule, Span::from_millis(1)),
            2
        );
        assert_eq!(
            burst_at(Rate::from_mbps(1_000), rule, Span::from_millis(1)),
            45
        );
    }

    #[test]
    fn no_burst_is_larger_than_the_largest() {
        let rule = BurstRule::LINUX_V3;
        assert_eq!(
            burst_within(1_448.0, Rate::from_mbps(100), rule, Span::from_millis(1)),
            1,
            "the device sends one segment at a time"
        );
    }

    #[test]
    fn one_per_cent_is_left_to_the_bottleneck() {
        let segment = Segment::new(Bytes::new(1_448));
        let mut pacing = Pacing::new(segment, 0.01, V1, MAX);
        pacing.follow(segment, 12.5e6, true);
        assert_eq!(pacing.rate, Rate::from_mbps(99));
    }

    #[test]
    fn before_the_pipe_is_full_the_rate_only_grows() {
        let segment = Segment::new(Bytes::new(1_448));
        let mut pacing = Pacing::new(segment, 0.0, V1, MAX);
        pacing.follow(segment, 2e6, false);
        pacing.follow(segment, 1e6, false);
        assert_eq!(pacing.rate, Rate::from_mbps(16));
        pacing.follow(segment, 1e6, true);
        assert_eq!(pacing.rate, Rate::from_mbps(8));
    }

    #[test]
    fn windows_are_rounded_up_to_pairs_of_segments() {
        let segment = Segment::new(Bytes::new(1_448));
        for (segments, rounded) in [
            (0.0, 0.0),
            (0.1, 2.0),
            (2.0, 2.0),
            (2.001, 4.0),
            (9.0, 10.0),
            (1e6, 1e6),
        ] {
            assert_eq!(
                segment.round_up_to_even(segments * 1_448.0),
                rounded * 1_448.0,
                "{segments} segments"
            );
        }
    }

    #[test]
    fn whole_segments_stay_what_they_are() {
        let segment = Segment::new(Bytes::new(1_448));
        for n in 0..100_000 {
            let bytes = f64::from(n) * 1_448.0;
            assert_eq!(
                (segment.round_up(bytes), segment.round_down(bytes)),
                (bytes, bytes),
                "{n}"
            );
        }
        assert_eq!(
            (segment.round_up(1.0), segment.round_down(2_895.0)),
            (1_448.0, 1_448.0)
        );
    }
}
