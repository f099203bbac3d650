//! A link of the network with what is measured on it.

use fullpipe_path::{EcnCodepoint, Link, ManagedLink, Measured, Packet, VaryingLink, Verdict};
use fullpipe_scenario::EcnField;
use fullpipe_tcp::{ACK_SIZE, AckKind};
use fullpipe_trace::{FlowCounters, LinkMeter, LinkRow, MeasuredTime, PerFlowCounters};
use fullpipe_units::{Bytes, Span, Time};

use crate::event_queue::FlowKey;
use crate::flow::PacketInTransit;
use crate::slab::{Slab, WaitingAck};

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
    link: ManagedLink<Buffered>,
    /// There is an entry on the event queue for when it can send again.
    armed: bool,
    /// The ACKs that wait.
    slab: Slab,
    pub(crate) tally: PerFlowCounters,
}

/// What the queue holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Buffered {
    /// A packet of a flow, in whose counts it is, and on which hop of its route.
    Data {
        packet: PacketInTransit,
        account: u32,
        place: Place,
    },
    /// An ACK, by its place on the slab.
    Ack { place: u32 },
}

/// The slot of a flow and a hop of its route: in four bytes, since queues move what they hold. The
/// flow's number is the packet's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(u32);

impl Place {
    fn new(key: FlowKey, hop: usize) -> Place {
        Place((key.slot() as u32) << 8 | u32::from(hop as u8))
    }

    fn slot(self) -> usize {
        (self.0 >> 8) as usize
    }

    fn hop(self) -> usize {
        usize::from(self.0 as u8)
    }
}

/// What became of a packet that a link whose queue decides was given.
#[derive(Debug)]
pub(crate) enum EnqueueOutcome {
    /// It is sent at once.
    Sent(Sent),
    /// It waits, or the queue dropped it, which is counted; if a time is given, the link is to be
    /// called then.
    Taken(Option<Time>),
    /// The policer dropped it.
    Policed,
}

/// What the queue chose to send, and when it is at the far end.
#[derive(Debug)]
pub(crate) enum Sent {
    Data {
        key: FlowKey,
        hop: usize,
        packet: PacketInTransit,
        at: Time,
    },
    /// To be [taken](NetworkLink::take_ack) from the slab.
    Ack { place: u32, at: Time },
}

/// Queues that tell flows apart see a flow's ACKs as another one than its data: they have other
/// addresses and ports.
const OF_ACKS: u32 = 1 << 31;

/// A link, its meter, and the propagation delay behind it.
#[derive(Debug)]
pub(crate) struct NetworkLink {
    pub(crate) name: String,
    element: Element,
    pub(crate) meter: LinkMeter,
    pub(crate) propagation: Span,
    /// An ACK may take the place of an older one that waits.
    pub(crate) ack_filter: bool,
    /// It clears ECN fields.
    strips: bool,
    /// It clears ECN fields, or its queue decides.
    special: bool,
    last_wait: Span,
    total_drops: u64,
    total_marks: u64,
}

impl Managed {
    pub(crate) fn new(
        link: ManagedLink<Buffered>,
        window: MeasuredTime,
        accounts: usize,
    ) -> Managed {
        Managed {
            link,
            armed: false,
            slab: Slab::default(),
            tally: PerFlowCounters::new(window, accounts),
        }
    }
}

impl NetworkLink {
    pub(crate) fn new(
        link: &fullpipe_scenario::Link,
        element: Element,
        window: MeasuredTime,
        rtt: Span,
    ) -> NetworkLink {
        let strips = link.ecn == EcnField::Strip;
        let MeasuredTime { from, to } = window;
        let offered = match &element {
            Element::Constant(_) => to - from,
            Element::Varying(link) => link.offered(from, to),
            Element::Managed(managed) => managed.link.offered(from, to),
        };
        NetworkLink {
            name: link.name.clone(),
            special: strips || matches!(element, Element::Managed(_)),
            element,
            meter: LinkMeter::new(window, offered, rtt),
            propagation: link.delay,
            ack_filter: link.ack_filter,
            strips,
            last_wait: Span::ZERO,
            total_drops: 0,
            total_marks: 0,
        }
    }

    /// Whether packets are [stripped](NetworkLink::strip), or its queue decides.
    #[inline]
    pub(crate) fn is_special(&self) -> bool {
        self.special
    }

    /// Clears the packet's ECN field, if that is what it does.
    pub(crate) fn strip(&self, packet: &mut PacketInTransit) {
        if self.strips {
            (packet.segment.ecn, packet.segment.ce) = (EcnCodepoint::NotEct, false);
        }
    }

    /// Whether its queue decides: then packets are [offered](NetworkLink::offer).
    #[inline]
    pub(crate) fn is_managed(&self) -> bool {
        matches!(self.element, Element::Managed(_))
    }

