//! The open flows: assigns segments to them, and ends them.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use fullpipe_units::{Span, Time};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::capture::columns::Columns;
use crate::capture::flow::{End, Flow, LINGER, Noticed};
use crate::capture::segment::{Key, Segment};

/// Options that delimit flows and chunks.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Longest silence of a flow; after a longer one it has ended.
    pub idle: Span,
    /// Longest pause within a chunk; payload after a longer one begins a new chunk.
    pub pause: Span,
    /// Whether UDP datagrams also form flows.
    pub udp: bool,
    /// Whether rows have addresses.
    pub addresses: bool,
}

/// Open flows by their key.
#[derive(Debug)]
pub(crate) struct Tracker {
    options: Options,
    /// Indexes into `flows`.
    table: HashTable<u32>,
    flows: Vec<Place>,
    free: Vec<u32>,
    /// Times to check whether a flow is idle: one entry per flow, in order of time.
    idle: VecDeque<Due>,
    /// Times to check whether a closed flow can be removed, in order of time.
    closed: VecDeque<Due>,
    began: Option<Time>,
    done: Columns,
    /// Indexes of the flows of a stretch's segments, if those flows existed before the stretch.
    found: Vec<Option<u32>>,
    pub(crate) strays: u64,
}

#[derive(Debug)]
struct Place {
    /// Number of flows that were here before; entries that are due for those are void.
    generation: u32,
    flow: Option<Flow>,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    at: Time,
    place: u32,
    generation: u32,
}

impl Tracker {
    pub(crate) fn new(options: Options) -> Tracker {
        Tracker {
            options,
            table: HashTable::new(),
            flows: Vec::new(),
            free: Vec::new(),
            idle: VecDeque::new(),
            closed: VecDeque::new(),
            began: None,
            done: Columns::new(options.addresses),
            found: Vec::new(),
            strays: 0,
        }
    }

    /// Returns the number of open flows.
    pub(crate) fn open(&self) -> usize {
        self.table.len()
    }

    /// Returns the flows that have ended so far.
    pub(crate) fn done(&mut self) -> &mut Columns {
        &mut self.done
    }

