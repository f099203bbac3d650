//! A program behind a path: starting it from Python and receiving its messages.

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

/// Starts `command` behind a scenario's path, in its own namespaces.
#[pyfunction]
#[pyo3(signature = (scenario, command, far, *, cc=None, far_cc=None, upload=false, uplink=false, unconfined=false, live=false, captures=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn link(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    command: Vec<OsString>,
    far: Vec<Vec<OsString>>,
    cc: Option<String>,
    far_cc: Option<String>,
    upload: bool,
    uplink: bool,
    unconfined: bool,
    live: bool,
    captures: Option<PathBuf>,
) -> PyResult<LinkRun> {
    let scenario = &scenario.get().inner;
    fullpipe_emulator::check(scenario).map_err(|error| refused(py, &error))?;
    let link = Link {
        command,
        far,
        cc,
        far_cc,
        upload,
        uplink,
        unconfined,
        live,
        captures,
    };
    // The GIL stays held: the forked child must not inherit data that another thread is changing.
    let sandbox = fullpipe_testbed::start(scenario, link)
        .map_err(|error| of_machine(py, &error.problem, &error.fix))?;
    Ok(LinkRun { sandbox })
}

/// Tests whether network namespaces can be created here. Returns the problem and its fix if not.
#[pyfunction]
pub(crate) fn namespaces_refused() -> Option<(String, String)> {
    // The GIL stays held, as above.
    fullpipe_testbed::allowed()
        .err()
        .map(|trouble| (trouble.problem, trouble.fix))
}

/// Tests whether the programs of a link can be confined here. Returns the problem and its fix if not.
#[pyfunction]
pub(crate) fn confinement_refused() -> Option<(String, String)> {
    // The GIL stays held, as above.
    fullpipe_testbed::confinable()
        .err()
        .map(|trouble| (trouble.problem, trouble.fix))
}

#[pymethods]
impl LinkRun {
    /// Returns the next message, one JSON object; empty if a signal arrived first, None at the end.
    fn hear(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let sandbox = &mut self.sandbox;
        match py.detach(|| sandbox.hear()) {
            Ok(said) => Ok(said.map(|said| said.to_string())),
            Err(Errno::EINTR) => py.check_signals().map(|()| Some(String::new())),
            Err(error) => Err(PyOSError::new_err(error.desc())),
        }
    }

    /// Asks the program to terminate.
    fn stop(&mut self) {
        self.sandbox.stop();
    }

    /// Waits until all its processes have ended.
    fn end(&mut self, py: Python<'_>) {
        let sandbox = &mut self.sandbox;
        py.detach(|| sandbox.end());
    }
}
