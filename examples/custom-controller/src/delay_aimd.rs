//! The controller: additive increase while the queue is short, multiplicative decrease when it is
//! not.
//!
//! Once a round trip it compares the round's smallest RTT with the connection's: the difference is
//! the standing queue.

use fullpipe::cc::common::round::RoundCounter;
use fullpipe::cc::common::window::loss_window;
use fullpipe::cc::{
    AnyController, Config, Field, Param, RecoveryOwner, Signals, Specification, Transition, fields,
    params,
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
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: DelayAimd::FIELDS,
    // The transport runs PRR down to our ssthresh after a loss.
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    random: false,
    build: |config| AnyController::User(Box::new(DelayAimd::new(config))),
};

params! {
    /// What a scenario may set.
    struct Params {
        target: Span = Param::number(0.005, 0.0001..=1.0).unit("s")
            .says("the standing queue that is still accepted", "this file"),
        beta: f64 = Param::number(0.9, 0.1..=0.99)
            .says("what is left of the window when the queue is longer", "this file"),
    }
}

fields! {
    impl DelayAimd as cc {
        state: Field::state(&NAMES, "what governs the window") => cc.state as usize,
        queue: Field::value("s", "standing queue of the last round") => cc.queue,
    }
}

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
    params: Params,
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
            params: Params::read(config),
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
            State::SlowStart | State::Avoidance if self.queue > self.params.target => {
                self.reduce(cx, self.params.beta);
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
        self.push_fields(row);
    }
}
