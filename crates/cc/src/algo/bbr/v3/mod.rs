//! BBRv2 and BBRv3 as one state machine, with the names of draft-ietf-ccwg-bbr-06. Numerical
//! differences between the versions are parameters (`declared.rs`); other differences are rules
//! (`rules.rs`).
//!
//! Doc comments cite the draft's section or pseudocode, and the function of Linux's `tcp_bbr.c`
//! (google/bbr v3).

mod congestion;
mod declared;
mod model;
mod probe_bw;
mod rules;
mod signals;
mod states;
mod versions;
mod window;

pub use versions::{BBR2, BBR3, PICOQUIC_2024_09, PICOQUIC_2024_10};

use fullpipe_units::{Bytes, Time};

use self::congestion::{Bounds, Latest, Saved};
use self::declared::Params;
use self::model::{Filters, MaxBw};
use self::probe_bw::ProbeBw;
use self::rules::{Aggregation, OnTimeout, Rules};
use self::signals::{Delay, EcnState};
use self::states::{AckPhase, State};
use super::Core;
use super::estimators::{AckAggregation, MinRtt};
use super::pacing::{Pacing, Segment};
use crate::common::window::Episode;
use crate::{
    Ack, Config, Context, Controller, Decision, EcnCodepoint, Lost, PathChange, Recovery,
    RecoveryCause, Snapshot,
};

/// The controller of BBRv2 and BBRv3.
#[derive(Debug)]
pub struct Bbr {
    rules: &'static Rules,
    /// Boxed, to keep it apart from the state that changes with every ACK.
    params: Box<Params>,
    core: Core<State>,
    /// `BBR.MinPipeCwnd`.
    min_pipe_cwnd: Bytes,
    ack_phase: AckPhase,
    /// Whether the state has changed since the gains were last set.
    gains_are_stale: bool,
    /// Whether the window has reached its target, so that ACKs of an application-limited flow
    /// change little (Linux).
    may_take_fast_path: bool,
    drain_start_round: u64,
    /// Bandwidth sample of the current ACK, in B/s; zero without one.
    sample_bw: f64,
    max_bw: MaxBw,
    bounds: Bounds,
    latest: Latest,
    saved: Saved,
    probe: ProbeBw,
    filters: Filters,
    probe_rtt_min: MinRtt,
    ecn: EcnState,
    /// Present only with an exit on delay.
    delay: Option<Box<Delay>>,
}

impl Bbr {
    /// OnInit (§5.2.1).
    fn new(config: &Config, rules: impl FnOnce(&Params) -> &'static Rules) -> Bbr {
        let params = Box::new(Params::read(config));
        let rules = rules(&params);
        let segment = Segment::new(config.smss);
        let pacing = Pacing::new(
            segment,
            params.pacing_margin,
            rules.burst,
            params.send_quantum_max,
        );
        let mut bbr = Bbr {
            rules,
            core: Core::new(
                config,
                (params.startup_pacing_gain, params.startup_cwnd_gain),
                MinRtt::new(params.min_rtt_window, false),
                match rules.aggregation {
                    Aggregation::Sliding => AckAggregation::sliding(),
                    Aggregation::InHalves => AckAggregation::in_halves(),
                },
                pacing,
            ),
            min_pipe_cwnd: segment.times(params.min_pipe_cwnd),
            ack_phase: AckPhase::Init,
            gains_are_stale: false,
            may_take_fast_path: false,
            drain_start_round: 0,
            sample_bw: 0.0,
            max_bw: MaxBw::new(params.max_bw_window),
            bounds: Bounds::default(),
            latest: Latest::default(),
            saved: Saved::default(),
            probe: ProbeBw::default(),
            filters: Filters::default(),
            probe_rtt_min: MinRtt::new(
                params.probe_rtt_interval,
                params.probe_rtt_renewed_by_equal,
            ),
            delay: (params.startup_exit_on_delay || params.up_exit_on_delay).then(Box::default),
            ecn: EcnState::new(params.ecn_alpha_init, params.ecn),
            params,
        };
        let gain = bbr.first_gain();
        bbr.core
            .pacing
            .init_from_rtt(segment, config.initial_cwnd, None, gain);
        bbr
    }

    /// Returns the gain of the first pacing rate. InitPacingRate (§5.6.2) has no pacing margin;
    /// Linux has.
    fn first_gain(&self) -> f64 {
        let gain = self.params.startup_pacing_gain;
        if self.rules.margin_at_start {
            gain
        } else {
            gain / self.core.pacing.margin_left()
        }
    }

    fn enter(&mut self, cx: &mut Context<'_>, to: State, reason: &'static str) {
        self.core.enter(cx, to, reason);
        self.gains_are_stale = true;
        self.may_take_fast_path = false;
    }

    /// The table of §5.6.1, `bbr_update_gains`. New gains take effect at the end of the ACK that
    /// changed the state.
    fn update_gains(&mut self) {
        self.gains_are_stale = false;
        let params = &*self.params;
        (self.core.pacing_gain, self.core.cwnd_gain) = match self.core.state {
            State::Startup => (params.startup_pacing_gain, params.startup_cwnd_gain),
            State::Drain => (params.drain_pacing_gain, params.drain_cwnd_gain),
            State::ProbeBwDown => (params.down_pacing_gain, params.cwnd_gain),
            State::ProbeBwCruise => (params.cruise_pacing_gain, params.cwnd_gain),
            State::ProbeBwRefill => (params.refill_pacing_gain, params.cwnd_gain),
            State::ProbeBwUp => (params.up_pacing_gain, params.up_cwnd_gain),
            State::ProbeRtt if self.rules.probe_rtt_by_cap => (params.probe_rtt_pacing_gain, 1.0),
            State::ProbeRtt => (params.probe_rtt_pacing_gain, params.probe_rtt_cwnd_gain),
        };
    }

