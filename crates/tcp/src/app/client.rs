//! The receiver's application: a client that requests answers from a server.

use fullpipe_units::{Bytes, Draw, Rng, Span, Time};

use super::Messages;
use crate::rtt::RttEstimator;

/// An answer that has arrived completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Time of the request.
    pub asked: Time,
    /// Time at which its last byte arrived.
    pub arrived: Time,
    /// Its length.
    pub size: Bytes,
}

/// An application that sends a request, waits for the answer, thinks, and sends the next request.
///
/// The client knows the length of each answer, as from an HTTP header: it draws the same sizes from
/// the same random stream as the [server](crate::App::Answers).
#[derive(Clone, Debug)]
pub struct Client {
    answers: Messages,
    size: Bytes,
    think: Draw<Span>,
    rng: Rng,
    asked: Time,
    /// Number of requests sent for this answer; zero once some of the answer has arrived.
    tries: u32,
    rtt: RttEstimator,
}

impl Client {
    /// Creates a client whose first request leaves with the handshake, which began at `start`.
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

    /// Returns the in-order bytes at which the current answer is complete.
    pub(crate) fn expects(&self) -> Bytes {
        self.answers.bytes()
    }

    /// Completes the answer, whose last byte arrived at `now`. Returns the answer and the time of
    /// the next request.
    pub(crate) fn answered(&mut self, now: Time) -> (Answer, Time) {
        let answer = Answer {
            asked: self.asked,
            arrived: now,
            size: self.size,
        };
        self.size = self.answers.add();
        (answer, now + self.think.next(&mut self.rng))
    }

    /// Sends a request at `now`, or repeats it. Returns the time at which to repeat the request if
    /// no data arrives (RFC 6298 §5).
    pub(crate) fn ask(&mut self, now: Time) -> Time {
        match self.tries {
            0 => self.asked = now,
            _ => self.rtt.back_off(),
        }
        self.tries += 1;
        now + self.rtt.rto()
    }

    /// Processes data that echoes an ACK sent at `echo`. Returns true if this is the first data of
    /// the requested answer.
    pub(crate) fn on_data(&mut self, now: Time, echo: Time) -> bool {
        let first = core::mem::take(&mut self.tries) > 0;
        // RFC 7323 §4: the echoed timestamp identifies which of several requests this data answers.
        if first || self.rtt.srtt == Span::ZERO {
            self.rtt.sample(now - echo);
        }
        first
    }
}
