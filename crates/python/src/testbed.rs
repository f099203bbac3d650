//! Real TCP: the agents, and what they are told.

use std::ffi::OsString;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use testbed::agent::{Ends, Plan};

use crate::error::refused;
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

/// Runs the program `fullpipe-agent` with these arguments; gives its exit code.
#[pyfunction]
pub(crate) fn agent(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| testbed::agent::run(arguments))
}
