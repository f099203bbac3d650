//! BBRv1 as in Linux `net/ipv4/tcp_bbr.c`, in bytes. Names are those of that file.

mod descriptor;
mod drain;
mod model;
mod policer;
mod probe_bw;
mod probe_rtt;
mod state;
mod window;

pub use descriptor::DESCRIPTOR;

use fullpipe_units::{Bytes, Span, Time};

use self::model::Model;
use self::policer::Policer;
use self::probe_bw::Cycle;
use self::state::State;
use self::window::BbrWindow;
use crate::common::bbr::aggregation::{AckAggregation, Acked};
use crate::common::bbr::full_pipe::{FullPipe, Growth};
use crate::common::bbr::min_rtt::{MinRtt, ProbeRttDwell};
use crate::common::bbr::pacing::{BurstRule, Pacing};
use crate::common::bbr::segment::Segment;
use crate::{
    Ack, Config, Context, Controller, Decision, Lost, PathChange, Recovery, RecoveryCause,
    Snapshot, Transition,
};

/// `bbr_cwnd_min_target`: segments that keep a path with delayed ACKs busy.
const MIN_CWND: u64 = 4;
/// `bbr_full_bw_thresh`: growth below this is no growth.
const FULL_BW_THRESH: f64 = 1.25;
/// `bbr_full_bw_cnt`: rounds without growth that show the pipe to be full.
const FULL_BW_COUNT: u32 = 3;
/// `bbr_extra_acked_win_rtts`: rounds in each of the two halves of the window.
const EXTRA_ACKED_ROUNDS: u64 = 5;
/// `bbr_extra_acked_max_us`: the window grows by what the bandwidth delivers in this time at most.
const EXTRA_ACKED_MAX: Span = Span::from_millis(100);

/// What can be set and is looked at after the start.
#[derive(Clone, Copy, Debug)]
struct Settings {
    high_gain: f64,
    drain_gain: f64,
    cwnd_gain: f64,
    extra_acked_gain: f64,
    probe_rtt_duration: Span,
}

/// The controller.
#[derive(Debug)]
pub struct Bbr1 {
    settings: Settings,
    segment: Segment,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    model: Model,
    full_pipe: FullPipe,
    cycle: Cycle,
    dip: ProbeRttDwell,
    aggregation: AckAggregation,
    pacing: Pacing,
    window: BbrWindow,
    /// For export only: what the pipe held when STARTUP ended.
    ssthresh: Bytes,
    /// Sending again after idle, nothing acknowledged yet.
    idle_restart: bool,
    /// `delivered_mstamp`.
    delivered_at: Time,
}

impl Bbr1 {
    /// One for a connection.
    pub fn new(config: &Config) -> Bbr1 {
        let settings = Settings {
            high_gain: config.number("high_gain"),
            drain_gain: config.number("drain_gain"),
            cwnd_gain: config.number("cwnd_gain"),
            extra_acked_gain: config.number("extra_acked_gain"),
            probe_rtt_duration: Span::from_secs_f64(config.number("probe_rtt_duration")),
        };
        let segment = Segment::new(config.smss);
        let burst = BurstRule {
            length: BurstRule::LINUX_LENGTH,
            by_rtt: false,
            singles: true,
            max: config.number("send_quantum_max"),
        };
        let mut pacing = Pacing::new(segment, config.number("pacing_margin"), burst);
        pacing.init_from_rtt(segment, config.initial_cwnd, None, settings.high_gain);
        Bbr1 {
            settings,
            segment,
            state: State::Startup,
            pacing_gain: settings.high_gain,
            cwnd_gain: settings.high_gain,
            model: Model::new(
                config.number("bw_window") as u64,
                Policer::new(config.flag("policer_estimator")),
                MinRtt::new(
                    Span::from_secs_f64(config.number("min_rtt_window")),
                    config.flag("min_rtt_refresh_on_equal"),
                ),
            ),
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            dip: ProbeRttDwell::default(),
            aggregation: AckAggregation::in_halves(),
            pacing,
            window: BbrWindow::new(config.initial_cwnd),
            ssthresh: Bytes::MAX,
            idle_restart: false,
            delivered_at: Time::ZERO,
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
        if to == State::ProbeBw {
            self.cycle.begin(cx.rng, self.delivered_at);
        }
    }

    /// `bbr_update_gains`.
    #[inline]
    fn update_gains(&mut self) {
        let Settings {
            high_gain,
            drain_gain,
            cwnd_gain,
            ..
        } = self.settings;
        (self.pacing_gain, self.cwnd_gain) = match self.state {
            State::Startup => (high_gain, high_gain),
            // The window stays: only the pace shall fall.
            State::Drain => (drain_gain, high_gain),
            // A policer drops what comes faster.
            State::ProbeBw if self.model.policer.is_policed => (1.0, cwnd_gain),
            State::ProbeBw => (self.cycle.pacing_gain(), cwnd_gain),
            State::ProbeRtt => (1.0, 1.0),
        };
    }

    /// Starts from the first RTT that is known: the handshake's, where the transport takes it.
    #[inline]
    fn take_first_rtt(&mut self, cx: &Context<'_>) {
        if self.pacing.awaits_rtt() && cx.conn.srtt > Span::ZERO {
            self.pacing.init_from_rtt(
                self.segment,
                self.window.saved.cwnd,
                Some(cx.conn.srtt),
                self.settings.high_gain,
            );
            self.model.min_rtt.seed(cx.now, cx.conn.min_rtt);
        }
    }

    /// `bbr_update_ack_aggregation`.
    #[inline]
    fn update_ack_aggregation(&mut self, cx: &Context<'_>, ack: &Ack) {
        if ack.rate.rate.is_none() {
            return;
        }
        let acked = Acked {
            bytes: ack.newly_acked.as_f64(),
            bw: self.model.bw(),
            cwnd: self.window.saved.cwnd.as_f64(),
            round_start: self.model.round_start,
            window: EXTRA_ACKED_ROUNDS,
            epoch_max: AckAggregation::EPOCH_SEGMENTS * self.segment.bytes,
        };
        self.aggregation.on_ack(cx.now, acked);
    }

    /// What to add to the window: `bbr_ack_aggregation_cwnd`.
    #[inline]
    fn extra_acked(&self) -> f64 {
        (self.settings.extra_acked_gain * self.aggregation.extra_acked())
            .min(self.model.bytes_in(EXTRA_ACKED_MAX))
    }

    /// `bbr_check_full_bw_reached`.
    #[inline]
    fn check_full_bw_reached(&mut self, ack: &Ack) {
        if !ack.rate.app_limited {
            let (bw, round_start) = (self.model.max_bw(), self.model.round_start);
            self.full_pipe.on_ack(
                bw,
                round_start,
                Growth::AtRoundStart,
                FULL_BW_THRESH,
                FULL_BW_COUNT,
            );
        }
    }

    /// `bbr_set_pacing_rate`.
    #[inline]
    fn set_pacing_rate(&mut self, cx: &Context<'_>, gain: f64) {
        self.take_first_rtt(cx);
        self.pacing
            .follow(self.segment, self.model.bw() * gain, self.full_pipe.reached);
    }
}

impl Controller for Bbr1 {
    /// `bbr_init` with the first packet, and `bbr_cwnd_event`, CA_EVENT_TX_START.
    #[inline]
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        self.take_first_rtt(cx);
        let from_idle = packet.inflight == Bytes::new(u64::from(packet.size));
        if !from_idle || !cx.conn.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(cx.now);
        match self.state {
            // No more speed is needed than the path has: don't overrun a buffer for nothing.
            State::ProbeBw => self.set_pacing_rate(cx, 1.0),
            State::ProbeRtt => self.check_probe_rtt_done(cx),
            State::Startup | State::Drain => {}
        }
    }

