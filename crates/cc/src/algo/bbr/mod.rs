//! BBRv2 and BBRv3: one machine, by the names of draft-ietf-ccwg-bbr-06. Where the versions differ
//! by a number it is a parameter (`declared.rs`), where they differ by more it is a rule
//! (`rules.rs`).
//!
//! Beside a rule stand the draft's section or pseudocode, and the function of Linux's `tcp_bbr.c`
//! (google/bbr v3).

mod bbr2;
mod bbr3;
mod congestion;
mod cruise;
mod declared;
mod delay;
mod down;
mod drain;
mod ecn;
mod model;
mod params;
mod probe_bw;
mod probe_rtt;
mod refill;
mod rules;
mod startup;
mod state;
mod up;
mod window;

pub use bbr2::DESCRIPTOR as BBR2;
pub use bbr3::{DESCRIPTOR as BBR3, PICOQUIC_2024_09, PICOQUIC_2024_10};

use fullpipe_units::{Bytes, Span};

use self::congestion::{Latest, Saved};
use self::delay::Delay;
use self::ecn::EcnState;
use self::model::{Filters, MaxBw};
use self::params::{Options, Params};
use self::probe_bw::ProbeBw;
use self::rules::{Aggregation, OnTimeout, Rules};
use self::state::{AckPhase, State};
use crate::common::bbr::aggregation::AckAggregation;
use crate::common::bbr::full_pipe::FullPipe;
use crate::common::bbr::min_rtt::{MinRtt, ProbeRttDwell};
use crate::common::bbr::pacing::{BurstRule, Pacing};
use crate::common::bbr::segment::Segment;
use crate::common::bbr::window::SavedWindow;
use crate::common::round::RoundCounter;
use crate::common::window::Episode;
use crate::{
    Ack, Config, Context, Controller, Decision, Lost, PathChange, Recovery, Snapshot, Transition,
};

/// The controller.
#[derive(Debug)]
pub struct Bbr {
    params: Box<Params>,
    segment: Segment,
    /// `BBR.MinPipeCwnd`.
    min_pipe_cwnd: Bytes,
    state: State,
    ack_phase: AckPhase,
    /// This ACK begins a round.
    round_start: bool,
    /// Sending again after idle, nothing acknowledged yet.
    idle_restart: bool,
    /// The state has changed since the gains were set.
    gains_are_stale: bool,
    /// The window has reached its target, so ACKs of a flow that the application limits change
    /// little (Linux).
    may_take_fast_path: bool,
    pacing_gain: f64,
    cwnd_gain: f64,
    round: RoundCounter,
    drain_start_round: u64,
    /// This ACK's bandwidth, B/s; zero for none.
    sample_bw: f64,
    max_bw: MaxBw,
    /// Infinite when unset.
    bw_shortterm: f64,
    /// [`Bytes::MAX`] when unset.
    inflight_shortterm: Bytes,
    /// [`Bytes::MAX`] when unset.
    inflight_longterm: Bytes,
    latest: Latest,
    saved: Saved,
    full_pipe: FullPipe,
    probe: ProbeBw,
    filters: Filters,
    min_rtt: MinRtt,
    probe_rtt_min: MinRtt,
    dip: ProbeRttDwell,
    aggregation: AckAggregation,
    pacing: Pacing,
    window: SavedWindow,
    ecn: EcnState,
    /// For the exits on delay alone.
    delay: Option<Box<Delay>>,
    /// For export only: what the pipe held when Startup ended.
    ssthresh: Bytes,
}

