//! The loop: takes what is due first, lets it happen, and goes on inside a flow for as long as
//! nothing else can come before.

use std::collections::BTreeMap;

use fullpipe_scenario::{Error, Scenario};
use fullpipe_tcp::{Ack, Block, LIMITS, MAX_BLOCKS};
use fullpipe_trace::{FlowSummary, MeasuredTime, Summary, jain};
use fullpipe_units::{Span, Time};

use crate::arrivals::Workloads;
use crate::event_queue::{Event, EventKind, FlowKey};
use crate::flow::{AnySender, Flow, ForwardPath, Network};
use crate::observe::Measurement;
use crate::prefetch::prefetch;
use crate::waiting::Load;
use crate::{Run, TraceLevel, build};

/// A run in progress.
#[derive(Debug)]
pub struct Simulation {
    pub(crate) scenario: Scenario,
    pub(crate) network: Network,
    pub(crate) flows: Vec<Flow>,
    pub(crate) workloads: Workloads,
    pub(crate) observer: Measurement,
    pub(crate) now: Time,
    pub(crate) end: Time,
}

impl Simulation {
    /// A run about to begin.
    ///
    /// # Errors
    /// As of [`run`](crate::run).
    pub fn new(
        scenario: &Scenario,
        registry: &fullpipe_cc::Registry,
        level: TraceLevel,
    ) -> Result<Simulation, Error> {
        build::simulation(scenario, registry, level)
    }

    /// Takes no short cuts from now on: every packet and ACK goes through the event queue. Slower,
    /// and the same to the bit; a test holds the two against each other.
    pub fn step_by_step(&mut self) {
        self.network.event_queue.stepping = true;
    }

    /// Lets no arriving flow lie where another lay, from now on. Takes more memory, and is the same
    /// to the bit; a test holds the two against each other.
    pub fn with_fresh_state(&mut self) {
        self.workloads.fresh = true;
    }

    /// Goes on for about `steps` steps; true when the run is over.
    pub fn advance(&mut self, steps: u64) -> bool {
        let until = self.network.events.saturating_add(steps);
        while self.network.events < until {
            match self.network.event_queue.pop() {
                Some(event) if event.at() <= self.end => {
                    self.prefetch_next();
                    self.dispatch(event);
                }
                _ => {
                    self.now = self.end;
                    return true;
                }
            }
        }
        false
    }

    /// Goes on to `at`, past all that happens then; true when the run is over. Nothing else changes
    /// of the run by it.
    pub fn advance_to(&mut self, at: Time) -> bool {
        self.network
            .event_queue
            .push(at, EventKind::Pause, FlowKey::other(0), 0);
        loop {
            match self.network.event_queue.pop() {
                Some(event) if event.at() <= self.end => {
                    self.now = event.at();
                    if event.kind() == EventKind::Pause {
                        return false;
                    }
                    self.prefetch_next();
                    self.dispatch(event);
                }
                _ => {
                    self.now = self.end;
                    return true;
                }
            }
        }
    }

    /// Fetches the flows that come soon: first what of them lies at a known place, and when that
    /// has arrived, what it points to.
    #[inline]
    fn prefetch_next(&self) {
        if let Some(event) = self.network.event_queue.ahead(4) {
            match event.kind() {
                EventKind::Ack => prefetch(&self.flows[event.slot()]),
                EventKind::Transmit | EventKind::Arrive | EventKind::Sample | EventKind::Pause => {}
                // Mostly fires early.
                _ => prefetch(&self.flows[event.slot()].timer),
            }
        }
        if let Some(event) = self
            .network
            .event_queue
            .ahead(2)
            .filter(|event| event.kind() == EventKind::Ack)
        {
            self.flows[event.slot()].prefetch_rings();
        }
    }

    /// The time reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Steps taken.
    pub fn events(&self) -> u64 {
        self.network.events
    }

    #[inline]
    fn dispatch(&mut self, event: Event) {
        let (now, kind) = (event.at(), event.kind());
        self.now = now;
        // One test for what concerns no flow that is there.
        if matches!(
            kind,
            EventKind::Transmit | EventKind::Arrive | EventKind::Sample | EventKind::Pause
        ) {
            return match kind {
                EventKind::Transmit => self.transmit(event.slot(), now),
                EventKind::Arrive => self.arrive(event.slot(), now),
                EventKind::Sample => self.sample(now),
                _ => {}
            };
        }
        let flow = &mut self.flows[event.slot()];
        let watched = flow.watched;
        // A slot may be another flow's by now.
        if watched && flow.key != event.key() {
            return;
        }
        let step = Step {
            network: &mut self.network,
            observer: &mut self.observer,
        };
        match kind {
            EventKind::Start => step.start(flow, now),
            EventKind::Segment => step.segments(flow, now, event.hop()),
            EventKind::Arrival => step.arrivals(flow, now),
            EventKind::Ack => step.acks(flow, now, event.hop()),
            EventKind::Turn => step.turn(flow, now, event.hop()),
            EventKind::DelayedAck => step.delayed_ack(flow, now),
            EventKind::Timer => step.timer(flow, now),
            EventKind::Departure => step.departure(flow, now),
            EventKind::Transmit | EventKind::Arrive | EventKind::Sample | EventKind::Pause => {}
        }
        if watched {
            self.tidy(event.slot());
        }
    }

