//! CUBIC: RFC 9438, or Linux's variant of it.

mod descriptor;
mod epoch;
mod linux;
mod window_function;

pub use descriptor::DESCRIPTOR;

use fullpipe_units::{Bytes, Span, Time};

use self::descriptor::{CubicProfile, Params, Phase};
use self::epoch::Epoch;
use self::linux::{Bictcp, ticks};
use self::window_function::{Before, WindowFunction};
use crate::common::slow_start::{AnySlowStart, SlowStart};
use crate::common::window::{self, Classic, Episode, FlightSize, counted, counted_by_linux, state};
use crate::{
    Ack, Config, Context, Controller, Decision, Lost, PathChange, Recovery, RecoveryCause, Snapshot,
};

/// L of RFC 3465 in classic slow start: a delayed ACK acknowledges two segments.
const ABC_LIMIT: f64 = 2.0;

/// The CUBIC controller.
#[derive(Debug)]
pub struct Cubic {
    function: WindowFunction,
    /// Linux's arithmetic, with profile "linux".
    linux: Option<Bictcp>,
    beta_ecn: f64,
    slow_start: AnySlowStart,
    smss: f64,
    /// 1 / SMSS.
    per_byte: f64,
    window: CubicWindow,
    flight: FlightSize,
    episode: Episode,
    /// The window before the last reduction, for undo.
    saved: Option<CubicWindow>,
    /// Start of the time that may not count for the epoch: the last ACK (RFC 9438) or the last
    /// packet sent (Linux).
    last_active: Time,
    last_ack: Time,
    /// Data that the latest ACK in recovery would have counted, with profile "linux".
    in_recovery: Bytes,
}

/// The values that a reduction changes and an undo restores (RFC 9438 §4.9).
#[derive(Clone, Copy, Debug)]
struct CubicWindow {
    /// In segments.
    cwnd: f64,
    ssthresh: Bytes,
    /// In segments; zero if unset.
    w_max: f64,
    cwnd_prior: f64,
    /// `None` in slow start and in recovery.
    epoch: Option<Epoch>,
}

impl Cubic {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Cubic {
        let params = Params::read(config);
        let smss = config.smss.as_f64();
        Cubic {
            function: WindowFunction::new(&params),
            linux: (params.profile == CubicProfile::Linux)
                .then(|| Bictcp::new(params.c, params.beta)),
            beta_ecn: params.beta_ecn,
            slow_start: AnySlowStart::new(params.slow_start, ABC_LIMIT),
            smss,
            per_byte: 1.0 / smss,
            window: CubicWindow {
                cwnd: config.initial_cwnd.as_f64() / smss,
                ssthresh: Bytes::MAX,
                w_max: 0.0,
                cwnd_prior: 0.0,
                epoch: None,
            },
            flight: FlightSize::default(),
            episode: Episode::None,
            saved: None,
            last_active: Time::ZERO,
            last_ack: Time::ZERO,
            in_recovery: Bytes::ZERO,
        }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        // A small fraction of a byte makes `segments -> bytes -> segments` lossless.
        Bytes::from_f64(self.window.cwnd * self.smss + 1e-3)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.window.cwnd = cwnd.as_f64() * self.per_byte;
    }

    #[inline]
    fn avoid_congestion(&mut self, cx: &Context<'_>, counted: Bytes) {
        let CubicWindow {
            cwnd,
            w_max,
            cwnd_prior,
            ..
        } = self.window;
        let epoch = self
            .window
            .epoch
            .get_or_insert_with(|| Epoch::begin(cx.now, self.function.c, cwnd, w_max));
        let acked = counted.as_f64() * self.per_byte;
        self.window.cwnd =
            self.function
                .grow(epoch, cx.now, cx.conn, acked, &Before { cwnd, cwnd_prior });
    }

    /// RFC 9438 §4.2: an epoch does not age while the application, not the window, limits the flow.
    #[inline]
    fn exclude_since_active(&mut self, now: Time) {
        if let Some(epoch) = &mut self.window.epoch {
            let mut gap = now.since(self.last_active);
            if self.linux.is_some() {
                gap = Span::from_millis(ticks(now) - ticks(self.last_active));
            }
            epoch.exclude(gap, now);
        }
        self.last_active = now;
    }

