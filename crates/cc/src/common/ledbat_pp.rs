//! LEDBAT++'s window (draft-irtf-iccrg-ledbat-plus-plus), used as a sender's congestion window or
//! as a receiver's advertised window (RFC 9840).

use fullpipe_units::{Span, Time};

use crate::common::delay::{CURRENT_FILTER, QueueDelay};
use crate::{Field, Param, Transition, words};

/// Initial and minimum window, also the window during a slowdown (§4.1, §4.4).
pub const MIN_SEGMENTS: f64 = 2.0;
/// The largest divisor of GAIN (§4.2).
const MOST_GENTLE: f64 = 16.0;
/// Fraction of the target delay above which slow start ends (§4.1).
const EXIT: f64 = 0.75;
/// In round trips: the time for which a slowdown holds its window, and the time between slow start
/// and the first slowdown (§4.4).
const HOLD: u64 = 2;

words! {
    /// Growth of the window after a slowdown.
    pub enum RampKind {
        /// As in the initial slow start, by GAIN.
        Gain = "gain",
        /// Doubles every round trip.
        Full = "full",
    }
}

/// `target`.
pub const TARGET: Param = Param::number(60.0, 1.0..=1000.0).unit("ms").says(
    "Upper target of the queueing delay",
    "draft-irtf-iccrg-ledbat-plus-plus §4.5",
);
/// `constant`.
pub const CONSTANT: Param = Param::number(1.0, 0.01..=10.0).says(
    "C: strength of the window's decrease above the target",
    "draft-irtf-iccrg-ledbat-plus-plus §4.3",
);
/// `ramp`.
pub const RAMP: Param = Param::choice(RampKind::WORDS).says(
    "Slow start after a slowdown: by GAIN, as the initial slow start, or in full, doubling every round trip",
    "draft-irtf-iccrg-ledbat-plus-plus §4.4",
);
/// `slowdown_spacing`.
pub const SPACING: Param = Param::number(9.0, 1.0..=1e6).says(
    "Time from the end of a slowdown to the next one, in multiples of the slowdown's length",
    "draft-irtf-iccrg-ledbat-plus-plus §4.4",
);
/// `current_filter`, from RFC 6817.
pub const FILTER: Param = CURRENT_FILTER.says(
    "Number of RTT samples whose minimum is the current delay",
    "RFC 6817 §2.5",
);
/// `base_delay`.
pub const BASE_DELAY: Field = Field::value(
    "s",
    "Base delay: minimum RTT in base_history; 0 before the first sample",
);
/// `queue_delay`.
pub const QUEUE_DELAY: Field = Field::value("s", "Queueing delay: filtered RTT less base delay");

/// State of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// Initial slow start, until the first sign of congestion.
    SlowStart,
    /// Slow start after a timeout, up to the threshold.
    Restart,
    /// Congestion avoidance (§4.3).
    Avoidance,
    /// A slowdown that began at this time holds the minimum window.
    Hold(Time),
    /// The slowdown that began at this time grows back to the threshold.
    Ramp(Time),
}

impl Phase {
    /// Names of the states, in the order of [`index`](Phase::index).
    pub const NAMES: &[&str] = &[
        "slow_start",
        "congestion_avoidance",
        "slowdown",
        "ramp",
        "recovery",
    ];

    /// Returns the index of the state's name in `NAMES`.
    pub const fn index(self) -> usize {
        match self {
            Phase::SlowStart | Phase::Restart => 0,
            Phase::Avoidance => 1,
            Phase::Hold(_) => 2,
            Phase::Ramp(_) => 3,
        }
    }

    /// Returns the name of the state.
    pub const fn name(self) -> &'static str {
        Phase::NAMES[self.index()]
    }
}

/// The values of the parameters above, which are constant for a connection.
#[derive(Clone, Copy, Debug)]
pub struct LedbatPolicy {
    /// In milliseconds.
    pub target: f64,
    /// C of §4.3.
    pub constant: f64,
    /// Growth of the window after a slowdown.
    pub ramp: RampKind,
    /// In multiples of the last slowdown's length.
    pub slowdown_spacing: f64,
    /// In samples.
    pub current_filter: usize,
    /// In minutes.
    pub base_history: usize,
}

/// The window, in segments.
#[derive(Clone, Debug)]
pub struct LedbatWindow {
    policy: LedbatPolicy,
    /// In seconds.
    target: f64,
    delay: QueueDelay,
    now: Moving,
    /// Time at which the next slowdown is due.
    slowdown_at: Option<Time>,
    hold_until: Time,
}

