//! The path at work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fullpipe_network::{DropCause, Outcome, PacketKind, Slab};
use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::{LinkSummary, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

use crate::directional_path::DirectionalPath;
use crate::link::{Arrival, EmulatedLink, PacketInTransit};
use crate::{Direction, EmulatedPacket, Observer};

/// Everything between the flows' two ends.
#[derive(Debug)]
pub struct Emulator<P> {
    links: Vec<EmulatedLink>,
    /// Of each flow, there and back.
    paths: Vec<[DirectionalPath; 2]>,
    slab: Slab<PacketInTransit<P>>,
    events: BinaryHeap<Reverse<Event>>,
    /// Events so far: what is due at one time comes in the order in which it became known.
    scheduled: u64,
    window: MeasuredTime,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Time,
    kind: EventKind,
    order: u64,
    /// A link, or a place on the slab.
    number: u32,
}

/// A link sends before another packet comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    Send,
    Arrival,
    Delivery,
}

/// The whole of a scenario's run, from `measure_from` on, for [`Emulator::new`].
pub fn whole(scenario: &Scenario) -> MeasuredTime {
    MeasuredTime::of_run(scenario.measure_from, scenario.duration)
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
        let paths = |flow| {
            [Direction::Forward, Direction::Reverse]
                .map(|direction| DirectionalPath::new(scenario, flow, direction))
        };
        Emulator {
            links: scenario
                .links()
                .enumerate()
                .map(|(i, link)| EmulatedLink::new(scenario, i, link, window))
                .collect(),
            paths: scenario.flows.iter().map(paths).collect(),
            slab: Slab::default(),
            events: BinaryHeap::new(),
            scheduled: 0,
            window,
        }
    }

    /// When something happens next, if nothing else arrives.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        self.events.peek().map(|Reverse(event)| event.at)
    }

    /// Lets everything happen that is due until `now`.
    pub fn advance(&mut self, now: Time, observer: &mut impl Observer<P>) {
        while let Some(Reverse(event)) = self
            .events
            .peek()
            .copied()
            .filter(|Reverse(event)| event.at <= now)
        {
            self.events.pop();
            match event.kind {
                EventKind::Send => self.send(event.at, event.number as usize, observer),
                EventKind::Arrival => self.arrive_at_hop(event.at, event.number, observer),
                EventKind::Delivery => {
                    let PacketInTransit { packet, waited, .. } = self.slab.take(event.number);
                    observer.delivered(event.at, waited, packet);
                }
            }
        }
    }

    /// A packet leaves one end at `now`. Times are told in order; what was due before happens
    /// first.
    pub fn arrive(
        &mut self,
        now: Time,
        packet: EmulatedPacket<P>,
        observer: &mut impl Observer<P>,
    ) {
        self.advance(now, observer);
        let (kind, counted) = (packet.kind, packet.kind != PacketKind::Other);
        let path = &mut self.paths[packet.flow as usize][packet.direction as usize];
        let link = path.counted_at;
        let outcome = path
            .entry
            .as_mut()
            .map_or(Outcome::Passes, |entry| entry.draw(0, now, counted));
        match outcome {
            Outcome::Passes => {}
            Outcome::Lost => {
                if let Some(link) = link {
                    self.links[link].lose(now, kind);
                }
                return observer.dropped(now, link, DropCause::Loss, &packet);
            }
            Outcome::Duplicated => {
                if let Some(link) = link {
                    self.links[link].duplicate(now, kind);
                }
                self.enter(now, packet.clone(), observer);
            }
        }
        self.enter(now, packet, observer);
        // A queue that decides may send at once.
        self.advance(now, observer);
    }

    fn enter(&mut self, now: Time, packet: EmulatedPacket<P>, observer: &mut impl Observer<P>) {
        let place = self.slab.put(PacketInTransit {
            packet,
            hop: 0,
            waited: Span::ZERO,
        });
        self.arrive_at_hop(now, place, observer);
    }

    /// A packet is where its next hop begins: at a link, or behind the last one.
    fn arrive_at_hop(&mut self, now: Time, place: u32, observer: &mut impl Observer<P>) {
        let PacketInTransit { packet, hop, .. } = self.slab.at(place);
        let kind = packet.kind;
        let path = &mut self.paths[packet.flow as usize][packet.direction as usize];
        let Some(hop) = path.hops.get_mut(*hop) else {
            return self.leave(now, place);
        };
        let (number, link) = (hop.link, &mut self.links[hop.link]);
        if hop
            .loss
            .as_mut()
            .is_some_and(|loss| loss.takes(now, kind != PacketKind::Other))
        {
            link.lose(now, kind);
            let lost = self.slab.take(place).packet;
            return observer.dropped(now, Some(number), DropCause::Loss, &lost);
        }
        match link.arrive(now, place, &mut self.slab, observer) {
            Arrival::Leaves(at) => self.go_on(at, place),
            Arrival::Queued(Some(at)) => self.schedule(at.max(now), EventKind::Send, number as u32),
            Arrival::Queued(None) | Arrival::Dropped => {}
        }
    }

    fn send(&mut self, now: Time, link: usize, observer: &mut impl Observer<P>) {
        let (sent, again) = self.links[link].send(now, &mut self.slab, observer);
        if let Some((place, at)) = sent {
            self.go_on(at, place);
        }
        if let Some(at) = again {
            self.schedule(at.max(now), EventKind::Send, link as u32);
        }
    }

    /// A packet is at the far end of its link at `at`.
    fn go_on(&mut self, at: Time, place: u32) {
        let PacketInTransit { packet, hop, .. } = self.slab.at(place);
        *hop += 1;
        if *hop
            < self.paths[packet.flow as usize][packet.direction as usize]
                .hops
                .len()
        {
            self.schedule(at, EventKind::Arrival, place);
        } else {
            self.leave(at, place);
        }
    }

    /// A packet goes on its line to the other end at `at`.
    fn leave(&mut self, at: Time, place: u32) {
        let EmulatedPacket {
            flow, direction, ..
        } = self.slab.at(place).packet;
        let (at, _) = self.paths[flow as usize][direction as usize]
            .line
            .arrival(at);
        self.schedule(at, EventKind::Delivery, place);
    }

    fn schedule(&mut self, at: Time, kind: EventKind, number: u32) {
        self.events.push(Reverse(Event {
            at,
            kind,
            order: self.scheduled,
            number,
        }));
        self.scheduled += 1;
    }

    /// Of a link: packets and bytes that wait at `now`, and how long the one that left last had
    /// waited.
    pub fn backlog(&mut self, link: usize, now: Time) -> (u64, Bytes, Span) {
        self.links[link].backlog(now)
    }

    /// Packets on their way.
    pub fn in_flight(&self) -> usize {
        self.slab.len()
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
