//! Flows on hosts with `[host]`: a program at each end wakes, takes turns and sleeps.
//!
//! A turn reads a batch from its inbox, handles due timers and sends a batch. Like an event loop it
//! reads the clock once, at its start; its packets leave when its work is done. The model's page is
//! `docs/reference/models/host.md`, its costs are in `tcp/src/host.rs`.
//!
//! ACKs and packets wait in an inbox at each end, and the one event that wakes a program is a turn.
//! An inbox may hold packets that have not arrived yet, so departures stay known in advance; the
//! receiver no longer reads ahead. Such a flow is another variant of `AnySender`: flows without a
//! host pay nothing.

use std::collections::VecDeque;

use fullpipe_cc::AnyController;
use fullpipe_tcp::{Ack, Block, Costs, Cpu, Feedback, Limit, MAX_BLOCKS, Segment, Sender};
use fullpipe_units::Time;

use crate::event_queue::{EventKind, EventQueue, FlowKey};
use crate::flow::{AnySender, Flow, Network, PacketInTransit, Parts, Transitions};
use crate::forward_path::ForwardPath;
use crate::lazy_timer::LazyTimer;

/// The ends of a flow, as the hop of a [`EventKind::Turn`].
pub(crate) const SENDER: usize = 0;
pub(crate) const RECEIVER: usize = 1;

/// An ACK, with its blocks, that waits to be read.
type Waiting = (Time, Ack, [Block; MAX_BLOCKS]);

/// A sender on its host.
#[derive(Debug)]
pub(crate) struct SendingHost {
    pub(crate) sender: Sender<AnyController>,
    program: Program<Waiting>,
    /// Segments that leave at the end of this turn.
    leaving: Vec<Segment>,
}

/// A receiver's host; the receiver itself is the flow's.
#[derive(Debug)]
pub(crate) struct ReceivingHost {
    program: Program<(Time, PacketInTransit)>,
    /// ACKs that leave at the end of this turn, each with the arrival of the newest packet that it
    /// answers.
    leaving: Vec<(Ack, [Block; MAX_BLOCKS], Time)>,
    /// Arrival of the last packet that was read.
    arrived: Time,
    /// Whether ACKs report the host's delay.
    reports: bool,
}

/// A program that reads `T`s.
#[derive(Debug)]
struct Program<T> {
    cpu: Cpu,
    costs: Costs,
    inbox: VecDeque<T>,
    turn: LazyTimer,
}

impl<T> Program<T> {
    fn new(cpu: Cpu, costs: Costs) -> Program<T> {
        Program {
            cpu,
            costs,
            inbox: VecDeque::new(),
            turn: LazyTimer::default(),
        }
    }

    /// Schedules the next turn at the time that an event at `event` requires.
    fn arm(&mut self, event_queue: &mut EventQueue, event: Time, key: FlowKey, side: usize) {
        self.turn.arm_at(
            event_queue,
            self.cpu.turn_at(event),
            EventKind::Turn,
            key,
            side as u8,
        );
    }
}

impl SendingHost {
    pub(crate) fn new(sender: Sender<AnyController>, cpu: Cpu, costs: Costs) -> SendingHost {
        SendingHost {
            sender,
            program: Program::new(cpu, costs),
            leaving: Vec::new(),
        }
    }

    /// Returns the sender, after the host's work is done.
    pub(crate) fn into_sender(self) -> Sender<AnyController> {
        self.sender
    }

    /// Returns the time of the first of: an ACK to read, a timer, a segment that may be sent.
    fn next_event(&self) -> Time {
        let arrival = self.program.inbox.front().map_or(Time::MAX, |(at, ..)| *at);
        arrival
            .min(self.sender.timer_at())
            .min(self.sender.departure_at())
    }

    /// Starts the connection, with a turn of its own.
    pub(crate) fn start(&mut self, network: &mut Network, now: Time, path: &mut ForwardPath<'_>) {
        self.program.cpu.begin(now);
        self.leaving.push(self.sender.syn(now));
        self.end_turn(network, now, path);
    }

