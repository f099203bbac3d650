//! What BBR knows of the path: bandwidth, a maximum over rounds, and round-trip time, a minimum over seconds.

use units::{Bytes, Span, Time};

use crate::kit::max_filter::MaxFilter;
use crate::kit::round::RoundCounter;
use crate::{Ack, Conn};

/// The model of the path. Bandwidths in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    pub round: RoundCounter,
    /// This ACK began a round.
    pub round_start: bool,
    bw: MaxFilter,
    /// [`Span::MAX`] before the first sample.
    pub min_rtt: Span,
    min_rtt_stamp: Option<Time>,
    min_rtt_window: Span,
    refresh_on_equal: bool,
}

impl Model {
    pub(super) fn new(bw_rounds: u64, min_rtt_window: Span, refresh_on_equal: bool) -> Model {
        Model {
            round: RoundCounter::default(),
            round_start: false,
            bw: MaxFilter::new(bw_rounds),
            min_rtt: Span::MAX,
            min_rtt_stamp: None,
            min_rtt_window,
            refresh_on_equal,
        }
    }

    /// `bbr_max_bw`.
    #[inline]
    pub(super) fn max_bw(&self) -> f64 {
        self.bw.max()
    }

    /// What the estimated bandwidth delivers in `span`, bytes.
    #[inline]
    pub(super) fn bytes_in(&self, span: Span) -> f64 {
        self.bw.max() * (span.as_nanos() as f64 * 1e-9)
    }

    /// `bbr_bdp`: `gain` times the bandwidth-delay product, bytes.
    #[inline]
    pub(super) fn bdp(&self, conn: &Conn, gain: f64) -> f64 {
        if self.min_rtt == Span::MAX {
            // No RTT sample: all that was acknowledged had been retransmitted. Stay at what is safe.
            return conn.initial_cwnd.as_f64();
        }
        self.bytes_in(self.min_rtt) * gain
    }

    /// `bbr_update_bw`, without the long-term (policer) sampling.
    #[inline]
    pub(super) fn update_bw(&mut self, conn: &Conn, ack: &Ack) {
        self.round_start = false;
        let Some(rate) = ack.rate.rate else { return };
        self.round_start = self.round.on_ack(ack.newest.delivered, conn.delivered);
        let bw = rate.as_f64() * 0.125;
        // A sample from an application-limited flight counts only if it shows at least what is known already.
        if !ack.rate.app_limited || bw >= self.bw.max() {
            self.bw.update(self.round.count(), bw);
        }
    }

    /// The filter half of `bbr_update_min_rtt`; true when the minimum is older than its window.
    #[inline]
    pub(super) fn update_min_rtt(&mut self, now: Time, conn: &Conn, ack: &Ack) -> bool {
        let stamp = *self.min_rtt_stamp.get_or_insert(now);
        let expired = now.since(stamp) > self.min_rtt_window;
        if let Some(rtt) = ack.rtt {
            let lower = rtt.raw < self.min_rtt || (self.refresh_on_equal && rtt.raw == self.min_rtt);
            if lower || (expired && !maybe_delayed(conn, ack)) {
                self.min_rtt = rtt.raw;
                self.min_rtt_stamp = Some(now);
            }
        }
        expired
    }

    /// The connection's minimum RTT when the first is known.
    pub(super) fn seed_min_rtt(&mut self, now: Time, min_rtt: Span) {
        if min_rtt < self.min_rtt {
            self.min_rtt = min_rtt;
            self.min_rtt_stamp = Some(now);
        }
    }

    /// The minimum was just probed for: wait a whole window until the next time.
    pub(super) fn refresh_min_rtt(&mut self, now: Time) {
        self.min_rtt_stamp = Some(now);
    }
}

/// The receiver may have delayed this ACK: it is for a lone small packet (Linux: `FLAG_ACK_MAYBE_DELAYED`).
fn maybe_delayed(conn: &Conn, ack: &Ack) -> bool {
    ack.newly_acked < conn.smss && ack.newest.delivered + ack.newly_acked == conn.delivered
}

/// Segment arithmetic without divisions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Bytes of a segment.
    pub bytes: f64,
    /// Its reciprocal.
    pub per_byte: f64,
}

impl Segment {
    pub(super) fn new(smss: Bytes) -> Segment {
        Segment { bytes: smss.as_f64(), per_byte: 1.0 / smss.as_f64() }
    }

    /// `bytes`, rounded up to an even number of segments.
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

    #[test]
    fn windows_are_rounded_up_to_pairs_of_segments() {
        let segment = Segment::new(Bytes::new(1_448));
        for (segments, rounded) in [(0.0, 0.0), (0.1, 2.0), (2.0, 2.0), (2.001, 4.0), (9.0, 10.0), (1e6, 1e6)] {
            assert_eq!(segment.round_up_to_even(segments * 1_448.0), rounded * 1_448.0, "{segments} segments");
        }
    }
}