    /// SetPacingRateWithGain (§5.6.2).
    #[inline]
    fn set_pacing_rate(&mut self, cx: &Context<'_>, gain: f64) {
        self.take_first_rtt(cx);
        self.core.set_pacing_rate(self.bw() * gain);
    }

    /// UpdateModelAndState (§5.2.3), `bbr_update_model`, except for the steps that `on_ack` has
    /// already done.
    #[inline]
    fn update_model_and_state(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.update_congestion_signals(ack);
        self.update_ack_aggregation(cx, ack);
        self.check_startup_high_loss(cx, ack);
        self.check_full_bw_reached(ack);
        self.check_startup_done(cx);
        self.check_startup_delay(cx);
        self.check_drain_done(cx);
        self.update_cycle_phase(cx, ack);
        self.update_min_rtt(cx, ack);
    }

    /// UpdateControlParameters (§5.2.3).
    #[inline]
    fn update_control_parameters(&mut self, cx: &Context<'_>, ack: &Ack) {
        if self.gains_are_stale {
            self.update_gains();
        }
        self.set_pacing_rate(cx, self.core.pacing_gain);
        self.set_cwnd(cx.conn, ack);
    }

    /// `bbr_run_fast_path`: an ACK of an application-limited flow that brings no new information
    /// only advances the state machine. Returns true if no control parameter needs an update.
    #[inline]
    fn run_fast_path(&mut self, cx: &mut Context<'_>, ack: &Ack) -> bool {
        self.check_startup_done(cx);
        self.check_drain_done(cx);
        self.update_cycle_phase(cx, ack);
        self.update_min_rtt(cx, ack);
        self.may_take_fast_path
    }

    /// Adapts the model to a timeout.
    fn forget_after_timeout(&mut self) {
        let bound = match self.rules.on_timeout {
            OnTimeout::Nothing => return,
            OnTimeout::Baseline => {
                self.core.full_pipe.bw = 0.0;
                self.core.window.prior_cwnd
            }
            OnTimeout::Plateau => {
                self.forget_plateau();
                self.core.window.cwnd.max(self.core.window.prior_cwnd)
            }
        };
        // The bound is derived from the window before the timeout.
        if !self.core.state.is_probing() {
            self.bounds.inflight_shortterm.get_or_insert(bound);
        }
    }
}

impl Bbr {
    #[cold] // rare; the dispatch of `on_sent` stays small
    fn restart_from_idle(&mut self, cx: &mut Context<'_>) {
        if self.core.state.is_probe_bw() {
            // The path's bandwidth is enough: a higher rate would only overrun a buffer.
            self.set_pacing_rate(cx, 1.0);
        } else if self.core.state == State::ProbeRtt {
            self.check_probe_rtt_done(cx);
        }
    }
}

impl Controller for Bbr {
    /// HandleRestartFromIdle (§5.4.1), `bbr_cwnd_event`.
    #[inline]
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        let first = self.take_first_rtt(cx);
        if !self.core.restarts_from_idle(cx, packet) {
            return first;
        }
        self.restart_from_idle(cx);
        true
    }

    #[inline]
    fn wants_sent(&mut self, _: Time, from_idle: bool) -> bool {
        from_idle || self.core.pacing.awaits_rtt()
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        self.handle_lost_packet(cx, lost);
    }

    /// UpdateOnACK (§5.2.3), `bbr_main`.
    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.saved.by_loss = false;
        if ack.tlp_repair {
            self.handle_repaired_loss(cx, ack);
        }
        self.update_round(cx.conn, ack);
        if self.core.round_start {
            self.update_ecn_alpha(cx);
        }
        self.note_marks(ack);
        self.handle_marks(cx, ack);
        self.update_latest_delivery_signals(cx.conn, ack);
        let changes_little = self.may_take_fast_path
            && self.params.fast_path
            && ack.rate.app_limited
            && self.sample_bw < self.max_bw.max()
            && !(self.latest.loss_in_round || self.latest.ecn_in_round);
        if changes_little {
            if !self.run_fast_path(cx, ack) {
                self.update_control_parameters(cx, ack);
            }
        } else {
            self.update_model_and_state(cx, ack);
            self.update_control_parameters(cx, ack);
        }
        self.advance_latest_delivery_signals(ack);
        self.note_cycle(ack);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        match change {
            Recovery::Enter(cause) => {
                if cause == RecoveryCause::Ecn && self.counts_marks_as_losses() {
                    self.note_loss(cx.conn);
                }
                self.enter_fast_recovery();
            }
            Recovery::Exit => self.leave_recovery(cx.conn),
            Recovery::Spurious => {
                self.handle_spurious_loss(cx);
                self.core.window.episode = Episode::None;
                self.bound_after_restoring(cx.conn);
            }
            Recovery::Timeout { again } => self.enter_timeout(cx.conn, again),
            // Neither the draft nor Linux defines persistent congestion: treat it as the last of
            // several timeouts.
            Recovery::Persistent => self.enter_timeout(cx.conn, false),
        }
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => {
                self.core.on_mtu(cx.conn);
                self.min_pipe_cwnd = self.core.segment.times(self.params.min_pipe_cwnd);
            }
            PathChange::EcnFailed => (self.ecn.works, self.ecn.eligible) = (false, false),
            PathChange::Seed { .. } | PathChange::Threshold { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        self.core.decision(if self.ecn.works {
            EcnCodepoint::Ect0
        } else {
            EcnCodepoint::NotEct
        })
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
