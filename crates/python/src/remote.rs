//! Algorithms in another process, for Python: both sides.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use fullpipe_plugin::remote;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::controller::{Given, described, registry};
use crate::error::refused_class;

/// Time between two looks at signals.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Takes a socket from Python, which has detached its descriptor.
fn owned(socket: RawFd) -> UnixStream {
    // SAFETY: the caller hands the descriptor over.
    #[expect(unsafe_code, reason = "a descriptor from Python has no owner")]
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    UnixStream::from(socket)
}

/// Asks the other side of a socket for a process, and returns a socket to that.
fn ask_for_one(parent: &UnixStream) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    let passed = [theirs.as_raw_fd()];
    sendmsg::<()>(
        parent.as_raw_fd(),
        &[IoSlice::new(b".")],
        &[ControlMessage::ScmRights(&passed)],
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    Ok(ours)
}

/// Makes an algorithm one of this process, whose processes the other side of a socket starts.
#[pyfunction]
pub(crate) fn connect(py: Python<'_>, name: &str, parent: RawFd, patience_s: f64) -> PyResult<()> {
    let parent = owned(parent);
    let start: Arc<remote::Start> = Arc::new(move || ask_for_one(&parent));
    let patience = Duration::from_secs_f64(patience_s);
    // On a thread, so that a signal ends the wait.
    let (tell, mut done) = channel();
    let of = name.to_owned();
    thread::spawn(move || tell.send(remote::connect(&of, start, patience).map(drop)));
    loop {
        py.check_signals()?;
        let (heard, channel) = py.detach(move || (done.recv_timeout(LOOK_UP), done));
        done = channel;
        if let Ok(connected) = heard {
            let refused = |said: String| refused_class(py, name, &said, "correct the algorithm");
            return connected.map_err(refused);
        }
    }
}

/// Forgets the algorithms of other processes that have this name.
#[pyfunction]
pub(crate) fn forget(name: &str) {
    remote::forget(name);
}

/// Serves the algorithm `name` over a socket, until the other side ends.
#[pyfunction]
pub(crate) fn serve(py: Python<'_>, socket: RawFd, name: &str, controllers: Given) -> PyResult<()> {
    let registry = registry(py, controllers);
    let Some(descriptor) = registry.get(name) else {
        let fix = "name a class or a library";
        return Err(refused_class(py, name, "not an algorithm", fix));
    };
    py.detach(|| remote::serve(owned(socket), descriptor, described))
        .map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Tells the other side of a socket why there is no algorithm to serve.
#[pyfunction]
pub(crate) fn refuse_to_serve(socket: RawFd, words: &str) -> PyResult<()> {
    remote::refuse(owned(socket), words).map_err(|error| PyOSError::new_err(error.to_string()))
}
