//! A link of the network, as packets and ACKs of flows meet it.

use fullpipe_network::{Admission, Counted, Departure, DropCause, MeteredLink, PacketKind, Slab};
use fullpipe_path::{AnyLink, EcnCodepoint, Packet};
use fullpipe_scenario::EcnField;
use fullpipe_tcp::ACK_SIZE;
use fullpipe_trace::{FlowCounters, LinkRow, LinkSummary, MeasuredTime, PerFlowCounters};
use fullpipe_units::{Bytes, Span, Time};

use crate::event_queue::FlowKey;
use crate::flow::PacketInTransit;
use crate::waiting::{HopOfSlot, Load, Waiting, WaitingAck};

/// A link, and what the simulator keeps of the packets that wait in its queue.
#[derive(Debug)]
pub(crate) struct NetworkLink {
    link: MeteredLink<Waiting>,
    /// An ACK may take the place of an older one that waits.
    pub(crate) ack_filter: bool,
    /// It clears ECN fields.
    strips: bool,
    /// It clears ECN fields, or its queue decides.
    each_packet: bool,
    /// Where the queue decides: the ACKs that wait, and what befell each flow's packets.
    acks: Slab<WaitingAck>,
    flows: Option<PerFlowCounters>,
}

/// What a queue that decides sends, and when it is at the far end of hop `hop`.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) key: FlowKey,
    pub(crate) hop: usize,
    pub(crate) at: Time,
    /// An ACK is to be [taken](NetworkLink::take_ack) from the slab.
    pub(crate) load: Load,
}

/// Queues that tell flows apart see a flow's ACKs as another one than its data: they have other
/// addresses and ports.
const OF_ACKS: u32 = 1 << 31;

impl NetworkLink {
    /// An idle link, whose packets belong to so many flows and workloads.
    pub(crate) fn new(
        link: &fullpipe_scenario::Link,
        any: AnyLink<Waiting>,
        window: MeasuredTime,
        rtt: Span,
        accounts: usize,
    ) -> NetworkLink {
        let strips = link.ecn == EcnField::Strip;
        let metered = MeteredLink::new(link.name.clone(), any, link.delay, window, rtt);
        let managed = metered.is_managed();
        NetworkLink {
            ack_filter: link.ack_filter,
            link: metered,
            strips,
            each_packet: strips || managed,
            acks: Slab::default(),
            flows: managed.then(|| PerFlowCounters::new(window, accounts)),
        }
    }

    /// Whether packets are [stripped](NetworkLink::strip), or its queue decides.
    #[inline]
    pub(crate) fn handles_each_packet(&self) -> bool {
        self.each_packet
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
        self.link.is_managed()
    }

