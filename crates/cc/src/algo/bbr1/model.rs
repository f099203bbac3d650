//! What BBR knows of the path: bandwidth, a maximum over rounds, and round-trip time, a minimum
//! over seconds.

use fullpipe_units::{Span, Time};

use super::policer::Policer;
use crate::common::bbr::min_rtt::MinRtt;
use crate::common::max_filter::MaxFilter;
use crate::common::round::RoundCounter;
use crate::{Ack, Conn};

/// The model of the path. Bandwidths in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    pub round: RoundCounter,
    /// This ACK began a round.
    pub round_start: bool,
    bw: MaxFilter,
    pub policer: Policer,
    pub min_rtt: MinRtt,
}

impl Model {
    pub(super) fn new(bw_rounds: u64, policer: Policer, min_rtt: MinRtt) -> Model {
        Model {
            round: RoundCounter::default(),
            round_start: false,
            bw: MaxFilter::new(bw_rounds),
            policer,
            min_rtt,
        }
    }

    /// `bbr_max_bw`.
    #[inline]
    pub(super) fn max_bw(&self) -> f64 {
        self.bw.max()
    }

    /// `bbr_bw`: the policer's, if there is one.
    #[inline]
    pub(super) fn bw(&self) -> f64 {
        self.policer.bw().unwrap_or(self.bw.max())
    }

    /// What the estimated bandwidth delivers in `span`, bytes.
    #[inline]
    pub(super) fn bytes_in(&self, span: Span) -> f64 {
        self.bw() * (span.as_nanos() as f64 * 1e-9)
    }

    /// `bbr_bdp`: `gain` times the product of `bw` and the minimum RTT, bytes.
    #[inline]
    pub(super) fn bdp(&self, conn: &Conn, bw: f64, gain: f64) -> f64 {
        if self.min_rtt.rtt == Span::MAX {
            // No RTT sample: all that was acknowledged had been retransmitted. Stay at what is
            // safe.
            return conn.initial_cwnd.as_f64();
        }
        bw * (self.min_rtt.rtt.as_nanos() as f64 * 1e-9) * gain
    }

    /// `bbr_update_bw`; true when the policer's rate goes out of use.
    #[inline]
    pub(super) fn update_bw(
        &mut self,
        now: Time,
        conn: &Conn,
        ack: &Ack,
        in_probe_bw: bool,
    ) -> bool {
        self.round_start = false;
        let Some(rate) = ack.rate.rate else {
            return false;
        };
        self.round_start = self.round.on_ack(ack.newest.delivered, conn.delivered);
        let cycle_restarts = self
            .policer
            .on_ack(now, conn, ack, self.round_start, in_probe_bw);
        let bw = rate.as_f64() * 0.125;
        // A sample from an application-limited flight counts only if it shows at least what is
        // known already.
        if !ack.rate.app_limited || bw >= self.bw.max() {
            self.bw.update(self.round.count(), bw);
        }
        cycle_restarts
    }
}
