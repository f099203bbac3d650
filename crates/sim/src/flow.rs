//! One flow: its endpoints and what it has on the way between them.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_cc::{AnyController, Observer, Transition};
use fullpipe_network::{Admission, Impairments, Outcome, PacketKind, Passage};
use fullpipe_path::{DelayLine, Serialiser};
use fullpipe_tcp::{Ack, Answer, Block, Receiver, Segment, Sender, Unresponsive};
use fullpipe_trace::{FlowMeter, Response, TransitionRow};
use fullpipe_units::{Rng, Span, Time};
use smallvec::SmallVec;

use crate::arrivals::{Arrived, KEPT};
use crate::event_queue::{EventKind, EventQueue, FlowKey};
use crate::host::{ReceivingHost, SendingHost};
use crate::in_flight::InFlight;
use crate::link::{NetworkLink, Sent};
use crate::prefetch::{prefetch, prefetch_at};
use crate::reverse::ReverseHop;
use crate::waiting::Load;

/// One item a hop; that of a dumbbell's one hop lies in the flow itself.
pub(crate) type PerHop<T> = SmallVec<[T; 1]>;

/// Who sends.
#[derive(Debug)]
pub(crate) enum AnySender {
    Tcp(Sender<AnyController>),
    /// A TCP sender on a host that takes time.
    Hosted(Box<SendingHost>),
    Unresponsive(Unresponsive),
    /// One that has arrived, and is done.
    Closed(Sender<AnyController>),
    /// Nobody any more.
    Gone,
}

/// A data packet between two hops, and how long it has waited in queues so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketInTransit {
    pub(crate) segment: Segment,
    pub(crate) waited: Span,
}

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) key: FlowKey,
    pub(crate) source: AnySender,
    pub(crate) receiver: Receiver,
    pub(crate) wire: FlowPath,
    pub(crate) meter: FlowMeter,
    /// The events that count; later ones of the same class are stale.
    pub(crate) timer: LazyTimer,
    pub(crate) departure: LazyTimer,
    /// What is in order when the transfer, or the answer, is complete, if it ends.
    pub(crate) total: Option<fullpipe_units::Bytes>,
    pub(crate) transitions: Transitions,
    /// The trace's groups of columns, of the sender's and the receiver's algorithm, and what the
    /// last ACK told.
    pub(crate) group: usize,
    pub(crate) window_group: Option<usize>,
    pub(crate) last: fullpipe_tcp::AckOutcome,
    /// Its last row is in the trace.
    pub(crate) finished: bool,
    /// Somebody is told of each of its ACKs: the trace, or those that wait for its end.
    pub(crate) watched: bool,
    /// Which one it is of those that arrive, if it is one of them; when its connection was over,
    /// and that this was noticed.
    pub(crate) arrived: Option<Arrived>,
    pub(crate) closed: Option<Time>,
    pub(crate) settled: bool,
}

/// What lies between the endpoints: its own access link and delays, and the FIFOs of packets in
/// flight to the network's links.
#[derive(Debug)]
pub(crate) struct FlowPath {
    pub(crate) access: Serialiser,
    /// Each packet reaches the first link up to this much later.
    pub(crate) jitter: Option<(Rng, Span)>,
    pub(crate) last_entry: Time,
    /// Indices of the links on the way, and a FIFO of packets in flight to each.
    pub(crate) route: PerHop<usize>,
    pub(crate) in_flights: PerHop<InFlight<PacketInTransit>>,
    /// From the last link to the receiver, beyond the links' own delays.
    pub(crate) line: DelayLine,
    /// What is received when its time comes: by arrival, then in order of departure.
    pub(crate) reordered: BTreeMap<(Time, u64), PacketInTransit>,
    pub(crate) arrivals: LazyTimer,
    /// What may befall packets in front of the links; none where nothing does on the whole route.
    pub(crate) hazards: Option<Box<Impairments>>,
    /// The same for ACKs: the links, a FIFO of packets in flight to each, and one to the sender.
    pub(crate) reverse_route: Box<[ReverseHop]>,
    pub(crate) acks_in_flight: PerHop<InFlight<Ack>>,
    pub(crate) reverse_line: DelayLine,
    pub(crate) reverse_hazards: Option<Box<Impairments>>,
    /// The blocks of all ACKs on the way that have some, in the order in which they were sent.
    pub(crate) blocks: PerHop<VecDeque<Block>>,
    pub(crate) delayed_ack: LazyTimer,
    /// The receiver's host, if it takes time.
    pub(crate) host: Option<Box<ReceivingHost>>,
    /// Where queues that decide count what befalls its packets.
    pub(crate) account: u32,
    /// Nobody listens to what is still on the way.
    pub(crate) gone: bool,
}

