//! Prague: the scalable congestion control of L4S, as in L4STeam's Linux.

mod descriptor;

pub use descriptor::DESCRIPTOR;

use fullpipe_units::{Bytes, Rate, Span, Time};

use self::descriptor::{Params, Phase, RttScaling};
use crate::common::marks::Alpha;
use crate::common::round::RoundCounter;
use crate::common::window::{loss_window, report};
use crate::{
    Ack, Config, Conn, Context, Controller, Decision, EcnCodepoint, Lost, PathChange, Recovery,
    RecoveryCause,
};

/// MIN_CWND, in segments.
const MIN_SEGMENTS: f64 = 2.0;
/// MAX_SCALED_RTT: the maximum RTT for which the increase is scaled.
const MAX_SCALED_RTT: Span = Span::from_millis(100);
/// `prague_burst_shift`: a burst lasts at most 1/2^12 s.
const BURSTS_A_SECOND: u64 = 1 << 12;

/// The Prague controller.
#[derive(Debug)]
pub struct Prague {
    target_rtt: Span,
    scales: bool,
    transition: u64,

    smss: Bytes,
    /// `frac_cwnd`, in segments: the target window, with its fraction.
    window: f64,
    /// `snd_cwnd`, in segments: follows `window` by one segment per ACK.
    cwnd: f64,
    ssthresh: f64,
    alpha: Alpha,
    /// Whether a mark has arrived. Alpha is updated from the first mark on; before it, nothing
    /// indicates an AQM.
    saw_ce: bool,
    alpha_at: Time,
    reduced_at: Option<Time>,
    round: RoundCounter,
    /// Whether the round is over, but the target RTT has not passed yet.
    round_over: bool,
    /// Rounds since the end of slow start.
    rounds: u64,
    /// Increase per window of unmarked packets, in segments.
    increase: f64,
    in_loss: bool,
    capable: bool,
    /// The window before the last loss, for undo.
    saved: Option<f64>,
    pacing_rate: Option<Rate>,
}

