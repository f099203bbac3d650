//! The event queue: one heap entry for each thing that can happen next to a flow, however much it
//! has in flight.

use fullpipe_units::{Span, Time};

/// Kind of event. Ties of time are broken by (time, class, flow, hop), never by insertion order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum EventKind {
    /// A flow starts.
    Start,
    /// The next flow of a workload arrives. The event has the index of the workload instead of a
    /// flow.
    Arrive,
    /// A link with an AQM queue can send again. The event has the index of the link instead of a
    /// flow.
    Transmit,
    /// The first data packet in flight to a hop of the flow's route arrives there.
    Segment,
    /// The first data packet in flight to the receiver on a reordering line arrives there.
    Arrival,
    /// The first ACK in flight to a hop of the flow's reverse route, or to the sender, arrives
    /// there.
    Ack,
    /// A program on a host at one of the flow's ends takes a turn: the sender's (hop 0) or the
    /// receiver's.
    Turn,
    /// The receiver's delayed ACK is due.
    DelayedAck,
    /// The sender's loss timer, or a timer of its controller, is due.
    Timer,
    /// The sender may send, by its pacer or its application.
    Departure,
    /// A sample for the trace is due.
    Sample,
    /// The caller wants to inspect the run.
    Pause,
}

/// A flow: its number, which breaks ties, and the slot that it occupies. Numbers are never reused,
/// slots are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowKey(u64);

impl FlowKey {
    /// Number of slots that can exist.
    pub(crate) const SLOTS: usize = 1 << SLOT_BITS;

    pub(crate) fn new(number: u32, slot: usize) -> FlowKey {
        debug_assert!(slot < FlowKey::SLOTS, "a slot has {SLOT_BITS} bits");
        FlowKey(u64::from(number) << SLOT_BITS | slot as u64)
    }

    /// Creates a key for a workload or link instead of a flow.
    pub(crate) fn other(number: usize) -> FlowKey {
        FlowKey::new(number as u32, number)
    }

    #[inline]
    pub(crate) fn number(self) -> u32 {
        (self.0 >> SLOT_BITS) as u32
    }

    #[inline]
    pub(crate) fn slot(self) -> usize {
        self.0 as usize & (FlowKey::SLOTS - 1)
    }
}

/// Bits in the lower half of an entry, which holds class, number, slot and hop.
const SLOT_BITS: u32 = 20;
const HOP_BITS: u32 = 8;
const CLASS_SHIFT: u32 = 60;

/// An entry: time, kind and key in one number, so that comparing two takes no branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

impl Event {
    /// Later than every entry.
    const NEVER: Event = Event(u128::MAX);

    #[inline]
    fn new(at: Time, kind: EventKind, key: FlowKey, hop: u8) -> Event {
        let what = (kind as u64) << CLASS_SHIFT | key.0 << HOP_BITS | u64::from(hop);
        Event(u128::from(at.as_nanos()) << 64 | u128::from(what))
    }