    /// Handles packets in order. Those without a segment belong to other protocols, and only
    /// advance the time.
    ///
    /// With many flows, accesses to memory outside the caches take most of the time. So all flows
    /// of a stretch are looked up and touched first: these loads do not depend on each other, and
    /// the processor runs several at once.
    pub(crate) fn see(&mut self, stretch: &[(Option<Segment>, Time)]) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let mut touched = 0;
        found.extend(stretch.iter().map(|(segment, _)| {
            let segment = segment.as_ref()?;
            let place = self.table.find(hash(&segment.key), |place| {
                flow(&self.flows, *place).key == segment.key
            })?;
            let side = &flow(&self.flows, *place).sides[segment.sender];
            touched ^= side.packets ^ side.bytes();
            Some(*place)
        }));
        std::hint::black_box(touched);
        for ((segment, at), place) in stretch.iter().zip(&found) {
            self.began.get_or_insert(*at);
            self.expire(*at);
            if let Some(segment) = segment {
                self.take(segment, *at, *place);
            }
        }
        self.found = found;
    }

    /// Handles a segment, whose flow was at `place` before the stretch.
    #[inline]
    fn take(&mut self, segment: &Segment, at: Time, place: Option<u32>) {
        let still = |place: &u32| {
            self.flows[*place as usize]
                .flow
                .as_ref()
                .is_some_and(|flow| flow.key == segment.key)
        };
        let place = place
            .filter(still)
            .unwrap_or_else(|| self.place(segment, at));
        let place = match flow(&self.flows, place).ends_before(segment, at, self.options.idle) {
            None => place,
            Some(end) => {
                self.finish(place, end);
                self.place(segment, at)
            }
        };
        let seat = &mut self.flows[place as usize];
        let flow = seat.flow.as_mut().expect("a place in the table has a flow");
        let was_closed = flow.closed().is_some();
        let noticed = flow.add(segment, at, self.options.pause);
        self.strays += u64::from(noticed == Noticed::Stray);
        if !was_closed && flow.closed().is_some() {
            self.closed.push_back(Due {
                at: at + LINGER,
                place,
                generation: seat.generation,
            });
        }
    }

    /// Returns the index of a segment's flow, and creates the flow if necessary.
    fn place(&mut self, segment: &Segment, at: Time) -> u32 {
        let flows = &self.flows;
        let entry = self.table.entry(
            hash(&segment.key),
            |place| flow(flows, *place).key == segment.key,
            |place| hash(&flow(flows, *place).key),
        );
        let vacant = match entry {
            Entry::Occupied(occupied) => return *occupied.get(),
            Entry::Vacant(vacant) => vacant,
        };
        let place = self.free.pop().unwrap_or(self.flows.len() as u32);
        vacant.insert(place);
        if place as usize == self.flows.len() {
            self.flows.push(Place {
                generation: 0,
                flow: None,
            });
        }
        let may_be_older = self
            .began
            .is_none_or(|began| at.since(began) <= self.options.idle);
        let seat = &mut self.flows[place as usize];
        seat.flow = Some(Flow::new(segment, at, may_be_older));
        self.idle.push_back(Due {
            at: at + self.options.idle,
            place,
            generation: seat.generation,
        });
        place
    }

    /// Ends all flows at the end of the capture.
    pub(crate) fn end(&mut self) {
        for place in 0..self.flows.len() {
            if let Some(flow) = &self.flows[place].flow {
                self.finish(place as u32, flow.closed().unwrap_or(End::Capture));
            }
        }
    }

    #[inline]
    fn expire(&mut self, now: Time) {
        while self.idle.front().is_some_and(|due| due.at < now) {
            let due = self.idle.pop_front().expect("there is a front");
            if let Some(flow) = self.due(due) {
                let until = flow.last + self.options.idle;
                if until < now {
                    self.finish(due.place, flow.closed().unwrap_or(End::Idle));
                } else {
                    self.idle.push_back(Due {
                        at: until.max(due.at),
                        ..due
                    });
                }
            }
        }
        while self.closed.front().is_some_and(|due| due.at < now) {
            let due = self.closed.pop_front().expect("there is a front");
            if let Some(flow) = self.due(due) {
                let until = flow.last + LINGER;
                if until < now {
                    self.finish(due.place, flow.closed().unwrap_or(End::Idle));
                } else {
                    self.closed.push_back(Due {
                        at: until.max(due.at),
                        ..due
                    });
                }
            }
        }
    }

    fn due(&self, due: Due) -> Option<&Flow> {
        let place = &self.flows[due.place as usize];
        (place.generation == due.generation)
            .then_some(place.flow.as_ref())
            .flatten()
    }

    fn finish(&mut self, place: u32, end: End) {
        let seat = &mut self.flows[place as usize];
        seat.generation = seat.generation.wrapping_add(1);
        let mut flow = seat.flow.take().expect("a flow that ends is there");
        let found = self
            .table
            .find_entry(hash(&flow.key), |other| *other == place);
        found.expect("a flow has its entry").remove();
        self.free.push(place);
        flow.sides
            .iter_mut()
            .for_each(|side| side.end(self.options.pause));
        self.done.push(&flow, end);
    }
}

fn flow(flows: &[Place], place: u32) -> &Flow {
    flows[place as usize]
        .flow
        .as_ref()
        .expect("a place in the table has a flow")
}

/// Hashes with a fixed seed, so that two runs do the same.
#[inline]
fn hash(key: &Key) -> u64 {
    let ([low, high], small) = key.words();
    let mut hasher = FixedState::with_seed(0).build_hasher();
    hasher.write_u128(low);
    hasher.write_u128(high);
    hasher.write_u64(small);
    hasher.finish()
}
