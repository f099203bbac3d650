//! LEDBAT++'s window (draft-irtf-iccrg-ledbat-plus-plus), wherever it is kept: as a sender's
//! congestion window, or as what a receiver offers (RFC 9840).

use fullpipe_units::{Span, Time};

use crate::common::delay::QueueDelay;
use crate::{Config, Domain, Param, Transition};

/// Initial and least window, and that of a slowdown (§4.1, §4.4).
pub const MIN_SEGMENTS: f64 = 2.0;
/// The largest divisor of GAIN (§4.2).
const MOST_GENTLE: f64 = 16.0;
/// Slow start ends when the queueing delay is above this part of the target (§4.1).
const EXIT: f64 = 0.75;
/// Round trips: how long a slowdown holds its window, and from slow start to the first of them
/// (§4.4).
const HOLD: u64 = 2;

/// TARGET.
pub const TARGET: Param = Param {
    name: "target",
    unit: "ms",
    domain: Domain::Number {
        default: 60.0,
        min: 1.0,
        max: 1000.0,
    },
    purpose: "the queueing delay that is not exceeded",
    section: "draft-irtf-iccrg-ledbat-plus-plus §4.5",
};
/// The constant of the decrease.
pub const CONSTANT: Param = Param {
    name: "constant",
    unit: "",
    domain: Domain::Number {
        default: 1.0,
        min: 0.01,
        max: 10.0,
    },
    purpose: "C: how fast the window falls above the target",
    section: "draft-irtf-iccrg-ledbat-plus-plus §4.3",
};
/// How a slowdown ends.
pub const RAMP: Param = Param {
    name: "ramp",
    unit: "",
    domain: Domain::Choice(&["gain", "full"]),
    purpose: "slow start after a slowdown: with GAIN as in the beginning, or doubling",
    section: "draft-irtf-iccrg-ledbat-plus-plus §4.4",
};
/// Spacing of slowdowns.
pub const SPACING: Param = Param {
    name: "slowdown_spacing",
    unit: "",
    domain: Domain::Number {
        default: 9.0,
        min: 1.0,
        max: 1e6,
    },
    purpose: "from a slowdown's end to the next one, in lengths of the former",
    section: "draft-irtf-iccrg-ledbat-plus-plus §4.4",
};
/// Minutes of base delay.
pub const HISTORY: Param = Param {
    name: "base_history",
    unit: "min",
    domain: Domain::Number {
        default: 10.0,
        min: 1.0,
        max: 60.0,
    },
    purpose: "the base delay is the minimum of so many",
    section: "RFC 6817 §2.5",
};

/// What governs the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// From the beginning to the first sign of congestion.
    SlowStart,
    /// After a timeout, up to the threshold.
    Restart,
    /// §4.3.
    Avoidance,
    /// A slowdown that began then holds the least window.
    Hold(Time),
    /// It goes back up to the threshold.
    Ramp(Time),
}

impl Phase {
    /// The states' names, in the order of [`index`](Phase::index).
    pub const NAMES: &[&str] = &[
        "slow_start",
        "congestion_avoidance",
        "slowdown",
        "ramp",
        "recovery",
    ];

    /// The place among the names.
    pub const fn index(self) -> usize {
        match self {
            Phase::SlowStart | Phase::Restart => 0,
            Phase::Avoidance => 1,
            Phase::Hold(_) => 2,
            Phase::Ramp(_) => 3,
        }
    }

    /// The state's name.
    pub const fn name(self) -> &'static str {
        Phase::NAMES[self.index()]
    }
}

/// What is fixed for a connection.
#[derive(Clone, Copy, Debug)]
struct LedbatPolicy {
    /// Seconds.
    target: f64,
    constant: f64,
    spacing: f64,
    full_ramp: bool,
}

/// The window, in segments.
#[derive(Clone, Debug)]
pub struct LedbatWindow {
    law: LedbatPolicy,
    delay: QueueDelay,
    now: Moving,
    /// When the next slowdown is due.
    slowdown_at: Option<Time>,
    hold_until: Time,
}

