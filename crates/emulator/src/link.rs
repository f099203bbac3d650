//! A link with its meter.

use fullpipe_path::{EcnCodepoint, Measured, Packet, Verdict};
use fullpipe_scenario::{EcnField, Scenario};
use fullpipe_setup::{Element, elements};
use fullpipe_trace::{LinkMeter, LinkSummary, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

use crate::slab::{PacketInTransit, Slab};
use crate::{Cause, EmulatedPacket, LinkTransit, Observer, PacketKind};

#[derive(Debug)]
pub(crate) struct Link {
    name: String,
    number: usize,
    element: Element<u32>,
    /// One-way, behind it.
    propagation: Span,
    strips: bool,
    /// The agenda has an entry for when a queue that decides can send.
    armed: bool,
    meter: LinkMeter,
    last_wait: Span,
}

/// What became of a packet that came to a link.
pub(crate) enum Fate {
    /// It is at the far end then.
    Leaves(Time),
    /// It lies in the queue, or was dropped there; the link is to be called then, if a time is
    /// given.
    Taken(Option<Time>),
    /// It was dropped.
    Dropped,
}

impl Link {
    pub(crate) fn new(
        scenario: &Scenario,
        number: usize,
        link: &fullpipe_scenario::Link,
        window: MeasuredTime,
    ) -> Link {
        Link {
            name: link.name.clone(),
            number,
            element: elements::link(scenario, number),
            propagation: link.delay,
            strips: link.ecn == EcnField::Strip,
            armed: false,
            meter: LinkMeter::new(window, Span::ZERO, scenario.path.rtt),
            last_wait: Span::ZERO,
        }
    }

    /// The packet on that place of the shelf arrives.
    pub(crate) fn arrive<P>(
        &mut self,
        now: Time,
        place: u32,
        shelf: &mut Slab<P>,
        watch: &mut impl Observer<P>,
    ) -> Fate {
        let travelling = shelf.at(place);
        travelling.arrived = now;
        let parcel = &mut travelling.parcel;
        if self.strips {
            parcel.ecn = EcnCodepoint::NotEct;
        }
        let (verdict, measured) = match &mut self.element {
            Element::Constant(link) => (link.arrive(now, parcel.size), None),
            Element::Varying(link) => (link.arrive(now, parcel.size), Some(link.measured())),
            Element::Managed(_) => return self.offer(now, place, shelf, watch),
        };
        match verdict {
            Verdict::Departs { start, end } => {
                let measured = measured.unwrap_or(Measured {
                    held_since: start,
                    start,
                    sent_from: start,
                });
                Fate::Leaves(self.passes(travelling, measured, end, false, watch))
            }
            Verdict::Dropped | Verdict::Policed => {
                let cause = if verdict == Verdict::Policed {
                    Cause::Policer
                } else {
                    Cause::Queue
                };
                self.count_drop(now, parcel.kind, cause);
                watch.dropped(now, Some(self.number), cause, parcel);
                shelf.take(place);
                Fate::Dropped
            }
        }
    }

    /// The same behind a queue that decides.
    fn offer<P>(
        &mut self,
        now: Time,
        place: u32,
        shelf: &mut Slab<P>,
        watch: &mut impl Observer<P>,
    ) -> Fate {
        let Element::Managed(link) = &mut self.element else {
            unreachable!("only such links are offered packets")
        };
        let EmulatedPacket { key, size, ecn, .. } = shelf.at(place).parcel;
        let packet = Packet::new(key, size, ecn, now, place);
        let mut dropped = Vec::new();
        let admitted = link.arrive(packet, &mut |packet: Packet<u32>| {
            dropped.push(packet.payload)
        });
        let ready = link.ready_at();
        if !admitted {
            self.drop_shelved(now, Cause::Policer, place, shelf, watch);
            return Fate::Dropped;
        }
        for place in dropped {
            self.drop_shelved(now, Cause::Queue, place, shelf, watch);
        }
        if self.armed {
            return Fate::Taken(None);
        }
        self.armed = ready.is_some();
        Fate::Taken(ready)
    }

    /// A link whose queue decides can send: what it sends, by its place, and when that is at the
    /// far end.
    pub(crate) fn send<P>(
        &mut self,
        now: Time,
        shelf: &mut Slab<P>,
        watch: &mut impl Observer<P>,
    ) -> (Option<(u32, Time)>, Option<Time>) {
        let Element::Managed(link) = &mut self.element else {
            unreachable!("only such links are called to send")
        };
        let mut dropped = Vec::new();
        let sent = link.send(now, &mut |packet: Packet<u32>| dropped.push(packet.payload));
        let (measured, again) = (link.measured(), link.ready_at());
        self.armed = again.is_some();
        for place in dropped {
            self.drop_shelved(now, Cause::Queue, place, shelf, watch);
        }
        let sent = sent.map(|(packet, end)| {
            let travelling = shelf.at(packet.payload);
            travelling.parcel.ecn = packet.ecn;
            let at = self.passes(travelling, measured, end, packet.marked, watch);
            (packet.payload, at)
        });
        (sent, again)
    }

    /// A packet leaves; when it is at the far end.
    fn passes<P>(
        &mut self,
        travelling: &mut PacketInTransit<P>,
        Measured {
            held_since,
            start,
            sent_from,
        }: Measured,
        end: Time,
        marked: bool,
        watch: &mut impl Observer<P>,
    ) -> Time {
        let PacketInTransit {
            parcel,
            waited: total,
            arrived,
            ..
        } = travelling;
        let waited = start - *arrived;
        *total += waited;
        self.last_wait = waited;
        if held_since < start {
            self.meter.on_held(waited, held_since, start);
        }
        self.meter
            .on_transmission(waited, sent_from, end, parcel.kind == PacketKind::Data);
        if parcel.kind == PacketKind::Ack {
            self.meter.on_ack_transmission(end, true);
        }
        if marked && parcel.kind == PacketKind::Data {
            self.meter.on_mark(start);
        }
        watch.passed(
            &LinkTransit {
                link: self.number,
                arrived: *arrived,
                start,
                end,
                marked,
            },
            parcel,
        );
        end + self.propagation
    }

    /// Chance drops a packet in front of it.
    pub(crate) fn lose(&mut self, now: Time, kind: PacketKind) {
        self.count_drop(now, kind, Cause::Loss);
    }

    /// A packet of data comes twice.
    pub(crate) fn double(&mut self, now: Time) {
        self.meter.on_duplicate(now);
    }

    fn drop_shelved<P>(
        &mut self,
        now: Time,
        cause: Cause,
        place: u32,
        shelf: &mut Slab<P>,
        watch: &mut impl Observer<P>,
    ) {
        let dropped = shelf.take(place);
        self.count_drop(now, dropped.parcel.kind, cause);
        watch.dropped(now, Some(self.number), cause, &dropped.parcel);
    }

    fn count_drop(&mut self, now: Time, kind: PacketKind, cause: Cause) {
        match (kind, cause) {
            (PacketKind::Other, _) => {}
            (PacketKind::Ack, _) => self.meter.on_ack_drop(now),
            (PacketKind::Data, Cause::Loss) => self.meter.on_loss(now),
            (PacketKind::Data, Cause::Queue) => self.meter.on_drop(now),
            (PacketKind::Data, Cause::Policer) => self.meter.on_policed(now),
        }
    }

    /// Packets and bytes that wait, and how long the one that left last had waited.
    pub(crate) fn backlog(&mut self, now: Time) -> (u64, Bytes, Span) {
        let (packets, bytes) = match &mut self.element {
            Element::Constant(link) => link.backlog(now),
            Element::Varying(link) => link.backlog(now),
            Element::Managed(link) => link.backlog(),
        };
        (
            packets,
            bytes,
            if packets == 0 {
                Span::ZERO
            } else {
                self.last_wait
            },
        )
    }

    /// Its metrics within `window`.
    pub(crate) fn summary(&self, window: MeasuredTime) -> LinkSummary {
        let MeasuredTime { from, to } = window;
        let offered = match &self.element {
            Element::Constant(_) => to - from,
            Element::Varying(link) => link.offered(from, to),
            Element::Managed(link) => link.offered(from, to),
        };
        LinkSummary::new(self.name.clone(), &self.meter.clone().with_offered(offered))
    }
}
