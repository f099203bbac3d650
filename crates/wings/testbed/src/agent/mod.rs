//! The programs at both ends of a run on kernel TCP. They send, receive and record what the kernel
//! reports; they make no decisions of their own.
//!
//! `send` opens each flow's connection at its start time and writes its application's data;
//! `receive` reads; `tap` records the headers of packets that pass an interface. All wait in
//! `epoll` for sockets and one timer, and never poll in a loop, so that they can run in a user-mode
//! Linux whose clock stands still while a process computes.

mod app;
mod compile;
mod plan;
mod receive;
mod record;
mod ring;
mod send;
mod sys;
mod tap;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use nix::errno::Errno;

pub use compile::Ends;
pub(crate) use compile::LEAST_INTERVAL;
pub use plan::{AppPlan, FlowPlan, Plan, VERSION};
pub(crate) use receive::receive;
pub use record::{Header, Reader, Record, RecordKind, Writer};
pub(crate) use send::send;

/// An error message, with a fix where one is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentError(String);

impl AgentError {
    /// Creates an error from its message.
    pub fn new(words: impl Into<String>) -> AgentError {
        AgentError(words.into())
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for AgentError {}

/// Returns a function that turns a system call's error into an [`AgentError`]; `what` names the
/// attempted action.
fn failed(what: &str) -> impl Fn(Errno) -> AgentError {
    move |error| AgentError::new(format!("{what}: {error}"))
}

/// Reports to the parent process that the agent is ready. `println!` would not reach it from a
/// test, which captures its output.
fn say_ready() {
    let _ = io::stdout().write_all(b"ready\n");
}

const USAGE: &str = "\
Run one end of a fullpipe run on kernel TCP.

  fullpipe-agent receive PLAN.json OUT   receive all flows; print \"ready\" when listening
  fullpipe-agent send PLAN.json OUT      send all flows until the run ends
  fullpipe-agent tap INTERFACE OUT       record headers until SIGTERM; print \"ready\" when recording";

/// Runs the program with `arguments`, which exclude its name, and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let words: Vec<&str> = arguments
        .iter()
        .map(|word| word.to_str().unwrap_or_default())
        .collect();
    let (first, second) = (
        arguments.get(1).map(Path::new),
        arguments.get(2).map(Path::new),
    );
    let result = match (words.as_slice(), first, second) {
        (["receive", _, _], Some(plan), Some(out)) => {
            Plan::read(plan).and_then(|plan| receive(&plan, out))
        }
        (["send", _, _], Some(plan), Some(out)) => {
            Plan::read(plan).and_then(|plan| send(&plan, out, sys::now))
        }
        (["tap", interface, _], _, Some(out)) => tap::tap(interface, out),
        _ => {
            eprintln!("{USAGE}");
            return 2;
        }
    };
    match result {
        Ok(()) => 0,
        Err(failure) => {
            eprintln!("fullpipe-agent: {failure}");
            1
        }
    }
}