/// What a reduction changes, and an undo restores.
#[derive(Clone, Copy, Debug)]
pub struct Moving {
    /// The window.
    pub cwnd: f64,
    /// Where slow start ends; infinite at the beginning.
    pub ssthresh: f64,
    /// What governs them.
    pub phase: Phase,
}

/// What an ACK, or an arrival, tells.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// When.
    pub now: Time,
    /// A sample of the round trip.
    pub rtt: Option<Span>,
    /// The smoothed round trip.
    pub srtt: Span,
    /// Segments that came through.
    pub acked: f64,
    /// The window was in use.
    pub limited: bool,
}

impl LedbatWindow {
    /// With the parameters above; the current delay is the minimum of `filter` samples.
    pub fn new(config: &Config, filter: usize) -> LedbatWindow {
        LedbatWindow {
            law: LedbatPolicy {
                target: config.number("target") / 1e3,
                constant: config.number("constant"),
                spacing: config.number("slowdown_spacing"),
                full_ramp: config.word("ramp") == "full",
            },
            delay: QueueDelay::new(filter, config.number("base_history") as usize),
            now: Moving {
                cwnd: MIN_SEGMENTS,
                ssthresh: f64::INFINITY,
                phase: Phase::SlowStart,
            },
            slowdown_at: None,
            hold_until: Time::ZERO,
        }
    }

    /// The window and what governs it.
    #[inline]
    pub const fn get(&self) -> Moving {
        self.now
    }

    /// The two delays.
    pub const fn delay(&self) -> &QueueDelay {
        &self.delay
    }

    /// When [`on_time`](Window::on_time) wants to be called.
    pub fn wake_at(&self) -> Option<Time> {
        matches!(self.now.phase, Phase::Hold(_)).then_some(self.hold_until)
    }

    /// §4.2: 1 / min(16, ceil(2 TARGET / base)).
    pub fn gain(&self) -> f64 {
        let base = self.delay.base().map_or(f64::INFINITY, Span::as_secs_f64);
        1.0 / (2.0 * self.law.target / base)
            .ceil()
            .clamp(1.0, MOST_GENTLE)
    }

