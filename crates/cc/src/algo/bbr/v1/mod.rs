//! BBRv1 as in Linux `net/ipv4/tcp_bbr.c`, in bytes instead of packets. Names are those of that
//! file.

mod model;
mod states;

use fullpipe_units::{Span, Time};

use self::model::Policer;
use self::states::{Cycle, State};
use super::estimators::{AckAggregation, Acked, Growth, MinRtt};
use super::pacing::{BurstRule, Pacing, Segment};
use super::{Core, bits};
use crate::common::max_filter::MaxFilter;
use crate::{
    Ack, AnyController, Config, Context, Controller, Decision, Descriptor, EcnCodepoint, Field,
    Lost, Marks, Param, PathChange, Recovery, RecoveryCause, RecoveryOwner, Signals, Snapshot,
    Specification, fields, params,
};

/// Descriptor of BBRv1.
pub static BBR1: Descriptor = Descriptor {
    name: "bbr1",
    purpose: "Paces at the measured bottleneck bandwidth with at most two BDPs in flight; ignores loss.",
    specifications: &[
        Specification {
            name: "Linux 6.12 net/ipv4/tcp_bbr.c",
            note: "reference implementation",
        },
        Specification {
            name: "Cardwell et al., ACM Queue 14(5), 2016",
            note: "original design",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Bbr1::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::RATE_SAMPLE.and(Signals::PACING),
    marks: |_| Marks::Ignored,
    random: true,
    build: |config, _| AnyController::Bbr1(Box::new(Bbr1::new(config))),
};

params! {
    /// The parameters.
    struct Params {
        high_gain: f64 = Param::number(739.0 / 256.0, 1.0..=4.0)
            .says("Pacing and window gain of STARTUP: 2/ln 2", "tcp_bbr.c bbr_high_gain"),
        drain_gain: f64 = Param::number(88.0 / 256.0, 0.01..=1.0)
            .says("Pacing gain of DRAIN", "tcp_bbr.c bbr_drain_gain"),
        cwnd_gain: f64 = Param::number(2.0, 1.0..=4.0)
            .says("Window gain of PROBE_BW", "tcp_bbr.c bbr_cwnd_gain"),
        bw_window: u64 = Param::number(10.0, 1.0..=1000.0).unit("rounds")
            .says("Window of the maximum-bandwidth filter", "tcp_bbr.c bbr_bw_rtts"),
        min_rtt_window: Span = Param::number(10.0, 0.1..=3600.0).unit("s")
            .says(
                "Window of the minimum-RTT filter; PROBE_RTT begins when it expires",
                "tcp_bbr.c bbr_min_rtt_win_sec",
            ),
        probe_rtt_duration: Span = Param::number(0.2, 0.0..=10.0).unit("s")
            .says(
                "Minimum time for which PROBE_RTT limits the data in flight to four packets",
                "tcp_bbr.c bbr_probe_rtt_mode_ms",
            ),
        pacing_margin: f64 = Param::number(0.01, 0.0..=0.5)
            .says(
                "Fraction of the bandwidth that pacing leaves unused",
                "tcp_bbr.c bbr_pacing_margin_percent",
            ),
        send_quantum_max: f64 = Param::number(65_536.0, 1.0..=1e6).unit("B")
            .says("Maximum burst size", "tcp_bbr.c bbr_tso_segs_goal"),
        extra_acked_gain: f64 = Param::number(1.0, 0.0..=10.0)
            .says(
                "Factor on the ACK-aggregation allowance that is added to the window; 0 as in kernels before 5.1",
                "tcp_bbr.c bbr_ack_aggregation_cwnd",
            ),
        min_rtt_refresh_on_equal: bool = Param::flag(false)
            .says(
                "An RTT sample equal to the minimum renews it, as in the first versions (<= instead of mainline's <)",
                "tcp_bbr.c bbr_update_min_rtt",
            ),
        policer_estimator: bool = Param::flag(true)
            .says(
                "Detect a policer by two consecutive intervals with high loss and the same rate, and keep to that rate",
                "tcp_bbr.c bbr_lt_bw_sampling",
            ),
    }
}

fields! {
    impl Bbr1 as cc {
        state: Field::state(State::NAMES, "State (bbr_mode)") => cc.core.state as usize,
        phase: Field::value("", "Phase of PROBE_BW (cycle_idx): 0 probes, 1 drains, 2 to 7 cruise")
            => cc.cycle.index,
        round: Field::value("rounds", "Number of round trips so far (rtt_cnt)")
            => cc.core.round.count(),
        max_bw: Field::value(
            "bit/s",
            "Bandwidth estimate: maximum delivery rate in the last bw_window rounds",
        )
            => bits(cc.max_bw()),
        min_rtt: Field::value("s", "Minimum RTT observed; 0 before the first sample")
            => cc.core.min_rtt.get(),
        pacing_gain: Field::value("", "Pacing gain in force since the last ACK")
            => cc.core.pacing_gain,
        cwnd_gain: Field::value("", "Window gain in force since the last ACK") => cc.core.cwnd_gain,
        extra_acked: Field::value("B", "ACK-aggregation allowance, which is added to the window")
            => cc.extra_acked(),
        full_bw: Field::value("bit/s", "Bandwidth at its last growth by 25 % or more")
            => bits(cc.core.full_pipe.bw),
        full_bw_count:
            Field::value("rounds", "Rounds since the bandwidth last grew by 25 % or more")
            => cc.core.full_pipe.count,
        prior_cwnd: Field::value("B", "Window before recovery or PROBE_RTT, restored afterwards")
            => cc.core.window.prior_cwnd,
        packet_conservation:
            Field::yes_no("Whether packets are conserved: the first round of recovery")
            => cc.packet_conservation,
        policer_bw: Field::value(
            "bit/s",
            "Rate of a detected policer (lt_bw) while it is in use; 0 otherwise",
        )
            => cc.policer.bw().map(bits),
    }
}

/// `bbr_cwnd_min_target`: segments that keep a path with delayed ACKs busy.
const MIN_CWND: u64 = 4;
/// `bbr_full_bw_thresh`: the minimum factor that counts as bandwidth growth.
const FULL_BW_THRESH: f64 = 1.25;
/// `bbr_full_bw_cnt`: rounds without growth after which the pipe counts as full.
const FULL_BW_COUNT: u32 = 3;
/// `bbr_extra_acked_win_rtts`: rounds in each of the two halves of the window.
const EXTRA_ACKED_ROUNDS: u64 = 5;
/// `bbr_extra_acked_max_us`: the window grows by at most the data delivered in this time.
const EXTRA_ACKED_MAX: Span = Span::from_millis(100);

/// The BBRv1 controller.
#[derive(Debug)]
pub struct Bbr1 {
    params: Params,
    core: Core<State>,
    bw: MaxFilter,
    policer: Policer,
    cycle: Cycle,
    /// Whether recovery has begun, with no ACK since.
    entering_recovery: bool,
    /// Whether packets are conserved: in the first round of recovery, data sent equals data
    /// delivered.
    packet_conservation: bool,
    /// `delivered_mstamp`.
    delivered_at: Time,
}

impl Bbr1 {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Bbr1 {
        let params = Params::read(config);
        let segment = Segment::new(config.smss);
        let (margin, max) = (params.pacing_margin, params.send_quantum_max);
        let mut pacing = Pacing::new(segment, margin, BurstRule::LINUX_V1, max);
        pacing.init_from_rtt(segment, config.initial_cwnd, None, params.high_gain);
        Bbr1 {
            core: Core::new(
                config,
                (params.high_gain, params.high_gain),
                MinRtt::new(params.min_rtt_window, params.min_rtt_refresh_on_equal),
                AckAggregation::in_halves(),
                pacing,
            ),
            bw: MaxFilter::new(params.bw_window),
            policer: Policer::new(params.policer_estimator),
            cycle: Cycle::default(),
            entering_recovery: false,
            packet_conservation: false,
            delivered_at: Time::ZERO,
            params,
        }
    }

    fn enter(&mut self, cx: &mut Context<'_>, to: State, reason: &'static str) {
        self.core.enter(cx, to, reason);
        if to == State::ProbeBw {
            self.cycle.begin(cx.rng, self.delivered_at);
        }
    }

    /// `bbr_update_gains`.
    #[inline]
    fn update_gains(&mut self) {
        let Params {
            high_gain,
            drain_gain,
            cwnd_gain,
            ..
        } = self.params;
        (self.core.pacing_gain, self.core.cwnd_gain) = match self.core.state {
            State::Startup => (high_gain, high_gain),
            // Drain lowers the pacing rate and keeps the window.
            State::Drain => (drain_gain, high_gain),
            // A policer drops packets that exceed its rate.
            State::ProbeBw if self.policer.is_policed => (1.0, cwnd_gain),
            State::ProbeBw => (self.cycle.pacing_gain(), cwnd_gain),
            State::ProbeRtt => (1.0, 1.0),
        };
    }

    #[inline]
    fn take_first_rtt(&mut self, cx: &Context<'_>) -> bool {
        let first = self.core.has_first_rtt(cx);
        if first {
            self.core.take_first_rtt(cx, self.params.high_gain);
        }
        first
    }

    /// `bbr_update_ack_aggregation`.
    #[inline]
    fn update_ack_aggregation(&mut self, cx: &Context<'_>, ack: &Ack) {
        if ack.rate.rate.is_none() {
            return;
        }
        let acked = Acked {
            bytes: ack.newly_acked.as_f64(),
            bw: self.bw(),
            cwnd: self.core.window.cwnd.as_f64(),
            round_start: self.core.round_start,
            window: EXTRA_ACKED_ROUNDS,
            epoch_max: AckAggregation::EPOCH_SEGMENTS * self.core.segment.bytes,
        };
        self.core.aggregation.on_ack(cx.now, acked);
    }

    /// ACK-aggregation allowance in the window: `bbr_ack_aggregation_cwnd`.
    #[inline]
    fn extra_acked(&self) -> f64 {
        (self.params.extra_acked_gain * self.core.aggregation.extra_acked())
            .min(self.bytes_in(EXTRA_ACKED_MAX))
    }

    /// `bbr_check_full_bw_reached`.
    #[inline]
    fn check_full_bw_reached(&mut self, ack: &Ack) {
        if !ack.rate.app_limited {
            let (bw, round_start) = (self.max_bw(), self.core.round_start);
            self.core.full_pipe.on_ack(
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
        self.core.set_pacing_rate(self.bw() * gain);
    }
}

impl Bbr1 {
    #[cold] // rare; the dispatch of `on_sent` stays small
    fn restart_from_idle(&mut self, cx: &mut Context<'_>) {
        match self.core.state {
            // The path's bandwidth is enough: a higher rate would only overrun a buffer.
            State::ProbeBw => self.set_pacing_rate(cx, 1.0),
            State::ProbeRtt => self.check_probe_rtt_done(cx),
            State::Startup | State::Drain => {}
        }
    }
}

impl Controller for Bbr1 {
    /// `bbr_init` with the first packet, and `bbr_cwnd_event` with CA_EVENT_TX_START.
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

    /// Losses are counted per ACK, by [`Ack::newly_lost`].
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    /// `bbr_main`.
    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.delivered_at = cx.now;
        if self.update_bw(cx, ack) {
            self.cycle.begin(cx.rng, self.delivered_at);
        }
        self.update_ack_aggregation(cx, ack);
        if self.core.round_start {
            self.packet_conservation = false;
        }
        if self.core.state == State::ProbeBw {
            self.update_cycle_phase(cx, ack);
        }
        self.check_full_bw_reached(ack);
        self.check_drain(cx);
        self.update_min_rtt(cx, ack);
        self.update_gains();
        self.set_pacing_rate(cx, self.core.pacing_gain);
        self.set_cwnd(cx, ack);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        match change {
            Recovery::Enter(RecoveryCause::Loss) => self.enter_recovery(),
            // BBRv1 ignores ECN.
            Recovery::Enter(RecoveryCause::Ecn) => {}
            Recovery::Exit => self.leave_recovery(cx.conn),
            Recovery::Spurious => {
                (self.core.full_pipe.bw, self.core.full_pipe.count) = (0.0, 0);
                self.policer.reset(cx.now, cx.conn);
                self.leave_recovery(cx.conn);
            }
            // Linux does not define persistent congestion: treat it as the last of several
            // timeouts.
            Recovery::Timeout { .. } | Recovery::Persistent => {
                self.cut_after_timeout(cx.conn);
                self.core.full_pipe.bw = 0.0;
                self.policer.on_timeout(cx.now, cx.conn);
            }
        }
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        if change == PathChange::Mtu {
            self.core.on_mtu(cx.conn);
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        self.core.decision(EcnCodepoint::NotEct)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
