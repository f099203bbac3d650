//! A run on user-mode Linux, whose clock is simulated. The same processes run inside it; they write
//! their recordings into a folder of the host, and the host reads them afterwards.

use std::fs;
use std::path::Path;

use fullpipe_scenario::{Error, Scenario};
use fullpipe_units::Span;
use nix::errno::Errno;
use serde_json::Value;

use super::{FIRST_PORT, Program, Setup, finish, plan, plan_for, run};
use crate::agent::AgentError;
use crate::arriving::ExpandedWorkload;
use crate::ports::Ports;
use crate::reconstruct::Measured;
use crate::{Sandbox, SandboxError};

/// The recordings of senders, receivers and forwarder, and the last report.
const FILES: [&str; 3] = ["send", "receive", "log"];
const DONE: &str = "done.json";

/// A run that user-mode Linux carried out.
#[derive(Clone, Copy, Debug)]
pub struct Simulated<'a> {
    /// Name of the runner.
    pub runner: &'a str,
    /// Algorithms that its kernel offers.
    pub offered: &'a [String],
    /// Folder of the recordings.
    pub folder: &'a Path,
}

/// Refuses a setting that a kernel with these algorithms can't support behind the emulator.
///
/// # Errors
/// When the scenario contains one; the error names its key.
pub fn check_simulated(scenario: &Scenario, runner: &str, offered: &[String]) -> Result<(), Error> {
    fullpipe_emulator::check(scenario)?;
    plan_for(runner, scenario, Span::from_millis(10), offered).map(drop)
}

/// Carries out a run inside user-mode Linux, and writes its recordings into `folder`. `progress` is
/// called with the seconds that are done.
///
/// # Errors
/// When the scenario uses something that this kernel does not have; the inner error, when the run
/// fails.
pub fn simulate(
    scenario: &Scenario,
    interval: Span,
    programs: &[Program],
    folder: &Path,
    mut progress: impl FnMut(f64),
) -> Result<Result<(), SandboxError>, Error> {
    fullpipe_emulator::check(scenario)?;
    let plan = plan(scenario, interval, &[])?;
    let ExpandedWorkload {
        scenario: inner,
        arrivals,
    } = ExpandedWorkload::of(scenario);
    let ports = Ports::new(FIRST_PORT, scenario, arrivals.len());
    let files = FILES.map(|name| folder.join(name));
    let started = Sandbox::start(|inside| {
        let setup = Setup {
            scenario: &inner,
            ports,
            plan: &plan,
            programs,
            simulated: true,
        };
        run(setup, files, inside)
    });
    Ok(started.and_then(|mut sandbox| {
        loop {
            let said = match sandbox.hear() {
                Err(Errno::EINTR) => continue,
                said => said.ok().flatten(),
            };
            let said = said.ok_or_else(|| {
                SandboxError::new(
                    "the processes of the run were killed",
                    "check the limits of memory and processes",
                )
            })?;
            if let Some(seconds) = said["progress_s"].as_f64() {
                progress(seconds);
            }
            let trouble = |key: &str| said["trouble"][key].as_str().unwrap_or_default();
            if said.get("trouble").is_some() {
                return Err(SandboxError::new(trouble("problem"), trouble("fix")));
            }
            if let Some(done) = said.get("done") {
                let written = fs::write(folder.join(DONE), done.to_string());
                return written.map_err(|error| {
                    SandboxError::new(format!("{DONE}: {error}"), "free some space in $TMPDIR")
                });
            }
        }
    }))
}

/// Returns the results of a run that [`simulate`] carried out. Samples become rows of a trace if
/// `rows` has their interval.
///
/// # Errors
/// When the scenario uses something that the kernel does not have; the inner error, when a recording
/// is incomplete.
pub fn simulated(
    scenario: &Scenario,
    of: Simulated<'_>,
    rows: Option<Span>,
) -> Result<Result<Measured, AgentError>, Error> {
    let interval = rows.unwrap_or(Span::from_millis(10));
    let at_once = plan_for(of.runner, scenario, interval, of.offered)?.at_once;
    let files = FILES.map(|name| of.folder.join(name));
    let done = fs::read(of.folder.join(DONE))
        .map_err(|error| AgentError::new(format!("{DONE}: {error}")))
        .and_then(|bytes| {
            serde_json::from_slice::<Value>(&bytes)
                .map_err(|error| AgentError::new(format!("{DONE}: {error}")))
        });
    Ok(done.and_then(|done| finish(of.runner, scenario, at_once, files, &done, rows)))
}
