//! Runner `kernel`: a scenario on this machine's own TCP, in two namespaces with the emulator
//! between them.
//!
//! The agents of both sides and the forwarder are processes of one [`Sandbox`]: they end with it,
//! however it ends. They write to files without a name, so these leave nothing behind either.

mod ends;
mod log;
mod programs;
mod running;
mod simulated;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fullpipe_cc::ParamValue;
use fullpipe_emulator::{Direction, PacketKind};
use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::LinkSummary;
use fullpipe_units::Span;
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::agent::{AgentError, Ends, Plan};
use crate::arriving::ExpandedWorkload;
use crate::between::{Between, between, raise, raise_simulated};
use crate::clock::Clock;
use crate::confine::Confinement;
use crate::forward::Side;
use crate::ports::Ports;
use crate::reconstruct::{Facts, Measured, Recording, Watched, reconstruct};
use crate::{Header, Inside, Sandbox, SandboxError, algorithms, bed, capacity, facts, privileges};
use ends::{Child, Ended};
use log::Log;

pub(crate) use programs::Outcome;
pub use programs::Program;
pub use running::Interval;
pub use simulated::{Simulated, check_simulated, simulate, simulated};

/// Name of this runner.
pub const NAME: &str = "kernel";

/// Port of the first flow.
const FIRST_PORT: u16 = 5001;

/// Returns the address of the senders, and the port of the first flow.
pub fn place() -> (std::net::Ipv4Addr, u16) {
    (bed::NEAR, FIRST_PORT)
}

/// Time between two reports of progress.
const STEP: Duration = Duration::from_millis(100);

/// A run that has begun.
#[derive(Debug)]
pub struct Run {
    /// Sandbox of the run; reports `{"progress_s": …}`, then `{"done": …}` or `{"trouble": …}`.
    pub sandbox: Sandbox,
    scenario: Scenario,
    interval: Option<Span>,
    at_once: u32,
    files: Files,
    running: Option<running::Running>,
}

#[derive(Debug)]
struct Files {
    send: File,
    receive: File,
    log: File,
}

/// Refuses a setting that this runner can't support, or a path that this machine can't pace.
///
/// # Errors
/// When the scenario contains one; the error names its key.
pub fn check(scenario: &Scenario) -> Result<(), Error> {
    check_with(scenario, &[])
}

/// Checks a scenario as [`check`] does, for a run before which algorithms are loaded: `loadable` has
/// their names in the kernel.
///
/// # Errors
/// As [`check`].
pub fn check_with(scenario: &Scenario, loadable: &[String]) -> Result<(), Error> {
    fullpipe_emulator::check(scenario)?;
    plan(scenario, Span::from_millis(10), loadable)?;
    capacity::check_pace(scenario)
}

/// An algorithm of a scenario in fullpipe's own version, which the run needs as BPF.
#[derive(Clone, Debug, PartialEq)]
pub struct BpfAlgorithm {
    /// Name in scenarios.
    pub cc: String,
    /// Name in the kernel.
    pub name: String,
    /// Whether it is loaded already.
    pub loaded: bool,
    /// Parameters without their default values.
    pub parameters: BTreeMap<String, ParamValue>,
}

/// Returns the algorithms of a scenario that this kernel does not have as its own, with the
/// parameters that all flows of each give.
///
/// # Errors
/// When flows of one algorithm give it different parameters.
pub fn bpf(scenario: &Scenario) -> Result<Vec<BpfAlgorithm>, Error> {
    let offered = facts::algorithms();
    let offers = |name: &str| offered.iter().any(|known| known == name);
    let mut found: Vec<BpfAlgorithm> = Vec::new();
    let workloads = scenario.workloads.iter().map(|workload| &workload.flow);
    let own = scenario.flows.iter().filter(|flow| flow.program.is_none());
    for spec in own.chain(workloads) {
        if offers(algorithms::kernel_name(&spec.cc)) {
            continue;
        }
        let parameters = algorithms::bpf_parameters(spec).into_iter();
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.clone()));
        let name = algorithms::bpf_name(&spec.cc);
        let this = BpfAlgorithm {
            loaded: offers(&name),
            cc: spec.cc.clone(),
            name,
            parameters: parameters.collect(),
        };
        match found.iter().find(|other| other.cc == this.cc) {
            None => found.push(this),
            Some(other) if other.parameters == this.parameters => {}
            Some(_) => {
                return Err(scenario.error(
                    &spec.key("params"),
                    "{ … }",
                    "an algorithm in the kernel has the same parameters for all flows",
                    "give all flows of the algorithm the same, or run it on sim",
                ));
            }
        }
    }
    Ok(found)
}

fn plan(scenario: &Scenario, interval: Span, loadable: &[String]) -> Result<Plan, Error> {
    let mut offered = facts::algorithms();
    offered.extend_from_slice(loadable);
    plan_for(NAME, scenario, interval, &offered)
}

