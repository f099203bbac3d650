//! The states: transitions (draft-ietf-ccwg-bbr-06 §5.1.1), Startup, Drain and ProbeRTT. ProbeBW
//! has its own file.

use fullpipe_units::Bytes;

use super::Bbr;
use super::rules::PlateauOf;
use crate::algo::bbr::States;
use crate::algo::bbr::estimators::{DwellStep, ProbeRttDwell};
use crate::{Ack, CaState, Conn, Context};

use State::{Drain, ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp, ProbeRtt, Startup};

/// `BBR.state`; Linux represents the four states of ProbeBW by `cycle_idx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Grows until the pipe is full.
    Startup,
    /// Drains the queue that Startup built.
    Drain,
    /// Drains the queue that probing built, and leaves headroom.
    ProbeBwDown,
    /// Sends at the rate of delivery.
    ProbeBwCruise,
    /// Fills the pipe before probing.
    ProbeBwRefill,
    /// Probes for more bandwidth.
    ProbeBwUp,
    /// Drains the queue to measure the path's RTT.
    ProbeRtt,
}

impl State {
    /// Names in transitions and traces, by discriminant.
    pub(super) const NAMES: &[&str] = &[
        "startup",
        "drain",
        "probe_bw_down",
        "probe_bw_cruise",
        "probe_bw_refill",
        "probe_bw_up",
        "probe_rtt",
    ];

    /// `IsInAProbeBWState`.
    #[inline]
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(
            self,
            ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp
        )
    }

    /// `IsProbingBW`.
    #[inline]
    pub(super) const fn is_probing(self) -> bool {
        matches!(self, Startup | ProbeBwRefill | ProbeBwUp)
    }
}

impl States for State {
    const STARTUP: State = Startup;
    const PROBE_RTT: State = ProbeRtt;

    fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Transitions back to Startup and Refill that the draft's diagram lacks are the undo of a
    /// spurious loss (§5.5.11.2).
    fn may_become(self, next: State) -> bool {
        matches!(
            (self, next),
            (Startup, Drain)
                | (Drain, ProbeBwDown)
                | (ProbeBwDown, ProbeBwCruise)
                | (ProbeBwDown | ProbeBwCruise, ProbeBwRefill)
                | (ProbeBwRefill, ProbeBwUp)
                | (ProbeBwUp, ProbeBwDown)
                | (ProbeRtt, ProbeBwDown | Startup)
                | (
                    Drain | ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp,
                    Startup
                )
        ) || (!matches!(self, ProbeRtt) && matches!(next, ProbeRtt))
    }
}

/// The relation of ACKs to probing: `BBR.ack_phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No probe.
    Init,
    /// The data being sent fills the pipe.
    Refilling,
    /// Probing; the acknowledged data was sent before the probe.
    ProbeStarting,
    /// Probing; the acknowledged data was sent during the probe.
    ProbeFeedback,
    /// No longer probing; the acknowledged data was sent during the probe.
    ProbeStopping,
}

/// Startup: grows until the pipe is full or the loss rate is too high (§5.3.1).
impl Bbr {
    /// CheckFullBWReached (§5.3.1.2), `bbr_check_full_bw_reached`.
    #[inline]
    pub(super) fn check_full_bw_reached(&mut self, ack: &Ack) {
        if ack.rate.app_limited {
            return;
        }
        let bw = match self.rules.plateau_of {
            PlateauOf::Sample => self.sample_bw,
            PlateauOf::MaxBw if self.core.full_pipe.reached => return,
            PlateauOf::MaxBw => self.max_bw.max(),
        };
        let params = &self.params;
        let (growth, rounds) = (params.full_bw_growth, params.full_bw_rounds);
        self.core
            .full_pipe
            .on_ack(bw, self.core.round_start, self.rules.growth, growth, rounds);
    }

    /// Restarts the search for a plateau, because recent bandwidth samples are not conclusive:
    /// `bbr_reset_full_bw`.
    pub(super) fn forget_plateau(&mut self) {
        self.core.full_pipe.reset();
    }

    /// CheckStartupHighLoss (§5.3.1.3), `bbr_check_loss_too_high_in_startup`: ends Startup after a
    /// whole round of recovery with many holes and a high loss rate.
    #[inline]
    pub(super) fn check_startup_high_loss(&mut self, cx: &Context<'_>, ack: &Ack) {
        if self.core.full_pipe.reached {
            return;
        }
        if self.rules.loss_events_by_ack && ack.newly_lost.get() > 0 {
            self.latest.loss_events += 1;
        }
        if !self.latest.round_start {
            return;
        }
        let most = self.params.startup_loss_events;
        let marked = self.counts_marks_as_losses();
        if marked && ack.ece {
            self.latest.loss_events += 1;
        }
        let reduces =
            cx.conn.state == CaState::Recovery || (marked && cx.conn.state == CaState::Reduced);
        if reduces
            && most.is_some_and(|most| self.latest.loss_events >= most)
            && self.is_inflight_too_high(&self.sample(ack))
        {
            self.end_startup(cx);
            self.note_startup_ended_by_loss();
        }
        self.latest.loss_events = 0;
    }

    /// Ends Startup before a plateau: `bbr_handle_queue_too_high_in_startup`.
    pub(super) fn end_startup(&mut self, cx: &Context<'_>) {
        self.core.full_pipe.reached = true;
        let bound = self.startup_bound(cx.conn);
        self.bounds.inflight_longterm = Some(if self.rules.startup_bound_by_delivery {
            bound.max(self.latest.inflight)
        } else {
            bound
        });
    }

