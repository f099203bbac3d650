//! The name that a class most likely meant, if an object lacks the one that it wrote.

use fullpipe_units::{nearest, related};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

/// The beginning of a hint.
const MEANT: &str = "did you mean ";

/// Adds the likely name to the error about a missing attribute, and all names if it is one of an argument of the contract.
pub(super) fn add(py: Python<'_>, error: &PyErr) {
    if error.is_instance_of::<PyAttributeError>(py)
        && let Ok(Some(note)) = note(error.value(py))
    {
        // An exception that takes no note is reported without one.
        let _ = error.value(py).call_method1("add_note", (note,));
    }
}

fn note(error: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let (of, name) = (error.getattr("obj")?, error.getattr("name")?);
    if of.is_none() || name.is_none() {
        return Ok(None);
    }
    let (kind, name): (_, String) = (of.get_type(), name.extract()?);
    let all: Vec<String> = of.dir()?.extract()?;
    let known: Vec<&str> = all.iter().map(String::as_str).collect();
    let known: Vec<&str> = known
        .into_iter()
        .filter(|it| !it.starts_with('_'))
        .collect();
    if kind.module()?.to_str()? != "fullpipe._core" {
        return Ok(nearest(&name, &known).map(|meant| format!("{MEANT}{meant}?")));
    }
    let meant = related(&name, &known).map(|meant| format!("{MEANT}{meant}? "));
    let (meant, kind) = (meant.unwrap_or_default(), kind.name()?.to_string());
    let (article, kind) = (if kind == "Ack" { "an" } else { "a" }, kind.to_lowercase());
    Ok(Some(format!(
        "{meant}{article} {kind} has {}",
        known.join(", ")
    )))
}

/// Returns the hint that [`add`] gave, as the end of a sentence; empty without one.
pub(super) fn told(error: &Bound<'_, PyAny>) -> String {
    let notes = error.getattr("__notes__").and_then(|it| it.extract());
    let notes: Vec<String> = notes.unwrap_or_default();
    let hint = notes.iter().find(|note| note.starts_with(MEANT));
    hint.map_or_else(String::new, |note| format!("; {note}"))
}
