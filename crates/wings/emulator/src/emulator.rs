//! The emulated path.

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
    /// Paths of each flow, forward and reverse.
    paths: Vec<[DirectionalPath; 2]>,
    slab: Slab<PacketInTransit<P>>,
    events: BinaryHeap<Reverse<Event>>,
    /// Number of events scheduled so far. Events at one time run in the order in which they were
    /// scheduled.
    scheduled: u64,
    window: MeasuredTime,
}

/// A scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Time,
    kind: EventKind,
    order: u64,
    /// Index of a link, or of a packet in the slab.
    number: u32,
}

/// Kind of event. At one time, a link sends before another packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    Send,
    Arrival,
    Delivery,
}

/// Returns the whole run of a scenario from `measure_from` on, for [`Emulator::new`].
pub fn whole(scenario: &Scenario) -> MeasuredTime {
    fullpipe_setup::window(scenario)
}

/// Refuses features that require access to the endpoints.
pub fn check(scenario: &Scenario) -> Result<(), Error> {
    match scenario.links().find(|link| link.ack_filter) {
        None => Ok(()),
        Some(link) => Err(scenario.error(
            &link.key("ack_filter"),
            "\"on\"",
            "only the simulator filters ACKs",
            "omit it here; \"off\" is the default",
        )),
    }
}

impl<P: Clone> Emulator<P> {
    /// Creates an idle path, whose metrics cover `window`.
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

    /// Returns the time of the next event, if no packet arrives before.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        self.events.peek().map(|Reverse(event)| event.at)
    }

    /// Runs all events due until `now`.
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

    /// Handles a packet that leaves one end at `now`, after all events due before. `now` must not
    /// decrease from call to call.
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
        // An AQM queue may send at once.
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

    /// Handles a packet at the beginning of its next hop: at a link, or behind the last one.
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

    /// Sends a packet on that is at the far end of its link at `at`.
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

    /// Puts a packet on its delay line to the other end at `at`.
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

    /// Returns the numbers of packets and bytes that wait in a link at `now`, and the waiting time
    /// of the packet that left last.
    pub fn backlog(&mut self, link: usize, now: Time) -> (u64, Bytes, Span) {
        self.links[link].backlog(now)
    }

    /// Returns the number of packets in transit.
    pub fn in_flight(&self) -> usize {
        self.slab.len()
    }

    /// Returns the metrics of the links until `end`, which is the end of the window, or earlier if
    /// the window was left open.
    pub fn summaries(&self, end: Time) -> Vec<LinkSummary> {
        let window = MeasuredTime::new(self.window.from, end.min(self.window.to));
        self.links.iter().map(|link| link.summary(window)).collect()
    }
}
