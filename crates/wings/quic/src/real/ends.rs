//! Both ends of all flows, with their sockets.

use std::collections::BTreeMap;
use std::io;

use fullpipe_cc::Descriptor;
use fullpipe_scenario::Scenario;
use fullpipe_testbed::SandboxError;
use fullpipe_trace::{FlowCounters, LinkSummary};
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::Time;

use super::socket::{Socket, room_warning};
use crate::check::Runner;
use crate::data_source::DataSource;
use crate::endpoint_metrics::Clock;
use crate::outcome::{self, Finished, Rest};
use crate::peer::Peer;
use crate::plan::Plan;
use crate::sink::Sink;
use crate::tap::Seen;
use crate::tls::Identity;
use crate::udp::{self, UdpEndpoint};

/// The ends of all flows.
pub(super) struct Ends {
    pub(super) sources: Vec<UdpEndpoint<DataSource>>,
    pub(super) sinks: Vec<UdpEndpoint<Sink>>,
    pub(super) descriptors: Vec<&'static Descriptor>,
    pub(super) clock: Clock,
    pub(super) warnings: Vec<String>,
}

/// The path between the ends, if it is not the machine's loopback.
#[derive(Debug, Default)]
pub(super) struct Path {
    pub(super) links: Vec<LinkSummary>,
    pub(super) seen: Option<Seen>,
}

impl Ends {
    pub(super) fn new(
        scenario: &Scenario,
        plans: Vec<Plan>,
        sockets: Vec<[Socket; 2]>,
        clock: Clock,
    ) -> Result<Ends, SandboxError> {
        let mut ends = Ends {
            sources: Vec::new(),
            sinks: Vec::new(),
            descriptors: Vec::new(),
            clock,
            warnings: Vec::new(),
        };
        for (plan, sockets) in plans.into_iter().zip(sockets) {
            ends.add(scenario, plan, sockets)?;
        }
        Ok(ends)
    }

    fn add(
        &mut self,
        scenario: &Scenario,
        plan: Plan,
        [server, client]: [Socket; 2],
    ) -> Result<(), SandboxError> {
        let cant = |error: io::Error| SandboxError::new(format!("a socket: {error}"), "try again");
        for socket in [&server, &client] {
            let warning = room_warning(socket).map_err(cant)?;
            if self.warnings.is_empty() {
                self.warnings.extend(warning);
            }
        }
        let at = |socket: &Socket| socket.0.local_addr().map_err(cant);
        let (server_at, client_at) = (at(&server)?, at(&client)?);
        let (start, identity) = (plan.start, Identity::new());
        self.descriptors.push(plan.descriptor);
        let (source, sink) = plan.ends(scenario, self.clock, &identity, (server_at, client_at));
        self.sources
            .push(UdpEndpoint::new(server, source, client_at, Time::ZERO));
        self.sinks
            .push(UdpEndpoint::new(client, sink, server_at, start));
        Ok(())
    }

    pub(super) fn run(
        &mut self,
        scenario: &Scenario,
        progress: impl FnMut(Time, u64),
    ) -> Result<u64, SandboxError> {
        let end = Time::ZERO + scenario.duration;
        udp::run(
            (&mut self.sources, &mut self.sinks),
            self.clock,
            end,
            &scenario.quic,
            progress,
        )
        .map_err(|error| SandboxError::new(format!("a socket failed: {error}"), "try again"))
    }

    pub(super) fn finish(
        self,
        scenario: &Scenario,
        level: TraceLevel,
        turns: u64,
        facts: BTreeMap<String, String>,
        path: Path,
    ) -> Result<Run, SandboxError> {
        let flows = self
            .sources
            .into_iter()
            .zip(self.sinks)
            .zip(self.descriptors);
        let mut finished = Vec::new();
        for ((index, spec), ((source, sink), descriptor)) in
            scenario.flows.iter().enumerate().zip(flows)
        {
            let (source, mut sink) = (source.peer, sink.peer);
            check_ended(&spec.name, &source, &sink)?;
            let tallied = match &path.seen {
                Some(seen) => {
                    sink.meter_mut().set_waits(seen.waits(index));
                    seen.tallied(index)
                }
                None => FlowCounters::default(),
            };
            finished.push(Finished {
                source,
                sink,
                descriptor,
                tallied,
            });
        }
        let end = Time::ZERO + scenario.duration;
        let rest = Rest {
            runner: Runner::Real,
            end: all_ended(&finished).unwrap_or(end),
            link_rows: path
                .seen
                .map(|seen| seen.rows(path.links.len(), end))
                .unwrap_or_default(),
            links: path.links,
            events: turns,
            facts,
            warnings: self.warnings,
        };
        Ok(outcome::run(scenario, level, finished, rest))
    }
}

/// Returns an error for a flow whose connection failed.
fn check_ended(name: &str, source: &DataSource, sink: &Sink) -> Result<(), SandboxError> {
    // After the client has closed the connection, errors of the server don't matter: the close may
    // have been lost.
    let ends = match sink.ended() {
        Some(Ok(())) => [None, None],
        ended => [
            ended.map(|ended| ("the client", ended)),
            source.ended().map(|ended| ("the server", ended)),
        ],
    };
    for (who, ended) in ends.into_iter().flatten() {
        if let Err(why) = ended {
            return Err(SandboxError::new(
                format!("{name}: the connection ended at {who}: {why}"),
                "run it again, or --on quic-virtual",
            ));
        }
    }
    Ok(())
}

/// Returns the time at which the last transfer completed, if all have.
fn all_ended(finished: &[Finished]) -> Option<Time> {
    let ends = finished.iter().map(|flow| flow.sink.meter().ended());
    ends.collect::<Option<Vec<_>>>()?.into_iter().max()
}
