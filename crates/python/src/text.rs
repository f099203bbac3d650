//! The content of a file, plain or compressed: its bytes, or its text in pieces of whole lines.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ::fullpipe_ingest::{Input, Text};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::of_file;

/// The content of a file, plain or compressed.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct Content {
    inner: Mutex<Input>,
    file: PathBuf,
}

#[pymethods]
impl Content {
    #[new]
    fn new(py: Python<'_>, file: PathBuf) -> PyResult<Content> {
        let opened = py.detach(|| Input::open(&file));
        let inner = Mutex::new(opened.map_err(|error| of_file(&error, &file))?);
        Ok(Content { inner, file })
    }

    /// Returns the next bytes with the GIL released. None at the end.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let piece = py.detach(|| {
            let mut input = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            input.next_piece()
        });
        match piece {
            Ok(piece) => Ok(piece.map(|piece| PyBytes::new(py, &piece))),
            Err(error) if error.raw_os_error().is_some() => Err(of_file(&error, &self.file)),
            Err(damage) => Err(damage.into()),
        }
    }
}

/// Returns the first bytes of a file's content.
#[pyfunction]
pub(crate) fn content_head(
    py: Python<'_>,
    file: PathBuf,
    most: usize,
) -> PyResult<Bound<'_, PyBytes>> {
    let head = py.detach(|| ::fullpipe_ingest::input::head(&file, most));
    Ok(PyBytes::new(
        py,
        &head.map_err(|error| of_file(&error, &file))?,
    ))
}

/// Whole lines, the number of the first of them, and the numbers of lines that are too long.
type Piece<'py> = (Bound<'py, PyBytes>, u64, Vec<u64>);

/// The text of a file, plain or compressed.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct TextReader {
    inner: Mutex<Text>,
}

#[pymethods]
impl TextReader {
    #[new]
    #[pyo3(signature = (file, separator=None))]
    fn new(file: PathBuf, separator: Option<char>) -> PyResult<TextReader> {
        let separator = separator.and_then(|separator| u8::try_from(separator).ok());
        Ok(TextReader {
            inner: Mutex::new(Text::open(&file, separator)?),
        })
    }

    /// Returns the next lines with the GIL released: text, number of the first line, and numbers of
    /// lines that are too long. None at the end.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Piece<'py>>> {
        let piece = py.detach(|| self.locked().next_piece())?;
        Ok(piece.map(|piece| (PyBytes::new(py, &piece.text), piece.first, piece.too_long)))
    }

    /// Bytes of the file read, before decompression.
    #[getter]
    fn position(&self) -> u64 {
        self.locked().position()
    }
}

impl TextReader {
    fn locked(&self) -> std::sync::MutexGuard<'_, Text> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
