//! QUIC in virtual time: both ends of every flow over the scenario's path, one thread, the same run
//! for the same seed.

use std::collections::{BTreeMap, VecDeque};

use bytes::BytesMut;
use fullpipe_emulator::{
    Direction, DropCause, EmulatedPacket, Emulator, LinkTransit, Observer, PacketKind,
};
use fullpipe_path::{EcnCodepoint as OnPath, Serialiser};
use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::{FlowMeter, LinkRow};
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::{Rate, Rng, Span, Time};
use noq_proto::EcnCodepoint;

use crate::build::{Plan, Runner, plans};
use crate::endpoint_metrics::{Clock, HEADERS, addresses};
use crate::outcome::{self, Finished, Rest};
use crate::peer::{DataSource, Parts, Peer, Sink};
use crate::tap::{Tallies, link_interval};
use crate::tls::Identity;

/// An access link is this much faster than the fastest link, as the simulator's.
const ACCESS_SPEED: u64 = 10;

type Payload = Box<[u8]>;

/// A flow's two ends, and what has left one and not yet reached the path.
struct Flow {
    source: DataSource,
    sink: Sink,
    descriptor: &'static fullpipe_cc::Descriptor,
    start: Time,
    started: bool,
    access: Serialiser,
    jitter: Option<(Rng, Span)>,
    last_entry: Time,
    entering: VecDeque<(Time, EmulatedPacket<Payload>)>,
    /// When an end wants to be called.
    wakes: [Option<Time>; 2],
}

/// What the path does with packets.
struct Watcher {
    delivered: Vec<(Span, EmulatedPacket<Payload>)>,
    tallies: Tallies,
    /// Of each link, drops and marks so far.
    links: Vec<(u64, u64)>,
}

impl Observer<Payload> for Watcher {
    fn dropped(
        &mut self,
        at: Time,
        link: Option<usize>,
        cause: DropCause,
        packet: &EmulatedPacket<Payload>,
    ) {
        self.tallies.dropped(at, packet);
        if let Some(link) =
            link.filter(|_| packet.kind == PacketKind::Data && cause != DropCause::Loss)
        {
            self.links[link].0 += 1;
        }
    }

    fn passed(&mut self, passage: &LinkTransit, packet: &EmulatedPacket<Payload>) {
        self.tallies.passed(passage, packet);
        self.links[passage.link].1 += u64::from(passage.marked && packet.kind == PacketKind::Data);
    }

    fn delivered(&mut self, _: Time, waited: Span, packet: EmulatedPacket<Payload>) {
        self.delivered.push((waited, packet));
    }
}

/// A run in progress.
pub struct Virtual {
    scenario: Scenario,
    level: TraceLevel,
    path: Emulator<Payload>,
    watcher: Watcher,
    flows: Vec<Flow>,
    now: Time,
    end: Time,
    sample: Option<(Span, Time)>,
    link_rows: Vec<LinkRow>,
    events: u64,
}

impl std::fmt::Debug for Virtual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Virtual")
            .field("now", &self.now)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

impl Virtual {
    /// A run about to begin.
    ///
    /// # Errors
    /// When the scenario has what this runner does not do.
    pub fn new(scenario: &Scenario, level: TraceLevel) -> Result<Virtual, Error> {
        let (clock, identity) = (Clock::start(), Identity::new());
        let window = fullpipe_emulator::whole(scenario);
        let plans = plans(scenario, Runner::Virtual, level)?;
        let flows = plans
            .into_iter()
            .map(|plan| flow(scenario, plan, clock, &identity))
            .collect::<Vec<_>>();
        let links = scenario.links().count();
        Ok(Virtual {
            path: Emulator::new(scenario, window),
            watcher: Watcher {
                delivered: Vec::new(),
                tallies: Tallies::new(scenario),
                links: vec![(0, 0); links],
            },
            scenario: scenario.clone(),
            level,
            flows,
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            sample: link_interval(level).map(|interval| (interval, Time::ZERO + interval)),
            link_rows: Vec::new(),
            events: 0,
        })
    }

    /// Goes on for about `steps` steps; true when the run is over.
    pub fn advance(&mut self, steps: u64) -> bool {
        let until = self.events.saturating_add(steps);
        while self.events < until {
            match self.next_at() {
                Some(at) if at <= self.end => {
                    self.now = at.max(self.now);
                    self.happen();
                }
                _ => {
                    self.now = self.end;
                    return true;
                }
            }
        }
        false
    }