    /// Losses count per ACK, as [`Ack::newly_lost`].
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    /// `bbr_main`.
    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.delivered_at = cx.now;
        if self
            .model
            .update_bw(cx.now, cx.conn, ack, self.state == State::ProbeBw)
        {
            self.cycle.begin(cx.rng, self.delivered_at);
        }
        self.update_ack_aggregation(cx, ack);
        if self.model.round_start {
            self.window.packet_conservation = false;
        }
        if self.state == State::ProbeBw {
            self.update_cycle_phase(cx, ack);
        }
        self.check_full_bw_reached(ack);
        self.check_drain(cx);
        self.update_min_rtt(cx, ack);
        self.update_gains();
        self.set_pacing_rate(cx, self.pacing_gain);
        self.set_cwnd(cx, ack);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        match change {
            Recovery::Enter(RecoveryCause::Loss) => self.window.enter_recovery(self.state),
            // BBRv1 takes no notice of ECN.
            Recovery::Enter(RecoveryCause::Ecn) => {}
            Recovery::Exit => self.leave_recovery(cx.conn),
            Recovery::Spurious => {
                (self.full_pipe.bw, self.full_pipe.count) = (0.0, 0);
                self.model.policer.reset(cx.now, cx.conn);
                self.leave_recovery(cx.conn);
            }
            // Linux has no persistent congestion; it is the last of several timeouts.
            Recovery::Timeout { .. } | Recovery::Persistent => {
                self.window.on_timeout(cx.conn, self.state);
                self.full_pipe.bw = 0.0;
                self.model.policer.on_timeout(cx.now, cx.conn);
            }
        }
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        if change == PathChange::Mtu {
            self.segment = Segment::new(cx.conn.smss);
            self.pacing.refresh(self.segment);
            self.window.saved.cwnd = self.window.saved.cwnd.max(cx.conn.smss);
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision {
            pacing_rate: Some(self.pacing.rate),
            send_quantum: self.pacing.quantum,
            mark_app_limited: self.state == State::ProbeRtt,
            ..Decision::window(self.window.saved.cwnd, self.ssthresh)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        let min_rtt = self.model.min_rtt.rtt;
        let min_rtt = if min_rtt == Span::MAX {
            0.0
        } else {
            min_rtt.as_secs_f64()
        };
        row.extend([
            f64::from(self.state as u8),
            self.cycle.index as f64,
            self.model.round.count() as f64,
            self.model.max_bw() * 8.0,
            min_rtt,
            self.pacing_gain,
            self.cwnd_gain,
            self.extra_acked(),
            self.full_pipe.bw * 8.0,
            f64::from(self.full_pipe.count),
            self.window.saved.prior_cwnd.as_f64(),
            f64::from(u8::from(self.window.packet_conservation)),
            self.model.policer.bw().unwrap_or(0.0) * 8.0,
        ]);
    }
}