    /// CheckStartupDone.
    #[inline]
    pub(super) fn check_startup_done(&mut self, cx: &mut Context<'_>) {
        if self.core.state == State::Startup && self.core.full_pipe.reached {
            let reason = if self.core.full_pipe.now {
                "bandwidth plateau"
            } else {
                "startup met too much congestion"
            };
            self.enter_drain(cx, reason);
        }
    }
}

/// Drain: sends at less than the bottleneck's rate until inflight is at most the BDP (§5.3.2).
impl Bbr {
    /// EnterDrain.
    pub(super) fn enter_drain(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        self.enter(cx, State::Drain, reason);
        self.drain_start_round = self.core.round.count();
        // For traces only: the equivalent of a slow-start threshold (Linux).
        self.core.ssthresh = Bytes::from_f64(self.drained(cx.conn));
        if self.rules.drain_forgets_losses {
            self.reset_congestion_signals();
        }
    }

    /// CheckDrainDone, `bbr_check_drain`.
    #[inline]
    pub(super) fn check_drain_done(&mut self, cx: &mut Context<'_>) {
        if self.core.state != State::Drain {
            return;
        }
        let rounds = self.core.round.count() - self.drain_start_round;
        if self.flight(cx, cx.conn.inflight) <= self.drained(cx.conn) {
            self.start_down(cx, "queue drained");
        } else if self.params.drain_rounds.is_some_and(|most| rounds > most) {
            self.start_down(cx, "maximum rounds of drain exceeded");
        }
    }
}

/// ProbeRTT: keeps half a BDP in flight for a while, so that the queue drains and the path's RTT
/// can be measured (§5.3.4).
impl Bbr {
    /// UpdateMinRTT and CheckProbeRTT, `bbr_update_min_rtt`.
    #[inline]
    pub(super) fn update_min_rtt(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let rules = self.rules;
        let expired = self
            .probe_rtt_min
            .update(cx.now, cx.conn, ack, rules.beware_of_delayed_acks);
        if self
            .core
            .min_rtt
            .follow(cx.now, &self.probe_rtt_min, rules.min_rtt_follows_equal)
        {
            self.core
                .pacing
                .follow_rtt(self.core.segment, self.core.min_rtt.rtt);
            self.may_take_fast_path = false;
        }
        self.note_delay(cx, ack);
        // An idle flow has seen the empty path anyway.
        if expired && !self.core.idle_restart && self.core.state != State::ProbeRtt {
            self.core.dwell = ProbeRttDwell::default();
            self.ack_phase = AckPhase::ProbeStopping;
            self.core.round.restart(cx.conn.delivered);
            self.enter(cx, State::ProbeRtt, "no lower RTT seen for the interval");
            self.core.window.save(true);
        }
        if self.core.state == State::ProbeRtt {
            self.handle_probe_rtt(cx);
        }
        if ack.newly_acked > Bytes::ZERO {
            self.core.idle_restart = false;
        }
    }

    /// HandleProbeRTT.
    fn handle_probe_rtt(&mut self, cx: &mut Context<'_>) {
        let small_enough = cx.conn.inflight <= self.probe_rtt_cwnd(cx.conn);
        match self.core.dwell.on_ack(
            cx.now,
            small_enough,
            self.core.round_start,
            self.params.probe_rtt_duration,
        ) {
            DwellStep::Wait => {}
            DwellStep::Bottom => self.core.round.restart(cx.conn.delivered),
            DwellStep::RoundDone => self.check_probe_rtt_done(cx),
        }
    }

    /// ProbeRTTCwnd (§5.6.4.5).
    #[inline]
    pub(super) fn probe_rtt_cwnd(&self, conn: &Conn) -> Bytes {
        Bytes::from_f64(self.bdp(conn, self.bw(), self.params.probe_rtt_cwnd_gain))
            .max(self.min_pipe_cwnd)
    }

    /// CheckProbeRTTDone.
    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Context<'_>) {
        if self.core.dwell.is_over(cx.now) {
            self.probe_rtt_min.renew(cx.now);
            self.core.window.restore();
            self.exit_probe_rtt(cx);
        }
    }

    /// ExitProbeRTT (§5.3.4.4): restarts the schedule of probing. Inflight is small, so there is
    /// no queue to drain.
    fn exit_probe_rtt(&mut self, cx: &mut Context<'_>) {
        const REASON: &str = "minimum RTT probed";
        self.reset_short_term_model();
        if self.core.full_pipe.reached {
            self.start_down(cx, REASON);
            self.start_cruise(cx, "nothing to drain");
        } else {
            self.enter(cx, State::Startup, REASON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [State; 7] = [
        Startup,
        Drain,
        ProbeBwDown,
        ProbeBwCruise,
        ProbeBwRefill,
        ProbeBwUp,
        ProbeRtt,
    ];

    #[test]
    fn no_state_leads_to_itself_and_every_other_state_to_probe_rtt() {
        for state in ALL {
            assert!(!state.may_become(state), "{state:?}");
            assert_eq!(state.may_become(ProbeRtt), state != ProbeRtt, "{state:?}");
        }
    }

    #[test]
    fn probing_comes_after_refilling_and_is_followed_by_going_down() {
        let before_up: Vec<State> = ALL
            .into_iter()
            .filter(|state| state.may_become(ProbeBwUp))
            .collect();
        let after_up: Vec<State> = ALL
            .into_iter()
            .filter(|state| ProbeBwUp.may_become(*state))
            .collect();
        assert_eq!(before_up, [ProbeBwRefill]);
        assert_eq!(after_up, [Startup, ProbeBwDown, ProbeRtt]);
    }

    #[test]
    fn every_state_has_its_name() {
        assert_eq!(ALL.map(State::name), State::NAMES);
    }
}
