//! A link of the emulated path.

use fullpipe_network::{Admission, Counted, Departure, DropCause, MeteredLink, PacketKind, Slab};
use fullpipe_path::{EcnCodepoint, Packet};
use fullpipe_scenario::{EcnField, Scenario};
use fullpipe_setup::elements;
use fullpipe_trace::{LinkSummary, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

use crate::{EmulatedPacket, LinkTransit, Observer};

/// A packet in transit.
#[derive(Debug)]
pub(crate) struct PacketInTransit<P> {
    pub(crate) packet: EmulatedPacket<P>,
    /// Index of the hop where the packet is, or to which it travels.
    pub(crate) hop: usize,
    /// Time spent in queues so far.
    pub(crate) waited: Span,
}

/// A packet in a queue: its index in the slab, and its kind for the counters.
#[derive(Clone, Copy, Debug)]
struct Queued {
    place: u32,
    kind: PacketKind,
}

impl Counted for Queued {
    fn kind(&self) -> PacketKind {
        self.kind
    }
}

#[derive(Debug)]
pub(crate) struct EmulatedLink {
    number: usize,
    link: MeteredLink<Queued>,
    /// Whether the link clears ECN fields.
    strips: bool,
}

/// Outcome for a packet that arrives at a link.
pub(crate) enum Arrival {
    /// The packet is at the far end at this time.
    Leaves(Time),
    /// The packet waits in the queue, or was dropped there; the link must be called at the time, if
    /// given.
    Queued(Option<Time>),
    /// The packet was dropped.
    Dropped,
}

impl EmulatedLink {
    pub(crate) fn new(
        scenario: &Scenario,
        number: usize,
        link: &fullpipe_scenario::Link,
        window: MeasuredTime,
    ) -> EmulatedLink {
        let any = elements::link(scenario, number);
        let rtt = scenario.path.rtt;
        EmulatedLink {
            number,
            link: MeteredLink::new(link.name.clone(), any, link.delay, window, rtt),
            strips: link.ecn == EcnField::Strip,
        }
    }

    /// Handles the arrival of the packet at an index of the slab.
    pub(crate) fn arrive<P>(
        &mut self,
        now: Time,
        place: u32,
        slab: &mut Slab<PacketInTransit<P>>,
        observer: &mut impl Observer<P>,
    ) -> Arrival {
        let in_transit = slab.at(place);
        let packet = &mut in_transit.packet;
        if self.strips {
            packet.ecn = EcnCodepoint::NotEct;
        }
        if self.link.is_managed() {
            return self.offer(now, place, slab, observer);
        }
        match self.link.arrive(now, packet.size, packet.kind) {
            Ok(departure) => {
                Arrival::Leaves(self.passes(now, departure, false, in_transit, observer))
            }
            Err(cause) => {
                let dropped = slab.take(place).packet;
                observer.dropped(now, Some(self.number), cause, &dropped);
                Arrival::Dropped
            }
        }
    }

    /// Handles an arrival at an AQM queue.
    fn offer<P>(
        &mut self,
        now: Time,
        place: u32,
        slab: &mut Slab<PacketInTransit<P>>,
        observer: &mut impl Observer<P>,
    ) -> Arrival {
        let EmulatedPacket {
            key,
            size,
            ecn,
            kind,
            ..
        } = slab.at(place).packet;
        let packet = Packet::new(key, size, ecn, now, Queued { place, kind });
        let number = self.number;
        let mut dropped = |place: u32, cause: DropCause| {
            let dropped = slab.take(place).packet;
            observer.dropped(now, Some(number), cause, &dropped);
        };
        let admission = self.link.offer(packet, &mut |queued| {
            dropped(queued.place, DropCause::Queue)
        });
        match admission {
            Admission::Ready => Arrival::Queued(self.link.call_again_at()),
            Admission::Queued(at) => Arrival::Queued(at),
            Admission::Policed => {
                dropped(place, DropCause::Policer);
                Arrival::Dropped
            }
        }
    }

    /// Lets a link with an AQM queue send. Returns the index of the packet sent and the time at
    /// which it is at the far end, and the time of the next call.
    pub(crate) fn send<P>(
        &mut self,
        now: Time,
        slab: &mut Slab<PacketInTransit<P>>,
        observer: &mut impl Observer<P>,
    ) -> (Option<(u32, Time)>, Option<Time>) {
        let number = self.number;
        let sent = self.link.send(now, &mut |queued| {
            let dropped = slab.take(queued.place).packet;
            observer.dropped(now, Some(number), DropCause::Queue, &dropped);
        });
        let sent = sent.map(|(packet, departure)| {
            let place = packet.payload.place;
            let in_transit = slab.at(place);
            in_transit.packet.ecn = packet.ecn;
            let (arrived, marked) = (packet.arrived, packet.marked);
            let at = self.passes(arrived, departure, marked, in_transit, observer);
            (place, at)
        });
        (sent, self.link.call_again_at())
    }

    /// Reports a departure; returns the time at which the packet is at the far end.
    fn passes<P>(
        &self,
        arrived: Time,
        Departure { waited, at }: Departure,
        marked: bool,
        in_transit: &mut PacketInTransit<P>,
        observer: &mut impl Observer<P>,
    ) -> Time {
        in_transit.waited += waited;
        let transit = LinkTransit {
            link: self.number,
            arrived,
            start: arrived + waited,
            end: self.link.left_at(at),
            marked,
        };
        observer.passed(&transit, &in_transit.packet);
        at
    }

    /// Counts the loss of a packet in front of the link.
    pub(crate) fn lose(&mut self, now: Time, kind: PacketKind) {
        self.link.lose(now, kind);
    }

    /// Counts the duplication of a packet.
    pub(crate) fn duplicate(&mut self, now: Time, kind: PacketKind) {
        self.link.duplicate(now, kind);
    }

    /// Returns the numbers of packets and bytes that wait, and the waiting time of the packet that
    /// left last.
    pub(crate) fn backlog(&mut self, now: Time) -> (u64, Bytes, Span) {
        self.link.backlog(now)
    }

    /// Returns the metrics of the link within `window`.
    pub(crate) fn summary(&self, window: MeasuredTime) -> LinkSummary {
        self.link.summary(window)
    }
}
