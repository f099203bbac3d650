//! Runs on the real clock: over this machine's loopback, or behind the scenario's path between the
//! two ends of a bed.

mod ends;
mod facts;
mod socket;

use std::fs::File;
use std::io;

use fullpipe_scenario::{Error, Scenario};
use fullpipe_testbed::{Bed, Between, Inside, Sandbox, SandboxError};
use fullpipe_trace::handover;
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::Time;
use nix::errno::Errno;
use serde_json::{Value, json};

use crate::check::Runner;
use crate::data_source::DataSource;
use crate::endpoint_metrics::Clock;
use crate::plan::{Plan, plans};
use crate::sink::Sink;
use crate::tap::{self, Seen};
use crate::udp::UdpEndpoint;
use ends::{Ends, Path};
use facts::facts;
use socket::{Socket, bind};

pub(crate) use socket::loopback;

/// Reason why there is no result.
#[derive(Debug)]
pub enum RunError {
    /// This runner does not support the scenario.
    Refused(Box<Error>),
    /// The machine does not permit the run, or the run failed on it.
    Machine(SandboxError),
    /// The plan is of another version.
    Outdated(String),
    /// The run failed.
    Broken(String),
}

impl From<Error> for RunError {
    fn from(error: Error) -> RunError {
        RunError::Refused(Box::new(error))
    }
}

impl From<SandboxError> for RunError {
    fn from(error: SandboxError) -> RunError {
        RunError::Machine(error)
    }
}

/// Port of the first flow, at both ends of a bed; further flows use the following ports.
const FIRST_PORT: u16 = 4433;

/// Runs a scenario on the loopback; `progress` is called with the time and the bytes that have
/// arrived.
///
/// # Errors
/// When this runner does not support the scenario, or the run fails.
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

/// Returns the two ends of a scenario's first flow on the loopback, for callers with their own
/// loop.
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
    let (source, sink) = both.expect("a scenario has at least one flow");
    Ok((source, sink, ends.clock))
}

/// Runs a scenario behind its path, and writes its results to `out` in the format of [`handover`].
///
/// # Errors
/// When this runner does not support the scenario, or the run fails.
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

/// Executes the run inside the sandbox.
fn within(
    scenario: &Scenario,
    level: TraceLevel,
    out: &File,
    inside: &Inside,
) -> Result<Value, SandboxError> {
    let mut bed = fullpipe_testbed::raise(scenario)?.map_err(trouble)?;
    let plans = plans(scenario, Runner::Real, level).map_err(trouble)?;
    let sockets = sockets(&bed, &plans)?;
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
    let path = Path {
        links,
        seen: Some(tap),
    };
    let run = ends.finish(scenario, level, turns?, facts, path)?;
    write(&run, out).map_err(|error| {
        SandboxError::new(
            format!("writing the results: {error}"),
            "free space in $TMPDIR",
        )
    })?;
    Ok(Value::Null)
}

/// Creates two sockets per flow, one at each end of the bed.
fn sockets(bed: &Bed, plans: &[Plan]) -> Result<Vec<[Socket; 2]>, SandboxError> {
    let cant = |errno: Errno| SandboxError::new(format!("an end of the bed: {errno}"), "try again");
    let ports = || plans.iter().map(|plan| FIRST_PORT + plan.index as u16);
    // A socket stays in the network namespace in which it was created.
    bed.near.enter().map_err(cant)?;
    let servers = ports()
        .map(|port| bind((bed.near.address, port).into()))
        .collect::<Result<Vec<_>, _>>()?;
    bed.far.enter().map_err(cant)?;
    let clients = ports()
        .map(|port| bind((bed.far.address, port).into()))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(servers
        .into_iter()
        .zip(clients)
        .map(|(server, client)| [server, client])
        .collect())
}

fn write(run: &Run, out: &File) -> io::Result<()> {
    let mut to = io::BufWriter::new(out);
    handover::write(&mut to, &run.summary, run.trace.as_ref())?;
    to.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()
}

fn trouble(error: Error) -> SandboxError {
    let (problem, fix) = (error.problem(), error.fix());
    SandboxError::new(
        format!("{} = {}: {problem}", error.key(), error.value()),
        fix,
    )
}
