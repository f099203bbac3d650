//! `fullpipe-quic`: executes a plan, for `fullpipe run --on quic`.
//!
//! `fullpipe-quic check PLAN` checks whether this runner supports the plan; `fullpipe-quic run PLAN
//! OUT` executes it and writes `OUT` as a whole or not at all; `turns PLAN OUT` records the
//! duration of each turn of the programs, for `python -m fullpipe.wings.quic.hostfit`. During a run, standard
//! output has occasional lines `progress SECONDS OF EVENTS`. Exit codes: 1 if a run failed, 2 if it
//! was refused, with the reason on standard error.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fullpipe_quic::real::{self, RunError};
use fullpipe_quic::virtual_time::Virtual;
use fullpipe_quic::{Runner, check, wakeups};
use fullpipe_scenario::Scenario;
use fullpipe_trace::handover;
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::{Span, Time};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Deserialize;

/// A request to run a scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    /// The scenario, as TOML.
    scenario: String,
    /// Name of the scenario's file in error messages.
    file: String,
    /// `quic` or `quic-virtual`.
    on: String,
    /// `off`, `ack`, or the interval between two rows.
    #[serde(default)]
    trace: Option<String>,
    /// (name, file) of the policies that the scenario names as algorithms.
    #[serde(default)]
    policies: Vec<(String, PathBuf)>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        ["check", plan] => load(plan).and_then(|(scenario, runner, _)| {
            check(&scenario, runner)?;
            if runner == Runner::Real && !scenario.path.loopback {
                fullpipe_testbed::check_pace(&scenario)?;
            }
            Ok(())
        }),
        ["turns", plan, out] => load(plan).and_then(|(scenario, ..)| {
            let broken = |error: io::Error| RunError::Broken(format!("{out}: {error}"));
            let sides = wakeups::measure(&scenario)?;
            serde_json::to_writer(BufWriter::new(File::create(out).map_err(broken)?), &sides)
                .map_err(|error| broken(error.into()))
        }),
        ["run", plan, out] => load(plan).and_then(|loaded| run(&loaded, Path::new(out))),
        _ => {
            eprintln!("usage: fullpipe-quic check PLAN | run PLAN OUT | turns PLAN OUT");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(error),
    }
}

/// Prints the error as one line of JSON for the caller. Returns exit code 2 for a refused plan, 1
/// for a failure.
fn failed(error: RunError) -> ExitCode {
    let (code, parts) = match &error {
        RunError::Refused(error) => (2, error.parts().to_vec()),
        RunError::Machine(error) => (1, vec![("problem", &*error.problem), ("fix", &error.fix)]),
        RunError::Outdated(why) => (1, vec![("outdated", &**why)]),
        RunError::Broken(why) => (1, vec![("problem", &**why)]),
    };
    let parts: serde_json::Map<_, _> = parts
        .into_iter()
        .map(|(name, part)| (name.to_owned(), part.into()))
        .collect();
    eprintln!("{}", serde_json::Value::from(parts));
    ExitCode::from(code)
}

fn load(path: &str) -> Result<(Scenario, Runner, Plan), RunError> {
    let broken = |why: String| RunError::Broken(format!("{path}: {why}"));
    let text = fs::read_to_string(path).map_err(|error| broken(error.to_string()))?;
    let plan: Plan = serde_json::from_str(&text)
        .map_err(|error| RunError::Outdated(format!("{path}: {error}")))?;
    let runners = [Runner::Real, Runner::Virtual];
    let runner = runners.into_iter().find(|runner| runner.name() == plan.on);
    let runner = runner.ok_or_else(|| {
        broken(format!(
            "on = {:?} is neither quic nor quic-virtual",
            plan.on
        ))
    })?;
    for (name, file) in &plan.policies {
        fullpipe_policy::load(file, name)
            .map_err(|refused| broken(format!("{name}: {}", refused.problem)))?;
    }
    Ok((Scenario::parse(&plan.scenario, &plan.file)?, runner, plan))
}

fn run((scenario, runner, plan): &(Scenario, Runner, Plan), out: &Path) -> Result<(), RunError> {
    let level = match plan.trace.as_deref() {
        None | Some("off") => TraceLevel::Off,
        Some("ack") => TraceLevel::Acks,
        Some(interval) => TraceLevel::Every(
            interval
                .parse()
                .map_err(|_| RunError::Broken(format!("no trace level: {interval}")))?,
        ),
    };
    let broken = |error: io::Error| RunError::Broken(format!("{}: {error}", out.display()));
    // Two sockets per flow are needed; if the limit is still too low, creating them fails.
    let _ = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    // Write to a temporary file, then rename it.
    let aside = out.with_extension("part");
    let file = File::create(&aside).map_err(broken)?;
    let progress = |now, got| progress(now, scenario.duration, got);
    let keep = |run: &Run| keep(run, &file).map_err(broken);
    match runner {
        Runner::Virtual => keep(&in_virtual_time(scenario, level)?)?,
        Runner::Real if scenario.path.loopback => {
            keep(&real::on_loopback(scenario, level, progress)?)?
        }
        Runner::Real => real::behind_path(scenario, level, &file, progress)?,
    }
    fs::rename(aside, out).map_err(broken)
}

fn in_virtual_time(scenario: &Scenario, level: TraceLevel) -> Result<Run, RunError> {
    let mut run = Virtual::new(scenario, level)?;
    while !run.advance(20_000) {
        progress(run.now(), scenario.duration, run.events());
    }
    if let Some((flow, why)) = run.failures().first() {
        return Err(RunError::Broken(format!(
            "{flow}: the connection ended: {why}"
        )));
    }
    Ok(run.finish())
}

fn progress(now: Time, duration: Span, events: u64) {
    // A caller that has stopped reading is about to end this process.
    let _ = writeln!(
        io::stdout(),
        "progress {} {} {events}",
        now.as_secs_f64(),
        duration.as_secs_f64()
    );
}

fn keep(run: &Run, file: &File) -> io::Result<()> {
    let mut to = BufWriter::new(file);
    handover::write(&mut to, &run.summary, run.trace.as_ref())?;
    to.into_inner()?.sync_all()
}
