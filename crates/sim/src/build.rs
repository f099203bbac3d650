//! Construction of a simulation from a scenario.

mod app;
mod caches;
mod connection;
mod datagram;
mod host;
mod path;

use std::collections::BTreeMap;

use fullpipe_cc::{Descriptor, Registry, Shared};
use fullpipe_scenario::{App, Error, Scenario};
use fullpipe_setup::{Algorithms, choose, window};
use fullpipe_tcp::{Client, Memory, Receiver, Unresponsive};
use fullpipe_trace::{FlowMeter, MeasuredTime, TraceLevel};
use fullpipe_units::{Rate, Rng, Span, Time};

use crate::arrivals::Workloads;
use crate::engine::Simulation;
use crate::event_queue::{EventKind, EventQueue, FlowKey};
use crate::flow::{AnySender, Flow, Network, Transitions};
use crate::observe::Measurement;
use app::{app, messages};
use connection::{check_window, codepoint, receiver};
use path::network_link;

pub(crate) use caches::Caches;
pub(crate) use connection::connection;
pub(crate) use path::flow_path;

/// Number of simultaneously active arriving flows for which the event queue is sized.
const UNDER_WAY: usize = 512;

/// Checks the flows of a scenario as [`simulation`] does, without making them. Programs, which run on
/// other runners, are left out.
pub(crate) fn check(scenario: &Scenario, registry: &Registry) -> Result<(), Error> {
    let flows = scenario.flows.iter().filter(|spec| spec.program.is_none());
    let arriving = scenario.workloads.iter().map(|workload| &workload.flow);
    for spec in flows.chain(arriving) {
        if spec.is_unresponsive() {
            rates(scenario, spec)?;
        } else {
            algorithms(scenario, spec, registry)?;
        }
    }
    Ok(())
}

/// Returns the algorithms of a flow.
pub(crate) fn algorithms(
    scenario: &Scenario,
    spec: &fullpipe_scenario::Flow,
    registry: &Registry,
) -> Result<Algorithms, Error> {
    let algorithms = choose(scenario, spec, registry)?;
    if algorithms.receiver.is_some() && !spec.is_datagram() {
        check_window(scenario, spec)?;
    }
    Ok(algorithms)
}

pub(crate) fn simulation(
    scenario: &Scenario,
    registry: &Registry,
    level: TraceLevel,
) -> Result<Simulation, Error> {
    let window = window(scenario);
    let mut network = network(scenario, window, level);
    let mut builder = FlowBuilder {
        scenario,
        registry,
        window,
        level,
        observer: Measurement::new(level),
        groups: BTreeMap::new(),
        caches: Caches::default(),
        shared: Shared::default(),
    };
    let mut flows = Vec::with_capacity(scenario.flows.len());
    for (index, spec) in scenario.flows.iter().enumerate() {
        let start = Time::ZERO + scenario.start(spec);
        let flow = builder.flow(index as u32, spec, start)?;
        network
            .event_queue
            .push(start, EventKind::Start, flow.key, 0);
        flows.push(flow);
    }
    let FlowBuilder {
        observer,
        caches,
        shared,
        ..
    } = builder;
    let workloads = Workloads::new(scenario, registry, shared, window, caches)?;
    workloads.begin(&mut network.event_queue);
    begin_samples(&mut network.event_queue, window.to, observer.interval());
    Ok(Simulation {
        scenario: scenario.clone(),
        network,
        flows,
        workloads,
        observer,
        now: Time::ZERO,
        end: window.to,
    })
}

/// Returns the links, with an empty event queue.
fn network(scenario: &Scenario, window: MeasuredTime, level: TraceLevel) -> Network {
    let arriving = if scenario.workloads.is_empty() {
        0
    } else {
        UNDER_WAY
    };
    let links = scenario
        .links()
        .enumerate()
        .map(|(index, link)| network_link(scenario, index, link, window, level))
        .collect();
    Network {
        event_queue: EventQueue::new(scenario.flows.len() + arriving),
        links,
        events: 0,
        packets: None,
    }
}

/// Schedules the first sample, and the one after the end of the run.
fn begin_samples(event_queue: &mut EventQueue, end: Time, interval: Option<Span>) {
    let mut sample = |at| event_queue.push(at, EventKind::Sample, FlowKey::other(0), 0);
    // No shortcut acts at or after the earliest entry, so this entry stops them at the end.
    sample(end + Span::from_nanos(1));
    if let Some(interval) = interval {
        sample(Time::ZERO + interval);
    }
}

/// Builds the flows of the `[[flow]]` tables, one at a time.
struct FlowBuilder<'a> {
    scenario: &'a Scenario,
    registry: &'a Registry,
    window: MeasuredTime,
    level: TraceLevel,
    observer: Measurement,
    /// Declared groups of trace columns, by algorithm.
    groups: BTreeMap<&'static str, usize>,
    caches: Caches,
    /// State that the controllers of this run share.
    shared: Shared,
}