    /// Puts an arriving ACK into the inbox, until the next turn.
    pub(crate) fn arrive(
        &mut self,
        network: &mut Network,
        now: Time,
        ack: Ack,
        blocks: &[Block],
        key: FlowKey,
    ) {
        let mut kept = [Block::default(); MAX_BLOCKS];
        kept[..blocks.len()].copy_from_slice(blocks);
        self.program.inbox.push_back((now, ack, kept));
        let event = self.next_event();
        self.program
            .arm(&mut network.event_queue, event, key, SENDER);
    }

    /// Takes a turn if one is due; returns the number of ACKs read.
    pub(crate) fn turn(
        &mut self,
        network: &mut Network,
        now: Time,
        transitions: &mut Transitions,
        mut path: ForwardPath<'_>,
        mut on_ack: impl FnMut(&mut ForwardPath<'_>, fullpipe_tcp::AckOutcome),
    ) -> usize {
        if !self.program.turn.fired(now) {
            return 0;
        }
        network.events += 1;
        let arrival = self.program.inbox.front().map_or(Time::MAX, |(at, ..)| *at);
        let overdue = self.sender.overdue_at(arrival);
        if overdue < now {
            self.sender.limits().set(overdue, Limit::Host);
        }

        let Program {
            cpu, costs, inbox, ..
        } = &mut self.program;
        cpu.begin(now);
        let mut read = 0;
        while read < costs.batch as usize && inbox.front().is_some_and(|(at, ..)| *at <= now) {
            let (arrived, ack, blocks) = inbox.pop_front().expect("the inbox is not empty");
            read += 1;
            let outcome =
                self.sender
                    .on_ack_in_turn(now, arrived, &ack, &blocks[..ack.count()], transitions);
            on_ack(&mut path, outcome);
        }
        cpu.work(costs.of_call(read, costs.ack));

        let (leaving, batch) = (&mut self.leaving, costs.batch);
        if self.sender.must_resend_syn(now) {
            leaving.push(self.sender.syn(now));
        } else if self.sender.timer_at() <= now {
            self.sender
                .on_timer(now, transitions, |segment| leaving.push(segment));
        }
        let limit = self
            .sender
            .transmit_batch(now, batch, transitions, |segment| leaving.push(segment));
        if let Some(limit) = limit {
            self.sender.limits().set(now, limit);
        }
        self.end_turn(network, now, &mut path);
        read
    }

    /// Ends the turn that began at `now`.
    fn end_turn(&mut self, network: &mut Network, now: Time, path: &mut ForwardPath<'_>) {
        let Program { cpu, costs, .. } = &mut self.program;
        let done = cpu.work(costs.of_call(self.leaving.len(), costs.send));
        cpu.rest();
        if !self.leaving.is_empty() {
            self.sender.on_turn_sent(now, done);
        }
        for segment in self.leaving.drain(..) {
            path.enter(network, done, &segment);
        }
        let event = self.next_event();
        self.program
            .arm(&mut network.event_queue, event, path.key, SENDER);
    }
}

impl ReceivingHost {
    pub(crate) fn new(cpu: Cpu, costs: Costs) -> ReceivingHost {
        ReceivingHost {
            program: Program::new(cpu, costs),
            leaving: Vec::new(),
            arrived: Time::ZERO,
            reports: false,
        }
    }

    /// Reports the host's delay in each ACK from now on.
    pub(crate) fn report_delays(&mut self) {
        self.reports = true;
    }
}

impl ForwardPath<'_> {
    /// Puts a packet into the receiver's inbox. Its arrival `at` may be in the future.
    pub(crate) fn wait(&mut self, network: &mut Network, at: Time, packet: PacketInTransit) {
        let Some(host) = &mut self.path.host else {
            return;
        };
        host.program.inbox.push_back((at, packet));
        self.arm_receiver(network);
    }

