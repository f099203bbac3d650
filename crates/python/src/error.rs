//! A refused scenario as a Python exception.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    fullpipe._core,
    ScenarioError,
    PyValueError,
    "A scenario, or a setting of a run, that was refused. Its text names the file, the key, the value and the fix."
);

/// `error` as a [`ScenarioError`] with its parts as attributes.
pub(crate) fn refused(py: Python<'_>, error: &scenario::Error) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    let value = raised.value(py);
    let set = || -> PyResult<()> {
        value.setattr("file", error.file())?;
        value.setattr("line", error.line())?;
        value.setattr("key", error.key())?;
        value.setattr("value", error.value())?;
        value.setattr("problem", error.problem())?;
        value.setattr("fix", error.fix())
    };
    match set() {
        Ok(()) => raised,
        Err(failed) => failed,
    }
}