    /// A packet or an ACK arrives: how it passes the link, if it is not dropped.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        size: Bytes,
        kind: PacketKind,
    ) -> Result<Departure, DropCause> {
        self.link.arrive(now, size, kind)
    }

    /// A packet of a flow arrives on hop `hop` of its route.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        now: Time,
        account: u32,
        key: FlowKey,
        hop: usize,
        packet: PacketInTransit,
    ) -> Admission {
        let waiting = Waiting {
            load: Load::Data(packet),
            account,
            hop: HopOfSlot::new(key, hop),
        };
        let (size, ecn) = (packet.segment.wire_size(), ecn(&packet));
        self.admit(Packet::new(key.number(), size, ecn, now, waiting))
    }

    /// An ACK arrives: its place on the slab, and what becomes of it. It is not ECN-capable (RFC
    /// 3168 §6.1.4).
    pub(crate) fn offer_ack(&mut self, now: Time, ack: WaitingAck) -> (u32, Admission) {
        let (account, kind) = (ack.account, ack.kind());
        let (flow, hop) = (ack.key.number() | OF_ACKS, HopOfSlot::new(ack.key, ack.hop));
        let place = self.acks.put(ack);
        let waiting = Waiting {
            load: Load::Ack { place, kind },
            account,
            hop,
        };
        let packet = Packet::new(flow, ACK_SIZE, EcnCodepoint::NotEct, now, waiting);
        let admission = self.admit(packet);
        if admission == Admission::Policed {
            self.acks.take(place);
        }
        (place, admission)
    }

    #[inline(always)] // as is what it calls, once for packets and once for ACKs
    fn admit(&mut self, packet: Packet<Waiting>) -> Admission {
        let NetworkLink {
            link, acks, flows, ..
        } = self;
        let now = packet.arrived;
        link.offer(packet, &mut |waiting| {
            count_drop(now, &waiting, acks, flows)
        })
    }

    /// A link whose queue decides can send: what it sends.
    #[inline]
    pub(crate) fn send(&mut self, now: Time) -> Option<Sent> {
        let NetworkLink {
            link, acks, flows, ..
        } = self;
        let mut dropped = |waiting: Waiting| count_drop(now, &waiting, acks, flows);
        let (mut packet, Departure { waited, at }) = link.send(now, &mut dropped)?;
        let Waiting { load, account, hop } = &mut packet.payload;
        if let Load::Data(data) = load {
            data.waited += waited;
            if packet.marked {
                data.segment.ce = true;
                if let Some(flows) = flows.as_mut().filter(|_| !data.segment.syn) {
                    flows.on_mark(now, *account);
                }
            }
        }
        Some(Sent {
            key: FlowKey::new(packet.flow & !OF_ACKS, hop.slot()),
            hop: hop.hop(),
            at,
            load: *load,
        })
    }

    /// When it is to be called again after it was called to send, if something waits.
    #[inline]
    pub(crate) fn call_again_at(&mut self) -> Option<Time> {
        self.link.call_again_at()
    }

    /// The ACK that was sent from that place of the slab.
    pub(crate) fn take_ack(&mut self, place: u32) -> WaitingAck {
        self.acks.take(place)
    }

    /// The ACK at that place of the slab, if it is of that flow and hop still.
    pub(crate) fn waiting_ack(
        &mut self,
        place: u32,
        key: FlowKey,
        hop: usize,
    ) -> Option<&mut WaitingAck> {
        let waiting = self.acks.get(place);
        waiting.filter(|waiting| waiting.key == key && waiting.hop == hop)
    }

    /// Chance drops a packet in front of it.
    pub(crate) fn lose(&mut self, now: Time, kind: PacketKind) {
        self.link.lose(now, kind);
    }

    /// A packet comes twice.
    pub(crate) fn duplicate(&mut self, now: Time, kind: PacketKind) {
        self.link.duplicate(now, kind);
    }

    /// An ACK took the place of one that waited.
    pub(crate) fn filter_ack(&mut self, now: Time) {
        self.link.filter_ack(now);
    }

    /// Its metrics count nothing of what comes but packets.
    pub(crate) fn stop_counting(&mut self) {
        self.link.stop_counting();
    }

    /// What befell a flow's or a workload's packets and is not in its own meter.
    pub(crate) fn counters(&self, account: u32) -> FlowCounters {
        let of = |flows: &PerFlowCounters| flows.of(account);
        self.flows.as_ref().map(of).unwrap_or_default()
    }

    /// Data packets that left in the whole run.
    pub(crate) fn packets(&self) -> u64 {
        self.link.packets()
    }

    /// Its metrics within `window`.
    pub(crate) fn summary(&self, window: MeasuredTime) -> LinkSummary {
        self.link.summary(window)
    }

    /// Its row in the trace.
    pub(crate) fn observe(&mut self, now: Time, index: u32) -> LinkRow {
        let (queue_packets, queue_bytes, sojourn) = self.link.backlog(now);
        let (drops, marks) = self.link.drops_and_marks();
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

/// The queue dropped a packet: its flow's counts, and the place of an ACK.
#[cold]
fn count_drop(
    now: Time,
    waiting: &Waiting,
    acks: &mut Slab<WaitingAck>,
    flows: &mut Option<PerFlowCounters>,
) {
    if let Load::Ack { place, .. } = waiting.load {
        acks.take(place);
    }
    if let Some(flows) = flows {
        match waiting.kind() {
            PacketKind::Data => flows.on_drop(now, waiting.account),
            PacketKind::Ack => flows.on_ack_drop(now, waiting.account),
            PacketKind::Other => {}
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
