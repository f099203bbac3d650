//! The main loop: takes the earliest event, handles it, and stays inside a flow for as long as
//! nothing else can happen first.

use std::collections::BTreeMap;

use fullpipe_network::DropCause;
use fullpipe_scenario::{Error, Scenario};
use fullpipe_setup::{changes, set_max_min_shares, window};
use fullpipe_tcp::LIMITS;
use fullpipe_trace::{
    AckRow, FlowSummary, PacketRow, Run, Steadiness, Summary, Trace, TraceLevel, jain,
};
use fullpipe_units::{Span, Time};

use crate::arrivals::Workloads;
use crate::build;
use crate::event_queue::{Event, EventKind, FlowKey};
use crate::flow::{Flow, Network};
use crate::observe::Measurement;
use crate::packet_log::{MOST_ROWS, PacketLog};
use crate::prefetch::prefetch;
use crate::step::Step;
use crate::waiting::Load;

/// Number of flows whose state certainly fits into a processor's cache, so that nothing is prefetched.
const CACHED: usize = 64;

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
    /// Creates a run about to begin.
    ///
    /// # Errors As for [`run`](crate::run).
    pub fn new(
        scenario: &Scenario,
        registry: &fullpipe_cc::Registry,
        level: TraceLevel,
    ) -> Result<Simulation, Error> {
        build::simulation(scenario, registry, level)
    }

    /// Records each packet that flows send from `from` until before `to`, and the ACKs of that time.
    /// Needs a trace, and takes effect from now on.
    pub fn log_packets(&mut self, from: Time, to: Time) {
        let smss = self.scenario.flows.iter().map(|flow| flow.mss).collect();
        self.network.packets = Some(Box::new(PacketLog::new(from, to, smss)));
        for link in &mut self.network.links {
            link.log_drops();
        }
        // No packet reaches a link by a shortcut after the end.
        let behind = self.end + Span::from_nanos(1);
        let queue = &mut self.network.event_queue;
        queue.push(behind, EventKind::Pause, FlowKey::other(0), 0);
        for flow in &mut self.flows {
            (flow.logged, flow.watched) = (true, true);
        }
    }

    /// Takes no shortcuts from now on: every packet and ACK goes through the event queue. This is
    /// slower but gives the same result to the bit; a test compares the two.
    pub fn step_by_step(&mut self) {
        self.network.event_queue.stepping = true;
    }

    /// Reuses no slot for arriving flows from now on. This takes more memory but gives the same
    /// result to the bit; a test compares the two.
    pub fn with_fresh_state(&mut self) {
        self.workloads.fresh = true;
    }

    /// Advances by about `steps` steps; returns true when the run is over.
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

    /// Advances to `at`, including everything that happens then; returns true when the run is over.
    /// The stop itself does not change the run.
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

    /// Prefetches the flows whose events are next: first the part at a known address, and when that
    /// has been loaded, the memory to which it points.
    #[inline]
    fn prefetch_next(&self) {
        if self.flows.len() < CACHED {
            return;
        }
        if let Some(event) = self.network.event_queue.ahead(4) {
            match event.kind() {
                EventKind::Ack => prefetch(&self.flows[event.slot()]),
                EventKind::Transmit | EventKind::Arrive | EventKind::Sample | EventKind::Pause => {}
                // Such events usually fire early.
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

    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of steps taken.
    pub fn events(&self) -> u64 {
        self.network.events
    }

    #[inline]
    fn dispatch(&mut self, event: Event) {
        let (now, kind) = (event.at(), event.kind());
        self.now = now;
        // A single test excludes the events that do not belong to a flow.
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
        // The slot may belong to another flow by now.
        if watched && flow.key != event.key() {
            return;
        }
        let step = Step {
            network: &mut self.network,
            observer: &mut self.observer,
        };
        step.happen(flow, event);
        if watched {
            self.tidy(event.slot());
        }
    }

    /// Handles an event of a watched flow, which may be over.
    #[inline(never)] // most flows are not watched
    fn tidy(&mut self, slot: usize) {
        let flow = &mut self.flows[slot];
        if flow.closed.is_some() {
            self.workloads.tidy(flow);
        }
    }

    /// Takes the samples for the trace.
    #[cold]
    fn sample(&mut self, now: Time) {
        self.network.events += 1;
        let others = &mut self.flows[..self.workloads.others];
        self.observer
            .sample(now, others, &self.workloads, &mut self.network);
    }

    /// Lets a flow of a workload arrive and start.
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

    /// Lets a link with an AQM queue send: the next packet, and further ones while nothing else can
    /// happen first.
    fn transmit(&mut self, link: usize, mut now: Time) {
        loop {
            self.network.events += 1;
            if let Some(sent) = self.network.links[link].send(now) {
                let flow = &mut self.flows[sent.key.slot()];
                if flow.key == sent.key && !flow.path.gone {
                    flow.forward_path().proceed(&mut self.network, link, sent);
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

    /// Returns a copy of the trace so far, for a picture of a run in progress: rows of flows, links
    /// and queues, and changes of states; `None` if no trace is recorded.
    pub fn trace_so_far(&self) -> Option<Trace> {
        self.observer.so_far(&self.flows, &self.scenario)
    }

    /// Returns the results of the run, or of its part so far if it is not over.
    pub fn finish(mut self) -> Run {
        let logged = self.logged_packets();
        let (mut flows, mut rates) = (Vec::with_capacity(self.flows.len()), Vec::new());
        let mut small = Vec::new();
        for (flow, spec) in self.flows.iter_mut().zip(&self.scenario.flows) {
            for link in &self.network.links {
                flow.meter.on_tally(link.counters(flow.path.account));
            }
            if flow.source.is_responsive() {
                rates.push(flow.meter.goodput().as_f64());
            }
            let held = flow.limits_held(self.end);
            flows.push(FlowSummary::new(
                spec.name.clone(),
                spec.called.clone(),
                &flow.meter,
                &LIMITS,
                &held,
            ));
            let (Some(sender), Some(summary)) = (flow.source.tcp(), flows.last()) else {
                continue;
            };
            let (name, smss) = (&spec.name, sender.conn().smss.get());
            let cwnd = sender.cwnd().get();
            if cwnd < smss && summary.sent == 0 {
                small.push(format!(
                    "flow {name}: it sent nothing, since its window of {cwnd} B is less than a segment of {smss} B"
                ));
            } else if crawls(summary, smss) {
                small.push(format!(
                    "flow {name}: its algorithm sends less than a segment in each RTT though no queue waits; a target \
                     delay below the RTT of the path does this"
                ));
            }
        }
        let meters = self.flows.iter().take(flows.len()).map(|flow| &flow.meter);
        set_max_min_shares(&self.scenario, &mut flows, meters);
        let window = window(&self.scenario);
        let links: Vec<_> = self
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
        let (workloads, mut warnings, transfers) =
            self.workloads
                .finish(&self.scenario, &mut self.flows, tally);
        warnings.extend(small);
        if logged.as_ref().is_some_and(|(.., full)| *full) {
            warnings.push(format!(
                "packets: only the first {MOST_ROWS} of the window were recorded"
            ));
        }
        let changes = changes(&self.scenario, &flows);
        let steadiness = Steadiness::of(window, &flows, &workloads, &links, &changes);
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
            steadiness,
            packets: self.network.links[0].packets(),
            events: self.network.events,
        };
        let transfers = (!self.scenario.workloads.is_empty()).then_some(transfers);
        Run {
            summary,
            trace: self
                .observer
                .finish(&mut self.flows, transfers, logged, &self.scenario),
        }
    }

    /// Returns the rows of packets and ACKs, with whether there were more, if packets are logged.
    fn logged_packets(&mut self) -> Option<(Vec<PacketRow>, Vec<AckRow>, bool)> {
        let mut log = self.network.packets.take()?;
        for (number, link) in self.network.links.iter_mut().enumerate() {
            for (flow, packet) in link.take_dropped() {
                log.ends(flow, &packet, number, DropCause::Queue);
            }
        }
        for flow in self.flows.iter().filter(|flow| flow.logged) {
            for packet in flow.path.in_flights[0].iter() {
                log.enters(None, flow.path.account, packet);
            }
        }
        Some(log.finish(self.now))
    }
}

/// Returns whether the algorithm of a flow lets it send less than a segment of `smss` bytes in each RTT,
/// while packets wait in queues for less than a hundredth of the RTT.
fn crawls(flow: &FlowSummary, smss: u64) -> bool {
    let (Some(queue), Some(rtt)) = (flow.queue_delay_s.mean, flow.rtt_s.mean) else {
        return false;
    };
    let held = |limit: &str| flow.limited_by.get(limit).copied().unwrap_or_default();
    queue < rtt / 100.0
        && flow.goodput_bps * rtt < 8.0 * smss as f64
        && held("pacing") + held("cwnd") > 0.9
}
