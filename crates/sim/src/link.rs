//! A link of the network with what is measured on it.

use path::{Ecn, Link, ManagedLink, Packet, VaryingLink, Verdict};
use trace::{LinkMeter, LinkRow, Tally, Window};
use units::{Bytes, Span, Time};

use crate::flow::Travelling;

/// What a packet meets at a link.
#[derive(Debug)]
pub(crate) enum Element {
    Constant(Link),
    Varying(Box<VaryingLink>),
    Managed(Box<Managed>),
}

/// A link whose queue decides.
#[derive(Debug)]
pub(crate) struct Managed {
    link: ManagedLink<Held>,
    /// There is an entry on the agenda for when it can send again.
    armed: bool,
    pub(crate) tally: Tally,
}

/// What the queue holds: a packet, and which hop of its flow's route this is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) packet: Travelling,
    pub(crate) hop: u8,
}

/// What became of a packet that a link whose queue decides was given.
#[derive(Debug)]
pub(crate) enum Offer {
    /// It is sent at once.
    Sent(Sent),
    /// It waits, or the queue dropped it, which is counted; if a time is given, the link is to be called then.
    Taken(Option<Time>),
    /// The policer dropped it.
    Policed,
}

/// A packet that the queue chose to send.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) flow: u32,
    pub(crate) hop: usize,
    pub(crate) packet: Travelling,
    /// When it is at the far end.
    pub(crate) at: Time,
}

/// A link, its meter, and the propagation delay behind it.
#[derive(Debug)]
pub(crate) struct NetworkLink {
    pub(crate) name: String,
    element: Element,
    pub(crate) meter: LinkMeter,
    pub(crate) propagation: Span,
    last_wait: Span,
    total_drops: u64,
    total_marks: u64,
}

impl Managed {
    pub(crate) fn new(link: ManagedLink<Held>, window: Window, flows: usize) -> Managed {
        Managed { link, armed: false, tally: Tally::new(window, flows) }
    }
}

impl NetworkLink {
    pub(crate) fn new(name: &str, element: Element, propagation: Span, window: Window) -> NetworkLink {
        NetworkLink {
            name: name.to_owned(),
            element,
            meter: LinkMeter::new(window),
            propagation,
            last_wait: Span::ZERO,
            total_drops: 0,
            total_marks: 0,
        }
    }

    /// Whether its queue decides: then packets are [offered](NetworkLink::offer).
    #[inline]
    pub(crate) fn is_managed(&self) -> bool {
        matches!(self.element, Element::Managed(_))
    }

