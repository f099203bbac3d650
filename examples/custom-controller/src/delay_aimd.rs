//! The controller: additive increase while the queue is short, multiplicative decrease otherwise.
//!
//! Once per round trip it compares the round's smallest RTT with the connection's: the difference
//! is the delay of the standing queue.

use fullpipe::cc::common::round::RoundCounter;
use fullpipe::cc::common::window::loss_window;
use fullpipe::cc::{
    AnyController, Config, Field, Marks, Param, PathChange, RecoveryOwner, Signals, Specification,
    Transition, fields, params,
};
use fullpipe::prelude::*;

/// The declaration of the algorithm, from which scenario keys, error messages and trace columns
/// are derived.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "delayaimd",
    purpose: "Keeps the standing queue below a target: +1 segment per round below it, -10% above it.",
    specifications: &[Specification {
        name: "examples/custom-controller",
        note: "invented for this example of the contract",
    }],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: DelayAimd::FIELDS,
    // After a loss, the transport reduces the window to our ssthresh by PRR.
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::User(Box::new(DelayAimd::new(config))),
};

params! {
    /// The parameters that a scenario may set.
    struct Params {
        target: Span = Param::number(0.005, 0.0001..=1.0).unit("s")
            .says("largest accepted delay of the standing queue", "this file"),
        beta: f64 = Param::number(0.9, 0.1..=0.99)
            .says("factor applied to the window when the queue is longer", "this file"),
    }
}

fields! {
    impl DelayAimd as cc {
        state: Field::state(&NAMES, "phase of the algorithm") => cc.state as usize,
        queue: Field::value("s", "delay of the standing queue in the last round") => cc.queue,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    SlowStart,
    Avoidance,
    /// The window was reduced; for one more round, ACKs still show the earlier queue.
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
    /// Smallest RTT of the current round.
    least: Span,
    queue: Span,
}

impl DelayAimd {
    /// Creates the controller of one connection, with the parameters of the scenario.
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

    // There is no on_sent here: so a library needs no call for each packet.
    fn hears_sent(&self) -> bool {
        false
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.least = self.least.min(rtt.raw);
        }
        // A window that was not fully used does not grow: its ACKs prove nothing about its size.
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

    // QUIC may find a larger segment size. The window must still hold a segment.
    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        if change == PathChange::Mtu {
            self.cwnd = self.cwnd.max(cx.conn.smss);
        }
    }

    fn decision(&self) -> Decision {
        Decision::window(self.cwnd, self.ssthresh)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
