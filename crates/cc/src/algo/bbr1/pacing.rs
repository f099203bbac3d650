//! How fast, and how much at once.

use units::{Bytes, Rate, Span};

use super::model::Segment;

/// `bbr_min_tso_rate`: below it, one segment at a time.
const MIN_TSO_RATE: Rate = Rate::from_bps(1_200_000);
/// Bursts last 1/1024 s: `sk_pacing_shift`.
const BURSTS_PER_SECOND: f64 = 1_024.0;
/// No burst has more segments: the width of Linux's counter.
const MAX_BURST: u64 = 127;
/// The least rate that Linux's fixed point holds: one 2^24th of a 1500-byte packet a microsecond.
const MIN_RATE: Rate = Rate::from_bps(715);
/// The RTT that is assumed before one is known.
const NOMINAL_RTT: Span = Span::from_millis(1);

/// The pacing rate, and the burst that follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    /// The rate in force.
    pub rate: Rate,
    /// The burst: `bbr_tso_segs_goal` segments.
    pub quantum: Bytes,
    has_seen_rtt: bool,
    /// 1 - margin, times eight bits a byte.
    bits: f64,
    quantum_max: f64,
}

impl Pacing {
    /// At the least rate there is, which `init_from_rtt` lifts.
    pub(super) fn new(segment: Segment, margin: f64, quantum_max: f64) -> Pacing {
        let bits = 8.0 * (1.0 - margin);
        let mut pacing = Pacing { rate: MIN_RATE, quantum: Bytes::ZERO, has_seen_rtt: false, bits, quantum_max };
        pacing.quantum = pacing.burst(segment);
        pacing
    }

    /// `bbr_init_pacing_rate_from_rtt`: `gain * cwnd / rtt`.
    pub(super) fn init_from_rtt(&mut self, segment: Segment, cwnd: Bytes, rtt: Option<Span>, gain: f64) {
        self.has_seen_rtt = rtt.is_some();
        let rtt = rtt.unwrap_or(NOMINAL_RTT).max(Span::from_micros(1));
        self.set(segment, cwnd.as_f64() / rtt.as_secs_f64() * gain);
    }

    /// Whether the rate still rests on the nominal RTT.
    #[inline]
    pub(super) fn awaits_rtt(&self) -> bool {
        !self.has_seen_rtt
    }

    /// `bbr_set_pacing_rate`: `bytes_per_second`, less the margin; before the pipe is full only if that is faster.
    #[inline]
    pub(super) fn follow(&mut self, segment: Segment, bytes_per_second: f64, full_pipe: bool) {
        if full_pipe || bytes_per_second * self.bits > self.rate.as_f64() {
            self.set(segment, bytes_per_second);
        }
    }

    #[inline]
    fn set(&mut self, segment: Segment, bytes_per_second: f64) {
        let rate = Rate::from_bps_f64(bytes_per_second * self.bits).max(MIN_RATE);
        if rate != self.rate {
            self.rate = rate;
            self.quantum = self.burst(segment);
        }
    }

    /// `bbr_tso_segs_goal`, in bytes.
    pub(super) fn burst(&self, segment: Segment) -> Bytes {
        let bytes = (self.rate.as_f64() * (0.125 / BURSTS_PER_SECOND)).min(self.quantum_max);
        let least = if self.rate < MIN_TSO_RATE { 1 } else { 2 };
        let segments = ((bytes * segment.per_byte) as u64).clamp(least, MAX_BURST);
        Bytes::from_f64(segments as f64 * segment.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst_at(rate: Rate) -> u64 {
        let segment = Segment::new(Bytes::new(1_448));
        let mut pacing = Pacing::new(segment, 0.0, 65_536.0);
        pacing.follow(segment, rate.as_f64() / 8.0, true);
        pacing.quantum.get() / 1_448
    }

    #[test]
    fn bursts_last_a_millisecond_within_their_bounds() {
        assert_eq!(burst_at(Rate::from_bps(1_199_000)), 1);
        assert_eq!(burst_at(Rate::from_bps(1_201_000)), 2);
        assert_eq!(burst_at(Rate::from_mbps(20)), 2);
        assert_eq!(burst_at(Rate::from_mbps(100)), 8);
        assert_eq!(burst_at(Rate::from_mbps(10_000)), 45);
    }

    #[test]
    fn one_per_cent_is_left_to_the_bottleneck() {
        let segment = Segment::new(Bytes::new(1_448));
        let mut pacing = Pacing::new(segment, 0.01, 65_536.0);
        pacing.follow(segment, 12.5e6, true);
        assert_eq!(pacing.rate, Rate::from_mbps(99));
    }

    #[test]
    fn before_the_pipe_is_full_the_rate_only_grows() {
        let segment = Segment::new(Bytes::new(1_448));
        let mut pacing = Pacing::new(segment, 0.0, 65_536.0);
        pacing.follow(segment, 2e6, false);
        pacing.follow(segment, 1e6, false);
        assert_eq!(pacing.rate, Rate::from_mbps(16));
        pacing.follow(segment, 1e6, true);
        assert_eq!(pacing.rate, Rate::from_mbps(8));
    }
}
