//! The text of a file, in pieces of whole lines.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ::fullpipe_ingest::Text;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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