    /// The time reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Steps taken.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The server of a flow.
    pub fn source(&mut self, flow: usize) -> &mut DataSource {
        &mut self.flows[flow].source
    }

    /// The connections that came to an end other than by their client's goodbye: (flow, why).
    pub fn failures(&self) -> Vec<(String, String)> {
        let names = self.scenario.flows.iter().map(|spec| spec.name.clone());
        let ends = |flow: &Flow| [flow.sink.ended().cloned(), flow.source.ended().cloned()];
        let failed = |flow: &Flow| ends(flow).into_iter().flatten().find_map(Result::err);
        names
            .zip(&self.flows)
            .filter_map(|(name, flow)| Some((name, failed(flow)?)))
            .collect()
    }

    fn next_at(&self) -> Option<Time> {
        let flow = |flow: &Flow| {
            let start = (!flow.started).then_some(flow.start);
            let entry = flow.entering.front().map(|(at, _)| *at);
            [start, entry, flow.wakes[0], flow.wakes[1]]
                .into_iter()
                .flatten()
                .min()
        };
        let sample = self
            .sample
            .map(|(_, at)| at)
            .filter(|_| self.path.in_flight() > 0 || !self.is_idle());
        self.flows
            .iter()
            .filter_map(flow)
            .chain(self.path.next_at())
            .chain(sample)
            .min()
    }

    /// Every connection is over.
    fn is_idle(&self) -> bool {
        self.flows.iter().all(|flow| {
            flow.started && flow.sink.ended().is_some() && flow.source.ended().is_some()
        })
    }

    /// Everything that is due now: first on the path, then flow by flow.
    fn happen(&mut self) {
        self.events += 1;
        let now = self.now;
        if let Some((interval, at)) = self.sample.filter(|(_, at)| *at <= now) {
            self.sample = Some((interval, at + interval));
            self.sample_links(at);
        }
        self.path.advance(now, &mut self.watcher);
        for index in 0..self.flows.len() {
            let entering = &mut self.flows[index].entering;
            while entering.front().is_some_and(|(at, _)| *at <= now) {
                let (_, packet) = entering.pop_front().expect("there is a first one");
                self.path.arrive(now, packet, &mut self.watcher);
            }
        }
        for (waited, packet) in std::mem::take(&mut self.watcher.delivered) {
            self.deliver(waited, packet);
        }
        for index in 0..self.flows.len() {
            let flow = &mut self.flows[index];
            if !flow.started && flow.start <= now {
                flow.started = true;
                self.call(index, Direction::Reverse);
                continue;
            }
            for (end, direction) in [Direction::Forward, Direction::Reverse]
                .into_iter()
                .enumerate()
            {
                if self.flows[index].wakes[end].is_some_and(|at| at <= now) {
                    match direction {
                        Direction::Forward => self.flows[index].source.on_time(now),
                        Direction::Reverse => self.flows[index].sink.on_time(now),
                    }
                    self.call(index, direction);
                }
            }
        }
    }

    /// A packet is at its other end.
    fn deliver(&mut self, waited: Span, packet: EmulatedPacket<Payload>) {
        let (now, index) = (self.now, packet.flow as usize);
        let flow = &mut self.flows[index];
        let ecn = match packet.ecn {
            OnPath::NotEct => None,
            OnPath::Ect0 => Some(EcnCodepoint::Ect0),
            OnPath::Ect1 => Some(EcnCodepoint::Ect1),
            OnPath::Ce => Some(EcnCodepoint::Ce),
        };
        let data = BytesMut::from(&packet.payload[..]);
        match packet.direction {
            Direction::Forward => {
                if packet.kind == PacketKind::Data {
                    flow.sink
                        .meter_mut()
                        .on_delivered(now, waited, fullpipe_units::Bytes::ZERO);
                }
                flow.sink.receive(now, ecn, data);
                flow.sink.on_received(now);
                self.call(index, Direction::Reverse);
            }
            Direction::Reverse => {
                flow.source.receive(now, ecn, data);
                flow.source.on_received(now);
                self.call(index, Direction::Forward);
            }
        }
    }