    /// Something has happened to a watched flow: perhaps it is over.
    #[inline(never)] // the usual flow is not watched
    fn tidy(&mut self, slot: usize) {
        let flow = &mut self.flows[slot];
        if flow.closed.is_some() {
            self.workloads.tidy(flow);
        }
    }

    /// The trace takes its samples.
    #[cold]
    fn sample(&mut self, now: Time) {
        self.network.events += 1;
        let others = &mut self.flows[..self.workloads.others];
        self.observer
            .sample(now, others, &self.workloads, &mut self.network);
    }

    /// A flow of a workload arrives, and begins.
    #[cold]
    fn arrive(&mut self, workload: usize, now: Time) {
        let Simulation {
            scenario,
            network,
            flows,
            workloads,
            observer,
            ..
        } = self;
        network.events += 1;
        if let Some(slot) =
            workloads.arrive(scenario, flows, &mut network.event_queue, workload, now)
        {
            Step { network, observer }.start(&mut flows[slot], now);
        }
    }

    /// A link whose queue decides can send: the next packet, and those behind it while nothing else
    /// can come before.
    fn transmit(&mut self, link: usize, mut now: Time) {
        loop {
            self.network.events += 1;
            if let Some(sent) = self.network.links[link].send(now) {
                let flow = &mut self.flows[sent.key.slot()];
                if flow.key == sent.key && !flow.wire.gone {
                    flow.far().proceed(&mut self.network, link, sent);
                } else if let Load::Ack { place, .. } = sent.load {
                    self.network.links[link].take_ack(place);
                }
            }
            let Some(next) = self.network.links[link].call_again_at() else {
                return;
            };
            if !self.network.event_queue.is_first(next) {
                return self.network.event_queue.push(
                    next,
                    EventKind::Transmit,
                    FlowKey::other(link),
                    0,
                );
            }
            now = next;
        }
    }

    /// The run's results. A run that was not over gives what it has.
    pub fn finish(mut self) -> Run {
        let (mut flows, mut rates) = (Vec::with_capacity(self.flows.len()), Vec::new());
        for (flow, spec) in self.flows.iter_mut().zip(&self.scenario.flows) {
            for link in &self.network.links {
                flow.meter.on_tally(link.counters(flow.wire.account));
            }
            if flow.source.tcp().is_some() {
                rates.push(flow.meter.goodput().as_f64());
            }
            let held = flow.limits_held(self.end);
            flows.push(FlowSummary::new(
                spec.name.clone(),
                spec.cc.clone(),
                &flow.meter,
                &LIMITS,
                &held,
            ));
        }
        let window = MeasuredTime::of_run(self.scenario.measure_from, self.scenario.duration);
        let links = self
            .network
            .links
            .iter()
            .map(|link| link.summary(window))
            .collect();
        let tally = |account| {
            self.network
                .links
                .iter()
                .map(|link| link.counters(account))
                .collect()
        };
        let (workloads, warnings, transfers) =
            self.workloads
                .finish(&self.scenario, &mut self.flows, tally);
        let summary = Summary {
            version: env!("CARGO_PKG_VERSION"),
            runner: "sim".to_owned(),
            host: BTreeMap::new(),
            warnings,
            seed: self.scenario.seed,
            duration_s: self.scenario.duration.as_secs_f64(),
            measure_from_s: self.scenario.measure_from.as_secs_f64(),
            flows,
            workloads,
            links,
            jain: jain(&rates),
            packets: self.network.links[0].packets(),
            events: self.network.events,
        };
        let transfers = (!self.scenario.workloads.is_empty()).then_some(transfers);
        Run {
            summary,
            trace: self.observer.finish(&mut self.flows, transfers),
        }
    }
}

/// One entry's happening: what it may touch beside its flow.
struct Step<'a> {
    network: &'a mut Network,
    observer: &'a mut Measurement,
}