impl Prague {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Prague {
        let initial = config.initial_cwnd.as_f64() / config.smss.as_f64();
        let params = Params::read(config);
        Prague {
            target_rtt: params.target_rtt,
            scales: params.rtt_scaling == RttScaling::Rate,
            transition: params.rtt_transition,
            smss: config.smss,
            window: initial,
            cwnd: initial,
            ssthresh: f64::INFINITY,
            alpha: Alpha::new(params.alpha_init, params.alpha_gain),
            saw_ce: false,
            alpha_at: Time::ZERO,
            reduced_at: None,
            round: RoundCounter::default(),
            round_over: false,
            rounds: 0,
            increase: 1.0,
            in_loss: false,
            capable: true,
            saved: None,
            pacing_rate: None,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn phase(&self) -> Phase {
        match (self.in_loss, self.in_slow_start()) {
            (true, _) => Phase::Recovery,
            (_, true) => Phase::SlowStart,
            (_, false) => Phase::Avoidance,
        }
    }

    /// `prague_is_rtt_indep`.
    fn is_rtt_independent(&self) -> bool {
        self.scales && !self.in_slow_start() && self.rounds >= self.transition
    }

    /// `prague_update_cwnd`.
    #[inline]
    fn grow(&mut self, cx: &Context<'_>, ack: &Ack) {
        let smss = self.smss.as_f64();
        self.saw_ce |= ack.ecn.ce_packets > 0;
        let unmarked = ack.newly_acked.as_f64() / smss - ack.ecn.ce_packets as f64;
        // A paced flow may use its window without ever filling it, so packets about to leave count
        // as in flight.
        let used = cx.conn.cwnd_limited || ack.prior_inflight + self.quantum() * 2 >= self.bytes();
        if unmarked > 0.0 && !self.in_loss && used {
            if self.in_slow_start() {
                self.cwnd = (self.cwnd + unmarked).min(self.ssthresh);
                self.window = self.cwnd;
                return;
            }
            self.window += unmarked * self.increase / self.window.ceil();
        }
        self.follow();
    }

    /// Moves the window in use toward the target window by one segment per ACK.
    fn follow(&mut self) {
        let target = self.window.ceil().max(1.0);
        if self.cwnd > target && self.cwnd > MIN_SEGMENTS {
            self.cwnd = (self.cwnd - 1.0).max(target);
            self.ssthresh = self.cwnd;
        } else if self.cwnd < target {
            self.cwnd = (self.cwnd + 1.0).min(target);
        }
    }

    /// `prague_update_alpha` and `prague_new_round`, at the end of a round; with RTT scaling, at
    /// the end of a target RTT.
    fn end_round(&mut self, cx: &Context<'_>) {
        if self.is_rtt_independent() && cx.now < self.alpha_at + self.target_rtt {
            return;
        }
        self.round_over = false;
        self.round.restart(cx.conn.delivered);
        if self.saw_ce {
            self.alpha
                .end_window(cx.conn.delivered, cx.conn.delivered_ce);
            self.alpha_at = cx.now;
        } else {
            self.alpha
                .skip_window(cx.conn.delivered, cx.conn.delivered_ce);
        }
        if !self.in_slow_start() {
            self.rounds += 1;
        }
        self.increase = self.additive_increase(cx.conn);
    }

    /// `prague_rate_scaled_ai_ack_increase`: the increase per RTT, in segments, with which the rate
    /// grows as fast as that of a flow with the target RTT: (RTT / target RTT)².
    fn additive_increase(&self, conn: &Conn) -> f64 {
        let rtt = conn.srtt;
        if !self.scales
            || self.rounds < self.transition
            || rtt >= self.target_rtt
            || rtt > MAX_SCALED_RTT
        {
            return 1.0;
        }
        let part = rtt.as_secs_f64() / self.target_rtt.as_secs_f64();
        part * part
    }

    /// `prague_enter_cwr`: reduces the window by alpha / 2, at most once per round trip and, with
    /// RTT scaling, once per target RTT.
    fn reduce(&mut self, now: Time) {
        if self.is_rtt_independent() && self.is_settling(now) {
            return;
        }
        self.reduced_at = Some(now);
        self.window = (self.window * (1.0 - self.alpha.get() / 2.0)).max(1.0);
        // Slow start ends now, although the window in use takes some ACKs to reach the target.
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    fn is_settling(&self, now: Time) -> bool {
        self.reduced_at.is_some_and(|at| now < at + self.target_rtt)
    }

    /// udp_prague, `cs_in_cwr`: a mark counts again after both the RTT and the target RTT have
    /// passed. The endpoint reports one only at the end of the episode that a mark in between
    /// began, up to a round trip later.
    #[inline]
    fn reduce_again(&mut self, cx: &Context<'_>, ack: &Ack) {
        let scaled = self.is_rtt_independent() && cx.conn.srtt < self.target_rtt;
        if ack.ecn.ce_packets > 0 && scaled && !self.in_loss && !self.is_settling(cx.now) {
            self.reduce(cx.now);
        }
    }

    /// `prague_enter_loss`: halves the window.
    fn lose(&mut self) {
        self.saved = Some(self.window);
        self.window = (self.window / 2.0).max(1.0);
        self.ssthresh = self.ssthresh.min(self.cwnd);
        self.in_loss = true;
    }

    fn on_timeout(&mut self, cx: &Context<'_>, again: bool) {
        if !again {
            self.lose();
        }
        self.in_loss = true;
        self.cwnd = loss_window(cx.conn).as_f64() / self.smss.as_f64();
        // Slow start leads to the target window, by one segment per ACK.
        self.ssthresh = self.cwnd.min(self.window);
    }

    /// `prague_update_pacing_rate`: one window per RTT, two in slow start.
    #[inline]
    fn pace(&mut self, conn: &Conn) {
        if conn.srtt == Span::ZERO {
            return;
        }
        let gain = if self.cwnd < self.ssthresh / 2.0 {
            2.0
        } else {
            1.0
        };
        let bytes = self.window * self.smss.as_f64() * gain;
        self.pacing_rate =
            Some(Rate::from_bps_f64(bytes * 8.0 / conn.srtt.as_secs_f64()).max(Rate::from_bps(1)));
    }

    #[inline]
    fn bytes(&self) -> Bytes {
        Bytes::from_f64(self.cwnd * self.smss.as_f64() + 1e-3)
    }

    /// Returns the data sent in 1/2^12 s at the pacing rate, at least a segment.
    fn quantum(&self) -> Bytes {
        let burst = self
            .pacing_rate
            .map_or(0, |rate| rate.as_bps() / 8 / BURSTS_A_SECOND);
        Bytes::new(burst).max(self.smss)
    }
}

impl Controller for Prague {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.grow(cx, ack);
        self.reduce_again(cx, ack);
        self.round_over |= self.round.on_ack(ack.newest.delivered, cx.conn.delivered);
        if self.round_over {
            self.end_round(cx);
        }
        self.pace(cx.conn);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        let before = self.phase().name();
        match change {
            Recovery::Enter(RecoveryCause::Loss) => self.lose(),
            Recovery::Enter(RecoveryCause::Ecn) => self.reduce(cx.now),
            Recovery::Exit => self.in_loss = false,
            Recovery::Spurious => {
                if let Some(window) = self.saved.take() {
                    self.window = self.window.max(window);
                    self.cwnd = self.cwnd.max(window);
                }
                self.in_loss = false;
            }
            Recovery::Timeout { again } => self.on_timeout(cx, again),
            Recovery::Persistent => {
                self.on_timeout(cx, true);
                (self.window, self.cwnd) = (MIN_SEGMENTS, MIN_SEGMENTS);
            }
        }
        self.pace(cx.conn);
        report(cx, before, self.phase().name(), change);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => {
                let scale = self.smss.as_f64() / cx.conn.smss.as_f64();
                self.smss = cx.conn.smss;
                for window in [&mut self.window, &mut self.cwnd, &mut self.ssthresh] {
                    *window = (*window * scale).max(1.0);
                }
                self.saved = None;
            }
            PathChange::EcnFailed => self.capable = false,
            PathChange::Threshold { ssthresh } => {
                self.ssthresh = ssthresh.as_f64() / self.smss.as_f64();
            }
            PathChange::Seed { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision {
            pacing_rate: self.pacing_rate,
            send_quantum: self.quantum(),
            // RFC 9331 §4.1.
            ecn: if self.capable {
                EcnCodepoint::Ect1
            } else {
                EcnCodepoint::NotEct
            },
            ..Decision::window(
                self.bytes(),
                Bytes::from_f64(self.ssthresh * self.smss.as_f64()),
            )
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
