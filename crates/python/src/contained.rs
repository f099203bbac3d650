//! Contained programs, for Python.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use fullpipe_testbed::Sandbox;
use fullpipe_testbed::contained::{self, Contained};
use pyo3::prelude::*;

use crate::error::of_machine;

/// Time for the refusal of a program, which is known before it could run, in ms.
const PATIENCE_MS: u16 = 1_000;

/// A contained program.
#[pyclass(module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct Container {
    sandbox: Sandbox,
}

#[pymethods]
impl Container {
    /// Returns the problem and its fix, if the program could not be started. Waits for a second: a program that
    /// has been started says nothing, whatever it does.
    fn refused(&mut self, py: Python<'_>) -> Option<(String, String)> {
        let sandbox = &mut self.sandbox;
        let said = py.detach(|| sandbox.hear_within(PATIENCE_MS.into()).ok().flatten())?;
        let word = |key: &str| said["trouble"][key].as_str().map(str::to_owned);
        word("problem").zip(word("fix"))
    }

    /// Ends the program at once, and waits for its end.
    fn end(&mut self, py: Python<'_>) {
        let sandbox = &mut self.sandbox;
        py.detach(|| sandbox.kill());
    }
}

/// Starts a program that does not reach the machine. It gets the socket, which is closed here, as its
/// descriptor 3.
#[pyfunction]
#[pyo3(signature = (command, socket, *, environment, places, files, memory, cpu_s))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn contain(
    py: Python<'_>,
    command: Vec<String>,
    socket: RawFd,
    environment: Vec<String>,
    places: Vec<PathBuf>,
    files: Vec<(PathBuf, Vec<u8>)>,
    memory: u64,
    cpu_s: u64,
) -> PyResult<Container> {
    let program = Contained {
        command,
        environment,
        places,
        files,
        memory,
        cpu_s,
    };
    // SAFETY: the caller detached the descriptor, and hands it over.
    #[expect(unsafe_code, reason = "a descriptor from Python has no owner")]
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // The GIL stays held: the forked child must not inherit data that another thread is changing.
    let sandbox = contained::start(program, socket)
        .map_err(|error| of_machine(py, &error.problem, &error.fix))?;
    Ok(Container { sandbox })
}

/// Contains this process, which a contained program has forked.
#[pyfunction]
pub(crate) fn contain_further(py: Python<'_>) -> PyResult<()> {
    contained::close().map_err(|error| of_machine(py, &error.problem, &error.fix))
}

/// Tests whether programs can be contained here. Returns the problem and its fix if not.
#[pyfunction]
pub(crate) fn containment_refused() -> Option<(String, String)> {
    // The GIL stays held, as above.
    contained::containable()
        .err()
        .map(|trouble| (trouble.problem, trouble.fix))
}