/// A lazy deadline: the event that is armed, if any. An entry that fires early is armed
/// anew, one that is no longer the armed one is ignored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LazyTimer(Time);

impl Default for LazyTimer {
    fn default() -> LazyTimer {
        LazyTimer(Time::MAX)
    }
}

impl LazyTimer {
    /// Sees to it that the event queue calls at `at` or earlier.
    #[inline]
    pub(crate) fn arm(
        &mut self,
        event_queue: &mut EventQueue,
        at: Time,
        class: EventKind,
        key: FlowKey,
    ) {
        self.arm_at(event_queue, at, class, key, 0);
    }

    /// The same with a hop.
    #[inline]
    pub(crate) fn arm_at(
        &mut self,
        event_queue: &mut EventQueue,
        at: Time,
        class: EventKind,
        key: FlowKey,
        hop: u8,
    ) {
        if at < self.0 {
            self.0 = at;
            event_queue.push(at, class, key, hop);
        }
    }

    /// An entry of `at` fired: whether it is the armed one.
    #[inline]
    pub(crate) fn fired(&mut self, at: Time) -> bool {
        let current = self.0 == at;
        if current {
            self.0 = Time::MAX;
        }
        current
    }
}

/// Collects transitions, when somebody wants them.
#[derive(Debug)]
pub(crate) struct Transitions {
    pub(crate) flow: u32,
    pub(crate) wanted: bool,
    pub(crate) rows: Vec<TransitionRow>,
}

impl Observer for Transitions {
    fn transition(&mut self, time: Time, Transition { from, to, reason }: Transition) {
        if self.wanted {
            self.rows.push(TransitionRow {
                time,
                flow: self.flow,
                from,
                to,
                reason,
            });
        }
    }
}

/// What the flows share, and a step of the network may change.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) event_queue: EventQueue,
    pub(crate) links: Vec<NetworkLink>,
    pub(crate) events: u64,
}

/// The receiving side of a flow, for the time of a step: what a data packet meets once it has left
/// the sender.
pub(crate) struct ForwardPath<'a> {
    pub(crate) key: FlowKey,
    pub(crate) wire: &'a mut FlowPath,
    pub(crate) receiver: &'a mut Receiver,
    pub(crate) meter: &'a mut FlowMeter,
    pub(crate) total: &'a mut Option<fullpipe_units::Bytes>,
    /// A TCP receiver that takes no time.
    pub(crate) at_once: bool,
}

impl AnySender {
    /// The TCP sender, if it is one.
    pub(crate) fn tcp(&mut self) -> Option<&mut Sender<AnyController>> {
        match self {
            AnySender::Tcp(sender) => Some(sender),
            AnySender::Hosted(host) => Some(&mut host.sender),
            AnySender::Unresponsive(_) | AnySender::Closed(_) | AnySender::Gone => None,
        }
    }
}

impl Flow {
    /// Fetches what the next ACK will need and the flow itself only points to.
    #[inline]
    pub(crate) fn prefetch_rings(&self) {
        if let AnySender::Tcp(sender) = &self.source {
            sender.rings().into_iter().for_each(prefetch_at);
        }
        self.wire.in_flights[0].ends().for_each(prefetch);
        self.wire.acks_in_flight[0].ends().for_each(prefetch);
        if let Some(block) = self.wire.blocks[0].front() {
            prefetch(block);
        }
    }
}

/// The FIFOs of packets in flight of a wire, with the room that they have.
pub(crate) type InFlights = (
    PerHop<InFlight<PacketInTransit>>,
    PerHop<InFlight<Ack>>,
    PerHop<VecDeque<Block>>,
);