    /// An end of a flow says what leaves, in that direction, and when it wants to be called.
    fn call(&mut self, index: usize, direction: Direction) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let (number, open) = (index as u32, flow.source.driver().is_some());
        let kind = match direction {
            _ if !open => PacketKind::Other,
            Direction::Forward => PacketKind::Data,
            Direction::Reverse => PacketKind::Ack,
        };
        let Flow {
            source,
            sink,
            access,
            jitter,
            last_entry,
            entering,
            wakes,
            ..
        } = flow;
        let (peer, end): (&mut dyn Peer, usize) = match direction {
            Direction::Forward => (source, 0),
            Direction::Reverse => (sink, 1),
        };
        while let Some(burst) = peer.burst(now) {
            for datagram in burst.datagrams() {
                let size = HEADERS + fullpipe_units::Bytes::new(datagram.len() as u64);
                let mut packet =
                    EmulatedPacket::new(number, direction, kind, size, Payload::from(datagram));
                if burst.ecn.is_some() {
                    packet.ecn = OnPath::Ect0;
                }
                if direction == Direction::Reverse {
                    self.path.arrive(now, packet, &mut self.watcher);
                    continue;
                }
                let (_, mut at) = access.transmit(now, size);
                if let Some((rng, most)) = jitter {
                    at = (at + Span::from_nanos(rng.below(most.as_nanos() + 1))).max(*last_entry);
                    *last_entry = at;
                }
                entering.push_back((at, packet));
            }
        }
        wakes[end] = peer.wake_at();
    }

    fn sample_links(&mut self, at: Time) {
        for (link, (drops, marks)) in self.watcher.links.iter().enumerate() {
            let (queue_packets, queue_bytes, sojourn) = self.path.backlog(link, at);
            let (link, drops, marks) = (link as u32, *drops, *marks);
            self.link_rows.push(LinkRow {
                time: at,
                link,
                queue_packets,
                queue_bytes,
                sojourn,
                drops,
                marks,
            });
        }
    }

    /// The run's results.
    pub fn finish(self) -> Run {
        let links = self.path.summaries(self.end);
        let finished = self
            .flows
            .into_iter()
            .enumerate()
            .map(|(index, flow)| Finished {
                source: flow.source,
                sink: flow.sink,
                descriptor: flow.descriptor,
                tallied: self.watcher.tallies.of(index),
            });
        let rest = Rest {
            runner: Runner::Virtual,
            end: self.end,
            links,
            link_rows: self.link_rows,
            events: self.events,
            facts: BTreeMap::new(),
            warnings: Vec::new(),
        };
        outcome::run(&self.scenario, self.level, finished.collect(), rest)
    }
}

fn flow(scenario: &Scenario, plan: Plan, clock: Clock, identity: &Identity) -> Flow {
    let Plan {
        index,
        start,
        settings,
        driver,
        meter,
        ecn,
        batch,
        buffer,
        descriptor,
    } = plan;
    let spec = &scenario.flows[index as usize];
    let (server, client) = addresses();
    let sink_meter: FlowMeter = meter.clone();
    let sink = Sink::new(
        clock, identity, &settings, server, spec.bytes, sink_meter, start,
    );
    let source = DataSource::new(
        clock,
        identity,
        &settings,
        client,
        Parts {
            driver,
            meter,
            rate: spec.app_rate,
            ecn,
            batch,
            buffer,
        },
    );
    let access = Rate::from_bps(scenario.fastest().as_bps().saturating_mul(ACCESS_SPEED));
    let jitter = (scenario.send_jitter > Span::ZERO).then(|| {
        (
            Rng::stream(scenario.seed, &spec.name, "jitter"),
            scenario.send_jitter,
        )
    });
    Flow {
        source,
        sink,
        descriptor,
        start,
        started: false,
        access: Serialiser::new(access),
        jitter,
        last_entry: Time::ZERO,
        entering: VecDeque::new(),
        wakes: [None, None],
    }
}

/// Runs a scenario to its end.
///
/// # Errors
/// When the scenario has what this runner does not do.
pub fn run(scenario: &Scenario, level: TraceLevel) -> Result<Run, Error> {
    let mut run = Virtual::new(scenario, level)?;
    while !run.advance(u64::MAX) {}
    Ok(run.finish())
}
