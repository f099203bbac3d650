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

/// What became of a packet that arrives.
#[derive(Debug)]
pub(crate) enum Passage {
    /// It waited so long, and is at the far end then.
    Through(Span, Time),
    /// It was dropped.
    Lost,
    /// It waits; if a time is given, the link is to be called then.
    Waits(Option<Time>),
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

    /// A data packet of `flow` arrives on hop `hop` of its route. A SYN takes its time and its place, but no part in the
    /// counts.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time, flow: u32, hop: usize, packet: &mut Travelling) -> Passage {
        let (size, data) = (packet.segment.wire_size(), !packet.segment.syn);
        match &mut self.element {
            Element::Constant(link) => {
                let verdict = link.arrive(now, size);
                self.conclude(now, verdict, data)
            }
            Element::Varying(_) => self.arrive_varying(now, size, data),
            Element::Managed(_) => self.arrive_managed(now, flow, hop, packet),
        }
    }

    /// The same for what is no data.
    #[inline]
    pub(crate) fn arrive_ack(&mut self, now: Time, size: Bytes) -> Passage {
        match &mut self.element {
            Element::Constant(link) => {
                let verdict = link.arrive(now, size);
                self.conclude(now, verdict, false)
            }
            Element::Varying(_) => self.arrive_varying(now, size, false),
            Element::Managed(_) => unreachable!("no scenario leads ACKs over a link whose queue decides"),
        }
    }

    /// Apart from the usual case, which it must not slow down.
    #[inline(never)]
    fn arrive_varying(&mut self, now: Time, size: Bytes, data: bool) -> Passage {
        let Element::Varying(link) = &mut self.element else { unreachable!("called for a varying link alone") };
        let verdict = link.arrive(now, size);
        self.conclude(now, verdict, data)
    }

    #[inline(always)] // both callers are worth it: a verdict that goes through memory costs them a percent of a run
    fn conclude(&mut self, now: Time, verdict: Verdict, data: bool) -> Passage {
        match verdict {
            Verdict::Departs { start, end } => {
                let waited = start - now;
                self.last_wait = waited;
                self.meter.on_transmission(waited, start, end, data);
                Passage::Through(waited, end + self.propagation)
            }
            lost => {
                if data {
                    self.count_drop(now, lost == Verdict::Policed);
                }
                Passage::Lost
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

    #[inline(never)]
    fn arrive_managed(&mut self, now: Time, flow: u32, hop: usize, packet: &mut Travelling) -> Passage {
        let NetworkLink { element: Element::Managed(managed), meter, total_drops, .. } = self else {
            unreachable!("called for a link whose queue decides alone")
        };
        let Managed { link, armed, tally } = &mut **managed;
        let held = Held { packet: *packet, hop: hop as u8 };
        let arriving = Packet::new(flow, packet.segment.wire_size(), ecn(packet), now, held);
        let mut count = |dropped: Packet<Held>| count_drop(&dropped, now, meter, tally, total_drops);
        if !link.arrive(arriving, &mut count) {
            if !packet.segment.syn {
                self.count_drop(now, true);
            }
            return Passage::Lost;
        }
        match link.ready_at() {
            // Nothing was being sent, so what goes next is this packet, if it goes.
            Some(at) if at <= now && !*armed => match self.send(now) {
                Some(sent) => {
                    *packet = sent.packet;
                    Passage::Through(Span::ZERO, sent.at)
                }
                None => Passage::Waits(None),
            },
            Some(at) if !*armed => {
                *armed = true;
                Passage::Waits(Some(at))
            }
            _ => Passage::Waits(None),
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