    fn arm_receiver(&mut self, network: &mut Network) {
        let Some(host) = &mut self.path.host else {
            return;
        };
        let arrival = host.program.inbox.front().map_or(Time::MAX, |(at, _)| *at);
        let event = arrival.min(self.receiver.ack_due().unwrap_or(Time::MAX));
        host.program
            .arm(&mut network.event_queue, event, self.key, RECEIVER);
    }

    /// Takes the receiver's turn, if one is due.
    pub(crate) fn receivers_turn(&mut self, network: &mut Network, now: Time) {
        let Some(mut host) = self.path.host.take_if(|host| host.program.turn.fired(now)) else {
            return;
        };
        network.events += 1;
        let ReceivingHost {
            program: Program {
                cpu, costs, inbox, ..
            },
            leaving,
            arrived,
            reports,
        } = &mut *host;
        cpu.begin(now);
        // A turn sends one ACK, the last, unless an earlier one carries more information.
        let mut emit = |ack: Ack, blocks: &[Block], arrived: Time| {
            let mut kept = [Block::default(); MAX_BLOCKS];
            kept[..blocks.len()].copy_from_slice(blocks);
            if leaving.last().is_some_and(|(last, ..)| {
                last.blocks == 0 && last.kind == fullpipe_tcp::AckKind::Plain
            }) {
                leaving.pop();
            }
            leaving.push((ack, kept, arrived));
        };
        let mut read = 0;
        while read < costs.batch as usize && inbox.front().is_some_and(|(at, _)| *at <= now) {
            let packet;
            (*arrived, packet) = inbox.pop_front().expect("the inbox is not empty");
            read += 1;
            self.take(now, &packet, |_, _, _, ack, blocks| {
                emit(ack, blocks, *arrived)
            });
        }
        self.receiver
            .on_time(now, |_, ack, blocks| emit(ack, blocks, *arrived));
        cpu.work(costs.of_call(read, costs.receive));
        let done = cpu.work(costs.of_call(leaving.len(), costs.ack));
        cpu.rest();
        for (mut ack, mut blocks, arrived) in leaving.drain(..) {
            if *reports && ack.kind != fullpipe_tcp::AckKind::Syn {
                let delay = done - arrived;
                let (_, feedback) = ack.split(&blocks[..ack.count()]);
                let value = feedback.map_or(0, |feedback| feedback.value);
                ack.add_feedback(&mut blocks, Feedback { value, delay });
            }
            self.path.acknowledge(
                network,
                self.meter,
                self.key,
                done,
                ack,
                &blocks[..ack.count()],
            );
        }
        self.path.host = Some(host);
        self.arm_receiver(network);
    }
}

impl Flow {
    /// Starts the connection of a hosted flow.
    #[cold]
    #[inline(never)]
    pub(crate) fn start_host(&mut self, network: &mut Network, now: Time) {
        let Parts {
            source: AnySender::Hosted(host),
            mut path,
            ..
        } = self.parts()
        else {
            return;
        };
        if let (true, Some(receiving)) = (host.sender.asks_for_host_delays(), &mut path.path.host) {
            receiving.report_delays();
        }
        host.start(network, now, &mut path);
    }

    /// Handles an ACK for a sender on a host, or for none.
    #[cold]
    pub(crate) fn ack_at_host(
        &mut self,
        network: &mut Network,
        now: Time,
        ack: &Ack,
        blocks: &[Block],
    ) {
        if let AnySender::Hosted(host) = &mut self.source {
            host.arrive(network, now, *ack, blocks, self.key);
        }
    }

    /// Takes a turn at one end of the flow; returns true if the sender has read an ACK.
    pub(crate) fn turn(&mut self, network: &mut Network, now: Time, side: usize) -> bool {
        if side == RECEIVER {
            self.forward_path().receivers_turn(network, now);
            return false;
        }
        let Parts {
            source: AnySender::Hosted(host),
            transitions,
            last,
            path,
        } = self.parts()
        else {
            return false;
        };
        let read = host.turn(network, now, transitions, path, |path, outcome| {
            *last = outcome;
            if let Some(rtt) = outcome.rtt {
                path.meter.on_rtt(now, rtt);
            }
        });
        read > 0
    }
}