/// Returns the plan for a runner whose kernel offers these algorithms.
fn plan_for(
    runner: &str,
    scenario: &Scenario,
    interval: Span,
    offered: &[String],
) -> Result<Plan, Error> {
    let ends = Ends {
        receiver: bed::FAR,
        first_port: FIRST_PORT,
        interval,
        offered: Some(offered),
        runner,
        arrivals: true,
        programs: true,
        routes: false,
    };
    Plan::of(scenario, &ends)
}

/// Starts a run, with the command lines of every flow that is a program. Samples are taken at every
/// `interval`, and become rows of a trace if `traced`.
///
/// # Errors
/// When the scenario uses something that a kernel does not have.
pub fn start(
    scenario: &Scenario,
    interval: Span,
    traced: bool,
    programs: Vec<Program>,
) -> Result<Result<Run, SandboxError>, Error> {
    fullpipe_emulator::check(scenario)?;
    let plan = plan(scenario, interval, &[])?;
    let begin = || {
        let files = Files {
            send: unnamed()?,
            receive: unnamed()?,
            log: unnamed()?,
        };
        let [send, receive, log] = [&files.send, &files.receive, &files.log].map(path);
        let at_once = plan.at_once;
        let ExpandedWorkload {
            scenario: inner,
            arrivals,
        } = ExpandedWorkload::of(scenario);
        let ports = Ports::new(FIRST_PORT, scenario, arrivals.len());
        let sandbox = Sandbox::start(move |inside| {
            let setup = Setup {
                scenario: &inner,
                ports,
                plan: &plan,
                programs: &programs,
                simulated: false,
            };
            run(setup, [send, receive, log], inside)
        })?;
        Ok(Run {
            sandbox,
            scenario: scenario.clone(),
            interval: traced.then_some(interval),
            at_once,
            files,
            running: None,
        })
    };
    Ok(begin())
}

impl Run {
    /// Returns what each flow that does not arrive did since the last call, as far as the senders
    /// have written it: they do so once a second.
    ///
    /// # Errors
    /// When the recording can't be read.
    pub fn intervals(&mut self) -> std::io::Result<Vec<Interval>> {
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(running::Running::open(
                &path(&self.files.send),
                &self.scenario,
            )?),
        };
        running.intervals()
    }

    /// Returns the results of the run; `done` is its last report, `{"done": …}`.
    ///
    /// # Errors
    /// When a recording is incomplete.
    pub fn finish(&self, done: &Value) -> Result<Measured, AgentError> {
        let files = [&self.files.send, &self.files.receive, &self.files.log].map(path);
        finish(
            NAME,
            &self.scenario,
            self.at_once,
            files,
            done,
            self.interval,
        )
    }
}

/// Returns the results of a run from its recordings of senders, receivers and forwarder, and its
/// last report.
fn finish(
    runner: &str,
    scenario: &Scenario,
    at_once: u32,
    [send, receive, log]: [PathBuf; 3],
    done: &Value,
    interval: Option<Span>,
) -> Result<Measured, AgentError> {
    let broken = |error: serde_json::Error| {
        AgentError::new(format!("the sandbox's report is broken: {error}"))
    };
    let links: Vec<LinkSummary> = serde_json::from_value(done["links"].clone()).map_err(broken)?;
    let facts = Facts {
        runner: runner.to_owned(),
        first_port: FIRST_PORT,
        at_once,
        paced: false,
        departs: None,
        delay_on_acks: false,
        host: serde_json::from_value(done["host"].clone()).map_err(broken)?,
        warnings: serde_json::from_value(done["warnings"].clone()).map_err(broken)?,
        programs: serde_json::from_value(done["programs"].clone()).map_err(broken)?,
    };
    let zero = done["zero_ns"].as_u64().unwrap_or(0);
    let recording = Recording {
        send,
        receive,
        sender: log.clone(),
        links: Watched::Emulator(log::read(&log, zero)?, links),
    };
    reconstruct(scenario, recording, facts, interval)
}

/// Creates a file without a name, which is deleted when its last descriptor is closed.
fn unnamed() -> Result<File, SandboxError> {
    let folder = std::env::temp_dir();
    let flags = OFlag::O_TMPFILE | OFlag::O_RDWR | OFlag::O_CLOEXEC;
    let file = nix::fcntl::open(&folder, flags, Mode::S_IRUSR | Mode::S_IWUSR);
    file.map(File::from).map_err(|error| {
        let problem = format!(
            "{}: a file without a name (O_TMPFILE) can't be created there: {}",
            folder.display(),
            error.desc()
        );
        SandboxError::new(
            problem,
            "set TMPDIR to a writable folder on tmpfs, ext4, xfs or btrfs",
        )
    })
}

