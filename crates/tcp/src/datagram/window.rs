//! The packets that the sender still expects a report of.

use std::collections::VecDeque;

use fullpipe_cc::Snapshot;
use fullpipe_units::Time;

/// State of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// In flight. If a later packet arrived before, the packet is missing since the arrival of the
    /// first of them, by the receiver's clock.
    Outstanding(Option<Time>),
    /// Reported as received at this time.
    Acked(Time),
    /// Declared lost; it was missing since this time.
    Lost(Time),
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) snapshot: Snapshot,
    pub(super) state: State,
}

/// The packets from the oldest that a report may still cover, to the newest.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    base: u64,
    packets: VecDeque<Sent>,
    /// One past the highest packet that was reported as received.
    pub(super) highest: u64,
    /// Below this number no packet is outstanding.
    settled: u64,
}

impl SentPackets {
    /// Returns the number of the next packet.
    pub(super) fn next(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    pub(super) fn push(&mut self, snapshot: Snapshot) {
        self.packets.push_back(Sent {
            snapshot,
            state: State::Outstanding(None),
        });
    }

    /// Returns a packet, if it is still known.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Sent> {
        let place = number.checked_sub(self.base)?;
        self.packets.get_mut(usize::try_from(place).ok()?)
    }

    /// Returns the oldest outstanding packet.
    pub(super) fn oldest(&mut self) -> Option<(u64, Sent)> {
        self.settle();
        self.get(self.settled).map(|sent| (self.settled, *sent))
    }

    /// Returns whether the packet before `number` is lost.
    pub(super) fn follows_a_loss(&self, number: u64) -> bool {
        number
            .checked_sub(1)
            .and_then(|before| self.get(before))
            .is_some_and(|sent| matches!(sent.state, State::Lost(_)))
    }

    /// Notes for each outstanding packet below the highest reported one when the first later packet
    /// arrived.
    pub(super) fn mark_missing(&mut self) {
        let mut first = Time::MAX;
        for number in (self.settled..self.highest).rev() {
            let Some(sent) = self.get_mut(number) else {
                return;
            };
            match &mut sent.state {
                State::Acked(at) => first = first.min(*at),
                State::Outstanding(since @ None) => *since = Some(first),
                // All outstanding packets before it are already noted.
                State::Outstanding(Some(_)) => return,
                State::Lost(_) => {}
            }
        }
    }

    /// Forgets the settled packets below `number`, which no later report covers.
    pub(super) fn forget_below(&mut self, number: u64) {
        self.settle();
        while self.base < number.min(self.settled) {
            self.packets.pop_front();
            self.base += 1;
        }
    }

    fn settle(&mut self) {
        while self
            .get(self.settled)
            .is_some_and(|sent| !matches!(sent.state, State::Outstanding(_)))
        {
            self.settled += 1;
        }
    }

    fn get(&self, number: u64) -> Option<&Sent> {
        let place = number.checked_sub(self.base)?;
        self.packets.get(usize::try_from(place).ok()?)
    }
}