    /// Grows the window as Linux does (cubictcp_cong_avoid).
    #[inline]
    fn grow_as_linux(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let mut counted = counted_by_linux(cx.conn, ack);
        let mut cwnd = self.cwnd();
        if cwnd < self.window.ssthresh {
            let before = cwnd;
            let used =
                self.slow_start
                    .drive(cx, ack, counted, &mut cwnd, &mut self.window.ssthresh);
            self.set_cwnd(cwnd);
            if used {
                // Beyond the threshold, the rest of the ACK counts for congestion avoidance.
                counted = counted.saturating_sub(cwnd - before);
            }
            if cwnd < self.window.ssthresh {
                return;
            }
        }
        self.avoid_as_linux(cx, counted);
    }

    #[inline]
    fn avoid_as_linux(&mut self, cx: &Context<'_>, counted: Bytes) {
        let Some(linux) = self.linux.as_mut().filter(|_| cx.conn.cwnd_limited) else {
            return;
        };
        let acked = counted.get().div_ceil(cx.conn.smss.get());
        if acked > 0 {
            let CubicWindow { cwnd, w_max, .. } = self.window;
            let epoch = &mut self.window.epoch;
            let grown = linux.grow(epoch, cx.now, cwnd as u64, w_max as u64, acked);
            self.window.cwnd = grown as f64;
        }
    }

    fn phase(&self) -> Phase {
        let CubicWindow { cwnd, epoch, .. } = self.window;
        match epoch {
            _ if self.episode == Episode::Recovery => Phase::Recovery,
            _ if self.cwnd() < self.window.ssthresh => {
                if self.slow_start.is_css() {
                    Phase::Css
                } else {
                    Phase::SlowStart
                }
            }
            Some(epoch) if epoch.w_cubic(epoch.age(self.last_ack)) < epoch.w_est => {
                Phase::RenoFriendly
            }
            Some(epoch) if cwnd < epoch.origin => Phase::Concave,
            Some(_) | None => Phase::Convex,
        }
    }
}

impl Classic for Cubic {
    fn episode(&mut self) -> &mut Episode {
        &mut self.episode
    }

    fn state(&self) -> &'static str {
        state(
            self.episode,
            self.cwnd() < self.window.ssthresh,
            self.slow_start.is_css(),
        )
    }

    /// RFC 9438 §4.6 and §4.7.
    fn reduce(&mut self, cx: &Context<'_>, cause: RecoveryCause) {
        let (beta, floor) = match (cause, &self.linux) {
            (RecoveryCause::Loss, _) => (self.function.beta, 2.0),
            // RFC 9438 §4.6: marks may reduce the window below two segments; not in Linux.
            (RecoveryCause::Ecn, None) => (self.beta_ecn, 1.0),
            (RecoveryCause::Ecn, Some(_)) => (self.beta_ecn, 2.0),
        };
        self.saved = Some(self.window);
        let CubicWindow { cwnd, w_max, .. } = self.window;
        let (w_max, left) = match &mut self.linux {
            None => {
                let flight = self.flight.at_event(cx.conn, self.cwnd()).as_f64() * self.per_byte;
                (self.function.w_max_after(cwnd, w_max), flight * beta)
            }
            // Linux reduces the window, even if it was not fully used.
            Some(linux) => linux.reduced(cwnd as u64, w_max, beta, self.function.fast_convergence),
        };
        self.window.w_max = w_max;
        self.window.cwnd_prior = cwnd;
        self.window.cwnd = left.max(floor);
        self.window.ssthresh = Bytes::from_f64(left.max(2.0) * self.smss);
        self.window.epoch = None;
        self.slow_start.on_congestion();
    }

    fn on_timeout(&mut self, cx: &Context<'_>, again: bool, cwnd: Bytes) {
        // RFC 5681 §3.1 and §4.3, to which RFC 9438 §4.8 refers: another timeout of the same
        // segment leaves ssthresh unchanged, but a timeout within recovery, after a lost
        // retransmission, is a second sign of congestion. Linux (tcp_enter_loss) differs: it does
        // not reduce again within recovery.
        let reduced = self.linux.is_some() && self.episode == Episode::Recovery;
        if !(again || reduced) {
            self.reduce(cx, RecoveryCause::Loss);
        }
        self.slow_start.on_timeout();
        self.collapse(cwnd);
    }

    /// RFC 9438 §4.8: the next epoch begins at its own plateau.
    fn collapse(&mut self, cwnd: Bytes) {
        self.window.epoch = None;
        self.window.w_max = 0.0;
        if let Some(linux) = &mut self.linux {
            linux.reset();
        }
        self.set_cwnd(cwnd);
    }

    fn undo(&mut self) {
        let Some(saved) = self.saved.take() else {
            return;
        };
        let cwnd = self.window.cwnd.max(saved.cwnd);
        let ssthresh = self.window.ssthresh.max(saved.ssthresh);
        self.window = match self.linux {
            // RFC 9438 §4.9.
            None => CubicWindow {
                cwnd,
                ssthresh,
                ..saved
            },
            // Linux begins a new epoch with the W_max of the spurious reduction.
            Some(_) => CubicWindow {
                cwnd,
                ssthresh,
                epoch: None,
                ..self.window
            },
        };
    }
}

