//! Real TCP: the agents, and their plans and results.

use std::ffi::OsString;
use std::path::PathBuf;

use fullpipe_cc::ParamValue;
use fullpipe_testbed::agent::{Ends, Plan};
use fullpipe_testbed::kernel;
use fullpipe_testbed::reconstruct::{Measured, Recording};
use nix::errno::Errno;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::error::{ScenarioError, of_machine, refused};
use crate::run::RunResult;
use crate::scenario_file::Scenario;

/// Returns the sampling interval for a trace level. A kernel can't be sampled at each ACK, so `ack`
/// means 1 ms.
pub(crate) fn interval(trace: &str) -> PyResult<fullpipe_units::Span> {
    match trace {
        "off" => Ok(fullpipe_units::Span::from_millis(10)),
        "ack" => Ok(fullpipe_units::Span::from_millis(1)),
        interval => interval
            .parse()
            .map_err(|error| PyValueError::new_err(format!("trace = {interval:?}: {error}"))),
    }
}

/// Returns the agents' plan for a run of a scenario, as JSON; refuses a key that a kernel does not
/// support.
#[pyfunction]
#[pyo3(signature = (scenario, trace, receiver, first_port, runner, offered=None))]
pub(crate) fn agent_plan(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    trace: &str,
    receiver: &str,
    first_port: u16,
    runner: &str,
    offered: Option<Vec<String>>,
) -> PyResult<String> {
    let receiver = receiver
        .parse()
        .map_err(|error| PyValueError::new_err(format!("{receiver:?}: {error}")))?;
    let (interval, offered) = (interval(trace)?, offered.as_deref());
    let ends = Ends {
        receiver,
        first_port,
        interval,
        offered,
        runner,
        arrivals: false,
        programs: false,
        routes: true,
    };
    let plan = Plan::of(&scenario.get().inner, &ends).map_err(|error| refused(py, &error))?;
    Ok(plan.to_json())
}

/// Reconstructs metrics and trace from the files that agents wrote to a folder: `send`, `receive`,
/// `tap-sender`, `tap-in`, `tap-out`.
#[pyfunction]
pub(crate) fn measured(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    trace: &str,
    folder: PathBuf,
    facts: &str,
) -> PyResult<RunResult> {
    let facts = serde_json::from_str(facts)
        .map_err(|error| PyValueError::new_err(format!("facts: {error}")))?;
    let rows = if trace == "off" {
        None
    } else {
        Some(interval(trace)?)
    };
    let scenario = &scenario.get().inner;
    let measured = py.detach(|| {
        fullpipe_testbed::reconstruct::reconstruct(
            scenario,
            Recording::in_folder(&folder),
            facts,
            rows,
        )
    });
    let Measured { summary, trace } =
        measured.map_err(|failure| PyRuntimeError::new_err(failure.to_string()))?;
    let hash = trace.as_ref().map(fullpipe_trace::Trace::hash);
    RunResult::of(py, &summary, trace, hash)
}

/// Refuses a scenario with a key that a run on this machine's TCP does not support. `loadable` has
/// the kernel's names of algorithms that are loaded before the run.
#[pyfunction]
#[pyo3(signature = (scenario, loadable=Vec::new()))]
pub(crate) fn check_kernel(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    loadable: Vec<String>,
) -> PyResult<()> {
    kernel::check_with(&scenario.get().inner, &loadable).map_err(|error| refused(py, &error))
}

/// An algorithm's name in scenarios and in the kernel, whether it is loaded, and its parameters, as
/// text.
type BpfAlgorithm = (String, String, bool, Vec<(String, String)>);

