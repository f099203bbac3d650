//! The end of a command whose interpreter does not get to a signal.

use std::fs::File;
use std::io::{Read, Write, stderr};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Time for the interpreter to handle a signal.
const PATIENCE: Duration = Duration::from_secs(1);
/// Exit code after signal n is this + n.
const SIGNALED: i32 = 128;

/// Ends the process a second after a signal, unless the interpreter has handled it by then. The pipe has the numbers
/// of signals as they arrive, and 0 for each one that is handled.
#[pyfunction]
#[expect(unsafe_code, reason = "a descriptor of Python's")]
pub(crate) fn watch_signals(pipe: RawFd) {
    // SAFETY: the caller hands the descriptor over.
    let mut pipe = File::from(unsafe { OwnedFd::from_raw_fd(pipe) });
    let (tell, heard) = channel();
    thread::spawn(move || {
        let mut number = [0];
        while pipe.read_exact(&mut number).is_ok() && tell.send(number[0]).is_ok() {}
    });
    thread::spawn(move || watch(&heard));
}

#[expect(
    unsafe_code,
    reason = "no clean-up, which would wait for the interpreter"
)]
fn watch(heard: &Receiver<u8>) {
    while let Ok(number) = heard.recv() {
        let mut later = Ok(number);
        while later.is_ok_and(|number| number > 0) {
            later = heard.recv_timeout(PATIENCE);
        }
        if later.is_err() {
            let line = "interrupted in a call of an algorithm that did not return\n";
            drop(stderr().write_all(line.as_bytes()));
            // SAFETY: it takes no argument that could be wrong, and nothing is run after it.
            unsafe { nix::libc::_exit(SIGNALED + i32::from(number)) }
        }
    }
}