    /// A packet arrives: (how long it waits, when it is at the far end), or nothing when it is dropped. What is not data
    /// takes its time and its place, but no part in the counts.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time, size: Bytes, data: bool) -> Option<(Span, Time)> {
        match &mut self.element {
            Element::Constant(link) => {
                let verdict = link.arrive(now, size);
                self.conclude(now, verdict, data)
            }
            Element::Varying(_) => self.arrive_varying(now, size, data),
            Element::Managed(_) => unreachable!("no scenario leads ACKs over a link whose queue decides"),
        }
    }

    /// Apart from the usual case, which it must not slow down.
    #[inline(never)]
    fn arrive_varying(&mut self, now: Time, size: Bytes, data: bool) -> Option<(Span, Time)> {
        let Element::Varying(link) = &mut self.element else { unreachable!("called for a varying link alone") };
        let verdict = link.arrive(now, size);
        self.conclude(now, verdict, data)
    }

    #[inline(always)] // both callers are worth it: a verdict that goes through memory costs them a percent of a run
    fn conclude(&mut self, now: Time, verdict: Verdict, data: bool) -> Option<(Span, Time)> {
        match verdict {
            Verdict::Departs { start, end } => {
                let waited = start - now;
                self.last_wait = waited;
                self.meter.on_transmission(waited, start, end, data);
                Some((waited, end + self.propagation))
            }
            lost => {
                if data {
                    self.count_drop(now, lost == Verdict::Policed);
                }
                None
            }
        }
    }

    #[cold]
    fn count_drop(&mut self, now: Time, policed: bool) {
        self.total_drops += 1;
        match policed {
            true => self.meter.on_policed(now),
            false => self.meter.on_drop(now),
        }
    }

    /// A packet of `flow` arrives on hop `hop` of its route.
    pub(crate) fn offer(&mut self, now: Time, flow: u32, hop: usize, packet: Travelling) -> Offer {
        let NetworkLink { element: Element::Managed(managed), meter, total_drops, .. } = self else {
            unreachable!("only a link whose queue decides is offered packets")
        };
        let Managed { link, armed, tally } = &mut **managed;
        let held = Held { packet, hop: hop as u8 };
        let arriving = Packet::new(flow, packet.segment.wire_size(), ecn(&packet), now, held);
        let mut count = |dropped: Packet<Held>| count_drop(&dropped, now, meter, tally, total_drops);
        if !link.arrive(arriving, &mut count) {
            if !packet.segment.syn {
                self.count_drop(now, true);
            }
            return Offer::Policed;
        }
        match link.ready_at() {
            _ if *armed => Offer::Taken(None),
            // Nothing was being sent, so what goes next is this packet, if it goes.
            Some(at) if at <= now => self.send(now).map_or(Offer::Taken(None), Offer::Sent),
            at => {
                *armed = at.is_some();
                Offer::Taken(at)
            }
        }
    }

    /// A link whose queue decides can send: what it sends.
    pub(crate) fn send(&mut self, now: Time) -> Option<Sent> {
        let NetworkLink { element: Element::Managed(managed), meter, total_drops, .. } = self else {
            unreachable!("only a link whose queue decides is called to send")
        };
        let Managed { link, tally, .. } = &mut **managed;
        let mut count = |dropped: Packet<Held>| count_drop(&dropped, now, meter, tally, total_drops);
        let (sent, end) = link.send(now, &mut count)?;
        let Held { mut packet, hop } = sent.payload;
        let (waited, data) = (now - sent.arrived, !packet.segment.syn);
        meter.on_transmission(waited, now, end, data);
        if sent.marked {
            packet.segment.ce = true;
            if data {
                meter.on_mark(now);
                tally.on_mark(now, sent.flow);
                self.total_marks += 1;
            }
        }
        packet.waited += waited;
        self.last_wait = waited;
        Some(Sent { flow: sent.flow, hop: usize::from(hop), packet, at: end + self.propagation })
    }

    /// When it is to be called again, if it is.
    pub(crate) fn call_again_at(&mut self) -> Option<Time> {
        let Element::Managed(managed) = &mut self.element else { return None };
        let at = managed.link.ready_at();
        managed.armed = at.is_some();
        at
    }

    /// Drops and marks of a flow that are not in its own meter.
    pub(crate) fn tally(&self, flow: u32) -> (u64, u64) {
        match &self.element {
            Element::Managed(managed) => managed.tally.of(flow),
            Element::Constant(_) | Element::Varying(_) => (0, 0),
        }
    }

    /// Its row in the trace.
    pub(crate) fn observe(&mut self, now: Time, index: u32) -> LinkRow {
        let (queue_packets, queue_bytes) = match &mut self.element {
            Element::Constant(link) => link.backlog(now),
            Element::Varying(link) => link.backlog(now),
            Element::Managed(managed) => managed.link.backlog(),
        };
        let sojourn = if queue_packets == 0 { Span::ZERO } else { self.last_wait };
        let (drops, marks) = (self.total_drops, self.total_marks);
        LinkRow { time: now, link: index, queue_packets, queue_bytes, sojourn, drops, marks }
    }
}

#[cold]
fn count_drop(dropped: &Packet<Held>, now: Time, meter: &mut LinkMeter, tally: &mut Tally, total: &mut u64) {
    if !dropped.payload.packet.segment.syn {
        meter.on_drop(now);
        tally.on_drop(now, dropped.flow);
        *total += 1;
    }
}

/// The ECN field of a packet on its way.
fn ecn(packet: &Travelling) -> Ecn {
    match packet.segment.ecn {
        _ if packet.segment.ce => Ecn::Ce,
        cc::Ecn::NotEct => Ecn::NotEct,
        cc::Ecn::Ect0 => Ecn::Ect0,
        cc::Ecn::Ect1 => Ecn::Ect1,
    }
}
