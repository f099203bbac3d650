//! An algorithm in a shared library, for Python.

use std::path::PathBuf;

use fullpipe_cc::Descriptor;
use pyo3::prelude::*;

use crate::error::refused_class;

/// A loaded library with an algorithm.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct Plugin {
    pub(crate) descriptor: &'static Descriptor,
    /// The file.
    #[pyo3(get)]
    file: PathBuf,
}

#[pymethods]
impl Plugin {
    /// Loads the library in `file`, whose algorithm scenarios call `name`.
    #[new]
    fn new(py: Python<'_>, name: &str, file: PathBuf) -> PyResult<Plugin> {
        match fullpipe_plugin::load(name, &file) {
            Ok(descriptor) => Ok(Plugin { descriptor, file }),
            Err(error) => Err(refused_class(py, name, &error.problem, &error.fix)),
        }
    }

    /// The name that scenarios have.
    #[getter]
    fn name(&self) -> &str {
        self.descriptor.name
    }

    /// The name that the library gives its algorithm.
    #[getter]
    fn algorithm(&self) -> Option<&str> {
        fullpipe_plugin::describe(self.descriptor)
    }

    /// The sentence that describes the algorithm.
    #[getter]
    fn purpose(&self) -> &str {
        self.descriptor.purpose
    }

    fn __reduce__(slf: &Bound<'_, Plugin>) -> PyResult<(Py<PyAny>, (String, PathBuf))> {
        let it = slf.get();
        let of = slf.get_type().into_any().unbind();
        Ok((of, (it.descriptor.name.to_owned(), it.file.clone())))
    }
}
