//! ProbeBW: the cycle and the times of probes, its four states, and the long-term bound
//! (draft-ietf-ccwg-bbr-06 §5.3.3).

use fullpipe_units::{Bytes, Rng, Span, Time};

use super::Bbr;
use super::congestion::bounded;
use super::rules::{Flight, TooHigh, UpEnds};
use super::states::{AckPhase, State};
use crate::{Ack, Conn, Context};

/// Upper limit of `bw_probe_up_rounds`.
const MAX_UP_ROUNDS: u32 = 30;

/// The schedule of probing, and the result of the last probe.
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
    /// `is_bw_probe_sample`: whether losses may be due to the probe.
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
        if !self.core.full_pipe.reached || self.adapt_long_term_model(cx, ack) {
            return;
        }
        match self.core.state {
            State::ProbeBwDown => self.in_down(cx, ack),
            State::ProbeBwCruise => self.in_cruise(cx),
            State::ProbeBwRefill => self.in_refill(cx),
            State::ProbeBwUp => self.in_up(cx, ack),
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// AdaptLongTermModel, `bbr_adapt_upper_bounds`. Returns true if it changed the state.
    #[inline]
    fn adapt_long_term_model(&mut self, cx: &mut Context<'_>, ack: &Ack) -> bool {
        if self.core.round_start && self.end_of_phase(cx, ack) {
            return true;
        }
        let sample = self.sample(ack);
        if self.is_inflight_too_high(&sample) {
            if self.probe.is_sample && self.rules.too_high == TooHigh::AtLossesAndAcks {
                self.handle_inflight_too_high(
                    cx,
                    &sample,
                    "probing caused too much loss or too many marks",
                );
            }
        } else if let Some(longterm) = &mut self.bounds.inflight_longterm {
            // More data than the bound has arrived without excessive loss, so the bound is too low.
            // This applies in any state: random loss must not keep the bound low.
            *longterm = (*longterm).max(sample.tx_in_flight);
            if self.core.state == State::ProbeBwUp {
                self.probe_longterm_upward(cx.conn, ack);
            }
        }
        false
    }

    /// Advances the ACK phase at the start of a round: a round after UP began, ACKs are for data of
    /// the probe; a round after UP ended, they no longer are.
    fn end_of_phase(&mut self, cx: &mut Context<'_>, ack: &Ack) -> bool {
        match self.ack_phase {
            AckPhase::ProbeStarting => self.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.probe.is_sample = false;
                self.ack_phase = AckPhase::Init;
                if !self.core.state.is_probe_bw() {
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

    /// IsTimeToProbeBW, `bbr_check_time_to_probe_bw`. Returns true if it changed the state.
    #[inline]
    pub(super) fn check_time_to_probe(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(up_rounds) = self.ecn_reprobe(cx.conn) {
            self.start_refill(cx, up_rounds, "marks have ceased");
        } else if cx.now.since(self.probe.cycle_stamp) > self.probe.wait {
            self.start_refill(cx, 0, "time to probe");
        } else if self.is_reno_coexistence_probe_time(cx) {
            self.start_refill(cx, 0, "enough rounds for Reno to have grown as much");
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
            || rounds >= self.target_inflight(cx.conn) * self.core.segment.per_byte
    }
}

/// DOWN: drains the queue that probing built, and leaves headroom (§5.3.3.1).
impl Bbr {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        self.reset_congestion_signals();
        self.probe.acked_per_inc = Bytes::MAX;
        self.pick_probe_wait(cx.rng);
        self.probe.cycle_stamp = cx.now;
        self.forget_rtt_excess();
        self.ack_phase = AckPhase::ProbeStopping;
        self.core.round.restart(cx.conn.delivered);
        self.enter(cx, State::ProbeBwDown, reason);
    }

    #[inline]
    pub(super) fn in_down(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if self.check_time_to_probe(cx) {
            return;
        }
        // IsTimeToCruise.
        let flight = self.flight(cx, ack.prior_inflight);
        let headroom = self.inflight_with_headroom(cx.conn);
        if headroom.is_none_or(|least| flight <= least.as_f64())
            && flight <= self.inflight(cx.conn, self.max_bw.max(), 1.0)
        {
            self.start_cruise(cx, "queue drained, with headroom left");
        }
    }

    /// InflightWithHeadroom; `None` without a long-term bound.
    #[inline]
    pub(super) fn inflight_with_headroom(&self, conn: &Conn) -> Option<Bytes> {
        let longterm = self.bounds.inflight_longterm?;
        let mut headroom = self.params.headroom * longterm.as_f64();
        if self.rules.whole_segments {
            headroom = self.core.segment.round_down(headroom);
        }
        let headroom = Bytes::from_f64(headroom).max(conn.smss);
        Some(longterm.saturating_sub(headroom).max(self.min_pipe_cwnd))
    }
}

/// CRUISE: sends at the rate of delivery (§5.3.3.2).
impl Bbr {
    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        if self.rules.cruise_meets_longterm
            && let Some(shortterm) = &mut self.bounds.inflight_shortterm
        {
            *shortterm = bounded(*shortterm, self.bounds.inflight_longterm);
        }
        self.enter(cx, State::ProbeBwCruise, reason);
    }

    #[inline]
    pub(super) fn in_cruise(&mut self, cx: &mut Context<'_>) {
        self.check_time_to_probe(cx);
    }
}

/// REFILL: sends for one round at the estimated bandwidth, so that the pipe is full when probing
/// begins (§5.3.3.3).
impl Bbr {
    /// StartProbeBW_REFILL. In the first round of UP the bound grows by two to the power of
    /// `up_rounds` segments.
    pub(super) fn start_refill(
        &mut self,
        cx: &mut Context<'_>,
        up_rounds: u32,
        reason: &'static str,
    ) {
        self.reset_short_term_model();
        self.probe.up_rounds = up_rounds;
        self.probe.up_acked = Bytes::ZERO;
        self.probe.prev_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.core.round.restart(cx.conn.delivered);
        if self.core.state == State::ProbeBwRefill {
            return;
        }
        self.enter(cx, State::ProbeBwRefill, reason);
    }

    #[inline]
    pub(super) fn in_refill(&mut self, cx: &mut Context<'_>) {
        if self.core.round_start {
            // Data acknowledged from now on was sent in REFILL, and may have exceeded the path.
            self.probe.is_sample = true;
            self.start_up(cx, "pipe refilled for a round");
        }
    }
}

/// UP: probes for more bandwidth (§5.3.3.4 to §5.3.3.7).
impl Bbr {
    /// StartProbeBW_UP.
    pub(super) fn start_up(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.core.round.restart(cx.conn.delivered);
        self.probe.cycle_stamp = cx.now;
        if self.rules.up_ends == UpEnds::AtPlateau {
            self.core.full_pipe.reset_to(self.sample_bw);
        }
        self.forget_rtt_excess();
        self.enter(cx, State::ProbeBwUp, reason);
        self.raise_longterm_slope(cx.conn);
    }

    #[inline]
    pub(super) fn in_up(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(reason) = self.why_go_down(cx, ack) {
            // So far no signal indicates that the probe exceeded the path.
            self.probe.prev_too_high = false;
            self.start_down(cx, reason);
        }
    }

    /// IsTimeToGoDown (§5.3.3.9).
    #[inline]
    fn why_go_down(&mut self, cx: &Context<'_>, ack: &Ack) -> Option<&'static str> {
        let flight = self.flight(cx, ack.prior_inflight);
        // The window keeps inflight below the bound, and this ACK has just reduced it, so the
        // draft's rule compares the value before the ACK.
        let reached = match self.rules.flight {
            Flight::Now => ack.prior_inflight.as_f64(),
            Flight::AtNextDeparture => flight,
        };
        // Compare with one segment of tolerance: the room below the bound may be a fraction of a
        // segment, while inflight is whole segments.
        let is_there = |bound: Bytes| reached + self.core.segment.bytes > bound.as_f64();
        if self.probe.prev_too_high && self.bounds.inflight_longterm.is_some_and(is_there) {
            self.probe.prev_precautionary = true;
            return Some("as much in flight as was too much the last time");
        }
        if let Some(reason) = self.why_leave_up_for_delay(cx, flight) {
            return Some(reason);
        }
        match self.rules.up_ends {
            UpEnds::AtPlateau => {
                if self.is_limited_by_longterm(cx.conn) {
                    // If the bound limits the flow, the bandwidth cannot grow, which may look like
                    // a plateau.
                    self.core.full_pipe.reset_to(self.sample_bw);
                    return None;
                }
                self.core.full_pipe.now.then_some("bandwidth plateau")
            }
            UpEnds::AtQueue => {
                let long_enough = cx.now.since(self.probe.cycle_stamp) > self.core.min_rtt.rtt;
                let queued = || {
                    flight >= self.inflight(cx.conn, self.max_bw.max(), self.params.up_queue_gain)
                };
                (long_enough && queued()).then_some("a queue has built up")
            }
        }
    }

    #[inline]
    fn is_limited_by_longterm(&self, conn: &Conn) -> bool {
        let cwnd = self.core.window.cwnd;
        conn.cwnd_limited
            && self
                .bounds
                .inflight_longterm
                .is_some_and(|bound| cwnd >= bound)
    }

    /// RaiseInflightLongtermSlope: doubles the growth each round.
    fn raise_longterm_slope(&mut self, conn: &Conn) {
        let growth_this_round = 1_u64 << self.probe.up_rounds.min(MAX_UP_ROUNDS);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.probe.acked_per_inc = (self.core.window.cwnd / growth_this_round).max(conn.smss);
    }

    /// ProbeInflightLongtermUpward.
    pub(super) fn probe_longterm_upward(&mut self, conn: &Conn, ack: &Ack) {
        if !self.is_limited_by_longterm(conn) {
            if self.rules.credit_is_lost {
                self.probe.up_acked = Bytes::ZERO;
            }
            return;
        }
        self.probe.up_acked += ack.newly_acked;
        if self.probe.up_acked >= self.probe.acked_per_inc {
            let increments = self.probe.up_acked.get() / self.probe.acked_per_inc.get();
            self.probe.up_acked -= self.probe.acked_per_inc * increments;
            if let Some(longterm) = &mut self.bounds.inflight_longterm {
                *longterm += conn.smss * increments;
            }
            self.may_take_fast_path = false;
        }
        if self.core.round_start {
            self.raise_longterm_slope(conn);
        }
    }
}