impl FlowPath {
    /// Nobody listens at either end any more, nor does a timer.
    pub(crate) fn close(&mut self) {
        self.gone = true;
        self.reordered.clear();
        (self.arrivals, self.delayed_ack, self.host) =
            (LazyTimer::default(), LazyTimer::default(), None);
    }

    /// Nothing is on its way to a link or to the sender.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_flights.iter().all(InFlight::is_empty)
            && self.acks_in_flight.iter().all(InFlight::is_empty)
    }

    /// The empty FIFOs of packets in flight, for another flow.
    pub(crate) fn take_in_flights(&mut self) -> InFlights {
        let FlowPath {
            in_flights,
            acks_in_flight,
            blocks,
            ..
        } = self;
        in_flights
            .iter_mut()
            .for_each(|in_flight| in_flight.shrink_to(KEPT));
        acks_in_flight
            .iter_mut()
            .for_each(|in_flight| in_flight.shrink_to(KEPT));
        for blocks in blocks.iter_mut() {
            blocks.clear();
            blocks.shrink_to(KEPT);
        }
        (
            std::mem::take(in_flights),
            std::mem::take(acks_in_flight),
            std::mem::take(blocks),
        )
    }

    /// The same with FIFOs of packets in flight that another flow has left, perhaps on a route of
    /// another length.
    pub(crate) fn with_in_flights(
        self,
        (mut in_flights, mut acks_in_flight, mut blocks): InFlights,
    ) -> FlowPath {
        in_flights.resize_with(self.in_flights.len(), InFlight::default);
        acks_in_flight.resize_with(self.acks_in_flight.len(), InFlight::default);
        blocks.resize_with(self.blocks.len(), VecDeque::new);
        FlowPath {
            in_flights,
            acks_in_flight,
            blocks,
            ..self
        }
    }
}

