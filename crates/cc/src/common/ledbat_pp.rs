//! LEDBAT++'s window (draft-irtf-iccrg-ledbat-plus-plus), wherever it is kept: as a sender's
//! congestion window, or as what a receiver offers (RFC 9840).

use fullpipe_units::{Span, Time};

use crate::common::delay::{CURRENT_FILTER, QueueDelay};
use crate::{Field, Param, Transition, words};

/// Initial and least window, and that of a slowdown (§4.1, §4.4).
pub const MIN_SEGMENTS: f64 = 2.0;
/// The largest divisor of GAIN (§4.2).
const MOST_GENTLE: f64 = 16.0;
/// Slow start ends when the queueing delay is above this part of the target (§4.1).
const EXIT: f64 = 0.75;
/// Round trips: how long a slowdown holds its window, and from slow start to the first of them
/// (§4.4).
const HOLD: u64 = 2;

words! {
    /// How a slowdown ends.
    pub enum RampKind {
        /// As the first slow start.
        Gain = "gain",
        /// Doubling.
        Full = "full",
    }
}

/// `target`.
pub const TARGET: Param = Param::number(60.0, 1.0..=1000.0).unit("ms").says(
    "the queueing delay that is not exceeded",
    "draft-irtf-iccrg-ledbat-plus-plus §4.5",
);
/// `constant`.
pub const CONSTANT: Param = Param::number(1.0, 0.01..=10.0).says(
    "C: how fast the window falls above the target",
    "draft-irtf-iccrg-ledbat-plus-plus §4.3",
);
/// `ramp`.
pub const RAMP: Param = Param::choice(RampKind::WORDS).says(
    "slow start after a slowdown: with GAIN as in the beginning, or doubling",
    "draft-irtf-iccrg-ledbat-plus-plus §4.4",
);
/// `slowdown_spacing`.
pub const SPACING: Param = Param::number(9.0, 1.0..=1e6).says(
    "from a slowdown's end to the next one, in lengths of the former",
    "draft-irtf-iccrg-ledbat-plus-plus §4.4",
);
/// `current_filter`, from RFC 6817.
pub const FILTER: Param = CURRENT_FILTER.says(
    "the current delay is the minimum of this many round trips",
    "RFC 6817 §2.5",
);
/// `base_delay`.
pub const BASE_DELAY: Field = Field::value("s", "the path's round trip; 0 before a sample");
/// `queue_delay`.
pub const QUEUE_DELAY: Field = Field::value("s", "the filtered round trip over the base");

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

/// What is fixed for a connection: the values of the rows above.
#[derive(Clone, Copy, Debug)]
pub struct LedbatPolicy {
    /// Milliseconds.
    pub target: f64,
    /// C.
    pub constant: f64,
    /// How a slowdown ends.
    pub ramp: RampKind,
    /// In lengths of the last slowdown.
    pub slowdown_spacing: f64,
    /// Samples.
    pub current_filter: usize,
    /// Minutes.
    pub base_history: usize,
}

/// The window, in segments.
#[derive(Clone, Debug)]
pub struct LedbatWindow {
    policy: LedbatPolicy,
    /// Seconds.
    target: f64,
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
    /// One for a connection.
    pub fn new(policy: LedbatPolicy) -> LedbatWindow {
        LedbatWindow {
            policy,
            target: policy.target / 1e3,
            delay: QueueDelay::new(policy.current_filter, policy.base_history),
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

    /// When [`on_time`](LedbatWindow::on_time) wants to be called.
    pub fn wake_at(&self) -> Option<Time> {
        matches!(self.now.phase, Phase::Hold(_)).then_some(self.hold_until)
    }

    /// §4.2: 1 / min(16, ceil(2 TARGET / base)).
    pub fn gain(&self) -> f64 {
        let base = self.delay.base().map_or(f64::INFINITY, Span::as_secs_f64);
        1.0 / (2.0 * self.target / base).ceil().clamp(1.0, MOST_GENTLE)
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
            Phase::SlowStart if queueing > EXIT * self.target => {
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
            let full =
                self.policy.ramp == RampKind::Full && matches!(self.now.phase, Phase::Ramp(_));
            self.now.cwnd += acked * if full { 1.0 } else { self.gain() };
        }
        (self.now.cwnd >= self.now.ssthresh)
            .then(|| self.avoid_congestion(now, srtt, "ssthresh reached"))
    }

    /// §4.3, an ACK's share of a round trip's change.
    fn adjust(&mut self, queueing: f64, acked: f64, limited: bool) {
        let (cwnd, gain) = (self.now.cwnd, self.gain());
        let excess = queueing / self.target - 1.0;
        if excess > 0.0 {
            let change = (gain - self.policy.constant * cwnd * excess).max(-cwnd / 2.0);
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
            Phase::Hold(began) | Phase::Ramp(began) => {
                (now - began).mul_f64(self.policy.slowdown_spacing)
            }
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