impl Step<'_> {
    fn start(mut self, flow: &mut Flow, now: Time) {
        self.network.events += 1;
        match &mut flow.source {
            AnySender::Tcp(sender) => {
                let syn = sender.syn(now);
                flow.far().enter(self.network, now, syn);
                self.rearm(flow, now);
            }
            AnySender::Hosted(_) => flow.start_host(self.network, now),
            AnySender::Unresponsive(_) => self.emit_unresponsive(flow, now),
            AnySender::Closed(_) | AnySender::Gone => {}
        }
    }

    /// A program on a host at one of the flow's ends takes a turn. Out of line: `dispatch` has to
    /// stay small.
    #[cold]
    #[inline(never)]
    fn turn(mut self, flow: &mut Flow, now: Time, side: usize) {
        if flow.turn(self.network, now, side) && flow.watched {
            self.watch(flow, now);
        }
    }

    /// Packets of a flow arrive at a link.
    fn segments(self, flow: &mut Flow, mut now: Time, hop: usize) {
        while let Some(packet) = flow.wire.in_flights[hop].front() {
            flow.far().arrive(self.network, hop, now, packet);
            let Some(next) = flow.wire.in_flights[hop].advance() else {
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

    /// Packets of a flow arrive at a receiver that is not told ahead of time.
    fn arrivals(self, flow: &mut Flow, now: Time) {
        if flow.wire.arrivals.fired(now) {
            flow.far().arrivals(self.network, now);
        }
    }

    /// ACKs of a flow arrive at a link, or at the sender.
    #[inline]
    fn acks(mut self, flow: &mut Flow, mut now: Time, hop: usize) {
        while let Some(ack) = flow.wire.acks_in_flight[hop].front() {
            let mut blocks = [Block::default(); MAX_BLOCKS];
            let count = usize::from(ack.blocks);
            for block in &mut blocks[..count] {
                *block = flow.wire.blocks[hop]
                    .pop_front()
                    .expect("an ACK's blocks travel with it");
            }
            self.network.events += 1;
            if hop < flow.wire.reverse_route.len() {
                flow.far()
                    .ack_at_link(self.network, now, hop, ack, &blocks[..count]);
            } else {
                self.ack_at_sender(flow, now, &ack, &blocks[..count]);
            }
            let Some(next) = flow.wire.acks_in_flight[hop].advance() else {
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

    #[inline]
    fn ack_at_sender(&mut self, flow: &mut Flow, now: Time, ack: &Ack, blocks: &[Block]) {
        let AnySender::Tcp(sender) = &mut flow.source else {
            return flow.ack_at_host(self.network, now, ack, blocks);
        };
        flow.last = sender.on_ack(now, ack, blocks, &mut flow.transitions);
        if let Some(rtt) = flow.last.rtt {
            flow.meter.on_rtt(now, rtt);
        }
        self.transmit(flow, now);
        if flow.watched {
            self.watch(flow, now);
        }
    }

    /// An ACK of a watched flow was read: a row in the trace, or its end.
    #[inline(never)] // as above
    fn watch(&mut self, flow: &mut Flow, now: Time) {
        if flow.arrived.is_none() {
            self.observer.flow(now, flow);
        } else if flow.source.tcp().is_some_and(|sender| sender.is_done()) {
            flow.close(now);
        }
    }

    fn delayed_ack(self, flow: &mut Flow, now: Time) {
        if flow.wire.delayed_ack.fired(now) {
            self.network.events += 1;
            flow.far().on_time(self.network, now);
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
            return;
        };
        if sender.must_resend_syn(now) {
            let syn = sender.syn(now);
            flow.far().enter(self.network, now, syn);
            return self.rearm(flow, now);
        }
        let (sender, transitions, mut far) = flow.split();
        sender.on_timer(now, transitions, |segment| {
            far.enter(self.network, now, segment)
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
        }
    }

    fn emit_unresponsive(&mut self, flow: &mut Flow, mut now: Time) {
        loop {
            let AnySender::Unresponsive(source) = &mut flow.source else {
                return;
            };
            let segment = source.send(now);
            let next = source.next_at();
            flow.far().enter(self.network, now, segment);
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

    #[inline]
    fn transmit(&mut self, flow: &mut Flow, now: Time) {
        let (sender, transitions, mut far) = flow.split();
        sender.transmit(now, transitions, |segment| {
            far.enter(self.network, now, segment)
        });
        self.rearm(flow, now);
    }

    /// Sees to it that the sender is called when it wants to be.
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

impl Flow {
    /// The part of the flow that a packet meets once it has left.
    #[inline]
    pub(crate) fn far(&mut self) -> ForwardPath<'_> {
        ForwardPath {
            key: self.key,
            wire: &mut self.wire,
            receiver: &mut self.receiver,
            meter: &mut self.meter,
            total: &mut self.total,
            at_once: matches!(self.source, AnySender::Tcp(_)),
        }
    }

    /// Sender and far side, both to change.
    ///
    /// # Panics
    /// For other sources: unresponsive traffic has no sender of this kind, and one on a host takes
    /// turns.
    #[inline]
    fn split(
        &mut self,
    ) -> (
        &mut fullpipe_tcp::Sender<fullpipe_cc::AnyController>,
        &mut crate::flow::Transitions,
        ForwardPath<'_>,
    ) {
        let AnySender::Tcp(sender) = &mut self.source else {
            unreachable!("only a TCP sender transmits here")
        };
        let far = ForwardPath {
            key: self.key,
            wire: &mut self.wire,
            receiver: &mut self.receiver,
            meter: &mut self.meter,
            total: &mut self.total,
            at_once: true,
        };
        (sender, &mut self.transitions, far)
    }

    fn limits_held(&mut self, end: Time) -> [Span; LIMITS.len()] {
        let until = self.meter.ended().unwrap_or(end);
        match self.source.tcp() {
            Some(sender) => sender.limits().held(until),
            None => {
                let mut held = [Span::ZERO; LIMITS.len()];
                held[fullpipe_tcp::Limit::Application as usize] = self.meter.active();
                held
            }
        }
    }
}