impl Controller for Cubic {
    #[inline]
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        if packet.inflight == Bytes::new(u64::from(packet.size)) {
            self.exclude_since_active(cx.now);
        }
        if self.linux.is_some() {
            self.last_active = cx.now;
        }
        false
    }

    #[inline]
    fn wants_sent(&mut self, now: Time, from_idle: bool) -> bool {
        if self.linux.is_some() && !from_idle {
            self.last_active = now;
        }
        from_idle
    }

    fn on_lost(&mut self, _: &mut Context<'_>, lost: &Lost) {
        self.flight.on_lost(lost);
    }

    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.flight.on_ack();
        self.last_ack = cx.now;
        if let Some(linux) = &mut self.linux {
            if let Some(rtt) = ack.rtt {
                linux.on_rtt(rtt.raw, self.window.epoch.as_ref(), cx.now);
            }
            if cx.conn.in_recovery() {
                self.in_recovery = counted_by_linux(cx.conn, ack);
            } else {
                self.grow_as_linux(cx, ack);
            }
            return;
        }
        if !cx.conn.cwnd_limited {
            self.exclude_since_active(cx.now);
        }
        self.last_active = cx.now;
        if cx.conn.in_recovery() {
            return;
        }
        let counted = counted(cx.conn, ack);
        let mut cwnd = self.cwnd();
        if cwnd < self.window.ssthresh {
            let used =
                self.slow_start
                    .drive(cx, ack, counted, &mut cwnd, &mut self.window.ssthresh);
            if used {
                self.set_cwnd(cwnd);
                return;
            }
        }
        if cx.conn.cwnd_limited {
            self.avoid_congestion(cx, counted);
        }
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        let counted = core::mem::take(&mut self.in_recovery);
        window::on_recovery(self, cx, change);
        if change == Recovery::Exit {
            // Linux: the ACK that ends recovery counts after it (tcp_cong_control).
            self.avoid_as_linux(cx, counted);
        }
    }

    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        self.window.ssthresh =
            window::threshold_after(self.cwnd(), self.window.ssthresh, cx.conn.smss);
        self.set_cwnd(self.cwnd().min(cwnd));
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => {
                // The window remains the same in bytes; the epoch's values are in segments of the
                // old size.
                let scale = self.smss / cx.conn.smss.as_f64();
                self.smss = cx.conn.smss.as_f64();
                self.per_byte = 1.0 / self.smss;
                self.window.cwnd = (self.window.cwnd * scale).max(1.0);
                self.window.w_max *= scale;
                self.window.cwnd_prior *= scale;
                self.window.epoch = None;
                self.saved = None;
            }
            PathChange::Threshold { ssthresh } => self.window.ssthresh = ssthresh,
            PathChange::EcnFailed | PathChange::Seed { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision::window(self.cwnd(), self.window.ssthresh)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
