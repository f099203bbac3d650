//! The answer to CE marks: google/bbr v2alpha and v3, off unless `ecn` is set. The draft defines
//! none.

use fullpipe_units::Bytes;

use super::Bbr;
use crate::common::window::Episode;
use crate::{Ack, Context};

/// How many of the packets are marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnState {
    /// `ecn_alpha`.
    pub alpha: f64,
    /// `ecn_eligible`: marks are answered.
    pub eligible: bool,
    /// The path carries marks.
    pub works: bool,
    delivered: Bytes,
    delivered_ce: Bytes,
    /// `startup_ecn_rounds`.
    startup_rounds: u32,
}

impl EcnState {
    pub(super) fn new(alpha: f64, wanted: bool) -> EcnState {
        let none = Bytes::ZERO;
        EcnState {
            alpha,
            eligible: false,
            works: wanted,
            delivered: none,
            delivered_ce: none,
            startup_rounds: 0,
        }
    }
}

impl Bbr {
    /// `bbr_update_ecn_alpha`, with each round.
    pub(super) fn update_ecn_alpha(&mut self, cx: &Context<'_>) {
        if self.params.ecn_factor == 0.0 {
            return;
        }
        self.ecn.eligible |= self.ecn.works && self.min_rtt.rtt <= self.params.ecn_max_rtt;
        if !self.ecn.eligible && !self.params.rules.ecn_alpha_always {
            return;
        }
        let delivered = cx.conn.delivered - self.ecn.delivered;
        if delivered == Bytes::ZERO {
            return;
        }
        let ratio = (cx.conn.delivered_ce - self.ecn.delivered_ce).as_f64() / delivered.as_f64();
        let gain = self.params.ecn_alpha_gain;
        self.ecn.alpha = ((1.0 - gain) * self.ecn.alpha + gain * ratio).min(1.0);
        (self.ecn.delivered, self.ecn.delivered_ce) = (cx.conn.delivered, cx.conn.delivered_ce);
        self.check_startup_marks(cx, ratio);
    }

    /// `bbr_check_ecn_too_high_in_startup`.
    fn check_startup_marks(&mut self, cx: &Context<'_>, ratio: f64) {
        let (rounds, threshold) = (self.params.ecn_startup_rounds, self.params.ecn_threshold);
        if self.full_pipe.reached || !self.ecn.eligible || rounds == 0 || threshold == 0.0 {
            return;
        }
        self.ecn.startup_rounds = if ratio >= threshold {
            self.ecn.startup_rounds + 1
        } else {
            0
        };
        if self.ecn.startup_rounds >= rounds {
            self.end_startup(cx);
        }
    }

    /// Marks of this ACK, for the round.
    #[inline]
    pub(super) fn note_marks(&mut self, ack: &Ack) {
        self.latest.ecn_in_round |= self.ecn.eligible && ack.ecn.ce_packets > 0;
    }

    /// The second half of `bbr_is_inflight_too_high`.
    pub(super) fn has_too_many_marks(&self, delivered: Bytes, delivered_ce: Bytes) -> bool {
        let threshold = self.params.ecn_threshold;
        if !self.ecn.eligible || threshold == 0.0 || delivered == Bytes::ZERO {
            return false;
        }
        let (marked, limit) = (delivered_ce.as_f64(), delivered.as_f64() * threshold);
        marked > limit || (marked == limit && self.params.rules.ecn_threshold_included)
    }

    /// `bbr_ecn_lower_bounds`: what a round with marks leaves of the short-term bound; no bound
    /// without marks.
    pub(super) fn inflight_after_marks(&mut self) -> Bytes {
        if !self.latest.ecn_in_round || self.params.ecn_factor == 0.0 {
            return Bytes::MAX;
        }
        self.init_lower_bounds();
        self.inflight_shortterm
            .mul_f64(1.0 - self.ecn.alpha * self.params.ecn_factor)
    }

    /// The first lines of `bbr_check_time_to_probe_bw`: marks without loss, and now neither; how
    /// many rounds of UP to skip. TCP_CA_Open is no episode of any cause: while marks go on, each
    /// begins the next with the ACK that brings it.
    #[inline]
    pub(super) fn ecn_reprobe(&self) -> Option<u32> {
        let gain = self.params.ecn_reprobe_gain;
        let open = self.window.episode == Episode::None;
        let quiet = self.latest.ecn_in_cycle && !self.latest.loss_in_cycle && open;
        if gain == 0.0 || !self.ecn.eligible || !quiet {
            return None;
        }
        let bound = if self.inflight_longterm == Bytes::MAX {
            self.window.cwnd
        } else {
            self.inflight_longterm
        };
        let growth = (bound.as_f64() * gain * self.segment.per_byte) as u64;
        Some(growth.max(1).ilog2())
    }

    /// What the cycle has seen, for the next ACK.
    #[inline]
    pub(super) fn note_cycle(&mut self, ack: &Ack) {
        self.latest.loss_in_cycle |= ack.rate.lost > Bytes::ZERO;
        self.latest.ecn_in_cycle |= ack.rate.delivered_ce > Bytes::ZERO;
    }
}
