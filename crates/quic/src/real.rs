//! Runs on the real clock: over this machine's loopback, or behind the scenario's path between the
//! two ends of a bed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;

use fullpipe_scenario::{Error, Quic, Scenario};
use fullpipe_testbed::{Between, Inside, Sandbox, SandboxError};
use fullpipe_trace::{FlowCounters, LinkSummary, handover};
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::Time;
use nix::errno::Errno;
use noq_udp::UdpSocketState;
use serde_json::{Value, json};

use crate::build::{Plan, Runner, plans};
use crate::endpoint_metrics::Clock;
use crate::outcome::{self, Finished, Rest};
use crate::peer::{DataSource, Parts, Peer, Sink};
use crate::tap::{self, Seen};
use crate::tls::Identity;
use crate::udp::{self, UdpEndpoint};

/// Why there is no result.
#[derive(Debug)]
pub enum RunError {
    /// The scenario is not for this runner.
    Refused(Box<Error>),
    /// The run went wrong: what, and what helps.
    Broken(String),
}

impl From<Error> for RunError {
    fn from(error: Error) -> RunError {
        RunError::Refused(Box::new(error))
    }
}

impl From<SandboxError> for RunError {
    fn from(trouble: SandboxError) -> RunError {
        RunError::Broken(trouble.to_string())
    }
}

/// Sockets ask for so much room; Linux may give less (net.core.rmem_max, wmem_max).
const ROOM: usize = 4 << 20;

/// What a socket should have at least, doubled as Linux counts: some milliseconds' worth.
const LEAST_ROOM: usize = 2 << 20;

/// The first flow's port, at both ends of a bed; the next has the next.
const FIRST_PORT: u16 = 4433;

/// The ends of all flows.
struct Ends {
    sources: Vec<UdpEndpoint<DataSource>>,
    sinks: Vec<UdpEndpoint<Sink>>,
    descriptors: Vec<&'static fullpipe_cc::Descriptor>,
    clock: Clock,
    warnings: Vec<String>,
}

/// A socket, and what noq keeps of it.
type Socket = (UdpSocket, UdpSocketState);

/// Runs a scenario on the loopback; `progress` is told of the time and the bytes that have arrived.
///
/// # Errors
/// When the scenario is not for this runner, or the run goes wrong.
pub fn on_loopback(
    scenario: &Scenario,
    level: TraceLevel,
    progress: impl FnMut(Time, u64),
) -> Result<Run, RunError> {
    let plans = plans(scenario, Runner::Real, level)?;
    let sockets = plans
        .iter()
        .map(|_| Ok([loopback(0)?, loopback(0)?]))
        .collect::<Result<_, SandboxError>>()?;
    let mut ends = Ends::new(scenario, plans, sockets, Clock::start())?;
    let turns = ends.run(scenario, progress)?;
    Ok(ends.finish(
        scenario,
        level,
        turns,
        facts(&scenario.quic),
        Path::default(),
    )?)
}

/// The two ends of a scenario's first flow on the loopback, for who drives them otherwise.
pub(crate) fn pair(
    scenario: &Scenario,
) -> Result<(UdpEndpoint<DataSource>, UdpEndpoint<Sink>, Clock), RunError> {
    let mut plans = plans(scenario, Runner::Real, TraceLevel::Off)?;
    plans.truncate(1);
    let mut ends = Ends::new(
        scenario,
        plans,
        vec![[loopback(0)?, loopback(0)?]],
        Clock::start(),
    )?;
    let both = ends.sources.pop().zip(ends.sinks.pop());
    let (source, sink) = both.expect("a scenario has a flow at least");
    Ok((source, sink, ends.clock))
}