impl ForwardPath<'_> {
    /// A packet leaves the sender.
    #[inline]
    pub(crate) fn enter(&mut self, network: &mut Network, now: Time, segment: Segment) {
        if !segment.syn {
            self.meter.on_sent(now, segment.retransmit);
        }
        let (_, mut at) = self.wire.access.transmit(now, segment.wire_size());
        if let Some((rng, most)) = &mut self.wire.jitter {
            let late = Span::from_nanos(rng.below(most.as_nanos() + 1));
            at = (at + late).max(self.wire.last_entry);
            self.wire.last_entry = at;
        }
        self.hop(
            network,
            0,
            at,
            PacketInTransit {
                segment,
                waited: Span::ZERO,
            },
        );
    }

    /// A packet is on its way to hop `hop`, where it will be at `at`: it arrives now if nothing can
    /// come before.
    #[inline]
    fn hop(&mut self, network: &mut Network, hop: usize, at: Time, packet: PacketInTransit) {
        let in_flight = &mut self.wire.in_flights[hop];
        if in_flight.is_empty() && network.event_queue.is_first(at) {
            self.arrive(network, hop, at, packet);
        } else if in_flight.push(at, packet) {
            network
                .event_queue
                .push(at, EventKind::Segment, self.key, hop as u8);
        }
    }

    /// A packet arrives at the link of hop `hop`, or behind the last one at the receiver.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        network: &mut Network,
        hop: usize,
        now: Time,
        mut packet: PacketInTransit,
    ) {
        let mut at = now;
        if let Some(link) = self.wire.route.get(hop) {
            network.events += 1;
            let link = *link;
            if self.wire.hazards.is_some() && self.is_lost(network, hop, now, packet) {
                return;
            }
            let link = &mut network.links[link];
            let kind = packet.kind();
            if link.is_special() {
                link.strip(&mut packet);
                if link.is_managed() {
                    return self.offer(network, hop, now, packet);
                }
            }
            let size = packet.segment.wire_size();
            let Ok(Passage { waited, at: far }) = link.arrive(now, size, kind) else {
                return self.dropped(now, kind);
            };
            packet.waited += waited;
            if hop + 1 < self.wire.route.len() {
                return self.hop(network, hop + 1, far, packet);
            }
            let (arrival, out_of_order) = self.wire.line.arrival(far);
            if out_of_order || self.receiver.window_controller().is_some() {
                return self.receive_later(network, arrival, packet);
            }
            at = arrival;
        }
        self.receive(network, at, packet);
    }

    /// Whether a packet is lost in front of the link of hop `hop`. If it comes twice there, its
    /// first self goes its way here.
    #[inline(never)] // few paths have hazards
    fn is_lost(
        &mut self,
        network: &mut Network,
        hop: usize,
        now: Time,
        packet: PacketInTransit,
    ) -> bool {
        let kind = packet.kind();
        let outcome = self
            .wire
            .hazards
            .as_mut()
            .map_or(Outcome::Passes, |hazards| {
                hazards.next(hop, now, kind == PacketKind::Data)
            });
        let link = &mut network.links[self.wire.route[hop]];
        match outcome {
            Outcome::Passes => {}
            Outcome::Duplicated => {
                link.duplicate(now, kind);
                self.arrive(network, hop, now, packet);
            }
            Outcome::Lost => {
                link.lose(now, kind);
                self.dropped(now, kind);
            }
        }
        outcome == Outcome::Lost
    }

    /// A packet or an ACK of the flow was dropped, and not by a queue that decides: those count for
    /// themselves.
    pub(crate) fn dropped(&mut self, now: Time, kind: PacketKind) {
        match kind {
            PacketKind::Data => self.meter.on_dropped(now),
            PacketKind::Ack => self.meter.on_ack_dropped(now),
            PacketKind::Other => {}
        }
    }

    /// A packet arrives at a link whose queue decides, on hop `hop`.
    #[inline(never)] // apart from the usual case, which it must not slow down
    fn offer(&mut self, network: &mut Network, hop: usize, now: Time, packet: PacketInTransit) {
        let link = self.wire.route[hop];
        let admission = network.links[link].offer(now, self.wire.account, self.key, hop, packet);
        self.admitted(network, link, now, packet.kind(), admission);
    }

    /// A packet or an ACK of the flow was offered to a link whose queue decides: the link sends, or
    /// will.
    #[inline(always)] // both callers are out of line
    pub(crate) fn admitted(
        &mut self,
        network: &mut Network,
        link: usize,
        now: Time,
        kind: PacketKind,
        admission: Admission,
    ) {
        let next = match admission {
            Admission::Policed => return self.dropped(now, kind),
            // Nothing was being sent, so what goes next is this one, if it goes.
            Admission::Ready => match network.links[link].send(now) {
                Some(sent) => return self.proceed(network, link, sent),
                None => network.links[link].call_again_at(),
            },
            Admission::Queued(at) => at,
        };
        if let Some(at) = next {
            network
                .event_queue
                .push(at, EventKind::Transmit, FlowKey::other(link), 0);
        }
    }

    /// A queue that decides has sent a packet or an ACK of the flow: it goes on.
    #[inline(always)] // what is sent is larger than what is called for it
    pub(crate) fn proceed(&mut self, network: &mut Network, link: usize, sent: Sent) {
        let Sent { hop, at, load, .. } = sent;
        match load {
            Load::Data(packet) => self.pass_on(network, hop, at, packet),
            Load::Ack { place, .. } => {
                let sent = network.links[link].take_ack(place);
                let (ack, blocks) = (sent.ack, sent.blocks());
                self.wire
                    .ack_hop(network, self.key, hop + 1, at, ack, blocks);
            }
        }
    }

    /// A packet is at the far end of the link of hop `hop` at `at`: sent by a queue that decides,
    /// so it goes on whenever the event queue says.
    pub(crate) fn pass_on(
        &mut self,
        network: &mut Network,
        hop: usize,
        at: Time,
        packet: PacketInTransit,
    ) {
        let next = hop + 1;
        if next < self.wire.route.len() {
            if self.wire.in_flights[next].push(at, packet) {
                network
                    .event_queue
                    .push(at, EventKind::Segment, self.key, next as u8);
            }
            return;
        }
        match self.wire.line.arrival(at) {
            (arrival, false) if self.receiver.window_controller().is_none() => {
                self.arrive(network, next, arrival, packet);
            }
            (arrival, _) => self.receive_later(network, arrival, packet),
        }
    }

    /// A packet is on a line to the receiver that reorders, or to one whose decisions are traced:
    /// it is received when its time comes.
    #[cold]
    fn receive_later(&mut self, network: &mut Network, at: Time, packet: PacketInTransit) {
        let same = self
            .wire
            .reordered
            .range((at, 0)..=(at, u64::MAX))
            .next_back();
        let order = same.map_or(0, |((_, order), _)| order + 1);
        self.wire.reordered.insert((at, order), packet);
        self.wire
            .arrivals
            .arm(&mut network.event_queue, at, EventKind::Arrival, self.key);
    }

    /// What is on that line arrives as far as it is time.
    #[cold]
    pub(crate) fn arrivals(&mut self, network: &mut Network, now: Time) {
        while let Some(first) = self.wire.reordered.first_entry() {
            let (at, _) = *first.key();
            if at > now {
                return self.wire.arrivals.arm(
                    &mut network.event_queue,
                    at,
                    EventKind::Arrival,
                    self.key,
                );
            }
            let packet = first.remove();
            self.arrive(network, self.wire.route.len(), at, packet);
        }
    }

    /// The receiver gets a packet that arrives at `at`, known before that time comes: arrivals are
    /// in order, and nothing else that happens until then can reach the receiver.
    #[inline]
    fn receive(&mut self, network: &mut Network, at: Time, packet: PacketInTransit) {
        network.events += 1;
        if !self.at_once {
            return self.receive_otherwise(network, at, packet);
        }
        let key = self.key;
        self.take(at, &packet, |wire, meter, at, ack, blocks| {
            wire.acknowledge(network, meter, key, at, ack, blocks)
        });
        if let Some(due) = self.receiver.ack_due() {
            self.wire
                .delayed_ack
                .arm(&mut network.event_queue, due, EventKind::DelayedAck, key);
        }
    }

    /// The receiver reads a packet at `now`; `acknowledge` gets its ACKs.
    #[inline]
    pub(crate) fn take(
        &mut self,
        now: Time,
        packet: &PacketInTransit,
        mut acknowledge: impl FnMut(&mut FlowPath, &mut FlowMeter, Time, Ack, &[Block]),
    ) {
        let ForwardPath {
            wire,
            receiver,
            meter,
            total,
            ..
        } = self;
        let before = receiver.in_order();
        receiver.on_segment(now, &packet.segment, |at, ack, blocks| {
            acknowledge(wire, meter, at, ack, blocks)
        });
        if !packet.segment.syn {
            let in_order = receiver.in_order();
            meter.on_delivered(now, packet.waited, in_order - before);
            if **total == Some(in_order) {
                self.complete(now);
            }
        }
    }

    /// The last byte of the transfer, or of an answer, is there.
    #[cold]
    fn complete(&mut self, now: Time) {
        match self.receiver.take_answer(now) {
            None => self.meter.on_complete(now),
            Some(Answer {
                asked: start,
                arrived: end,
                size: bytes,
            }) => {
                self.meter.on_response(Response { start, end, bytes });
                *self.total = self.receiver.expects();
            }
        }
    }

    /// Where a receiver's host takes time, and where there is no receiver.
    #[cold]
    fn receive_otherwise(&mut self, network: &mut Network, at: Time, packet: PacketInTransit) {
        if self.wire.gone {
            return;
        }
        if self.wire.host.is_some() {
            self.wait(network, at, packet);
        } else {
            self.meter.on_delivered(
                at,
                packet.waited,
                fullpipe_units::Bytes::new(u64::from(packet.segment.size)),
            );
        }
    }

    /// The delayed ACK may be due.
    pub(crate) fn on_time(&mut self, network: &mut Network, now: Time) {
        let ForwardPath {
            key,
            wire,
            receiver,
            meter,
            ..
        } = self;
        receiver.on_time(now, |at, ack, blocks| {
            wire.acknowledge(network, meter, *key, at, ack, blocks)
        });
        if let Some(due) = receiver.ack_due() {
            wire.delayed_ack
                .arm(&mut network.event_queue, due, EventKind::DelayedAck, *key);
        }
    }
}
