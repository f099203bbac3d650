//! User-mode Linux: its configuration for a scenario, and runs behind the emulator inside it.

use std::path::PathBuf;

use fullpipe_testbed::kernel::{self, Simulated};
use fullpipe_testbed::reconstruct::Measured;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::{of_machine, refused};
use crate::run::RunResult;
use crate::scenario_file::Scenario;
use crate::testbed::{Commands, interval, program};

/// Returns the path of a scenario as Linux's queueing disciplines, as JSON: nodes, arguments of tc,
/// and when packets depart.
#[pyfunction]
pub(crate) fn uml_topology(py: Python<'_>, scenario: &Bound<'_, Scenario>) -> PyResult<String> {
    let topology = fullpipe_testbed::uml::topology(&scenario.get().inner)
        .map_err(|error| refused(py, &error))?;
    serde_json::to_string(&topology).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Refuses a scenario that the emulator inside user-mode Linux can't run; `offered` has the
/// algorithms of its kernel.
#[pyfunction]
pub(crate) fn check_simulated(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    runner: &str,
    offered: Vec<String>,
) -> PyResult<()> {
    kernel::check_simulated(&scenario.get().inner, runner, &offered)
        .map_err(|error| refused(py, &error))
}

/// Runs a scenario inside user-mode Linux, with the command lines of its programs, and writes the
/// recordings into a folder; calls `progress` with the seconds that are done.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    trace: &str,
    programs: Vec<Commands>,
    folder: PathBuf,
    progress: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (scenario, interval) = (&scenario.get().inner, interval(trace)?);
    let programs: Vec<_> = programs
        .into_iter()
        .filter_map(|commands| program(scenario, commands))
        .collect();
    let mut told = Ok(());
    let tell = |seconds: f64| {
        if let Err(error) = progress.call1((seconds,)) {
            told = Err(error);
        }
    };
    let done = kernel::simulate(scenario, interval, &programs, &folder, tell)
        .map_err(|error| refused(py, &error))?;
    told?;
    done.map_err(|error| of_machine(py, &error.problem, &error.fix))
}

/// Reconstructs metrics and trace from the recordings of `simulate`.
#[pyfunction]
pub(crate) fn simulated(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    trace: &str,
    runner: &str,
    offered: Vec<String>,
    folder: PathBuf,
) -> PyResult<RunResult> {
    let rows = match trace {
        "off" => None,
        _ => Some(interval(trace)?),
    };
    let scenario = &scenario.get().inner;
    let of = Simulated {
        runner,
        offered: &offered,
        folder: &folder,
    };
    let measured = py.detach(|| kernel::simulated(scenario, of, rows));
    let Measured { summary, trace } = measured
        .map_err(|error| refused(py, &error))?
        .map_err(|failure| PyRuntimeError::new_err(failure.to_string()))?;
    let hash = trace.as_ref().map(fullpipe_trace::Trace::hash);
    RunResult::of(py, &summary, trace, hash)
}