/// Runs a scenario behind its path, and writes its results to `out` as [`handover`] has them.
///
/// # Errors
/// When the scenario is not for this runner, or the run goes wrong.
pub fn behind_path(
    scenario: &Scenario,
    level: TraceLevel,
    out: &File,
    mut progress: impl FnMut(Time, u64),
) -> Result<(), RunError> {
    let mut sandbox = Sandbox::start(|inside| within(scenario, level, out, inside))?;
    loop {
        let said = match sandbox.hear() {
            Ok(Some(said)) => said,
            Err(Errno::EINTR) => continue,
            Ok(None) | Err(_) => {
                return Err(RunError::Broken(
                    "the run was ended from outside".to_owned(),
                ));
            }
        };
        if let Some([at, got]) = said["progress"].as_array().map(Vec::as_slice) {
            progress(
                Time::from_nanos(at.as_u64().unwrap_or(0)),
                got.as_u64().unwrap_or(0),
            );
        } else if let Some(trouble) = said.get("trouble") {
            let word = |key: &str| trouble[key].as_str().unwrap_or_default();
            return Err(SandboxError::new(word("problem"), word("fix")).into());
        } else if said.get("done").is_some() {
            return Ok(());
        }
    }
}

/// In the sandbox.
fn within(
    scenario: &Scenario,
    level: TraceLevel,
    out: &File,
    inside: &Inside,
) -> Result<Value, SandboxError> {
    let mut bed = fullpipe_testbed::raise(scenario)?.map_err(trouble)?;
    let plans = plans(scenario, Runner::Real, level).map_err(trouble)?;
    let cant = |errno: Errno| SandboxError::new(format!("an end of the bed: {errno}"), "try again");
    let ports = || plans.iter().map(|plan| FIRST_PORT + plan.index as u16);
    // A socket stays in the network namespace in which it was made.
    bed.near.enter().map_err(cant)?;
    let servers = ports()
        .map(|port| bind((bed.near.address, port).into()))
        .collect::<Result<Vec<_>, _>>()?;
    bed.far.enter().map_err(cant)?;
    let clients = ports()
        .map(|port| bind((bed.far.address, port).into()))
        .collect::<Result<Vec<_>, _>>()?;
    let sockets = servers
        .into_iter()
        .zip(clients)
        .map(|(server, client)| [server, client])
        .collect();
    let tap = Seen::new(scenario, level);
    let route = tap::route(FIRST_PORT, plans.len());
    let clock = Clock::start();
    let mut ends = Ends::new(scenario, plans, sockets, clock)?;
    let (
        turns,
        Between {
            tap,
            links,
            host,
            warnings,
        },
    ) = fullpipe_testbed::between(
        &mut bed,
        scenario,
        fullpipe_testbed::Clock::start(),
        route,
        tap,
        || {
            ends.run(scenario, |at, got| {
                inside.say(&json!({ "progress": [at.as_nanos(), got] }))
            })
        },
    );
    let facts = facts(&scenario.quic)
        .into_iter()
        .filter(|(name, _)| ["stack", "threads"].contains(&name.as_str()));
    let facts = host
        .into_iter()
        .map(|(name, fact)| (name.to_owned(), fact))
        .chain(facts)
        .collect();
    ends.warnings.extend(warnings);
    let run = ends.finish(
        scenario,
        level,
        turns?,
        facts,
        Path {
            links,
            seen: Some(tap),
        },
    )?;
    let cant = |error: io::Error| {
        SandboxError::new(format!("the results: {error}"), "look for room in $TMPDIR")
    };
    let mut to = io::BufWriter::new(out);
    handover::write(&mut to, &run.summary, run.trace.as_ref()).map_err(cant)?;
    to.into_inner()
        .map_err(|error| cant(error.into_error()))?
        .sync_all()
        .map_err(cant)?;
    Ok(Value::Null)
}

fn trouble(error: Error) -> SandboxError {
    let (problem, fix) = (error.problem(), error.fix());
    SandboxError::new(
        format!("{} = {}: {problem}", error.key(), error.value()),
        fix,
    )
}

/// What there is between the ends besides the machine's memory.
#[derive(Debug, Default)]
struct Path {
    links: Vec<LinkSummary>,
    seen: Option<Seen>,
}

