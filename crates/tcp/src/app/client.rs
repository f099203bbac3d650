//! Who asks a server for answers: the receiver's application.

use fullpipe_units::{Bytes, Draw, Rng, Span, Time};

use super::Messages;
use crate::rtt::RttEstimator;

/// An answer that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When it was asked for.
    pub asked: Time,
    /// When its last byte was there.
    pub arrived: Time,
    /// Its length.
    pub size: Bytes,
}

/// An application that asks, waits for the answer, thinks, and asks again.
///
/// It knows how long each answer will be, as from an HTTP header: it draws the same sizes from the
/// same stream as the [server](crate::App::Answers).
#[derive(Clone, Debug)]
pub struct Client {
    answers: Messages,
    size: Bytes,
    think: Draw<Span>,
    rng: Rng,
    asked: Time,
    /// How often it has asked for this answer while nothing of it has arrived; zero when something
    /// has.
    tries: u32,
    rtt: RttEstimator,
}

impl Client {
    /// One whose first request leaves with the handshake, which began at `start`.
    pub fn new(mut answers: Messages, think: Draw<Span>, rng: Rng, start: Time) -> Client {
        let size = answers.add();
        Client {
            answers,
            size,
            think,
            rng,
            asked: start,
            tries: 0,
            rtt: RttEstimator::new(),
        }
    }

    /// What will be in order when the answer is complete.
    pub(crate) fn expects(&self) -> Bytes {
        self.answers.bytes()
    }

    /// The answer's last byte arrived at `now`; with the time of the next request.
    pub(crate) fn answered(&mut self, now: Time) -> (Answer, Time) {
        let answer = Answer {
            asked: self.asked,
            arrived: now,
            size: self.size,
        };
        self.size = self.answers.add();
        (answer, now + self.think.next(&mut self.rng))
    }

    /// It asks at `now`, perhaps again; when it will do so again if nothing comes (RFC 6298 §5).
    pub(crate) fn ask(&mut self, now: Time) -> Time {
        match self.tries {
            0 => self.asked = now,
            _ => self.rtt.back_off(),
        }
        self.tries += 1;
        now + self.rtt.rto()
    }

    /// Data arrives that echoes an ACK sent at `echo`; true when it is the first of what was asked
    /// for.
    pub(crate) fn on_data(&mut self, now: Time, echo: Time) -> bool {
        let first = core::mem::take(&mut self.tries) > 0;
        // RFC 7323 §4: the echo tells which of several requests it answers.
        if first || self.rtt.srtt == Span::ZERO {
            self.rtt.sample(now - echo);
        }
        first
    }
}
