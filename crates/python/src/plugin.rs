//! Algorithms in shared libraries, for Python.

use std::path::{Path, PathBuf};

use fullpipe_cc::Descriptor;
use fullpipe_cc::check::{self, Kind};
use fullpipe_plugin::{LoadError, Loaded};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::controller::{Given, carried, checking, exception, guarded, registry};
use crate::error::{refused_class, refused_plugin};

/// A loaded library with an algorithm.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct Plugin {
    inner: Loaded,
}

#[pymethods]
impl Plugin {
    /// The name by which scenarios call the algorithm.
    #[getter]
    fn name(&self) -> &str {
        self.inner.descriptor.name
    }

    /// The library.
    #[getter]
    fn file(&self) -> &Path {
        &self.inner.file
    }

    /// The contents of the library when it was loaded.
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.content)
    }
}

/// Tests the contract of an algorithm with this number of random sequences for each transport and set
/// of parameters. Returns a description of the first breach, if there is one.
#[pyfunction]
pub(crate) fn check_contract(
    py: Python<'_>,
    name: &str,
    controllers: Given,
    sequences: u64,
) -> PyResult<Option<String>> {
    // A class runs within the simulator alone, on its TCP.
    let is_class = controllers.iter().any(|(given, ..)| given == name);
    let registry = registry(py, controllers);
    let Some(descriptor) = registry.get(name) else {
        return Err(refused_class(
            py,
            name,
            "not an algorithm",
            "name an algorithm of a sender",
        ));
    };
    let mut kinds = Kind::fit_for(descriptor);
    kinds.retain(|kind| !is_class || *kind != Kind::Quic);
    checked(py, descriptor, &kinds, sequences)
}

/// Tests the contract; a signal's exception ends it before the next sequence, or within a call of a class.
fn checked(
    py: Python<'_>,
    descriptor: &'static Descriptor,
    kinds: &[Kind],
    sequences: u64,
) -> PyResult<Option<String>> {
    let before = || carried(|py| py.check_signals());
    let test = || check::contract_told(descriptor, kinds, sequences, &exception, &before).err();
    let broken = py.detach(|| guarded(|| checking(test)))?;
    Ok(broken.map(|broken| broken.to_string()))
}

/// Plays a few random sequences to two instances of an algorithm, one after the other. Returns whether both decide the
/// same; None without an algorithm of that name.
#[pyfunction]
pub(crate) fn repeats(
    py: Python<'_>,
    name: &str,
    controllers: Given,
    sequences: u64,
) -> PyResult<Option<bool>> {
    let registry = registry(py, controllers);
    let Some(descriptor) = registry.get(name) else {
        return Ok(None);
    };
    let test = || check::repeats(descriptor, sequences);
    py.detach(|| guarded(|| checking(test))).map(Some)
}

/// Loads the library in `file`: from now on, its algorithm is one of this process.
#[pyfunction]
#[pyo3(signature = (file, name=None, replaces=false))]
pub(crate) fn load_plugin(
    py: Python<'_>,
    file: PathBuf,
    name: Option<&str>,
    replaces: bool,
) -> PyResult<Plugin> {
    let loaded = py.detach(|| fullpipe_plugin::load(&file, name, replaces));
    loaded
        .map(|inner| Plugin { inner })
        .map_err(|LoadError { problem, fix }| refused_plugin(py, &file, &problem, &fix))
}

/// Returns the loaded libraries, the latest of each name.
#[pyfunction]
pub(crate) fn plugins() -> Vec<Plugin> {
    let all = fullpipe_plugin::loaded().into_iter();
    all.map(|inner| Plugin { inner }).collect()
}
