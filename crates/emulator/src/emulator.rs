//! The path at work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::{LinkSummary, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

use crate::directional_path::{DirectionalPath, takes};
use crate::link::{Fate, Link};
use crate::slab::{PacketInTransit, Slab};
use crate::{Cause, Direction, EmulatedPacket, Observer, PacketKind};

/// Everything between the flows' two ends.
#[derive(Debug)]
pub struct Emulator<P> {
    links: Vec<Link>,
    /// Of each flow, there and back.
    ways: Vec<[DirectionalPath; 2]>,
    shelf: Slab<P>,
    agenda: BinaryHeap<Reverse<Due>>,
    /// Entries so far: what is due at one time comes in the order in which it became known.
    entries: u64,
    window: MeasuredTime,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    what: What,
    entry: u64,
    /// A link, or a place on the shelf.
    number: u32,
}

/// A link sends before another packet comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Send,
    Arrival,
    Delivery,
}

/// The whole of a scenario's run, from `measure_from` on, for [`Emulator::new`].
pub fn whole(scenario: &Scenario) -> MeasuredTime {
    MeasuredTime {
        from: Time::ZERO + scenario.measure_from,
        to: Time::ZERO + scenario.duration,
    }
}

/// Refuses what needs a look into the endpoints.
pub fn check(scenario: &Scenario) -> Result<(), Error> {
    match scenario.links().find(|link| link.ack_filter) {
        None => Ok(()),
        Some(link) => Err(scenario.error(
            &link.key("ack_filter"),
            "\"on\"",
            "only the simulator filters ACKs",
            "leave it out here; \"off\" is the default",
        )),
    }
}

impl<P: Clone> Emulator<P> {
    /// An idle path, whose metrics count what happens within `window`.
    pub fn new(scenario: &Scenario, window: MeasuredTime) -> Emulator<P> {
        let ways = |flow| {
            [Direction::Forward, Direction::Reverse]
                .map(|way| DirectionalPath::new(scenario, flow, way))
        };
        Emulator {
            links: scenario
                .links()
                .enumerate()
                .map(|(i, link)| Link::new(scenario, i, link, window))
                .collect(),
            ways: scenario.flows.iter().map(ways).collect(),
            shelf: Slab::new(),
            agenda: BinaryHeap::new(),
            entries: 0,
            window,
        }
    }

    /// When something happens next, if nothing else arrives.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        self.agenda.peek().map(|Reverse(due)| due.at)
    }

    /// Lets everything happen that is due until `now`.
    pub fn advance(&mut self, now: Time, watch: &mut impl Observer<P>) {
        while let Some(Reverse(due)) = self
            .agenda
            .peek()
            .copied()
            .filter(|Reverse(due)| due.at <= now)
        {
            self.agenda.pop();
            match due.what {
                What::Send => self.send(due.at, due.number as usize, watch),
                What::Arrival => self.arrive_at_hop(due.at, due.number, watch),
                What::Delivery => {
                    let PacketInTransit { parcel, waited, .. } = self.shelf.take(due.number);
                    watch.delivered(due.at, waited, parcel);
                }
            }
        }
    }

    /// A packet leaves one end at `now`. Times are told in order; what was due before happens
    /// first.
    pub fn arrive(&mut self, now: Time, parcel: EmulatedPacket<P>, watch: &mut impl Observer<P>) {
        self.advance(now, watch);
        let way = &mut self.ways[parcel.flow as usize][parcel.direction as usize];
        let first = way.hops.first().filter(|_| way.counts).map(|hop| hop.link);
        if takes(&mut way.loss, now, parcel.kind) {
            if let Some(link) = first {
                self.links[link].lose(now, parcel.kind);
            }
            return watch.dropped(now, first, Cause::Loss, &parcel);
        }
        if way.doubles(now, parcel.kind) {
            if let Some(link) = first.filter(|_| parcel.kind == PacketKind::Data) {
                self.links[link].double(now);
            }
            self.enter(now, parcel.clone(), watch);
        }
        self.enter(now, parcel, watch);
        // A queue that decides may send at once.
        self.advance(now, watch);
    }

    fn enter(&mut self, now: Time, parcel: EmulatedPacket<P>, watch: &mut impl Observer<P>) {
        let place = self.shelf.put(PacketInTransit {
            parcel,
            hop: 0,
            waited: Span::ZERO,
            arrived: now,
        });
        self.arrive_at_hop(now, place, watch);
    }

    /// A packet is where its next hop begins: at a link, or behind the last one.
    fn arrive_at_hop(&mut self, now: Time, place: u32, watch: &mut impl Observer<P>) {
        let PacketInTransit { parcel, hop, .. } = self.shelf.at(place);
        let way = &mut self.ways[parcel.flow as usize][parcel.direction as usize];
        let Some(hop) = way.hops.get_mut(*hop) else {
            return self.leave(now, place);
        };
        let link = &mut self.links[hop.link];
        if takes(&mut hop.loss, now, parcel.kind) {
            link.lose(now, parcel.kind);
            let number = hop.link;
            let lost = self.shelf.take(place);
            return watch.dropped(now, Some(number), Cause::Loss, &lost.parcel);
        }
        let number = hop.link as u32;
        match link.arrive(now, place, &mut self.shelf, watch) {
            Fate::Leaves(at) => self.go_on(at, place),
            Fate::Taken(Some(at)) => self.note(at.max(now), What::Send, number),
            Fate::Taken(None) | Fate::Dropped => {}
        }
    }

    fn send(&mut self, now: Time, link: usize, watch: &mut impl Observer<P>) {
        let (sent, again) = self.links[link].send(now, &mut self.shelf, watch);
        if let Some((place, at)) = sent {
            self.go_on(at, place);
        }
        if let Some(at) = again {
            self.note(at.max(now), What::Send, link as u32);
        }
    }

    /// A packet is at the far end of its link at `at`.
    fn go_on(&mut self, at: Time, place: u32) {
        let PacketInTransit { parcel, hop, .. } = self.shelf.at(place);
        *hop += 1;
        if *hop
            < self.ways[parcel.flow as usize][parcel.direction as usize]
                .hops
                .len()
        {
            self.note(at, What::Arrival, place);
        } else {
            self.leave(at, place);
        }
    }

    /// A packet goes on its line to the other end at `at`.
    fn leave(&mut self, at: Time, place: u32) {
        let EmulatedPacket {
            flow, direction, ..
        } = self.shelf.at(place).parcel;
        let (at, _) = self.ways[flow as usize][direction as usize]
            .line
            .arrival(at);
        self.note(at, What::Delivery, place);
    }

    fn note(&mut self, at: Time, what: What, number: u32) {
        self.agenda.push(Reverse(Due {
            at,
            what,
            entry: self.entries,
            number,
        }));
        self.entries += 1;
    }

    /// Of a link: packets and bytes that wait at `now`, and how long the one that left last had
    /// waited.
    pub fn backlog(&mut self, link: usize, now: Time) -> (u64, Bytes, Span) {
        self.links[link].backlog(now)
    }

    /// Packets on their way.
    pub fn in_flight(&self) -> usize {
        self.shelf.len()
    }

    /// The links' metrics until `end`, which is that of the window, or before it when that was left
    /// open.
    pub fn summaries(&self, end: Time) -> Vec<LinkSummary> {
        let window = MeasuredTime {
            from: self.window.from,
            to: end.min(self.window.to),
        };
        self.links.iter().map(|link| link.summary(window)).collect()
    }
}
