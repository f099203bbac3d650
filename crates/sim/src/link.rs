//! A link of the network.

use fullpipe_network::{Admission, Counted, Departure, DropCause, MeteredLink, PacketKind, Slab};
use fullpipe_path::{AnyLink, EcnCodepoint, Packet};
use fullpipe_scenario::EcnField;
use fullpipe_tcp::ACK_SIZE;
use fullpipe_trace::{FlowCounters, LinkRow, LinkSummary, MeasuredTime, PerFlowCounters, QueueRow};
use fullpipe_units::{Bytes, Span, Time};

use crate::event_queue::FlowKey;
use crate::flow::PacketInTransit;
use crate::shares::Shares;
use crate::waiting::{HopOfSlot, Load, Waiting, WaitingAck};

/// A link, with the simulator's state of the packets in its queue.
#[derive(Debug)]
pub(crate) struct NetworkLink {
    link: MeteredLink<Waiting>,
    /// Whether an ACK may replace an older one that waits.
    pub(crate) ack_filter: bool,
    /// Whether it clears ECN fields.
    strips: bool,
    /// Whether it clears ECN fields or has an AQM queue.
    each_packet: bool,
    /// With an AQM queue: the waiting ACKs, and the counters of each flow.
    acks: Slab<WaitingAck>,
    flows: Option<PerFlowCounters>,
    /// The part of each flow in the queue, if there is a trace.
    shares: Option<Box<Shares>>,
}

/// A packet sent by an AQM queue, with the time at which it is at the far end of hop `hop`.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) key: FlowKey,
    pub(crate) hop: usize,
    pub(crate) at: Time,
    /// The packet, or an ACK to be [taken](NetworkLink::take_ack) from the slab.
    pub(crate) load: Load,
}

/// Marks the flow number of ACKs: flow queues see a flow's ACKs as a separate flow, since their
/// addresses and ports differ from those of its data.
const OF_ACKS: u32 = 1 << 31;

