//! The controller: additive increase while the queue is short, multiplicative decrease when it is
//! not.
//!
//! Once a round trip it compares the round's smallest RTT with the connection's: the difference is
//! the standing queue.

use fullpipe::cc::common::round::RoundCounter;
use fullpipe::cc::common::window::loss_window;
use fullpipe::cc::{
    AnyController, Config, Domain, Field, Param, RecoveryOwner, Signals, Specification, Transition,
};
use fullpipe::prelude::*;

/// What the algorithm says of itself: scenario keys, error messages and trace columns come from
/// here.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "delayaimd",
    purpose: "Keeps the standing queue below a target: one segment more a round, a tenth less above it.",
    specifications: &[Specification {
        name: "examples/custom-controller",
        note: "made up here, to show the contract",
    }],
    params: &[
        Param {
            name: "target",
            unit: "s",
            domain: Domain::Number {
                default: 0.005,
                min: 0.0001,
                max: 1.0,
            },
            purpose: "the standing queue that is still accepted",
            section: "this file",
        },
        Param {
            name: "beta",
            unit: "",
            domain: Domain::Number {
                default: 0.9,
                min: 0.1,
                max: 0.99,
            },
            purpose: "what is left of the window when the queue is longer",
            section: "this file",
        },
    ],
    profiles: &[],
    preset_of: None,
    fields: &[
        Field {
            name: "state",
            unit: "",
            purpose: "what governs the window",
            labels: &["slow_start", "avoidance", "settling", "recovery"],
        },
        Field {
            name: "queue",
            unit: "s",
            purpose: "standing queue of the last round",
            labels: &[],
        },
    ],
    // The transport runs PRR down to our ssthresh after a loss.
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    random: false,
    build: |config| AnyController::User(Box::new(DelayAimd::new(config))),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    SlowStart,
    Avoidance,
    /// The window was reduced; the ACKs of one more round still show the queue of before.
    Settling,
    Recovery,
}

const NAMES: [&str; 4] = ["slow_start", "avoidance", "settling", "recovery"];

/// The controller of one connection.
#[derive(Debug)]
pub struct DelayAimd {
    target: Span,
    beta: f64,
    cwnd: Bytes,
    ssthresh: Bytes,
    state: State,
    round: RoundCounter,
    /// Smallest RTT of this round.
    least: Span,
    queue: Span,
}

impl DelayAimd {
    /// One for a connection, with the parameters of the scenario.
    pub fn new(config: &Config) -> DelayAimd {
        DelayAimd {
            target: Span::from_secs_f64(config.number("target")),
            beta: config.number("beta"),
            cwnd: config.initial_cwnd,
            ssthresh: Bytes::MAX,
            state: State::SlowStart,
            round: RoundCounter::default(),
            least: Span::MAX,
            queue: Span::ZERO,
        }
    }

    fn enter(&mut self, cx: &mut Context<'_>, state: State, reason: &'static str) {
        let (from, to) = (NAMES[self.state as usize], NAMES[state as usize]);
        cx.observer
            .transition(cx.now, Transition { from, to, reason });
        self.state = state;
    }

    fn reduce(&mut self, cx: &Context<'_>, factor: f64) {
        self.cwnd = self.cwnd.mul_f64(factor).max(cx.conn.smss * 2);
        self.ssthresh = self.cwnd;
    }

    fn end_round(&mut self, cx: &mut Context<'_>) {
        let least = core::mem::replace(&mut self.least, Span::MAX);
        if least == Span::MAX {
            return; // No RTT sample in this round.
        }
        self.queue = least.saturating_sub(cx.conn.min_rtt);
        match self.state {
            State::Settling => self.enter(cx, State::Avoidance, "a round has passed"),
            State::SlowStart | State::Avoidance if self.queue > self.target => {
                self.reduce(cx, self.beta);
                self.enter(cx, State::Settling, "queue above the target");
            }
            State::Avoidance if cx.conn.cwnd_limited => self.cwnd += cx.conn.smss,
            _ => {}
        }
    }
}

impl Controller for DelayAimd {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.least = self.least.min(rtt.raw);
        }
        // A window that was not used proves nothing, so it does not grow.
        if self.state == State::SlowStart && cx.conn.cwnd_limited {
            self.cwnd += ack.newly_acked;
            if self.cwnd >= self.ssthresh {
                self.enter(cx, State::Avoidance, "ssthresh reached");
            }
        }
        if self.round.on_ack(ack.newest.delivered, cx.conn.delivered) {
            self.end_round(cx);
        }
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        match change {
            Recovery::Enter(_) => {
                self.reduce(cx, 0.5);
                self.enter(cx, State::Recovery, "loss");
            }
            Recovery::Timeout { .. } | Recovery::Persistent => {
                self.reduce(cx, 0.5);
                self.cwnd = loss_window(cx.conn);
                self.enter(cx, State::SlowStart, "timeout");
            }
            Recovery::Exit | Recovery::Spurious if self.state == State::Recovery => {
                self.enter(cx, State::Avoidance, "recovered");
            }
            Recovery::Exit | Recovery::Spurious => {}
        }
    }

    fn decision(&self) -> Decision {
        Decision::window(self.cwnd, self.ssthresh)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        row.extend([f64::from(self.state as u8), self.queue.as_secs_f64()]);
    }
}