    /// A packet arrives: (how long it waits, when it is at the far end), or nothing when it is
    /// dropped. What is not data takes its time and its place, but no part in the counts.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time, size: Bytes, data: bool) -> Option<(Span, Time)> {
        match &mut self.element {
            Element::Constant(link) => {
                let verdict = link.arrive(now, size);
                self.conclude(now, verdict, None, data)
            }
            Element::Varying(_) => self.arrive_varying(now, size, data),
            Element::Managed(_) => unreachable!("a link whose queue decides is offered packets"),
        }
    }

    /// An ACK, or with `data` false the answer to a SYN, arrives: (when its transmission starts,
    /// when it is at the far end), or nothing when it is dropped.
    pub(crate) fn arrive_ack(&mut self, now: Time, data: bool) -> Option<(Time, Time)> {
        let Some((waited, at)) = self.arrive(now, ACK_SIZE, false) else {
            self.count_ack_drop(now, data);
            return None;
        };
        self.meter.on_ack_transmission(at - self.propagation, data);
        Some((now + waited, at))
    }

    fn count_ack_drop(&mut self, now: Time, data: bool) {
        if data {
            self.meter.on_ack_drop(now);
        }
    }

    /// Apart from the usual case, which it must not slow down.
    #[inline(never)]
    fn arrive_varying(&mut self, now: Time, size: Bytes, data: bool) -> Option<(Span, Time)> {
        let Element::Varying(link) = &mut self.element else {
            unreachable!("called for a varying link alone")
        };
        let verdict = link.arrive(now, size);
        let measured = link.measured();
        self.conclude(now, verdict, Some(measured), data)
    }

    /// What comes of a verdict. If nothing else is measured, a packet counts from its first bit to
    /// its last.
    // both callers are worth it: a verdict that goes through memory costs them a percent of a run
    #[inline(always)]
    fn conclude(
        &mut self,
        now: Time,
        verdict: Verdict,
        measured: Option<Measured>,
        data: bool,
    ) -> Option<(Span, Time)> {
        match verdict {
            Verdict::Departs { start, end } => {
                let waited = start - now;
                self.last_wait = waited;
                let sent_from = measured.map_or(start, |measured| measured.sent_from);
                self.meter.on_transmission(waited, sent_from, end, data);
                if let Some(Measured {
                    held_since, start, ..
                }) = measured.filter(|it| it.held_since < it.start)
                {
                    self.meter.on_held(waited, held_since, start);
                }
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
    #[inline]
    pub(crate) fn offer(
        &mut self,
        now: Time,
        account: u32,
        key: FlowKey,
        hop: usize,
        packet: PacketInTransit,
    ) -> EnqueueOutcome {
        let held = Buffered::Data {
            packet,
            account,
            place: Place::new(key, hop),
        };
        let arriving = Packet::new(
            key.number(),
            packet.segment.wire_size(),
            ecn(&packet),
            now,
            held,
        );
        let offer = self.take(now, arriving);
        if matches!(offer, EnqueueOutcome::Policed) && !packet.segment.syn {
            self.count_drop(now, true);
        }
        offer
    }

    /// An ACK arrives: its place on the slab, and what becomes of it. It is not ECN-capable (RFC
    /// 3168 §6.1.4).
    pub(crate) fn offer_ack(&mut self, now: Time, ack: WaitingAck) -> (u32, EnqueueOutcome) {
        let (flow, data) = (ack.key.number() | OF_ACKS, ack.ack.kind != AckKind::Syn);
        let place = self.managed().slab.put(ack);
        let offer = self.take(
            now,
            Packet::new(
                flow,
                ACK_SIZE,
                EcnCodepoint::NotEct,
                now,
                Buffered::Ack { place },
            ),
        );
        if matches!(offer, EnqueueOutcome::Policed) {
            self.managed().slab.take(place);
            self.count_ack_drop(now, data);
        }
        (place, offer)
    }

    /// The ACK that was sent from that place of the slab.
    pub(crate) fn take_ack(&mut self, place: u32) -> WaitingAck {
        self.managed().slab.take(place)
    }

    /// The ACK at that place of the slab, if it is of that flow and hop still.
    pub(crate) fn shelved(
        &mut self,
        place: u32,
        key: FlowKey,
        hop: usize,
    ) -> Option<&mut WaitingAck> {
        self.managed().slab.of(place, key, hop)
    }

    fn managed(&mut self) -> &mut Managed {
        let Element::Managed(managed) = &mut self.element else {
            unreachable!("ACKs are shelved where a queue decides")
        };
        managed
    }

    /// What becomes of a packet that arrives.
    #[inline]
    fn take(&mut self, now: Time, arriving: Packet<Buffered>) -> EnqueueOutcome {
        let NetworkLink {
            element: Element::Managed(managed),
            meter,
            total_drops,
            ..
        } = self
        else {
            unreachable!("only a link whose queue decides is offered packets")
        };
        let Managed {
            link,
            armed,
            slab,
            tally,
        } = &mut **managed;
        let mut count =
            |dropped: Packet<Buffered>| count_drop(&dropped, now, meter, slab, tally, total_drops);
        if !link.arrive(arriving, &mut count) {
            return EnqueueOutcome::Policed;
        }
        match link.ready_at() {
            _ if *armed => EnqueueOutcome::Taken(None),
            // Nothing was being sent, so what goes next is this one, if it goes.
            Some(at) if at <= now => match self.send(now) {
                Some(sent) => EnqueueOutcome::Sent(sent),
                None => EnqueueOutcome::Taken(self.call_again_at()),
            },
            at => {
                *armed = at.is_some();
                EnqueueOutcome::Taken(at)
            }
        }
    }

    /// A link whose queue decides can send: what it sends.
    pub(crate) fn send(&mut self, now: Time) -> Option<Sent> {
        let NetworkLink {
            element: Element::Managed(managed),
            meter,
            total_drops,
            ..
        } = self
        else {
            unreachable!("only a link whose queue decides is called to send")
        };
        let Managed {
            link, slab, tally, ..
        } = &mut **managed;
        let mut count =
            |dropped: Packet<Buffered>| count_drop(&dropped, now, meter, slab, tally, total_drops);
        let (sent, end) = link.send(now, &mut count)?;
        let Measured {
            held_since,
            start,
            sent_from,
        } = link.measured();
        let (waited, at) = (now - sent.arrived, end + self.propagation);
        self.last_wait = waited;
        if held_since < start {
            meter.on_held(waited, held_since, start);
        }
        let (mut packet, account, place) = match sent.payload {
            Buffered::Data {
                packet,
                account,
                place,
            } => (packet, account, place),
            Buffered::Ack { place } => {
                meter.on_transmission(waited, sent_from, end, false);
                meter.on_ack_transmission(end, slab.at(place).ack.kind != AckKind::Syn);
                return Some(Sent::Ack { place, at });
            }
        };
        let data = !packet.segment.syn;
        meter.on_transmission(waited, sent_from, end, data);
        if sent.marked {
            packet.segment.ce = true;
            if data {
                meter.on_mark(now);
                tally.on_mark(now, account);
                self.total_marks += 1;
            }
        }
        packet.waited += waited;
        Some(Sent::Data {
            key: FlowKey::new(sent.flow, place.slot()),
            hop: place.hop(),
            packet,
            at,
        })
    }

    /// When it is to be called again, if it is.
    pub(crate) fn call_again_at(&mut self) -> Option<Time> {
        let Element::Managed(managed) = &mut self.element else {
            return None;
        };
        let at = managed.link.ready_at();
        managed.armed = at.is_some();
        at
    }

    /// Of an account, what is not in its own meter.
    pub(crate) fn tally(&self, account: u32) -> FlowCounters {
        match &self.element {
            Element::Managed(managed) => managed.tally.of(account),
            Element::Constant(_) | Element::Varying(_) => FlowCounters::default(),
        }
    }

    /// Its row in the trace.
    pub(crate) fn observe(&mut self, now: Time, index: u32) -> LinkRow {
        let (queue_packets, queue_bytes) = match &mut self.element {
            Element::Constant(link) => link.backlog(now),
            Element::Varying(link) => link.backlog(now),
            Element::Managed(managed) => managed.link.backlog(),
        };
        let sojourn = if queue_packets == 0 {
            Span::ZERO
        } else {
            self.last_wait
        };
        let (drops, marks) = (self.total_drops, self.total_marks);
        LinkRow {
            time: now,
            link: index,
            queue_packets,
            queue_bytes,
            sojourn,
            drops,
            marks,
        }
    }
}

#[cold]
fn count_drop(
    dropped: &Packet<Buffered>,
    now: Time,
    meter: &mut LinkMeter,
    slab: &mut Slab,
    tally: &mut PerFlowCounters,
    total: &mut u64,
) {
    match dropped.payload {
        Buffered::Data {
            packet, account, ..
        } if !packet.segment.syn => {
            meter.on_drop(now);
            tally.on_drop(now, account);
            *total += 1;
        }
        Buffered::Data { .. } => {}
        Buffered::Ack { place } => {
            let WaitingAck { account, ack, .. } = slab.take(place);
            if ack.kind != AckKind::Syn {
                meter.on_ack_drop(now);
                tally.on_ack_drop(now, account);
            }
        }
    }
}

/// The ECN field of a packet on its way.
fn ecn(packet: &PacketInTransit) -> EcnCodepoint {
    if packet.segment.ce {
        EcnCodepoint::Ce
    } else {
        packet.segment.ecn
    }
}
