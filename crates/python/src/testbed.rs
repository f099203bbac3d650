//! Real TCP: the agents, and what they are told.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use testbed::agent::{Ends, Plan};
use testbed::measured::{Measured, Recording};

use crate::error::refused;
use crate::run::RunResult;
use crate::scenario_file::Scenario;

/// Between two samples, for each level of a trace: at an ACK nobody can be asked.
fn interval(trace: &str) -> PyResult<units::Span> {
    match trace {
        "off" => Ok(units::Span::from_millis(10)),
        "ack" => Ok(units::Span::from_millis(1)),
        interval => interval.parse().map_err(|error| PyValueError::new_err(format!("trace = {interval:?}: {error}"))),
    }
}

/// What agents do in a run of a scenario, as JSON; refuses by its key what a kernel has not got.
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
    let receiver = receiver.parse().map_err(|error| PyValueError::new_err(format!("{receiver:?}: {error}")))?;
    let ends = Ends { receiver, first_port, interval: interval(trace)?, offered: offered.as_deref(), runner };
    let plan = Plan::of(&scenario.get().inner, &ends).map_err(|error| refused(py, &error))?;
    Ok(plan.to_json())
}

/// Metrics and trace of what agents wrote down in a folder: `send`, `receive`, `tap-sender`, `tap-in`, `tap-out`.
#[pyfunction]
pub(crate) fn measured(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    trace: &str,
    folder: PathBuf,
    facts: &str,
) -> PyResult<RunResult> {
    let facts = serde_json::from_str(facts).map_err(|error| PyValueError::new_err(format!("facts: {error}")))?;
    let rows = if trace == "off" { None } else { Some(interval(trace)?) };
    let scenario = &scenario.get().inner;
    let measured = py.detach(|| testbed::measured::measured(scenario, Recording::in_folder(&folder), facts, rows));
    let Measured { summary, trace } = measured.map_err(|failure| PyRuntimeError::new_err(failure.to_string()))?;
    let hash = trace.as_ref().map(trace::Trace::hash);
    RunResult::of(py, &summary, trace, hash)
}

/// Runs the program `fullpipe-agent` with these arguments; gives its exit code.
#[pyfunction]
pub(crate) fn agent(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| testbed::agent::run(arguments))
}
