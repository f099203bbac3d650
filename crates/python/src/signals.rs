//! The end of a command whose interpreter does not get to a signal.

use std::fs::File;
use std::io::{Read, Write, stderr};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{getppid, write};
use pyo3::prelude::*;

/// Time for the interpreter to handle a signal.
const PATIENCE: Duration = Duration::from_secs(1);
/// Exit code after signal n is this + n.
const SIGNALED: u8 = 128;

/// Ends the process a second after one of these signals, unless the interpreter has handled it by then. The pipe has the
/// numbers of signals as they arrive, and 0 for each one that is handled; without writers it ends the watch. The exit
/// code is written to `exits` first.
#[pyfunction]
#[pyo3(signature = (pipe, numbers, exits=None))]
#[expect(unsafe_code, reason = "a descriptor of Python's")]
pub(crate) fn watch_signals(pipe: RawFd, numbers: Vec<u8>, exits: Option<RawFd>) {
    // SAFETY: the caller hands the descriptor over.
    let mut pipe = File::from(unsafe { OwnedFd::from_raw_fd(pipe) });
    let (tell, heard) = channel();
    thread::spawn(move || {
        let mut number = [0];
        while pipe.read_exact(&mut number).is_ok() {
            let [number] = number;
            if (number == 0 || numbers.contains(&number)) && tell.send(number).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || watch(&heard, exits));
}

fn watch(heard: &Receiver<u8>, exits: Option<RawFd>) {
    while let Ok(number) = heard.recv() {
        let mut later = Ok(number);
        while later.is_ok_and(|number| number > 0) {
            later = heard.recv_timeout(PATIENCE);
        }
        if later == Err(RecvTimeoutError::Timeout) {
            let line = "interrupted in a call of an algorithm that did not return\n";
            end(line, SIGNALED + number, exits);
        }
    }
}

/// Ends this process at once, with a line on standard error after the exit code was written to `exits`.
#[expect(
    unsafe_code,
    reason = "no clean-up, which would wait for the interpreter"
)]
pub(crate) fn end(line: &str, code: u8, exits: Option<RawFd>) -> ! {
    drop(stderr().write_all(line.as_bytes()));
    if let Some(exits) = exits {
        // SAFETY: the descriptor is open as long as the process.
        let _ = write(unsafe { BorrowedFd::borrow_raw(exits) }, &[code]);
    }
    // SAFETY: it takes no argument that could be wrong, and nothing is run after it.
    unsafe { nix::libc::_exit(i32::from(code)) }
}

/// Ends this process when its parent ends, whose number is given.
#[pyfunction]
#[expect(unsafe_code, reason = "no clean-up, as a kill has none")]
pub(crate) fn end_with(parent: i32) {
    let bound = prctl::set_pdeathsig(Signal::SIGKILL);
    if bound.is_ok() && getppid().as_raw() != parent {
        // SAFETY: as above.
        unsafe { nix::libc::_exit(i32::from(SIGNALED) + Signal::SIGKILL as i32) }
    }
}
