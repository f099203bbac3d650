//! Refused scenarios and failures of the machine, as Python exceptions.

use std::io;
use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    fullpipe._core,
    ScenarioError,
    PyValueError,
    "An invalid scenario or run setting. The text names the file, the key, the value and the fix."
);

create_exception!(
    fullpipe._core,
    MachineError,
    PyOSError,
    "An operation that this machine does not permit, or that failed. The text names the fix."
);

/// Returns a [`MachineError`] with its parts as attributes.
#[cfg(target_os = "linux")]
pub(crate) fn of_machine(py: Python<'_>, problem: &str, fix: &str) -> PyErr {
    let error = MachineError::new_err(format!("{problem}\n  fix: {fix}"));
    let object = error.value(py);
    let set = object
        .setattr("problem", problem)
        .and_then(|()| object.setattr("fix", fix));
    set.map_or_else(|failed| failed, |()| error)
}

/// Returns an error of the system with the file's name, which it lacks.
pub(crate) fn of_file(error: &io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let said = error.to_string();
            let said = said
                .split(" (os error")
                .next()
                .unwrap_or_default()
                .to_owned();
            PyOSError::new_err((number, said, path.to_path_buf()))
        }
        None => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}

/// Returns a [`ScenarioError`] with the parts of `error` as attributes.
pub(crate) fn refused(py: Python<'_>, error: &fullpipe_scenario::Error) -> PyErr {
    raise(py, error.to_string(), error.line(), &error.parts())
}

/// Returns a [`ScenarioError`] about `trace`, which is not a key of the scenario.
pub(crate) fn refused_trace(py: Python<'_>, value: &str, problem: &str) -> PyErr {
    let fix = "give \"off\", \"ack\" for a row at every ACK, an interval like \"10ms\", or also packets: \"10ms packets 2s..4s\"";
    let text = format!("trace = {value:?}: {problem}\n  fix: {fix}");
    raise(
        py,
        text,
        None,
        &[
            ("file", ""),
            ("key", "trace"),
            ("value", value),
            ("problem", problem),
            ("fix", fix),
        ],
    )
}

/// Returns a [`ScenarioError`] about a library that can't be loaded.
pub(crate) fn refused_plugin(py: Python<'_>, file: &Path, problem: &str, fix: &str) -> PyErr {
    let file = file.display().to_string();
    raise(
        py,
        format!("{file}: {problem}\n  fix: {fix}"),
        None,
        &[
            ("file", &file),
            ("key", ""),
            ("value", ""),
            ("problem", problem),
            ("fix", fix),
        ],
    )
}

/// Returns a [`ScenarioError`] about a class that is an algorithm of the scenario.
pub(crate) fn refused_class(py: Python<'_>, class: &str, problem: &str, fix: &str) -> PyErr {
    raise(
        py,
        format!("cc = {class}: {problem}\n  fix: {fix}"),
        None,
        &[
            ("file", ""),
            ("key", "cc"),
            ("value", class),
            ("problem", problem),
            ("fix", fix),
        ],
    )
}

/// Returns a [`ScenarioError`] about an option, or a key of a file that is not a scenario; `file` may be
/// empty.
pub(crate) fn refused_option(
    py: Python<'_>,
    file: &str,
    key: &str,
    problem: &str,
    fix: &str,
) -> PyErr {
    let place: Vec<&str> = [file, key]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    raise(
        py,
        format!("{}: {problem}\n  fix: {fix}", place.join(": ")),
        None,
        &[
            ("file", file),
            ("key", key),
            ("value", ""),
            ("problem", problem),
            ("fix", fix),
        ],
    )
}

fn raise(py: Python<'_>, text: String, line: Option<usize>, parts: &[(&str, &str)]) -> PyErr {
    let error = ScenarioError::new_err(text);
    let object = error.value(py);
    let mut set = object.setattr("line", line);
    for (name, value) in parts {
        set = set.and_then(|()| object.setattr(*name, *value));
    }
    set.map_or_else(|failed| failed, |()| error)
}
