//! The cycle of ProbeBW: when to probe, and the long-term bound (draft-ietf-ccwg-bbr-06 §5.3.3.8,
//! §5.3.3.9).

use fullpipe_units::{Bytes, Rng, Span, Time};

use super::Bbr;
use super::congestion::Sample;
use super::rules::TooHigh;
use super::state::{AckPhase, State};
use crate::{Ack, Context};

/// The clock of probing, and what the last probe came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeBw {
    /// `cycle_stamp`.
    pub cycle_stamp: Time,
    /// `bw_probe_wait`.
    pub wait: Span,
    /// `rounds_since_probe_up`.
    pub rounds_since_up: u32,
    /// `bw_probe_up_rounds`.
    pub up_rounds: u32,
    /// `bw_probe_up_acked`.
    pub up_acked: Bytes,
    /// `probe_up_acked_per_inc`.
    pub acked_per_inc: Bytes,
    /// `is_bw_probe_sample`: losses say something about the probe.
    pub is_sample: bool,
    /// `prev_probe_too_high`.
    pub prev_too_high: bool,
    /// `prev_probe_precautionary`, Linux: `stopped_risky_probe`.
    pub prev_precautionary: bool,
}

impl Default for ProbeBw {
    fn default() -> ProbeBw {
        ProbeBw {
            cycle_stamp: Time::ZERO,
            wait: Span::ZERO,
            rounds_since_up: 0,
            up_rounds: 0,
            up_acked: Bytes::ZERO,
            acked_per_inc: Bytes::MAX,
            is_sample: false,
            prev_too_high: false,
            prev_precautionary: false,
        }
    }
}

impl Bbr {
    /// UpdateProbeBWCyclePhase, `bbr_update_cycle_phase`.
    #[inline]
    pub(super) fn update_cycle_phase(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if !self.full_pipe.reached || self.adapt_long_term_model(cx, ack) {
            return;
        }
        match self.state {
            State::ProbeBwDown => self.in_down(cx, ack),
            State::ProbeBwCruise => self.in_cruise(cx),
            State::ProbeBwRefill => self.in_refill(cx),
            State::ProbeBwUp => self.in_up(cx, ack),
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// AdaptLongTermModel, `bbr_adapt_upper_bounds`; true when it changed the state.
    #[inline]
    fn adapt_long_term_model(&mut self, cx: &mut Context<'_>, ack: &Ack) -> bool {
        if self.round_start && self.end_of_phase(cx, ack) {
            return true;
        }
        let sample = Sample::of(ack);
        if self.is_inflight_too_high(&sample) {
            if self.probe.is_sample && self.params.rules.too_high == TooHigh::AtLossesAndAcks {
                self.handle_inflight_too_high(cx, &sample, "probing lost or marked too much");
            }
        } else if self.inflight_longterm != Bytes::MAX {
            // What arrived safely, in any state, is a bound too low: random loss must not pin it
            // down.
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
            if self.state == State::ProbeBwUp {
                self.probe_longterm_upward(cx.conn, ack);
            }
        }
        false
    }

    /// A round after UP began, its ACKs tell of probing; a round after it ended, they no longer do.
    fn end_of_phase(&mut self, cx: &mut Context<'_>, ack: &Ack) -> bool {
        match self.ack_phase {
            AckPhase::ProbeStarting => self.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.probe.is_sample = false;
                self.ack_phase = AckPhase::Init;
                if !self.state.is_probe_bw() {
                    return false;
                }
                if !ack.rate.app_limited && self.is_time_to_forget_bw(cx.now) {
                    self.max_bw.advance();
                }
                if self.probe.prev_precautionary && !self.probe.prev_too_high {
                    self.start_refill(cx, 0, "the careful probe met no resistance");
                    return true;
                }
            }
            AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
        }
        false
    }

    /// PickProbeWait.
    pub(super) fn pick_probe_wait(&mut self, rng: &mut Rng) {
        self.probe.rounds_since_up = rng.below(self.params.reno_rounds_choices) as u32;
        let wait = self.params.probe_wait_base + self.params.probe_wait_spread * rng.unit();
        self.probe.wait = Span::from_secs_f64(wait);
    }

    /// IsTimeToProbeBW, `bbr_check_time_to_probe_bw`; true when it changed the state.
    #[inline]
    pub(super) fn check_time_to_probe(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(up_rounds) = self.ecn_reprobe() {
            self.start_refill(cx, up_rounds, "marks have ceased");
        } else if cx.now.since(self.probe.cycle_stamp) > self.probe.wait {
            self.start_refill(cx, 0, "time to probe");
        } else if self.is_reno_coexistence_probe_time(cx) {
            self.start_refill(cx, 0, "rounds enough for Reno to have grown as much");
        } else {
            return false;
        }
        true
    }

    /// IsRenoCoexistenceProbeTime, in rounds and segments.
    #[inline]
    fn is_reno_coexistence_probe_time(&self, cx: &Context<'_>) -> bool {
        let rounds = f64::from(self.probe.rounds_since_up);
        rounds >= self.params.reno_rounds
            || rounds >= self.target_inflight(cx.conn) * self.segment.per_byte
    }
}
