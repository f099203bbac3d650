//! A program behind a path, as Python sees it: what is said by those who run it.

use std::ffi::OsString;
use std::path::PathBuf;

use fullpipe_testbed::{Link, Sandbox};
use nix::errno::Errno;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::error::{of_machine, refused};
use crate::scenario_file::Scenario;

/// A program that runs behind a path.
#[pyclass(module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct LinkRun {
    sandbox: Sandbox,
}

/// Begins to run `command` behind a scenario's path, in namespaces of its own.
#[pyfunction]
#[pyo3(signature = (scenario, command, far, *, upload=false, uplink=false, live=false, captures=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn link(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    command: Vec<OsString>,
    far: Vec<Vec<OsString>>,
    upload: bool,
    uplink: bool,
    live: bool,
    captures: Option<PathBuf>,
) -> PyResult<LinkRun> {
    let scenario = &scenario.get().inner;
    fullpipe_emulator::check(scenario).map_err(|error| refused(py, &error))?;
    let link = Link {
        command,
        far,
        upload,
        uplink,
        live,
        captures,
    };
    // The interpreter is not released: what is forked off has nothing that another thread is
    // changing.
    let sandbox = fullpipe_testbed::start(scenario, link)
        .map_err(|error| of_machine(py, &error.problem, &error.fix))?;
    Ok(LinkRun { sandbox })
}

/// Tries whether network namespaces may be made here: what is refused and its fix, if it is.
#[pyfunction]
pub(crate) fn namespaces_refused() -> Option<(String, String)> {
    // The interpreter is not released, as above.
    fullpipe_testbed::allowed()
        .err()
        .map(|trouble| (trouble.problem, trouble.fix))
}

#[pymethods]
impl LinkRun {
    /// What is said next, one JSON object; empty when a signal came meanwhile, None when all has
    /// been said.
    fn hear(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let sandbox = &mut self.sandbox;
        match py.detach(|| sandbox.hear()) {
            Ok(said) => Ok(said.map(|said| said.to_string())),
            Err(Errno::EINTR) => py.check_signals().map(|()| Some(String::new())),
            Err(error) => Err(PyOSError::new_err(error.desc())),
        }
    }

    /// Asks the program to end.
    fn stop(&mut self) {
        self.sandbox.stop();
    }

    /// Waits until nothing is left of it.
    fn end(&mut self, py: Python<'_>) {
        let sandbox = &mut self.sandbox;
        py.detach(|| sandbox.end());
    }
}
