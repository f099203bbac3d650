//! What is due: one heap entry for each thing that can happen next to a flow, whatever it has in flight.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Time;

/// What happens. The order breaks ties of time: (time, class, flow, hop), never by insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Class {
    /// A flow begins.
    Start,
    /// The first data packet on the way to a hop of the flow's route arrives there.
    Segment,
    /// The first ACK on the way to a hop of the flow's reverse route, or to the sender, arrives there.
    Ack,
    /// The receiver's delayed ACK.
    DelayedAck,
    /// The sender's loss timer, or its controller's.
    Timer,
    /// The sender's pacer, or its application.
    Departure,
    /// The trace takes its samples.
    Sample,
}

/// An entry: when, and what of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) at: Time,
    /// class, flow, hop: packed, so that a comparison is two words.
    key: u64,
}

impl Entry {
    #[inline]
    pub(crate) fn new(at: Time, class: Class, flow: u32, hop: u8) -> Entry {
        Entry { at, key: (class as u64) << 56 | u64::from(flow) << 8 | u64::from(hop) }
    }

    #[inline]
    pub(crate) fn class(&self) -> Class {
        match self.key >> 56 {
            0 => Class::Start,
            1 => Class::Segment,
            2 => Class::Ack,
            3 => Class::DelayedAck,
            4 => Class::Timer,
            5 => Class::Departure,
            _ => Class::Sample,
        }
    }

    #[inline]
    pub(crate) fn flow(&self) -> usize {
        (self.key >> 8) as u32 as usize
    }

    #[inline]
    pub(crate) fn hop(&self) -> usize {
        self.key as u8 as usize
    }
}

/// The entries, earliest first.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    /// Take no short cut: everything goes through the heap. For the test that the short cuts change nothing.
    pub(crate) stepping: bool,
}

impl Agenda {
    #[inline]
    pub(crate) fn push(&mut self, at: Time, class: Class, flow: u32, hop: u8) {
        self.heap.push(Reverse(Entry::new(at, class, flow, hop)));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    #[inline]
    pub(crate) fn next_at(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |Reverse(entry)| entry.at)
    }

    /// Whether what happens at `at` surely comes before everything that is due: then it may happen right away.
    #[inline]
    pub(crate) fn is_first(&self, at: Time) -> bool {
        !self.stepping && at < self.next_at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_broken_by_what_and_whom_not_by_insertion() {
        let mut agenda = Agenda::default();
        let (early, late) = (Time::from_nanos(1), Time::from_nanos(2));
        agenda.push(late, Class::Start, 0, 0);
        agenda.push(early, Class::Timer, 7, 0);
        agenda.push(early, Class::Ack, 9, 1);
        agenda.push(early, Class::Ack, 9, 0);
        agenda.push(early, Class::Ack, 3, 0);
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop()).map(|e| (e.class(), e.flow(), e.hop())).collect();
        let expected =
            [(Class::Ack, 3, 0), (Class::Ack, 9, 0), (Class::Ack, 9, 1), (Class::Timer, 7, 0), (Class::Start, 0, 0)];
        assert_eq!(order, expected);
    }
}