/// The values that a reduction changes and an undo restores.
#[derive(Clone, Copy, Debug)]
pub struct Moving {
    /// The window.
    pub cwnd: f64,
    /// Window at which slow start ends; infinite at the beginning.
    pub ssthresh: f64,
    /// State of the window.
    pub phase: Phase,
}

/// The information in an ACK, or in an arrival at the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Time of the event.
    pub now: Time,
    /// RTT sample.
    pub rtt: Option<Span>,
    /// Smoothed RTT.
    pub srtt: Span,
    /// Number of segments acknowledged or received.
    pub acked: f64,
    /// Whether the window was fully used.
    pub limited: bool,
}

impl LedbatWindow {
    /// Creates the window of a connection.
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

    /// Returns the window, its threshold and its state.
    #[inline]
    pub const fn get(&self) -> Moving {
        self.now
    }

    /// Returns the current delay and the base delay.
    pub const fn delay(&self) -> &QueueDelay {
        &self.delay
    }

    /// Returns the time at which to call [`on_time`](LedbatWindow::on_time), if any.
    pub fn wake_at(&self) -> Option<Time> {
        matches!(self.now.phase, Phase::Hold(_)).then_some(self.hold_until)
    }

    /// §4.2: 1 / min(16, ceil(2 TARGET / base)).
    pub fn gain(&self) -> f64 {
        let base = self.delay.base().map_or(f64::INFINITY, Span::as_secs_f64);
        1.0 / (2.0 * self.target / base).ceil().clamp(1.0, MOST_GENTLE)
    }

    /// Takes an RTT sample only, for ACKs during recovery.
    #[inline]
    pub fn sample(&mut self, now: Time, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.delay.sample(now, rtt);
        }
    }

    /// Processes acknowledged or received segments. Returns the transition, if there is one.
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

    /// Ends the hold of a slowdown when its time has passed.
    pub fn on_time(&mut self, now: Time) -> Option<Transition> {
        match self.now.phase {
            Phase::Hold(began) if now >= self.hold_until => Some(self.enter(
                Phase::Ramp(began),
                "minimum window held for two round trips",
            )),
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

    /// §4.3: applies one ACK's share of the change per round trip.
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

    /// §4.4: begins a slowdown; ssthresh saves the window.
    fn slow_down(&mut self, now: Time, srtt: Span) -> Transition {
        self.now.ssthresh = self.now.cwnd;
        self.now.cwnd = MIN_SEGMENTS;
        self.slowdown_at = None;
        self.hold_until = now + srtt * HOLD;
        self.enter(Phase::Hold(now), "periodic slowdown")
    }

    /// Ends slow start, a slowdown or the restart after a timeout, and schedules the next slowdown.
    fn avoid_congestion(&mut self, now: Time, srtt: Span, reason: &'static str) -> Transition {
        self.now.cwnd = self.now.cwnd.min(self.now.ssthresh);
        self.now.ssthresh = self.now.cwnd;
        self.plan(now, srtt);
        self.enter(Phase::Avoidance, reason)
    }

    /// §4.4: schedules the next slowdown: the first one two round trips after slow start, each
    /// later one after nine times the length of the last.
    fn plan(&mut self, now: Time, srtt: Span) {
        let after = match self.now.phase {
            Phase::Hold(began) | Phase::Ramp(began) => {
                (now - began).mul_f64(self.policy.slowdown_spacing)
            }
            Phase::SlowStart | Phase::Restart | Phase::Avoidance => srtt * HOLD,
        };
        self.slowdown_at.get_or_insert(now + after);
    }

    /// Halves the window after a loss or mark, the first within a round trip.
    pub fn on_congestion(&mut self, now: Time, srtt: Span) {
        if let Phase::Hold(_) = self.now.phase {
            // The window is at its minimum already: halve the window to restore.
            self.now.ssthresh = (self.now.ssthresh / 2.0).max(MIN_SEGMENTS);
            return;
        }
        self.plan(now, srtt);
        self.now.cwnd = (self.now.cwnd / 2.0).max(MIN_SEGMENTS);
        self.now.ssthresh = self.now.cwnd;
        self.now.phase = Phase::Avoidance;
    }

    /// Handles a retransmission timeout, which leaves a window of `cwnd` segments; `again` if it is
    /// for the same segment as before.
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

    /// Undoes a spurious reduction: restores at least the previous window.
    pub fn restore(&mut self, before: Moving) {
        let cwnd = self.now.cwnd.max(before.cwnd);
        self.now = Moving {
            cwnd,
            ssthresh: self.now.ssthresh.max(before.ssthresh),
            phase: before.phase,
        };
    }

    /// Adapts to a new segment size.
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
