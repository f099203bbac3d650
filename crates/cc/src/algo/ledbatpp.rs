//! LEDBAT++: draft-irtf-iccrg-ledbat-plus-plus.

use fullpipe_units::Bytes;

use crate::common::delay::BASE_HISTORY;
use crate::common::ledbat_pp::{
    BASE_DELAY, CONSTANT, FILTER, LedbatPolicy, LedbatWindow, MIN_SEGMENTS, Moving, Phase,
    Progress, QUEUE_DELAY, RAMP, RampKind, SPACING, TARGET,
};
use crate::common::window::{Episode, loss_window, report};
use crate::{
    Ack, AnyController, Config, Context, Controller, Decision, Descriptor, Field, Lost, Marks,
    PathChange, Recovery, RecoveryOwner, Signals, Specification, fields, params,
};

/// Descriptor of LEDBAT++.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "ledbat++",
    purpose: "For background traffic, such as updates: uses spare capacity, keeps queueing below 60 ms, and shares fairly.",
    specifications: &[
        Specification {
            name: "draft-irtf-iccrg-ledbat-plus-plus-06",
            note: "GAIN, slow start, decrease, periodic slowdowns; partly as in implementations, see docs/reference/models/ledbat++.md",
        },
        Specification {
            name: "RFC 6817",
            note: "the history of base delays",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: LedbatPp::FIELDS,
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    marks: |_| Marks::Answered,
    random: false,
    build: |config| AnyController::LedbatPp(LedbatPp::new(config)),
};

params! {
    /// The parameters.
    struct Params {
        target: f64 = TARGET,
        constant: f64 = CONSTANT,
        ramp: RampKind = RAMP,
        slowdown_spacing: f64 = SPACING,
        current_filter: usize = FILTER,
        base_history: usize = BASE_HISTORY,
    }
}

fields! {
    impl LedbatPp as cc {
        state: Field::state(Phase::NAMES, "State of the controller") => cc.state_index(),
        gain: Field::value("", "GAIN: window increase per round trip below the target, in segments")
            => cc.window.gain(),
        base_delay: BASE_DELAY => cc.window.delay().base(),
        queue_delay: QUEUE_DELAY => cc.window.delay().queueing(),
    }
}

/// The LEDBAT++ controller.
#[derive(Debug)]
pub struct LedbatPp {
    window: LedbatWindow,
    smss: Bytes,
    per_byte: f64,
    episode: Episode,
    /// The window before the last reduction, for undo.
    saved: Option<Moving>,
}

impl LedbatPp {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> LedbatPp {
        let params = Params::read(config);
        let policy = LedbatPolicy {
            target: params.target,
            constant: params.constant,
            ramp: params.ramp,
            slowdown_spacing: params.slowdown_spacing,
            current_filter: params.current_filter,
            base_history: params.base_history,
        };
        LedbatPp {
            window: LedbatWindow::new(policy),
            smss: config.smss,
            per_byte: 1.0 / config.smss.as_f64(),
            episode: Episode::None,
            saved: None,
        }
    }

    fn bytes(&self, segments: f64) -> Bytes {
        // A small fraction of a byte makes `segments -> bytes -> segments` lossless. Infinity
        // becomes Bytes::MAX.
        Bytes::from_f64(segments * self.smss.as_f64() + 1e-3)
    }

    fn on_timeout(&mut self, cx: &Context<'_>, again: bool) {
        if !again {
            self.saved = Some(self.window.get());
        }
        self.episode = Episode::Timeout;
        self.window.on_timeout(
            cx.now,
            cx.conn.srtt,
            loss_window(cx.conn).as_f64() * self.per_byte,
            again,
        );
    }

    fn state(&self) -> &'static str {
        Phase::NAMES[self.state_index()]
    }

    fn state_index(&self) -> usize {
        if self.episode == Episode::Recovery {
            Phase::NAMES.len() - 1
        } else {
            self.window.get().phase.index()
        }
    }
}

impl Controller for LedbatPp {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let rtt = ack.rtt.map(|rtt| rtt.raw);
        if cx.conn.in_recovery() {
            return self.window.sample(cx.now, rtt);
        }
        let acked = ack.newly_acked.as_f64() * self.per_byte;
        let progress = Progress {
            now: cx.now,
            rtt,
            srtt: cx.conn.srtt,
            acked,
            limited: cx.conn.cwnd_limited,
        };
        if let Some(transition) = self.window.on_progress(&progress) {
            cx.observer.transition(cx.now, transition);
        }
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        let before = self.state();
        match change {
            // A mark counts as a loss.
            Recovery::Enter(_) => {
                self.saved = Some(self.window.get());
                self.window.on_congestion(cx.now, cx.conn.srtt);
                self.episode = Episode::Recovery;
            }
            Recovery::Exit => self.episode = Episode::None,
            Recovery::Spurious => {
                if let Some(saved) = self.saved.take() {
                    self.window.restore(saved);
                }
                self.episode = Episode::None;
            }
            Recovery::Timeout { again } => self.on_timeout(cx, again),
            Recovery::Persistent => {
                self.on_timeout(cx, true);
                self.window
                    .on_timeout(cx.now, cx.conn.srtt, MIN_SEGMENTS, true);
            }
        }
        report(cx, before, self.state(), change);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => {
                self.window
                    .rescale(self.smss.as_f64() / cx.conn.smss.as_f64());
                (self.smss, self.per_byte) = (cx.conn.smss, 1.0 / cx.conn.smss.as_f64());
                self.saved = None;
            }
            PathChange::EcnFailed | PathChange::Seed { .. } | PathChange::Threshold { .. } => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        // During recovery, changes of the window are reported when recovery ends.
        let transition = self
            .window
            .on_time(cx.now)
            .filter(|_| self.episode != Episode::Recovery);
        if let Some(transition) = transition {
            cx.observer.transition(cx.now, transition);
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        let Moving {
            cwnd,
            ssthresh,
            phase,
        } = self.window.get();
        // Recovery during a slowdown reduces the window to the slowdown's.
        let ssthresh = if matches!(phase, Phase::Hold(_)) {
            cwnd
        } else {
            ssthresh
        };
        Decision {
            wake_at: self.window.wake_at(),
            ..Decision::window(self.bytes(cwnd), self.bytes(ssthresh))
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
