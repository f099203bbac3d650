//! A trace's columns as NumPy arrays without a copy: each array owns the memory into which the column was
//! unpacked.

use fullpipe_trace::{Codes, Column, Data, Table};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns `{column: array}`; a column of labels is the pair `(codes, labels)`.
pub(crate) fn columns(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for Column { name, data, .. } in table.columns {
        match data {
            Data::U64(values) => columns.set_item(name, values.into_vec().into_pyarray(py))?,
            Data::U32(values) => columns.set_item(name, values.into_vec().into_pyarray(py))?,
            Data::F32(values) => columns.set_item(name, values.into_vec().into_pyarray(py))?,
            Data::Label {
                codes: Codes::U8(codes),
                labels,
            } => columns.set_item(name, (codes.into_pyarray(py), labels))?,
            Data::Label {
                codes: Codes::U32(codes),
                labels,
            } => columns.set_item(name, (codes.into_pyarray(py), labels))?,
        }
    }
    Ok(columns)
}

/// Returns `{column: unit}`; a column without a unit has the empty string.
pub(crate) fn units<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let units = PyDict::new(py);
    for column in &table.columns {
        units.set_item(&column.name, column.unit.as_ref())?;
    }
    Ok(units)
}