/// Returns a path by which the file can be reopened, also by processes that inherit it.
fn path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Contents of a run; `scenario` contains all arriving flows as flows.
#[derive(Clone, Copy)]
struct Setup<'a> {
    scenario: &'a Scenario,
    ports: Ports,
    plan: &'a Plan,
    programs: &'a [Program],
    /// Whether the kernel's clock is simulated.
    simulated: bool,
}

/// Runs inside the sandbox.
fn run(
    Setup {
        scenario,
        ports,
        plan,
        programs,
        simulated,
    }: Setup<'_>,
    [send, receive, log]: [PathBuf; 3],
    inside: &Inside,
) -> Result<Value, SandboxError> {
    let mut bed = if simulated {
        raise_simulated()?
    } else {
        match raise(scenario)? {
            Ok(bed) => bed,
            Err(error) => return Ok(json!({ "refused": error.to_string() })),
        }
    };
    // Forked before any thread starts.
    let mut receiver = Child::start(&bed.far, || crate::agent::receive(plan, &receive))?;
    if !receiver.is_ready() {
        return Err(receiver.end().trouble("the receivers"));
    }
    let gate = ends::Gate::new()?;
    let sender = Child::start(&bed.near, || {
        crate::agent::send(plan, &send, || gate.pass())
    })?;
    let ready = ready(&mut bed, programs, inside)?;
    let is_program = |flow: &fullpipe_scenario::Flow| flow.program.is_some();
    let are_programs = scenario.flows.iter().map(is_program).collect();
    let (log, written) = Log::start(&log, are_programs, simulated)?;
    let clock = Clock::start();
    let running = ready.map(|ready| ready.run(clock, scenario.duration));
    let route = move |side: Side, header: &Header, _: &[u8]| route(ports, side, header);
    let log = log.since(clock.zero());
    end_agents_on_stop(inside.clone());
    let (
        (sender, receiver, outcomes),
        Between {
            tap,
            links,
            mut host,
            warnings,
        },
    ) = between(&mut bed, scenario, clock, route, log, || {
        gate.open(clock.zero().as_nanos());
        if let Some(running) = &running {
            running.begin();
        }
        let progress = || inside.say(&json!({ "progress_s": clock.now().as_secs_f64() }));
        let sent = sender.wait(STEP, progress);
        let outcomes = running.map_or(Ok(Vec::new()), |running| running.wait(STEP, progress));
        // The connections are closed, so data in flight need not arrive, but the packets that close
        // them must.
        std::thread::sleep(STEP);
        // The receiver must not wait for a flow that never arrived.
        receiver.stop();
        (sent, receiver.wait(STEP, || {}), outcomes)
    });
    if let Some(packets) = tap.finish(written)? {
        host.insert("packets", packets.to_string());
    }
    // A program that fails ends the run, and the agents with it.
    let outcomes = outcomes?;
    for (ended, who) in [(sender, "the senders"), (receiver, "the receivers")] {
        if let Ended::Failed(_) = ended {
            return Err(ended.trouble(who));
        }
    }
    let zero = clock.zero().as_nanos();
    Ok(json!({
        "zero_ns": zero,
        "links": links,
        "host": host,
        "warnings": warnings,
        "programs": outcomes,
    }))
}

/// Prepares the programs, if there are any: their servers listen.
fn ready(
    bed: &mut crate::Bed,
    programs: &[Program],
    inside: &Inside,
) -> Result<Option<programs::Ready>, SandboxError> {
    if programs.is_empty() {
        return Ok(None);
    }
    let confinement = Arc::new(Confinement::prepare(inside.owns_the_machine())?);
    programs::serve(bed, programs, FIRST_PORT, &confinement).map(Some)
}

/// Returns a packet's flow, by its ports, its direction and its kind. The near end sends: a flow of
/// the kernel has its port at the far end, a program at the near one.
fn route(ports: Ports, side: Side, header: &Header) -> Option<(u32, Direction, PacketKind)> {
    let (flow, _) = ports.way(header.ports.0, header.ports.1)?;
    let direction = match side {
        Side::Near => Direction::Forward,
        Side::Far => Direction::Reverse,
    };
    Some((flow, direction, counts(direction, header.kind)))
}

fn end_agents_on_stop(inside: Inside) {
    std::thread::spawn(move || {
        let _ = privileges::drop_all();
        inside.wait_for_stop();
        // Kills both agents: all processes in this PID namespace but this one.
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    });
}

/// Returns the emulator's kind of a TCP packet. A request, in the reverse direction, counts as the
/// ACK that it carries. An ACK of the sender, in the forward direction, only acknowledges requests.
fn counts(direction: Direction, kind: PacketKind) -> PacketKind {
    match (direction, kind) {
        (Direction::Reverse, PacketKind::Data) => PacketKind::Ack,
        (Direction::Forward, PacketKind::Ack) => PacketKind::Other,
        (_, kind) => kind,
    }
}
