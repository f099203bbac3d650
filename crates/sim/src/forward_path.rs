//! The path of a data packet from its sender to its receiver.

use fullpipe_network::{Admission, Departure, DropCause, Outcome, PacketKind};
use fullpipe_tcp::{Ack, Answer, Block, Receiver, Segment, Way};
use fullpipe_trace::{FlowMeter, Response};
use fullpipe_units::{Bytes, Span, Time};

use crate::event_queue::{EventKind, FlowKey};
use crate::flow::{Network, PacketInTransit};
use crate::flow_path::FlowPath;
use crate::link::Sent;
use crate::waiting::{Load, kind};

/// The part of a flow behind its sender, borrowed for one step: everything that a data packet
/// passes after the sender.
pub(crate) struct ForwardPath<'a> {
    pub(crate) key: FlowKey,
    pub(crate) path: &'a mut FlowPath,
    pub(crate) receiver: &'a mut Receiver,
    pub(crate) meter: &'a mut FlowMeter,
    pub(crate) total: &'a mut Option<fullpipe_units::Bytes>,
    /// Whether the receiver is a TCP receiver without processing time, and packets are not logged.
    pub(crate) is_plain: bool,
    /// Whether the receiver is a TCP receiver without processing time.
    pub(crate) is_tcp: bool,
}

