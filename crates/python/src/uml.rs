//! The configuration of user-mode Linux for a scenario.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::refused;
use crate::scenario_file::Scenario;

/// Returns the path of a scenario as Linux's queueing disciplines, as JSON: nodes, arguments of tc,
/// and when packets depart.
#[pyfunction]
pub(crate) fn uml_topology(py: Python<'_>, scenario: &Bound<'_, Scenario>) -> PyResult<String> {
    let topology = fullpipe_testbed::uml::topology(&scenario.get().inner)
        .map_err(|error| refused(py, &error))?;
    serde_json::to_string(&topology).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