/// The two ends of a flow, with the groups of trace columns of their algorithms.
struct Ends {
    source: AnySender,
    receiver: Receiver,
    group: usize,
    window_group: Option<usize>,
}

impl FlowBuilder<'_> {
    fn flow(
        &mut self,
        index: u32,
        spec: &fullpipe_scenario::Flow,
        start: Time,
    ) -> Result<Flow, Error> {
        let Ends {
            source,
            mut receiver,
            group,
            window_group,
        } = self.ends(spec, start)?;
        let mut meter = FlowMeter::new(self.window, start).with_course();
        let mut total = spec.bytes;
        if let Some(App::Request { size, think }) = spec.app {
            let think_rng = Rng::stream(self.scenario.seed, &spec.name, "think");
            receiver = receiver.with_client(Client::new(
                messages(self.scenario, spec, size),
                think,
                think_rng,
                start,
            ));
            meter = meter.with_responses(self.observer.records());
            total = receiver.expects();
        }
        if let Some(App::Media(_)) = spec.app {
            meter = meter.with_frames();
        }
        let mut path = flow_path(self.scenario, spec, index, start);
        if spec.is_datagram() {
            path.datagrams = Some(Box::new(datagram::receiver(spec)));
        }
        if spec.is_unresponsive() && self.observer.records() {
            path.received = Some(Box::default());
        }
        let key = FlowKey::new(index, index as usize);
        Ok(Flow {
            transitions: Transitions {
                flow: index,
                wanted: self.observer.records(),
                rows: Vec::new(),
            },
            group,
            window_group,
            watched: self.level == TraceLevel::Acks,
            ..Flow::new(key, (source, receiver), path, meter, total)
        })
    }

    fn ends(&mut self, spec: &fullpipe_scenario::Flow, start: Time) -> Result<Ends, Error> {
        let scenario = self.scenario;
        if spec.is_unresponsive() {
            let ecn = codepoint(spec.ecn).unwrap_or_default();
            let (rate, changes) = rates(scenario, spec)?;
            let source = Unresponsive::new(rate, ecn, spec.mss, start).changing(changes);
            return Ok(Ends {
                source: AnySender::Unresponsive(source),
                receiver: receiver(scenario, spec),
                group: 0,
                window_group: None,
            });
        }
        let algorithms = algorithms(scenario, spec, self.registry)?;
        let group = self.declare(algorithms.sender.0);
        if spec.is_datagram() {
            let sender = datagram::sender(
                (scenario, &mut self.shared),
                spec,
                &algorithms.sender,
                start,
                self.window,
            );
            return Ok(Ends {
                source: AnySender::Datagram(Box::new(sender)),
                receiver: receiver(scenario, spec),
                group,
                window_group: None,
            });
        }
        let mut window_group = None;
        if let Some((descriptor, _)) = &algorithms.receiver {
            window_group = Some(self.declare(descriptor));
        }
        let (source, receiver) = connection(
            (scenario, &mut self.shared),
            spec,
            &algorithms,
            app(scenario, spec),
            (Memory::default(), self.caches.of(spec)),
            start,
            self.window.from,
        );
        Ok(Ends {
            source,
            receiver,
            group,
            window_group,
        })
    }

    /// Returns the group of trace columns of an algorithm, which is declared once.
    fn declare<Build>(&mut self, descriptor: &Descriptor<Build>) -> usize {
        *self
            .groups
            .entry(descriptor.name)
            .or_insert_with(|| self.observer.declare(descriptor))
    }
}

/// Returns the first rate of unresponsive traffic, and its changes. Traffic beyond the rate of its
/// access link would pile up in front of that link without bound.
fn rates(
    scenario: &Scenario,
    spec: &fullpipe_scenario::Flow,
) -> Result<(Rate, Vec<(Time, Rate)>), Error> {
    let first = spec
        .app_rate
        .expect("a flow with cc = \"none\" and no rate is refused");
    let most = scenario
        .access_rate()
        .mul_f64(spec.mss.as_f64() / spec.packet().as_f64());
    let changes: Vec<(Time, Rate)> = spec
        .app_schedule
        .iter()
        .filter_map(|(at, rate)| Some((Time::ZERO + *at, (*rate)?)))
        .collect();
    let of_schedule = changes.iter().map(|(_, rate)| ("app_schedule", *rate));
    let too_fast = [("app_rate", first)]
        .into_iter()
        .chain(of_schedule)
        .find(|(_, rate)| *rate > most);
    if let Some((key, rate)) = too_fast {
        let problem = format!(
            "faster than its access link, which is {} x the fastest link, headers included",
            fullpipe_scenario::ACCESS_SPEED
        );
        return Err(scenario.error(
            &spec.key(key),
            format_args!("\"{rate}\""),
            problem,
            format!("give at most \"{most}\""),
        ));
    }
    Ok((first, changes))
}