    /// Takes a sample, and nothing else: recovery is under way.
    #[inline]
    pub fn sample(&mut self, now: Time, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.delay.sample(now, rtt);
        }
    }

    /// Something came through; the transition that it made.
    pub fn on_progress(&mut self, progress: &Progress) -> Option<Transition> {
        let Progress {
            now,
            rtt,
            srtt,
            acked,
            limited,
        } = *progress;
        self.sample(now, rtt);
        if let Some(transition) = self.on_time(now) {
            return Some(transition);
        }
        let queueing = self.delay.queueing().map_or(0.0, Span::as_secs_f64);
        match self.now.phase {
            Phase::Hold(_) => None,
            // §4.1: only in the initial slow start.
            Phase::SlowStart if queueing > EXIT * self.law.target => {
                Some(self.avoid_congestion(now, srtt, "the queue is near its target"))
            }
            Phase::SlowStart | Phase::Restart | Phase::Ramp(_) => {
                self.slow_start(now, srtt, acked, limited)
            }
            Phase::Avoidance if self.slowdown_at.is_some_and(|at| now >= at) => {
                Some(self.slow_down(now, srtt))
            }
            Phase::Avoidance => {
                self.adjust(queueing, acked, limited);
                None
            }
        }
    }

    /// Time passed: a slowdown may have held its window for long enough.
    pub fn on_time(&mut self, now: Time) -> Option<Transition> {
        match self.now.phase {
            Phase::Hold(began) if now >= self.hold_until => {
                Some(self.enter(Phase::Ramp(began), "two round trips"))
            }
            _ => None,
        }
    }

    /// §4.1 and §4.4.
    fn slow_start(
        &mut self,
        now: Time,
        srtt: Span,
        acked: f64,
        limited: bool,
    ) -> Option<Transition> {
        if limited {
            let full = self.law.full_ramp && matches!(self.now.phase, Phase::Ramp(_));
            self.now.cwnd += acked * if full { 1.0 } else { self.gain() };
        }
        (self.now.cwnd >= self.now.ssthresh)
            .then(|| self.avoid_congestion(now, srtt, "ssthresh reached"))
    }

    /// §4.3, an ACK's share of a round trip's change.
    fn adjust(&mut self, queueing: f64, acked: f64, limited: bool) {
        let (cwnd, gain) = (self.now.cwnd, self.gain());
        let excess = queueing / self.law.target - 1.0;
        if excess > 0.0 {
            let change = (gain - self.law.constant * cwnd * excess).max(-cwnd / 2.0);
            self.now.cwnd += change * acked.min(cwnd) / cwnd;
        } else if limited {
            self.now.cwnd += gain * acked / cwnd;
        }
        self.now.cwnd = self.now.cwnd.max(MIN_SEGMENTS);
    }

    /// §4.4: ssthresh remembers the window.
    fn slow_down(&mut self, now: Time, srtt: Span) -> Transition {
        self.now.ssthresh = self.now.cwnd;
        self.now.cwnd = MIN_SEGMENTS;
        self.slowdown_at = None;
        self.hold_until = now + srtt * HOLD;
        self.enter(Phase::Hold(now), "due")
    }

    /// Slow start, a slowdown or a timeout's restart is over, and the next slowdown can be planned.
    fn avoid_congestion(&mut self, now: Time, srtt: Span, reason: &'static str) -> Transition {
        self.now.cwnd = self.now.cwnd.min(self.now.ssthresh);
        self.now.ssthresh = self.now.cwnd;
        self.plan(now, srtt);
        self.enter(Phase::Avoidance, reason)
    }

    /// §4.4: the first slowdown is due two round trips after slow start, each other after nine
    /// times its length.
    fn plan(&mut self, now: Time, srtt: Span) {
        let after = match self.now.phase {
            Phase::Hold(began) | Phase::Ramp(began) => (now - began).mul_f64(self.law.spacing),
            Phase::SlowStart | Phase::Restart | Phase::Avoidance => srtt * HOLD,
        };
        self.slowdown_at.get_or_insert(now + after);
    }

    /// Something was lost or marked, for the first time in a round trip: half of the window.
    pub fn on_congestion(&mut self, now: Time, srtt: Span) {
        if let Phase::Hold(_) = self.now.phase {
            // The window is as small as it gets: the one to come back to is halved.
            self.now.ssthresh = (self.now.ssthresh / 2.0).max(MIN_SEGMENTS);
            return;
        }
        self.plan(now, srtt);
        self.now.cwnd = (self.now.cwnd / 2.0).max(MIN_SEGMENTS);
        self.now.ssthresh = self.now.cwnd;
        self.now.phase = Phase::Avoidance;
    }

    /// The retransmission timer fired, and leaves `cwnd` segments; `again` if for the same segment.
    pub fn on_timeout(&mut self, now: Time, srtt: Span, cwnd: f64, again: bool) {
        if !again {
            let before = match self.now.phase {
                Phase::Hold(_) | Phase::Ramp(_) => self.now.ssthresh,
                _ => self.now.cwnd,
            };
            self.plan(now, srtt);
            self.now.ssthresh = (before / 2.0).max(MIN_SEGMENTS);
        }
        self.now.cwnd = cwnd;
        self.now.phase = Phase::Restart;
    }

    /// The reduction was for nothing: at least what was before.
    pub fn restore(&mut self, before: Moving) {
        let cwnd = self.now.cwnd.max(before.cwnd);
        self.now = Moving {
            cwnd,
            ssthresh: self.now.ssthresh.max(before.ssthresh),
            phase: before.phase,
        };
    }

    /// Segments have another size.
    pub fn rescale(&mut self, scale: f64) {
        self.now.cwnd = (self.now.cwnd * scale).max(MIN_SEGMENTS);
        self.now.ssthresh = (self.now.ssthresh * scale).max(MIN_SEGMENTS);
    }

    fn enter(&mut self, phase: Phase, reason: &'static str) -> Transition {
        let from = self.now.phase.name();
        self.now.phase = phase;
        Transition {
            from,
            to: phase.name(),
            reason,
        }
    }
}