impl Ends {
    fn new(
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
        let (spec, identity) = (&scenario.flows[index as usize], Identity::new());
        let cant = |error: io::Error| SandboxError::new(format!("a socket: {error}"), "try again");
        for (socket, state) in [&server, &client] {
            let room = state.recv_buffer_size(socket.into()).map_err(cant)?;
            if room < LEAST_ROOM && self.warnings.is_empty() {
                self.warnings.push(format!(
                    "sockets have room for {} kB only, so datagrams may be lost there; sysctl net.core.rmem_max={ROOM} gives more",
                    room / 1000
                ));
            }
        }
        let at = |socket: &Socket| socket.0.local_addr().map_err(cant);
        let (server_at, client_at) = (at(&server)?, at(&client)?);
        let parts = Parts {
            driver,
            meter: meter.clone(),
            rate: spec.app_rate,
            ecn,
            batch,
            buffer,
        };
        let sink = Sink::new(
            self.clock, &identity, &settings, server_at, spec.bytes, meter, start,
        );
        let source = DataSource::new(self.clock, &identity, &settings, client_at, parts);
        let (socket, state) = server;
        self.sources.push(UdpEndpoint {
            socket,
            state,
            peer: source,
            to: client_at,
            waiting: None,
            start: Time::ZERO,
        });
        let (socket, state) = client;
        self.sinks.push(UdpEndpoint {
            socket,
            state,
            peer: sink,
            to: server_at,
            waiting: None,
            start,
        });
        self.descriptors.push(descriptor);
        Ok(())
    }

    fn run(
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

    fn finish(
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
            // Once the client has said goodbye, what becomes of its server is nobody's concern: the
            // goodbye may be lost.
            let ends = match sink.ended() {
                Some(Ok(())) => [None, None],
                ended => [
                    ended.map(|ended| ("the client", ended)),
                    source.ended().map(|ended| ("the server", ended)),
                ],
            };
            for (who, ended) in ends.into_iter().flatten() {
                if let Err(why) = ended {
                    let problem = format!("{}: the connection ended at {who}: {why}", spec.name);
                    return Err(SandboxError::new(
                        problem,
                        "run it again, or --on quic-virtual",
                    ));
                }
            }
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
        let last = finished
            .iter()
            .filter_map(|flow| flow.sink.meter().ended())
            .max();
        let all = finished
            .iter()
            .all(|flow| flow.sink.meter().ended().is_some());
        let end = Time::ZERO + scenario.duration;
        let rest = Rest {
            runner: Runner::Real,
            end: last.filter(|_| all).unwrap_or(end),
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

/// What the machine is, in words.
fn facts(quic: &Quic) -> BTreeMap<String, String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let cpu = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map(|(_, name)| name);
    let pinned = |side: &str, cpu: Option<u32>| {
        cpu.map_or_else(String::new, |cpu| format!(", {side} on CPU {cpu}"))
    };
    let threads = format!(
        "a thread a side{}{}{}",
        pinned("servers", quic.server_cpu),
        pinned("clients", quic.client_cpu),
        if quic.busy_poll { ", never asleep" } else { "" }
    );
    let facts = [
        (
            "kernel",
            read("/proc/sys/kernel/osrelease").trim().to_owned(),
        ),
        ("cpu", cpu.unwrap_or("unknown").to_owned()),
        (
            "cpus",
            thread::available_parallelism()
                .map_or(0, usize::from)
                .to_string(),
        ),
        (
            "stack",
            "noq-proto 1.4.0, TLS 1.3 with AES-128-GCM by ring".to_owned(),
        ),
        ("threads", threads),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// A socket on the loopback: never seen from outside.
pub(crate) fn loopback(port: u16) -> Result<Socket, SandboxError> {
    bind((Ipv4Addr::LOCALHOST, port).into())
}

fn bind(address: SocketAddr) -> Result<Socket, SandboxError> {
    let cant = |error: io::Error| {
        let fix = match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EADDRINUSE) => "take another port",
            Some(Errno::EMFILE | Errno::ENFILE) => {
                "run fewer flows at once, or allow more open files: ulimit -n"
            }
            _ => "try again",
        };
        SandboxError::new(format!("no UDP socket at {address}: {error}"), fix)
    };
    let socket = UdpSocket::bind(address).map_err(cant)?;
    let state = UdpSocketState::new((&socket).into()).map_err(cant)?;
    // What is not given is seen later.
    let _ = state.set_recv_buffer_size((&socket).into(), ROOM);
    let _ = state.set_send_buffer_size((&socket).into(), ROOM);
    Ok((socket, state))
}