impl ForwardPath<'_> {
    /// Sends a packet from the sender. A function of its own with everything inlined that a packet usually
    /// passes from here to the receiver: one call per packet.
    #[inline(never)]
    pub(crate) fn enter(&mut self, network: &mut Network, now: Time, segment: &Segment) {
        if !segment.syn {
            self.meter.on_sent(now, segment.retransmit);
        }
        let (_, mut at) = self.path.access.transmit(now, segment.wire_size());
        if let Some((rng, most)) = &mut self.path.jitter {
            let late = Span::from_nanos(rng.below(most.as_nanos() + 1));
            at = (at + late).max(self.path.last_entry);
            self.path.last_entry = at;
        }
        if self.is_next(network, 0, at) {
            self.arrive_inlined(network, 0, at, segment, Span::ZERO);
        } else {
            self.travel(network, 0, at, segment, Span::ZERO);
        }
    }

    /// Returns whether nothing can happen before a packet arrives at hop `hop` at `at`.
    #[inline(always)] // as `enter` explains, like some of the next functions
    fn is_next(&self, network: &Network, hop: usize, at: Time) -> bool {
        self.path.in_flights[hop].is_empty() && network.event_queue.is_first(at)
    }

    /// Adds a packet to those in flight to hop `hop`, where it arrives at `at`.
    #[inline]
    fn travel(
        &mut self,
        network: &mut Network,
        hop: usize,
        at: Time,
        segment: &Segment,
        waited: Span,
    ) {
        let packet = PacketInTransit {
            segment: *segment,
            waited,
        };
        if self.path.in_flights[hop].push(at, packet) {
            network
                .event_queue
                .push(at, EventKind::Segment, self.key, hop as u8);
        }
    }

    /// Handles the arrival of a packet at the link of hop `hop`.
    pub(crate) fn arrive(
        &mut self,
        network: &mut Network,
        hop: usize,
        now: Time,
        PacketInTransit { segment, waited }: PacketInTransit,
    ) {
        self.arrive_inlined(network, hop, now, &segment, waited);
    }

    #[inline(always)]
    fn arrive_inlined(
        &mut self,
        network: &mut Network,
        hop: usize,
        now: Time,
        segment: &Segment,
        waited: Span,
    ) {
        network.events += 1;
        let link = &mut network.links[self.path.route[hop]];
        if link.handles_each_packet() || self.path.impairments.is_some() {
            return self.arrive_otherwise(network, hop, now, segment, waited);
        }
        let outcome = link.arrive(now, segment.wire_size(), kind(segment));
        if link.is_recorded() && !link.is_whole(self.path.account) {
            self.record(network, hop, now, segment, waited, outcome);
        }
        if let Some((at, waited)) = self.leave(network, hop, now, segment, waited, outcome) {
            self.receive(network, at, segment, waited);
        }
    }

    /// Handles the arrival of a packet behind impairments, or at a link that clears ECN fields or has an AQM
    /// queue.
    #[inline(never)] // a function of its own, so that the common case stays fast
    fn arrive_otherwise(
        &mut self,
        network: &mut Network,
        hop: usize,
        now: Time,
        segment: &Segment,
        waited: Span,
    ) {
        let mut packet = PacketInTransit {
            segment: *segment,
            waited,
        };
        if self.path.impairments.is_some() && self.is_lost(network, hop, now, packet) {
            return;
        }
        let link = &mut network.links[self.path.route[hop]];
        link.strip(&mut packet);
        if link.is_managed() {
            return self.offer(network, hop, now, packet);
        }
        let PacketInTransit { segment, waited } = &packet;
        let outcome = link.arrive(now, segment.wire_size(), kind(segment));
        if link.is_recorded() {
            self.record(network, hop, now, segment, *waited, outcome);
        }
        if let Some((at, waited)) = self.leave(network, hop, now, segment, *waited, outcome) {
            self.receive(network, at, segment, waited);
        }
    }

    /// Notes the arrival of a packet at a link that counts the parts of flows.
    #[inline(never)] // few runs record a trace
    fn record(
        &mut self,
        network: &mut Network,
        hop: usize,
        now: Time,
        segment: &Segment,
        waited: Span,
        outcome: Result<Departure, DropCause>,
    ) {
        let (account, link) = (self.path.account, &mut network.links[self.path.route[hop]]);
        link.record(now, account, segment.wire_size(), kind(segment), outcome);
        if network.packets.is_some() {
            let packet = PacketInTransit {
                segment: *segment,
                waited,
            };
            self.log_at_link(network, hop, now, &packet, outcome.err());
        }
    }

    /// Sends on a packet from the link of hop `hop`, unless it was dropped there. Returns its arrival
    /// time and its wait, if the receiver can read it ahead of that time.
    #[inline(always)]
    fn leave(
        &mut self,
        network: &mut Network,
        hop: usize,
        now: Time,
        segment: &Segment,
        waited_before: Span,
        outcome: Result<Departure, DropCause>,
    ) -> Option<(Time, Span)> {
        let Ok(Departure { waited, at }) = outcome else {
            self.dropped(now, kind(segment));
            return None;
        };
        let waited = waited_before + waited;
        if hop + 1 < self.path.route.len() {
            self.hop(network, hop + 1, at, segment, waited);
            return None;
        }
        let (arrival, out_of_order) = self.path.line.arrival(at);
        if out_of_order || self.receiver.controller().is_some() {
            self.receive_later(network, arrival, segment, waited);
            return None;
        }
        Some((arrival, waited))
    }

    /// Sends a packet to hop `hop`, where it arrives at `at`; it arrives now if nothing can happen
    /// before.
    fn hop(
        &mut self,
        network: &mut Network,
        hop: usize,
        at: Time,
        segment: &Segment,
        waited: Span,
    ) {
        if self.is_next(network, hop, at) {
            let packet = PacketInTransit {
                segment: *segment,
                waited,
            };
            self.arrive(network, hop, at, packet);
        } else {
            self.travel(network, hop, at, segment, waited);
        }
    }

    /// Returns whether a packet is lost in front of the link of hop `hop`. If it is duplicated
    /// there, the first copy is sent on from here.
    #[inline(never)] // few paths have impairments
    fn is_lost(
        &mut self,
        network: &mut Network,
        hop: usize,
        now: Time,
        packet: PacketInTransit,
    ) -> bool {
        let kind = packet.kind();
        let outcome = self
            .path
            .impairments
            .as_mut()
            .map_or(Outcome::Passes, |impairments| {
                impairments.next(hop, now, kind == PacketKind::Data)
            });
        let link = &mut network.links[self.path.route[hop]];
        match outcome {
            Outcome::Passes => {}
            Outcome::Duplicated => {
                link.duplicate(now, kind);
                self.arrive(network, hop, now, packet);
            }
            Outcome::Lost => {
                link.lose(now, kind);
                self.log_at_link(network, hop, now, &packet, Some(DropCause::Loss));
                self.dropped(now, kind);
            }
        }
        outcome == Outcome::Lost
    }

    /// Notes the arrival of a packet at the link of hop `hop`, and its drop, if packets are logged.
    #[inline]
    fn log_at_link(
        &mut self,
        network: &mut Network,
        hop: usize,
        now: Time,
        packet: &PacketInTransit,
        dropped: Option<DropCause>,
    ) {
        let Some(log) = &mut network.packets else {
            return;
        };
        if hop == 0 {
            log.enters(Some(now), self.path.account, packet);
        }
        if let Some(cause) = dropped {
            log.ends(self.path.account, packet, self.path.route[hop], cause);
        }
    }

    /// Counts the drop of a packet or an ACK of the flow. AQM queues count their drops themselves.
    pub(crate) fn dropped(&mut self, now: Time, kind: PacketKind) {
        match kind {
            PacketKind::Data => self.meter.on_dropped(now),
            PacketKind::Ack => self.meter.on_ack_dropped(now),
            PacketKind::Other => {}
        }
    }

    /// Handles the arrival of a packet at a link with an AQM queue, on hop `hop`.
    #[inline(always)] // its caller is out of line
    fn offer(&mut self, network: &mut Network, hop: usize, now: Time, packet: PacketInTransit) {
        let link = self.path.route[hop];
        let admission = network.links[link].offer(now, self.path.account, self.key, hop, packet);
        if network.packets.is_some() {
            let policed = (admission == Admission::Policed).then_some(DropCause::Policer);
            self.log_at_link(network, hop, now, &packet, policed);
        }
        self.admitted(network, link, now, packet.kind(), admission);
    }

    /// Continues after a packet or an ACK of the flow was offered to an AQM queue: the link sends
    /// now or is scheduled to.
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
            // The link was idle, so the packet sent now, if any, is this one.
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

    /// Sends on a packet or an ACK of the flow that an AQM queue has released.
    #[inline(always)] // `Sent` is larger than the arguments of the calls here
    pub(crate) fn proceed(&mut self, network: &mut Network, link: usize, sent: Sent) {
        let Sent { hop, at, load, .. } = sent;
        match load {
            Load::Data(packet) => self.pass_on(network, hop, at, packet),
            Load::Ack { place, .. } => {
                let sent = network.links[link].take_ack(place);
                let (ack, blocks) = (sent.ack, sent.blocks());
                self.path
                    .ack_hop(network, self.key, hop + 1, at, ack, blocks);
            }
        }
    }

    /// Forwards a packet that is at the far end of the link of hop `hop` at `at`. An AQM queue sent
    /// the packet, so its arrival goes through the event queue.
    #[inline(always)] // a part of `proceed`
    pub(crate) fn pass_on(
        &mut self,
        network: &mut Network,
        hop: usize,
        at: Time,
        packet: PacketInTransit,
    ) {
        let next = hop + 1;
        if next < self.path.route.len() {
            return self.travel(network, next, at, &packet.segment, packet.waited);
        }
        match self.path.line.arrival(at) {
            (arrival, false) if self.receiver.controller().is_none() => {
                self.deliver(network, arrival, packet);
            }
            (arrival, _) => self.receive_later(network, arrival, &packet.segment, packet.waited),
        }
    }

    /// Puts a packet on a reordering line, or toward a receiver whose decisions are traced: the
    /// receiver gets the packet only at its arrival time.
    #[cold]
    fn receive_later(&mut self, network: &mut Network, at: Time, segment: &Segment, waited: Span) {
        let packet = PacketInTransit {
            segment: *segment,
            waited,
        };
        let same = self
            .path
            .reordered
            .range((at, 0)..=(at, u64::MAX))
            .next_back();
        let order = same.map_or(0, |((_, order), _)| order + 1);
        self.path.reordered.insert((at, order), packet);
        self.path
            .arrivals
            .arm(&mut network.event_queue, at, EventKind::Arrival, self.key);
    }

    /// Delivers the packets on the reordering line that are due.
    #[cold]
    pub(crate) fn arrivals(&mut self, network: &mut Network, now: Time) {
        while let Some(first) = self.path.reordered.first_entry() {
            let (at, _) = *first.key();
            if at > now {
                return self.path.arrivals.arm(
                    &mut network.event_queue,
                    at,
                    EventKind::Arrival,
                    self.key,
                );
            }
            let packet = first.remove();
            self.deliver(network, at, packet);
        }
    }

    /// Delivers a packet that arrives at `at`, possibly ahead of time: arrivals are in order, and
    /// nothing else can affect the receiver until then.
    fn deliver(&mut self, network: &mut Network, at: Time, packet: PacketInTransit) {
        self.receive(network, at, &packet.segment, packet.waited);
    }

    #[inline(always)]
    fn receive(&mut self, network: &mut Network, at: Time, segment: &Segment, waited: Span) {
        network.events += 1;
        let way = match self.is_plain {
            true => self.receiver.way(at, segment),
            false => Way::Other,
        };
        match way {
            Way::Usual => {}
            Way::AsLinux => return self.receive_as_linux(network, at, segment, waited),
            Way::Other => return self.receive_otherwise(network, at, segment, waited),
        }
        let in_order = self.receiver.in_order();
        match self.receiver.on_usual_segment(at, segment) {
            Some(ack) => self
                .path
                .acknowledge(network, self.meter, self.key, at, ack, &[]),
            None => self.await_ack(network, self.receiver.delayed_until()),
        }
        self.delivered(at, in_order, waited);
    }

    /// Lets a receiver with Linux's rules read a usual segment.
    #[inline(never)] // a function of its own, so that a receiver without these rules stays fast
    fn receive_as_linux(
        &mut self,
        network: &mut Network,
        at: Time,
        segment: &Segment,
        waited: Span,
    ) {
        let in_order = self.receiver.in_order();
        match self.receiver.on_usual_segment_as_linux(at, segment) {
            Some(ack) => self
                .path
                .acknowledge(network, self.meter, self.key, at, ack, &[]),
            None => self.await_ack(network, self.receiver.delayed_until()),
        }
        self.delivered(at, in_order, waited);
    }

    /// Lets a TCP receiver without processing time read a packet.
    fn read(&mut self, network: &mut Network, at: Time, packet: &PacketInTransit) {
        let key = self.key;
        self.take(at, packet, |path, meter, at, ack, blocks| {
            path.acknowledge(network, meter, key, at, ack, blocks)
        });
        self.await_ack(network, self.receiver.ack_due());
    }

    /// Schedules the receiver's delayed ACK.
    #[inline]
    fn await_ack(&mut self, network: &mut Network, due: Option<Time>) {
        if let Some(due) = due {
            let (delayed_ack, key) = (&mut self.path.delayed_ack, self.key);
            delayed_ack.arm(&mut network.event_queue, due, EventKind::DelayedAck, key);
        }
    }

    /// Counts data that the receiver has read, which had `before` bytes in order before.
    #[inline(always)]
    fn delivered(&mut self, now: Time, before: Bytes, waited: Span) {
        let in_order = self.receiver.in_order();
        self.meter.on_delivered(now, waited, in_order - before);
        if *self.total == Some(in_order) {
            self.complete(now);
        }
    }

    /// Lets the receiver read a packet at `now`; its ACKs go to `acknowledge`.
    pub(crate) fn take(
        &mut self,
        now: Time,
        packet: &PacketInTransit,
        mut acknowledge: impl FnMut(&mut FlowPath, &mut FlowMeter, Time, Ack, &[Block]),
    ) {
        let ForwardPath {
            path,
            receiver,
            meter,
            ..
        } = self;
        let before = receiver.in_order();
        receiver.on_segment(now, &packet.segment, |at, ack, blocks| {
            acknowledge(path, meter, at, ack, blocks)
        });
        if !packet.segment.syn {
            self.delivered(now, before, packet.waited);
        }
    }

    /// Handles the arrival of the last byte of the transfer, or of an answer.
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

    /// Handles a packet that a receiver does not read the usual way, or for a receiver on a host or of
    /// datagrams, for unresponsive traffic, or for an ended flow.
    #[inline(never)]
    fn receive_otherwise(
        &mut self,
        network: &mut Network,
        at: Time,
        segment: &Segment,
        waited: Span,
    ) {
        let packet = PacketInTransit {
            segment: *segment,
            waited,
        };
        if self.is_plain {
            return self.read(network, at, &packet);
        }
        if self.path.gone {
            return;
        }
        if let Some(log) = &mut network.packets {
            log.arrives(at, self.path.account, &packet);
        }
        if self.path.host.is_some() {
            self.wait(network, at, packet);
        } else if self.path.datagrams.is_some() {
            self.receive_datagram(network, at, packet);
        } else if self.is_tcp {
            self.read(network, at, &packet);
        } else {
            let size = Bytes::new(u64::from(packet.segment.size));
            self.meter.on_delivered(at, packet.waited, size);
            if let Some(received) = &mut self.path.received {
                received.on_packet(at, size);
            }
        }
    }

    /// Handles the timer of the delayed ACK.
    pub(crate) fn on_time(&mut self, network: &mut Network, now: Time) {
        let ForwardPath {
            key,
            path,
            receiver,
            meter,
            ..
        } = self;
        receiver.on_time(now, |at, ack, blocks| {
            path.acknowledge(network, meter, *key, at, ack, blocks)
        });
        if let Some(due) = receiver.ack_due() {
            path.delayed_ack
                .arm(&mut network.event_queue, due, EventKind::DelayedAck, *key);
        }
    }
}
