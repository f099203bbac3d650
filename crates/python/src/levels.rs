//! Levels of detail of a line, for the pages of reports.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// Returns the indices of the points of each level, from the finest to the coarsest.
#[pyfunction]
pub(crate) fn levels<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
) -> PyResult<Vec<Bound<'py, PyArray1<u32>>>> {
    let values = values.as_slice()?;
    let found = py.detach(|| fullpipe_trace::levels(values));
    Ok(found
        .into_iter()
        .map(|level| level.into_pyarray(py))
        .collect())
}
