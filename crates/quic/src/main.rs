//! `fullpipe-quic`: runs what a plan says, for `fullpipe run --on quic`.
//!
//! `fullpipe-quic check PLAN` says whether this runner can do it, `fullpipe-quic run PLAN OUT` does
//! it. `OUT` is written whole or not at all; `turns PLAN OUT` takes down what each turn of the
//! programs took, for `python -m fullpipe.hostfit`. While it goes on, standard output has a line
//! `progress SECONDS OF EVENTS` now and then. Exit codes: 1 when a run went wrong, 2 when it was
//! refused, with the reason on standard error.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
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

/// What is to be run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    /// The scenario, as TOML.
    scenario: String,
    /// What errors call it.
    file: String,
    /// `quic` or `quic-virtual`.
    on: String,
    /// `off`, `ack`, or the interval between two rows.
    #[serde(default)]
    trace: Option<String>,
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

/// Prints what went wrong as one line of JSON, which the caller reads: exit code 2 for what was
/// refused, 1 for what failed.
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
    // Two sockets a flow; what is not given is seen when they are made.
    let _ = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    // Made aside and renamed.
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
    // Whoever does not read it any more will end us.
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
