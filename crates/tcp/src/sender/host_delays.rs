//! The parts of an RTT that the two hosts took, for a controller that asks for them.

use std::collections::VecDeque;

use fullpipe_cc::{Controller, RttSample};
use fullpipe_units::{Span, Time};

use super::Sender;
use crate::wire::Feedback;

/// The times that a sender's host knows.
#[derive(Debug, Default)]
pub(super) struct HostDelays {
    /// For each turn whose packets may be in flight: the time of its packets, which is that of its
    /// beginning, and the time at which they left.
    turns: VecDeque<(Time, Time)>,
    /// Time at which the current ACK arrived, and the delay that it reports.
    arrived: Time,
    remote: Span,
}

impl<C: Controller> Sender<C> {
    /// Notes that the packets of the turn that began at `now` leave the host at `done`.
    pub fn on_turn_sent(&mut self, now: Time, done: Time) {
        if let Some(hosts) = &mut self.hosts {
            hosts.turns.push_back((now, done));
        }
    }

    /// Returns whether the controller asks for the delays of the hosts, so that the receiver's host
    /// must report its own.
    pub fn asks_for_host_delays(&self) -> bool {
        self.hosts.is_some()
    }
}

impl HostDelays {
    /// Notes the times of the ACK that is read next.
    pub(super) fn on_ack(&mut self, arrived: Time, feedback: Option<Feedback>) {
        self.arrived = arrived;
        self.remote = feedback.map_or(Span::ZERO, |feedback| feedback.delay);
    }

    /// Returns the sample of a packet that was sent `raw` ago, whose ACK is read at `now`. Earlier
    /// turns are forgotten: for a later sample of one of them, only the reading counts.
    pub(super) fn sample(&mut self, now: Time, raw: Span) -> RttSample {
        let sent = now - raw;
        while self.turns.front().is_some_and(|(turn, _)| *turn < sent) {
            self.turns.pop_front();
        }
        let left = match self.turns.front() {
            Some((turn, done)) if *turn == sent => *done,
            _ => sent,
        };
        RttSample {
            raw,
            local: (left - sent) + (now - self.arrived),
            remote: self.remote,
        }
    }
}