/// Returns the algorithms of a scenario that this machine's own kernel lacks.
#[pyfunction]
pub(crate) fn kernel_bpf(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
) -> PyResult<Vec<BpfAlgorithm>> {
    let found = kernel::bpf(&scenario.get().inner).map_err(|error| refused(py, &error))?;
    let text = |value: &ParamValue| match value {
        ParamValue::Word(word) => word.clone(),
        other => other.to_string(),
    };
    let of = |each: kernel::BpfAlgorithm| {
        let parameters = each.parameters.iter();
        let parameters = parameters.map(|(name, value)| (name.clone(), text(value)));
        (each.cc, each.name, each.loaded, parameters.collect())
    };
    Ok(found.into_iter().map(of).collect())
}

/// Returns the address of the senders of a run on this machine's TCP, and the port of the first flow.
#[pyfunction]
pub(crate) fn kernel_place() -> (String, u16) {
    let (address, port) = kernel::place();
    (address.to_string(), port)
}

/// A program's flow, by its index; the server and the client, with their arguments; the congestion
/// control of the server's TCP, if it matters; and the directory in which both run.
pub(crate) type Commands = (u32, Vec<String>, Vec<String>, Option<String>, PathBuf);

pub(crate) fn program(
    scenario: &fullpipe_scenario::Scenario,
    (flow, server, client, cc, folder): Commands,
) -> Option<kernel::Program> {
    let spec = scenario.flows.get(flow as usize)?;
    Some(kernel::Program {
        flow,
        name: spec.name.clone(),
        server,
        client,
        cc,
        folder,
        start: scenario.start(spec),
    })
}

/// Runs a scenario on this machine's TCP, with the command lines of its programs, in real time; Ctrl-C raises KeyboardInterrupt and removes
/// everything that the run created.
#[pyfunction]
#[pyo3(signature = (scenario, trace, programs, progress=None, interval_of=None))]
pub(crate) fn run_kernel(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    trace: &str,
    programs: Vec<Commands>,
    progress: Option<&Bound<'_, PyAny>>,
    interval_of: Option<&Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    let (scenario, interval) = (&scenario.get().inner, interval(trace)?);
    // The GIL stays held: the forked child must not inherit data that another thread is changing.
    let programs = programs
        .into_iter()
        .filter_map(|commands| program(scenario, commands))
        .collect();
    let begun = kernel::start(scenario, interval, trace != "off", programs)
        .map_err(|error| refused(py, &error))?;
    let mut run = begun.map_err(|error| of_machine(py, &error.problem, &error.fix))?;
    let duration = scenario.duration.as_secs_f64();
    loop {
        let sandbox = &mut run.sandbox;
        let said = match py.detach(|| sandbox.hear()) {
            Ok(Some(said)) => said,
            Ok(None) => return Err(PyRuntimeError::new_err("the run was ended from outside")),
            Err(Errno::EINTR) => {
                py.check_signals()?;
                continue;
            }
            Err(error) => return Err(PyOSError::new_err(error.desc())),
        };
        py.check_signals()?;
        if let (Some(done), Some(progress)) = (said["progress_s"].as_f64(), progress) {
            progress.call1((done, duration, 0))?;
        }
        if let Some(interval_of) = interval_of {
            for of in run.intervals()? {
                let counts = (of.bytes, of.retransmits, of.cwnd);
                interval_of.call1((of.name, of.from_s, of.to_s, counts))?;
            }
        }
        if let Some(trouble) = said.get("trouble") {
            let word = |key: &str| trouble[key].as_str().unwrap_or_default();
            return Err(of_machine(py, word("problem"), word("fix")));
        }
        let Some(done) = said.get("done") else {
            continue;
        };
        if let Some(refused) = done["refused"].as_str() {
            return Err(ScenarioError::new_err(refused.to_owned()));
        }
        let measured = py.detach(|| run.finish(done));
        let Measured { summary, trace } =
            measured.map_err(|failure| PyRuntimeError::new_err(failure.to_string()))?;
        let hash = trace.as_ref().map(fullpipe_trace::Trace::hash);
        return RunResult::of(py, &summary, trace, hash);
    }
}

/// Runs the program `fullpipe-agent` with these arguments. Returns its exit code.
#[pyfunction]
pub(crate) fn agent(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| fullpipe_testbed::agent::run(arguments))
}