    #[inline]
    pub(crate) fn at(&self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    #[inline]
    pub(crate) fn kind(&self) -> EventKind {
        match self.0 as u64 >> CLASS_SHIFT {
            0 => EventKind::Start,
            1 => EventKind::Arrive,
            2 => EventKind::Transmit,
            3 => EventKind::Segment,
            4 => EventKind::Arrival,
            5 => EventKind::Ack,
            6 => EventKind::Turn,
            7 => EventKind::DelayedAck,
            8 => EventKind::Timer,
            9 => EventKind::Departure,
            10 => EventKind::Sample,
            _ => EventKind::Pause,
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> FlowKey {
        FlowKey((self.0 as u64 & ((1 << CLASS_SHIFT) - 1)) >> HOP_BITS)
    }

    /// Returns the slot of its flow, or index of the workload or link.
    #[inline]
    pub(crate) fn slot(&self) -> usize {
        (self.0 as u64 >> HOP_BITS) as usize & (FlowKey::SLOTS - 1)
    }

    #[inline]
    pub(crate) fn hop(&self) -> usize {
        self.0 as u8 as usize
    }
}

/// Number of transmissions that are kept outside the heap; each step looks at all of them.
const MOST_TURNS: usize = 4;

/// Number of entries of the nearest bucket up to which additions to it are sorted in: moving few entries
/// costs less than a walk through a heap.
const FEW: usize = 64;

/// Children per heap node: four entries fill one cache line.
const ARITY: usize = 4;

/// The entries, earliest first. With ten thousand flows most are due later ([`FarFuture`]). Entries
/// of the nearest bucket of time are sorted, so the next flows are known. Additions to that bucket
/// are sorted in while it has few entries, and else go into a heap with four children per node, which
/// stays small.
///
/// Handling an event usually schedules its successor. So an entry taken from the heap leaves a hole
/// at the root, which the next addition fills: one walk down the heap instead of two.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// Sorted entries of the nearest bucket, latest first.
    stretch: Vec<Event>,
    heap: Vec<Event>,
    later: FarFuture,
    /// Whether the entry at the root was taken.
    hole: bool,
    /// Earliest entry in stretch and heap; [`Event::NEVER`] without one.
    next: Event,
    /// Transmissions of links with AQM queues, if there are few such links, and the earliest of them.
    /// Nearly every packet of such a link has one: here it costs no walk through the heap.
    turns: Vec<Event>,
    turn: Event,
    /// Whether every event goes through the event queue, without shortcuts; for the test that
    /// shortcuts do not change a run.
    pub(crate) stepping: bool,
}

impl EventQueue {
    /// Creates an empty queue, sized for `flows` flows.
    pub(crate) fn new(flows: usize) -> EventQueue {
        EventQueue {
            stretch: Vec::new(),
            heap: Vec::new(),
            later: FarFuture::new(flows),
            hole: false,
            next: Event::NEVER,
            turns: Vec::new(),
            turn: Event::NEVER,
            stepping: false,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, at: Time, kind: EventKind, key: FlowKey, hop: u8) {
        let event = Event::new(at, kind, key, hop);
        if kind == EventKind::Transmit && self.turns.len() < MOST_TURNS {
            self.turns.push(event);
            self.turn = self.turn.min(event);
            return;
        }
        self.next = self.next.min(event);
        if at >= self.later.from {
            self.later.push(event);
        } else if self.heap.is_empty() && self.stretch.len() < FEW {
            let place = self.stretch.partition_point(|other| *other > event);
            self.stretch.insert(place, event);
        } else if self.hole {
            self.hole = false;
            self.sift_down(event);
        } else {
            self.heap.push(event);
            self.sift_up(event);
        }
    }

    /// Removes the earliest entry.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let turn = self.turn;
        if turn < self.next {
            self.take_turn();
            return Some(turn);
        }
        self.pop_other()
    }

    /// Removes the earliest transmission.
    #[inline]
    fn take_turn(&mut self) {
        if let Some(place) = self.turns.iter().position(|event| *event == self.turn) {
            self.turns.swap_remove(place);
        }
        self.turn = self.turns.iter().copied().min().unwrap_or(Event::NEVER);
    }

    /// Removes the earliest entry of stretch and heap.
    #[inline]
    fn pop_other(&mut self) -> Option<Event> {
        if self.heap.is_empty() {
            let first = self.stretch.pop();
            if self.stretch.is_empty() {
                self.stretch = self.later.next();
            }
            self.next = self.stretch.last().copied().unwrap_or(Event::NEVER);
            if first.is_some() {
                return first;
            }
        }
        if self.hole {
            self.hole = false;
            let last = self.heap.pop()?;
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
        if self.heap.is_empty() && self.stretch.is_empty() {
            self.stretch = self.later.next();
        }
        let (root, last) = (self.heap.first().copied(), self.stretch.last().copied());
        self.hole = root.is_some_and(|root| last.is_none_or(|last| root < last));
        let first = if self.hole { root } else { self.stretch.pop() };
        if self.stretch.is_empty() && self.heap.len() == usize::from(self.hole) {
            self.stretch = self.later.next();
        }
        let sorted = self.stretch.last().copied().unwrap_or(Event::NEVER);
        let other = if !self.hole {
            self.heap.first().copied().unwrap_or(Event::NEVER)
        } else if let Some([_, a, b, c, d]) = self.heap.get(..ARITY + 1) {
            // Without a loop: most heaps have a full first row.
            (*a).min(*b).min((*c).min(*d))
        } else {
            let others = self.heap[1..].iter().copied();
            others.min().unwrap_or(Event::NEVER)
        };
        self.next = sorted.min(other);
        first
    }

    /// Returns the entry `entries` places after the one taken last, unless others are added before
    /// it.
    #[inline]
    pub(crate) fn ahead(&self, entries: usize) -> Option<Event> {
        self.stretch
            .len()
            .checked_sub(entries)
            .map(|place| self.stretch[place])
    }

    /// Returns whether something that happens at `at` certainly precedes everything else scheduled,
    /// so that it may be handled at once.
    #[inline]
    pub(crate) fn is_first(&self, at: Time) -> bool {
        !self.stepping && at < self.next.at() && at < self.turn.at()
    }

    fn sift_up(&mut self, event: Event) {
        let mut place = self.heap.len() - 1;
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] <= event {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = event;
    }

    #[inline]
    fn sift_down(&mut self, event: Event) {
        let mut place = 0;
        let least = |children: &[Event]| {
            let mut least = (children[0], 0);
            for (offset, child) in children.iter().enumerate().skip(1) {
                least = if *child < least.0 {
                    (*child, offset)
                } else {
                    least
                };
            }
            least
        };
        loop {
            let first = place * ARITY + 1;
            let (child, offset) = match self.heap.get(first..first + ARITY) {
                // A slice of known length, so that the loop is unrolled.
                Some(children) => least(&children[..ARITY]),
                None if first < self.heap.len() => least(&self.heap[first..]),
                None => break,
            };
            if event <= child {
                break;
            }
            self.heap[place] = child;
            place = first + offset;
        }
        self.heap[place] = event;
    }
}

/// Number of buckets of time.
const STRETCHES: usize = 512;
/// Length of a bucket at most: 2 ms, so that most timers of few flows are in later buckets.
const LONGEST: u32 = 21;

/// Entries that are due later, sorted only into buckets of time. A heap of everything that ten
/// thousand flows wait for would not fit in the cache, and each step down it would wait for memory.
#[derive(Debug)]
struct FarFuture {
    stretches: Box<[Vec<Event>]>,
    /// Length of a bucket: 2 to this power, ns.
    shift: u32,
    /// First bucket that was not taken, and its start.
    first: usize,
    from: Time,
    /// Entries behind the last bucket.
    beyond: Vec<Event>,
}

impl FarFuture {
    fn new(flows: usize) -> FarFuture {
        // Buckets have few enough entries for a small heap, and together cover more time than most
        // timers.
        let shift = 33_u32.saturating_sub(flows.max(1).ilog2()).min(LONGEST);
        let stretches = vec![Vec::new(); STRETCHES].into();
        FarFuture {
            stretches,
            shift,
            first: STRETCHES,
            from: Time::ZERO,
            beyond: Vec::new(),
        }
    }

    /// Adds an entry that is not due before `from`.
    #[inline]
    fn push(&mut self, event: Event) {
        let ahead = (event.at() - self.from).as_nanos() >> self.shift;
        let stretch = (self.first as u64).saturating_add(ahead);
        match self.stretches.get_mut(stretch as usize) {
            Some(stretch) => stretch.push(event),
            None => self.beyond.push(event),
        }
    }

    /// Takes the first bucket with entries, latest entry first.
    fn next(&mut self) -> Vec<Event> {
        loop {
            while let Some(stretch) = self.stretches.get_mut(self.first) {
                let mut entries = core::mem::take(stretch);
                self.first += 1;
                self.from += Span::from_nanos(1 << self.shift);
                if !entries.is_empty() {
                    entries.sort_unstable_by(|a, b| b.cmp(a));
                    return entries;
                }
            }
            let Some(earliest) = self.beyond.iter().min() else {
                return Vec::new();
            };
            (self.first, self.from) = (0, earliest.at());
            for event in core::mem::take(&mut self.beyond) {
                self.push(event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_broken_by_what_and_whom_not_by_insertion() {
        let mut event_queue = EventQueue::new(1);
        let (early, late) = (Time::from_nanos(1), Time::from_nanos(2));
        // Numbers run against the order of slots.
        let key = |number: u32| FlowKey::new(number, 100 - number as usize);
        event_queue.push(late, EventKind::Start, key(0), 0);
        event_queue.push(early, EventKind::Timer, key(7), 0);
        event_queue.push(early, EventKind::Ack, key(9), 1);
        event_queue.push(early, EventKind::Ack, key(9), 0);
        event_queue.push(early, EventKind::Ack, key(3), 0);
        let order: Vec<_> = std::iter::from_fn(|| event_queue.pop())
            .map(|e| (e.kind(), e.key().number(), e.hop()))
            .collect();
        let expected = [
            (EventKind::Ack, 3, 0),
            (EventKind::Ack, 9, 0),
            (EventKind::Ack, 9, 1),
            (EventKind::Timer, 7, 0),
            (EventKind::Start, 0, 0),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn agrees_with_a_sorted_list_whatever_is_pushed_and_popped() {
        agrees_with_a_sorted_list(u64::MAX);
    }

    /// Links take turns at the same times, more of them than are kept outside the heap.
    #[test]
    fn agrees_with_a_sorted_list_at_simultaneous_turns_of_links() {
        agrees_with_a_sorted_list(3);
    }

    /// Compares the queue with a list of events within `times` ns. If that is little, many are simultaneous.
    fn agrees_with_a_sorted_list(times: u64) {
        let mut rng = fullpipe_units::Rng::stream(1, "agenda", "test");
        // Buckets of a nanosecond, so that several rounds occur.
        let (mut event_queue, mut list) = (EventQueue::new(usize::MAX), Vec::new());
        for step in 0..100_000 {
            if rng.chance(0.5) || list.len() > 200 {
                let expected = list.iter().copied().min();
                assert_eq!(event_queue.pop(), expected);
                list.retain(|event| Some(*event) != expected);
                let next = list.iter().map(|event: &Event| event.at()).min();
                let soon = Time::from_nanos(step / 10);
                assert_eq!(event_queue.is_first(soon), next.is_none_or(|at| at > soon));
            } else {
                let ahead = rng.below(if step % 8 > 0 { 100 } else { 2_000 });
                let at = Time::from_nanos(step / 10 + ahead % times);
                let (kind, key) = if rng.chance(0.5) {
                    (EventKind::Transmit, FlowKey::other(step as usize))
                } else {
                    let slot = rng.below(FlowKey::SLOTS as u64) as usize;
                    (EventKind::Ack, FlowKey::new(rng.next_u64() as u32, slot))
                };
                event_queue.push(at, kind, key, 0);
                list.push(Event::new(at, kind, key, 0));
            }
        }
    }
}
