//! QUIC in virtual time: both ends of every flow over the scenario's path, on one thread. The same
//! seed gives the same run.

mod flow;
mod watcher;

use std::collections::BTreeMap;

use bytes::BytesMut;
use fullpipe_emulator::{Direction, EmulatedPacket, Emulator, PacketKind};
use fullpipe_path::EcnCodepoint as OnPath;
use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::LinkRow;
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::{Span, Time};
use noq_proto::EcnCodepoint;

use crate::check::Runner;
use crate::data_source::DataSource;
use crate::endpoint_metrics::{Clock, HEADERS};
use crate::outcome::{self, Finished, Rest};
use crate::peer::Peer;
use crate::plan::plans;
use crate::tap::link_interval;
use crate::tls::Identity;
use flow::Flow;
use watcher::Watcher;

type Payload = Box<[u8]>;

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
    /// Prepares a run.
    ///
    /// # Errors
    /// When this runner does not support the scenario.
    pub fn new(scenario: &Scenario, level: TraceLevel) -> Result<Virtual, Error> {
        let (clock, identity) = (Clock::start(), Identity::new());
        let window = fullpipe_emulator::whole(scenario);
        let plans = plans(scenario, Runner::Virtual, level)?;
        let flows = plans
            .into_iter()
            .map(|plan| Flow::new(scenario, plan, clock, &identity))
            .collect::<Vec<_>>();
        Ok(Virtual {
            path: Emulator::new(scenario, window),
            watcher: Watcher::new(scenario),
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

    /// Advances by about `steps` steps. Returns true when the run is over.
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

    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of steps so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the server of a flow.
    pub fn source(&mut self, flow: usize) -> &mut DataSource {
        &mut self.flows[flow].source
    }

    /// Returns the connections that ended other than by the client's close: (flow, reason).
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
        let sample = self
            .sample
            .map(|(_, at)| at)
            .filter(|_| self.path.in_flight() > 0 || !self.is_idle());
        self.flows
            .iter()
            .filter_map(Flow::next_at)
            .chain(self.path.next_at())
            .chain(sample)
            .min()
    }

    /// Returns whether every connection has ended.
    fn is_idle(&self) -> bool {
        self.flows.iter().all(Flow::is_over)
    }

    /// Processes everything that is due: first on the path, then flow by flow.
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
                let (_, packet) = entering.pop_front().expect("the queue is not empty");
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

    /// Delivers a packet to its other end.
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

    /// Lets one end of a flow send, in the given direction, and notes when to call it again.
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

    /// Returns the results of the run.
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

/// Runs a scenario to its end.
///
/// # Errors
/// When this runner does not support the scenario.
pub fn run(scenario: &Scenario, level: TraceLevel) -> Result<Run, Error> {
    let mut run = Virtual::new(scenario, level)?;
    while !run.advance(u64::MAX) {}
    Ok(run.finish())
}
