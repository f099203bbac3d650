//! One event of a flow: its handling, and everything that follows before another event can happen.

use fullpipe_cc::AnyController;
use fullpipe_tcp::{Ack, Block, MAX_BLOCKS, Sender};
use fullpipe_units::Time;

use crate::event_queue::{Event, EventKind};
use crate::flow::{AnySender, Flow, Network, Parts, Transitions};
use crate::forward_path::ForwardPath;
use crate::observe::Measurement;

/// An event's access to the state outside its flow.
pub(crate) struct Step<'a> {
    pub(crate) network: &'a mut Network,
    pub(crate) observer: &'a mut Measurement,
}

impl Step<'_> {
    #[inline(always)] // a part of the engine's `dispatch`
    pub(crate) fn happen(self, flow: &mut Flow, event: Event) {
        let now = event.at();
        match event.kind() {
            EventKind::Start => self.start(flow, now),
            EventKind::Segment => self.segments(flow, now, event.hop()),
            EventKind::Arrival => self.arrivals(flow, now),
            EventKind::Ack => self.acks(flow, now, event.hop()),
            EventKind::Turn => self.turn(flow, now, event.hop()),
            EventKind::DelayedAck => self.delayed_ack(flow, now),
            EventKind::Timer => self.timer(flow, now),
            EventKind::Departure => self.departure(flow, now),
            EventKind::Transmit | EventKind::Arrive | EventKind::Sample | EventKind::Pause => {}
        }
    }

    pub(crate) fn start(mut self, flow: &mut Flow, now: Time) {
        self.network.events += 1;
        match &mut flow.source {
            AnySender::Tcp(sender) => {
                let syn = sender.syn(now);
                flow.forward_path().enter(self.network, now, &syn);
                self.rearm(flow, now);
            }
            AnySender::Hosted(_) => flow.start_host(self.network, now),
            AnySender::Unresponsive(_) => self.emit_unresponsive(flow, now),
            AnySender::Datagram(_) => self.send_datagrams(flow, now),
            AnySender::Closed(_) | AnySender::Gone => {}
        }
    }

    /// Takes a turn of a host's program at one of the flow's ends. Not inlined, since `dispatch`
    /// has to stay small.
    #[cold]
    #[inline(never)]
    fn turn(mut self, flow: &mut Flow, now: Time, side: usize) {
        if flow.turn(self.network, now, side) && flow.watched {
            self.watch(flow, now);
        }
    }

    /// Handles packets of a flow that arrive at a link.
    fn segments(self, flow: &mut Flow, mut now: Time, hop: usize) {
        while let Some(packet) = flow.path.in_flights[hop].front() {
            flow.forward_path().arrive(self.network, hop, now, packet);
            let Some(next) = flow.path.in_flights[hop].advance() else {
                return;
            };
            if !self.network.event_queue.is_first(next) {
                return self.network.event_queue.push(
                    next,
                    EventKind::Segment,
                    flow.key,
                    hop as u8,
                );
            }
            now = next;
        }
    }

    /// Handles packets of a flow that arrive at a receiver that does not read ahead.
    fn arrivals(self, flow: &mut Flow, now: Time) {
        if flow.path.arrivals.fired(now) {
            flow.forward_path().arrivals(self.network, now);
        }
    }

    /// Handles ACKs of a flow that arrive at a link, or at the sender.
    #[inline]
    fn acks(mut self, flow: &mut Flow, mut now: Time, hop: usize) {
        while let Some(ack) = flow.path.acks_in_flight[hop].front() {
            let mut blocks = [Block::default(); MAX_BLOCKS];
            let count = ack.count();
            for block in &mut blocks[..count] {
                *block = flow.path.blocks[hop]
                    .pop_front()
                    .expect("an ACK's blocks travel with it");
            }
            self.network.events += 1;
            if hop < flow.path.reverse_route.len() {
                flow.forward_path()
                    .ack_at_link(self.network, now, hop, ack, &blocks[..count]);
            } else {
                self.ack_at_sender(flow, now, &ack, &blocks[..count]);
            }
            let Some(next) = flow.path.acks_in_flight[hop].advance() else {
                return;
            };
            if !self.network.event_queue.is_first(next) {
                return self
                    .network
                    .event_queue
                    .push(next, EventKind::Ack, flow.key, hop as u8);
            }
            now = next;
        }
    }

    #[inline(always)] // once for each ACK, with `transmit` in it
    fn ack_at_sender(&mut self, flow: &mut Flow, now: Time, ack: &Ack, blocks: &[Block]) {
        let AnySender::Tcp(sender) = &mut flow.source else {
            return self.ack_otherwise(flow, now, ack, blocks);
        };
        flow.last = sender.on_ack(now, ack, blocks, &mut flow.transitions);
        if let Some(rtt) = flow.last.rtt {
            flow.meter.on_rtt(now, rtt);
        }
        self.transmit_inlined(flow, now);
        if flow.watched {
            if self.network.packets.is_some() {
                self.log_ack(flow, now, ack, blocks);
            }
            self.watch(flow, now);
        }
    }

    /// Handles an ACK for a sender on a host, or a report for a sender of datagrams.
    #[inline(never)] // as above
    fn ack_otherwise(&mut self, flow: &mut Flow, now: Time, ack: &Ack, blocks: &[Block]) {
        if let AnySender::Datagram(_) = flow.source {
            self.report(flow, now, ack);
        } else {
            flow.ack_at_host(self.network, now, ack, blocks);
            if flow.watched {
                self.log_ack(flow, now, ack, blocks);
            }
        }
    }

    /// Continues after an ACK of a watched flow was read: adds a row to the trace, or ends the
    /// flow.
    #[inline(never)] // as above
    pub(crate) fn watch(&mut self, flow: &mut Flow, now: Time) {
        if flow.arrived.is_none() {
            if self.observer.every_ack() {
                self.observer.flow(now, flow);
            }
        } else if flow.source.tcp().is_some_and(|sender| sender.is_done()) {
            flow.close(now);
        }
    }

    /// Notes an ACK, if packets are logged.
    #[cold]
    fn log_ack(&mut self, flow: &Flow, now: Time, ack: &Ack, blocks: &[Block]) {
        if let Some(log) = &mut self.network.packets {
            log.acked(now, flow.path.account, ack, blocks);
        }
    }

    fn delayed_ack(self, flow: &mut Flow, now: Time) {
        if flow.path.delayed_ack.fired(now) {
            self.network.events += 1;
            if flow.path.datagrams.is_some() {
                flow.forward_path().report_on_time(self.network, now);
            } else {
                flow.forward_path().on_time(self.network, now);
            }
        }
    }

    fn timer(mut self, flow: &mut Flow, now: Time) {
        if !flow.timer.fired(now) {
            return;
        }
        self.network.events += 1;
        let Flow {
            source: AnySender::Tcp(sender),
            ..
        } = flow
        else {
            return self.datagram_timer(flow, now);
        };
        if sender.must_resend_syn(now) {
            let syn = sender.syn(now);
            flow.forward_path().enter(self.network, now, &syn);
            return self.rearm(flow, now);
        }
        let (sender, transitions, mut path) = tcp(flow);
        sender.on_timer(now, transitions, |segment| {
            path.enter(self.network, now, &segment)
        });
        self.transmit(flow, now);
    }

    fn departure(mut self, flow: &mut Flow, now: Time) {
        if !flow.departure.fired(now) {
            return;
        }
        self.network.events += 1;
        match flow.source {
            AnySender::Tcp(_) => self.transmit(flow, now),
            AnySender::Hosted(_) | AnySender::Closed(_) | AnySender::Gone => {}
            AnySender::Unresponsive(_) => self.emit_unresponsive(flow, now),
            AnySender::Datagram(_) => self.send_datagrams(flow, now),
        }
    }

    fn emit_unresponsive(&mut self, flow: &mut Flow, mut now: Time) {
        loop {
            let AnySender::Unresponsive(source) = &mut flow.source else {
                return;
            };
            let segment = source.send(now);
            let next = source.next_at();
            flow.forward_path().enter(self.network, now, &segment);
            if !self.network.event_queue.is_first(next) {
                return flow.departure.arm(
                    &mut self.network.event_queue,
                    next,
                    EventKind::Departure,
                    flow.key,
                );
            }
            self.network.events += 1;
            now = next;
        }
    }

    #[inline(never)] // few calls come from timers
    fn transmit(&mut self, flow: &mut Flow, now: Time) {
        self.transmit_inlined(flow, now);
    }

    #[inline(always)]
    fn transmit_inlined(&mut self, flow: &mut Flow, now: Time) {
        let (sender, transitions, mut path) = tcp(flow);
        sender.transmit(now, transitions, |segment| {
            path.enter(self.network, now, &segment)
        });
        self.rearm(flow, now);
    }

    /// Schedules the times at which the sender wants to be called.
    #[inline]
    fn rearm(&mut self, flow: &mut Flow, now: Time) {
        let AnySender::Tcp(sender) = &flow.source else {
            return;
        };
        flow.timer.arm(
            &mut self.network.event_queue,
            sender.timer_at().max(now),
            EventKind::Timer,
            flow.key,
        );
        flow.departure.arm(
            &mut self.network.event_queue,
            sender.departure_at().max(now),
            EventKind::Departure,
            flow.key,
        );
    }
}

/// Returns a TCP sender and its surroundings.
///
/// # Panics For other sources: unresponsive traffic has no TCP sender, and a sender on a host takes
/// turns.
#[inline]
fn tcp(
    flow: &mut Flow,
) -> (
    &mut Sender<AnyController>,
    &mut Transitions,
    ForwardPath<'_>,
) {
    let Parts {
        source: AnySender::Tcp(sender),
        transitions,
        path,
        ..
    } = flow.parts()
    else {
        unreachable!("only a TCP sender transmits here")
    };
    (sender, transitions, path)
}
