//! What is due: one heap entry for each thing that can happen next to a flow, whatever it has in flight.

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

/// An entry: when, and what of whom, in one number: comparing two takes no branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u128);

impl Entry {
    #[inline]
    fn new(at: Time, class: Class, flow: u32, hop: u8) -> Entry {
        let what = (class as u64) << 56 | u64::from(flow) << 8 | u64::from(hop);
        Entry(u128::from(at.as_nanos()) << 64 | u128::from(what))
    }

    #[inline]
    pub(crate) fn at(&self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    #[inline]
    pub(crate) fn class(&self) -> Class {
        match self.0 as u64 >> 56 {
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
        (self.0 as u64 >> 8) as u32 as usize
    }

    #[inline]
    pub(crate) fn hop(&self) -> usize {
        self.0 as u8 as usize
    }
}

/// Children a node: four entries are one cache line.
const ARITY: usize = 4;

/// The entries, earliest first: a heap of four children a node.
///
/// What happens mostly puts an entry of its own in its place, so a taken entry leaves a hole at the root that the next
/// one added fills: one walk down the heap for the two.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: Vec<Entry>,
    /// The entry at the root was taken.
    hole: bool,
    /// The earliest of the others.
    next: Option<Entry>,
    /// Take no short cut: everything goes through the heap. For the test that the short cuts change nothing.
    pub(crate) stepping: bool,
}

impl Agenda {
    #[inline]
    pub(crate) fn push(&mut self, at: Time, class: Class, flow: u32, hop: u8) {
        let entry = Entry::new(at, class, flow, hop);
        self.next = Some(self.next.map_or(entry, |next| next.min(entry)));
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.heap.push(entry);
            self.sift_up(entry);
        }
    }

    /// Takes the first.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        if self.hole {
            self.hole = false;
            let last = self.heap.pop()?;
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
        let first = *self.heap.first()?;
        self.hole = true;
        let end = self.heap.len().min(ARITY + 1);
        self.next = self.heap[1..end].iter().copied().min();
        Some(first)
    }

    /// What comes after the entry taken last, unless something is added before it.
    #[inline]
    pub(crate) fn next(&self) -> Option<Entry> {
        self.next
    }

    /// Whether what happens at `at` surely comes before everything that is due: then it may happen right away.
    #[inline]
    pub(crate) fn is_first(&self, at: Time) -> bool {
        !self.stepping && self.next.is_none_or(|next| at < next.at())
    }

    fn sift_up(&mut self, entry: Entry) {
        let mut place = self.heap.len() - 1;
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = entry;
    }

    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let mut place = 0;
        let least = |children: &[Entry]| {
            let mut least = (children[0], 0);
            for (offset, child) in children.iter().enumerate().skip(1) {
                least = if *child < least.0 { (*child, offset) } else { least };
            }
            least
        };
        loop {
            let first = place * ARITY + 1;
            let (child, offset) = match self.heap.get(first..first + ARITY) {
                // Of known length, so unrolled.
                Some(children) => least(&children[..ARITY]),
                None if first < self.heap.len() => least(&self.heap[first..]),
                None => break,
            };
            if entry <= child {
                break;
            }
            self.heap[place] = child;
            place = first + offset;
        }
        self.heap[place] = entry;
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

    #[test]
    fn agrees_with_a_sorted_list_whatever_is_pushed_and_popped() {
        let mut rng = units::Rng::stream(1, "agenda", "test");
        let (mut agenda, mut list) = (Agenda::default(), Vec::new());
        for _ in 0..100_000 {
            if rng.chance(0.5) || list.len() > 200 {
                let expected = list.iter().copied().min();
                assert_eq!(agenda.pop(), expected);
                list.retain(|entry| Some(*entry) != expected);
                let next = list.iter().map(|entry: &Entry| entry.at()).min();
                assert_eq!(agenda.is_first(Time::from_nanos(50)), next.is_none_or(|at| at > Time::from_nanos(50)));
            } else {
                let (at, flow) = (Time::from_nanos(rng.below(100)), rng.next_u64() as u32);
                agenda.push(at, Class::Ack, flow, 0);
                list.push(Entry::new(at, Class::Ack, flow, 0));
            }
        }
    }
}