impl Bbr {
    /// OnInit (§5.2.1).
    fn new(config: &Config, rules: Rules, burst: BurstRule, options: &Options) -> Bbr {
        let params = Box::new(Params::new(config, rules, options));
        let segment = Segment::new(config.smss);
        let span = |name| Span::from_secs_f64(config.number(name));
        let mut bbr = Bbr {
            segment,
            min_pipe_cwnd: segment.times(params.min_pipe_cwnd),
            state: State::Startup,
            ack_phase: AckPhase::Init,
            round_start: false,
            idle_restart: false,
            gains_are_stale: false,
            may_take_fast_path: false,
            pacing_gain: params.startup_pacing_gain,
            cwnd_gain: params.startup_cwnd_gain,
            round: RoundCounter::default(),
            drain_start_round: 0,
            sample_bw: 0.0,
            max_bw: MaxBw::new(config.number("max_bw_window") as usize),
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: Bytes::MAX,
            inflight_longterm: Bytes::MAX,
            latest: Latest::default(),
            saved: Saved::default(),
            full_pipe: FullPipe::default(),
            probe: ProbeBw::default(),
            filters: Filters::default(),
            min_rtt: MinRtt::new(span("min_rtt_window"), false),
            probe_rtt_min: MinRtt::new(
                span("probe_rtt_interval"),
                config.flag("probe_rtt_renewed_by_equal"),
            ),
            dip: ProbeRttDwell::default(),
            aggregation: match rules.aggregation {
                Aggregation::Sliding => AckAggregation::sliding(),
                Aggregation::InHalves => AckAggregation::in_halves(),
            },
            pacing: Pacing::new(segment, config.number("pacing_margin"), burst),
            window: SavedWindow::new(config.initial_cwnd),
            delay: params.delay.is_on().then(Box::default),
            ecn: EcnState::new(config.number("ecn_alpha_init"), params.ecn),
            ssthresh: Bytes::MAX,
            params,
        };
        bbr.pacing
            .init_from_rtt(segment, config.initial_cwnd, None, bbr.first_gain());
        bbr
    }

    /// InitPacingRate (§5.6.2) knows no margin, Linux's does.
    fn first_gain(&self) -> f64 {
        let gain = self.params.startup_pacing_gain;
        if self.params.rules.margin_at_start {
            gain
        } else {
            gain / self.pacing.margin_left()
        }
    }

    /// The only way from one state to another.
    fn enter(&mut self, cx: &mut Context<'_>, to: State, reason: &'static str) {
        debug_assert!(
            self.state.may_become(to),
            "{:?} can't become {to:?}",
            self.state
        );
        cx.observer.transition(
            cx.now,
            Transition {
                from: self.state.name(),
                to: to.name(),
                reason,
            },
        );
        self.state = to;
        self.gains_are_stale = true;
        self.may_take_fast_path = false;
    }

    /// The table of §5.6.1, `bbr_update_gains`. It takes effect with the end of the ACK that
    /// changed the state.
    fn update_gains(&mut self) {
        self.gains_are_stale = false;
        let params = &*self.params;
        (self.pacing_gain, self.cwnd_gain) = match self.state {
            State::Startup => (params.startup_pacing_gain, params.startup_cwnd_gain),
            State::Drain => (params.drain_pacing_gain, params.drain_cwnd_gain),
            State::ProbeBwDown => (params.down_pacing_gain, params.cwnd_gain),
            State::ProbeBwCruise => (params.cruise_pacing_gain, params.cwnd_gain),
            State::ProbeBwRefill => (params.refill_pacing_gain, params.cwnd_gain),
            State::ProbeBwUp => (params.up_pacing_gain, params.up_cwnd_gain),
            State::ProbeRtt if params.rules.probe_rtt_by_cap => (params.probe_rtt_pacing_gain, 1.0),
            State::ProbeRtt => (params.probe_rtt_pacing_gain, params.probe_rtt_cwnd_gain),
        };
    }

    /// SetPacingRateWithGain (§5.6.2).
    #[inline]
    fn set_pacing_rate(&mut self, cx: &Context<'_>, gain: f64) {
        self.take_first_rtt(cx);
        self.pacing
            .follow(self.segment, self.bw() * gain, self.full_pipe.reached);
    }

    /// UpdateModelAndState (§5.2.3), `bbr_update_model`, from what is known of the ACK already.
    #[inline]
    fn update_model_and_state(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.update_congestion_signals(cx.conn, ack);
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
        self.set_pacing_rate(cx, self.pacing_gain);
        self.set_cwnd(cx.conn, ack);
    }

    /// `bbr_run_fast_path`: an ACK of a flow that the application limits, which brings nothing new,
    /// moves the state machine alone. True when nothing has changed.
    #[inline]
    fn run_fast_path(&mut self, cx: &mut Context<'_>, ack: &Ack) -> bool {
        self.check_startup_done(cx);
        self.check_drain_done(cx);
        self.update_cycle_phase(cx, ack);
        self.update_min_rtt(cx, ack);
        self.may_take_fast_path
    }

