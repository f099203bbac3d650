//! A link, as its packets meet it.

use fullpipe_network::{Admission, Counted, Departure, DropCause, MeteredLink, PacketKind, Slab};
use fullpipe_path::{EcnCodepoint, Packet};
use fullpipe_scenario::{EcnField, Scenario};
use fullpipe_setup::elements;
use fullpipe_trace::{LinkSummary, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

use crate::{EmulatedPacket, LinkTransit, Observer};

/// A packet on its way.
#[derive(Debug)]
pub(crate) struct PacketInTransit<P> {
    pub(crate) packet: EmulatedPacket<P>,
    /// The hop of its route that it is at, or goes to.
    pub(crate) hop: usize,
    /// How long it has waited in queues.
    pub(crate) waited: Span,
}

/// A packet in a queue: its place on the slab, and what it counts as.
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
    /// It clears ECN fields.
    strips: bool,
}

/// What became of a packet that came to a link.
pub(crate) enum Arrival {
    /// It is at the far end then.
    Leaves(Time),
    /// It lies in the queue, or was dropped there; the link is to be called then, if a time is
    /// given.
    Queued(Option<Time>),
    /// It was dropped.
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

    /// The packet on that place of the slab arrives.
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

    /// The same behind a queue that decides.
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

    /// A link whose queue decides can send: what it sends, by its place, and when that is at the
    /// far end; and when it is to be called again.
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

    /// A packet leaves; when it is at the far end.
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

    /// Chance drops a packet in front of it.
    pub(crate) fn lose(&mut self, now: Time, kind: PacketKind) {
        self.link.lose(now, kind);
    }

    /// A packet comes twice.
    pub(crate) fn duplicate(&mut self, now: Time, kind: PacketKind) {
        self.link.duplicate(now, kind);
    }

    /// Packets and bytes that wait, and how long the one that left last had waited.
    pub(crate) fn backlog(&mut self, now: Time) -> (u64, Bytes, Span) {
        self.link.backlog(now)
    }

    /// Its metrics within `window`.
    pub(crate) fn summary(&self, window: MeasuredTime) -> LinkSummary {
        self.link.summary(window)
    }
}