impl NetworkLink {
    /// Creates an idle link for this number of flows and workloads.
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
            shares: None,
        }
    }

    /// Counts the parts of this number of flows and workloads from now on.
    pub(crate) fn record_shares(&mut self, accounts: usize) {
        self.shares = Some(Box::new(Shares::new(accounts, self.link.is_managed())));
    }

    /// Returns whether packets must be [stripped](NetworkLink::strip), or it has an AQM queue.
    #[inline]
    pub(crate) fn handles_each_packet(&self) -> bool {
        self.each_packet
    }

    /// Returns whether it counts the parts of flows.
    #[inline]
    pub(crate) fn is_recorded(&self) -> bool {
        self.shares.is_some()
    }

    /// Returns whether arrivals of this account's packets change nothing that is
    /// [recorded](NetworkLink::record).
    #[inline]
    pub(crate) fn is_whole(&self, account: u32) -> bool {
        let shares = self.shares.as_ref();
        shares.is_some_and(|shares| shares.is_whole(account))
    }

    /// Keeps the packets that an AQM queue drops, from now on.
    pub(crate) fn log_drops(&mut self) {
        if let Some(shares) = &mut self.shares {
            if !shares.counts_each() {
                shares.count_each(self.link.waiting(), self.link.drops_and_marks().0);
            }
            shares.dropped = Some(Vec::new());
        }
    }

    /// Takes the packets that the AQM queue has dropped, with their accounts.
    pub(crate) fn take_dropped(&mut self) -> Vec<(u32, PacketInTransit)> {
        let shares = self.shares.as_mut();
        shares
            .and_then(|shares| shares.dropped.take())
            .unwrap_or_default()
    }

    /// Clears the packet's ECN field, if the link does that.
    pub(crate) fn strip(&self, packet: &mut PacketInTransit) {
        if self.strips {
            (packet.segment.ecn, packet.segment.ce) = (EcnCodepoint::NotEct, false);
        }
    }

    /// Returns whether it has an AQM queue, to which packets are [offered](NetworkLink::offer).
    #[inline]
    pub(crate) fn is_managed(&self) -> bool {
        self.link.is_managed()
    }

    /// Handles the arrival of a packet or an ACK; returns its departure, or the reason for its
    /// drop.
    #[inline(always)] // an outcome that goes through memory costs a percent of a run
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        size: Bytes,
        kind: PacketKind,
    ) -> Result<Departure, DropCause> {
        self.link.arrive(now, size, kind)
    }

    /// Counts the part of a flow whose packet or ACK has [arrived](NetworkLink::arrive).
    pub(crate) fn record(
        &mut self,
        now: Time,
        account: u32,
        size: Bytes,
        kind: PacketKind,
        outcome: Result<Departure, DropCause>,
    ) {
        let Some(shares) = &mut self.shares else {
            return;
        };
        if shares.is_first(account) {
            return;
        }
        if !shares.counts_each() {
            // The queue and its drops are those of another account, except for this packet.
            let (mut waiting, (mut drops, _)) = (self.link.waiting(), self.link.drops_and_marks());
            match outcome {
                Ok(Departure { waited, .. }) if waited > Span::ZERO => drop(waiting.pop()),
                Ok(_) => {}
                Err(_) => drops -= u64::from(kind == PacketKind::Data),
            }
            shares.count_each(waiting, drops);
        }
        shares.on_arrival(now, account, size, kind, outcome);
    }

    /// Offers a packet of a flow, on hop `hop` of its route, to the AQM queue.
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
        let packet = Packet::new(key.number(), size, ecn, now, waiting);
        match self.shares {
            None => self.admit(packet),
            Some(_) => self.admit_recorded(packet),
        }
    }

    /// Offers an ACK to the AQM queue; returns its index in the slab, and the outcome. ACKs are not
    /// ECN-capable (RFC 3168 §6.1.4).
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
        let admission = match self.shares {
            None => self.admit(packet),
            Some(_) => self.admit_recorded(packet),
        };
        if admission == Admission::Policed {
            self.acks.take(place);
        }
        (place, admission)
    }

    #[inline(always)] // like its callee; instantiated for packets and for ACKs
    fn admit(&mut self, packet: Packet<Waiting>) -> Admission {
        let NetworkLink {
            link,
            acks,
            flows,
            shares,
            ..
        } = self;
        let now = packet.arrived;
        link.offer(packet, &mut |waiting| {
            count_drop(now, &waiting, acks, flows, shares)
        })
    }

    /// Counts the parts of a packet that is offered, and that of its drop by the policer.
    #[inline(never)] // few runs record a trace
    fn admit_recorded(&mut self, packet: Packet<Waiting>) -> Admission {
        let Waiting { load, account, .. } = packet.payload;
        if let Some(shares) = &mut self.shares {
            shares.enter(account, packet.size);
        }
        let admission = self.admit(packet);
        if let Some(shares) = self
            .shares
            .as_mut()
            .filter(|_| admission == Admission::Policed)
        {
            shares.leave(account, load.size());
            shares.on_drop(account, load.kind());
        }
        admission
    }

    /// Lets a link with an AQM queue send, and returns the packet or ACK sent.
    #[inline]
    pub(crate) fn send(&mut self, now: Time) -> Option<Sent> {
        let NetworkLink {
            link,
            acks,
            flows,
            shares,
            ..
        } = self;
        let mut dropped = |waiting: Waiting| count_drop(now, &waiting, acks, flows, shares);
        let (mut packet, Departure { waited, at }) = link.send(now, &mut dropped)?;
        let Waiting { load, account, hop } = &mut packet.payload;
        if let Some(shares) = shares {
            shares.on_departure(
                *account,
                packet.size,
                packet.marked && load.kind() == PacketKind::Data,
            );
        }
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

    /// Returns the time at which the caller must call `send` again after it has called it, if
    /// packets wait.
    #[inline]
    pub(crate) fn call_again_at(&mut self) -> Option<Time> {
        self.link.call_again_at()
    }

    /// Removes the ACK that was sent from its place in the slab.
    pub(crate) fn take_ack(&mut self, place: u32) -> WaitingAck {
        self.acks.take(place)
    }

    /// Returns the ACK at a place in the slab, if it still belongs to this flow and hop.
    pub(crate) fn waiting_ack(
        &mut self,
        place: u32,
        key: FlowKey,
        hop: usize,
    ) -> Option<&mut WaitingAck> {
        let waiting = self.acks.get(place);
        waiting.filter(|waiting| waiting.key == key && waiting.hop == hop)
    }

    /// Counts the loss of a packet in front of the link.
    pub(crate) fn lose(&mut self, now: Time, kind: PacketKind) {
        self.link.lose(now, kind);
    }

    /// Counts the duplication of a packet.
    pub(crate) fn duplicate(&mut self, now: Time, kind: PacketKind) {
        self.link.duplicate(now, kind);
    }

    /// Counts the replacement of a waiting ACK by a new one.
    pub(crate) fn filter_ack(&mut self, now: Time) {
        self.link.filter_ack(now);
    }

    /// Stops the metrics; from now on the link only counts packets.
    pub(crate) fn stop_counting(&mut self) {
        self.link.stop_counting();
    }

    /// Returns the counters of a flow's or a workload's packets that are not in its own meter.
    pub(crate) fn counters(&self, account: u32) -> FlowCounters {
        let of = |flows: &PerFlowCounters| flows.of(account);
        self.flows.as_ref().map(of).unwrap_or_default()
    }

    /// Returns the number of data packets that left, over the whole run.
    pub(crate) fn packets(&self) -> u64 {
        self.link.packets()
    }

    /// Returns the metrics of the link within `window`.
    pub(crate) fn summary(&self, window: MeasuredTime) -> LinkSummary {
        self.link.summary(window)
    }

    /// Returns the link's row in the trace.
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

    /// Returns the rows of each flow's part in the queue.
    pub(crate) fn observe_shares(
        &mut self,
        now: Time,
        index: u32,
    ) -> impl Iterator<Item = QueueRow> + '_ {
        let NetworkLink { link, shares, .. } = self;
        let shares = shares.as_mut().map(|shares| {
            let ((_, bytes, _), (drops, _)) = (link.backlog(now), link.drops_and_marks());
            shares.rows(now, index, bytes, drops)
        });
        shares.into_iter().flatten()
    }
}

/// Counts a packet that the queue dropped, and frees the place of an ACK.
#[cold]
fn count_drop(
    now: Time,
    waiting: &Waiting,
    acks: &mut Slab<WaitingAck>,
    flows: &mut Option<PerFlowCounters>,
    shares: &mut Option<Box<Shares>>,
) {
    if let Some(shares) = shares {
        shares.on_dropped(waiting);
    }
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

/// Returns the ECN codepoint of a packet.
fn ecn(packet: &PacketInTransit) -> EcnCodepoint {
    if packet.segment.ce {
        EcnCodepoint::Ce
    } else {
        packet.segment.ecn
    }
}