    /// What a timeout does to the model.
    fn forget_after_timeout(&mut self) {
        let bound = match self.params.rules.on_timeout {
            OnTimeout::Nothing => return,
            OnTimeout::Baseline => {
                self.full_pipe.bw = 0.0;
                self.window.prior_cwnd
            }
            OnTimeout::Plateau => {
                self.forget_plateau();
                self.window.cwnd.max(self.window.prior_cwnd)
            }
        };
        // The bound shall be cut from what the window was before the timeout.
        if !self.state.is_probing() && self.inflight_shortterm == Bytes::MAX {
            self.inflight_shortterm = bound;
        }
    }
}

impl Controller for Bbr {
    /// HandleRestartFromIdle (§5.4.1), `bbr_cwnd_event`.
    #[inline]
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        self.take_first_rtt(cx);
        let from_idle = packet.inflight == Bytes::new(u64::from(packet.size));
        if !from_idle || !cx.conn.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(cx.now);
        if self.state.is_probe_bw() {
            // No more speed is needed than the path has: don't overrun a buffer for nothing.
            self.set_pacing_rate(cx, 1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(cx);
        }
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
        if self.round_start {
            self.update_ecn_alpha(cx);
        }
        self.note_marks(ack);
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
            Recovery::Enter(_) => self.enter_fast_recovery(),
            Recovery::Exit => self.leave_recovery(cx.conn),
            Recovery::Spurious => {
                self.handle_spurious_loss(cx);
                self.window.episode = Episode::None;
                self.bound_after_restoring(cx.conn);
            }
            Recovery::Timeout { again } => self.enter_timeout(cx.conn, again),
            // Neither the draft nor Linux has it; it is the last of several timeouts.
            Recovery::Persistent => self.enter_timeout(cx.conn, false),
        }
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => {
                self.segment = Segment::new(cx.conn.smss);
                self.min_pipe_cwnd = self.segment.times(self.params.min_pipe_cwnd);
                self.pacing.refresh(self.segment);
                self.window.cwnd = self.window.cwnd.max(cx.conn.smss);
            }
            PathChange::EcnFailed => (self.ecn.works, self.ecn.eligible) = (false, false),
            PathChange::Seed { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision {
            pacing_rate: Some(self.pacing.rate),
            send_quantum: self.pacing.quantum,
            mark_app_limited: self.state == State::ProbeRtt,
            ecn: if self.ecn.works {
                crate::EcnCodepoint::Ect0
            } else {
                crate::EcnCodepoint::NotEct
            },
            ..Decision::window(self.window.cwnd, self.ssthresh)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        let bits = |bw: f64| if bw.is_finite() { bw * 8.0 } else { 0.0 };
        let bytes = |bytes: Bytes| {
            if bytes == Bytes::MAX {
                0.0
            } else {
                bytes.as_f64()
            }
        };
        let min_rtt = if self.min_rtt.rtt == Span::MAX {
            0.0
        } else {
            self.min_rtt.rtt.as_secs_f64()
        };
        row.extend([
            f64::from(self.state as u8),
            self.round.count() as f64,
            bits(self.latest.bw),
            bits(self.max_bw.max()),
            bits(self.bw_shortterm),
            min_rtt,
            bytes(self.latest.inflight),
            bytes(self.inflight_longterm),
            bytes(self.inflight_shortterm),
            self.pacing_gain,
            self.cwnd_gain,
            self.extra_acked(),
            bits(self.full_pipe.bw),
            f64::from(self.full_pipe.count),
            f64::from(u8::from(self.full_pipe.now)),
            f64::from(u8::from(self.full_pipe.reached)),
            f64::from(u8::from(self.idle_restart)),
            self.probe.wait.as_secs_f64(),
            f64::from(self.probe.rounds_since_up),
            self.window.prior_cwnd.as_f64(),
            self.saved.undo_state(),
            bits(self.saved.bw_shortterm),
            bytes(self.saved.inflight_longterm),
            bytes(self.saved.inflight_shortterm),
            self.ecn.alpha,
        ]);
    }
}
