//! The programs at both ends of a run on kernel TCP: they send, receive and sample what the kernel
//! says, and decide nothing.
//!
//! `send` opens each flow's connection at its time and writes what its application would; `receive`
//! reads; `tap` writes down the headers of what passes an interface. All wait in `epoll` for
//! sockets and one timer, never in a loop, so that they run in a user-mode Linux whose time stands
//! still while anybody computes.

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

/// What went wrong, in words, with the fix where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentError(String);

impl AgentError {
    /// In these words.
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

/// Of a system call, while doing `what`.
fn failed(what: &str) -> impl Fn(Errno) -> AgentError {
    move |error| AgentError::new(format!("{what}: {error}"))
}

/// Said to who has begun an agent. Not by `println!`, which a test's thread keeps to itself.
fn say_ready() {
    let _ = io::stdout().write_all(b"ready\n");
}

const USAGE: &str = "\
The ends of a fullpipe run on kernel TCP.

  fullpipe-agent receive PLAN.json OUT   listens; says \"ready\" when it does
  fullpipe-agent send PLAN.json OUT      sends, and ends with the run
  fullpipe-agent tap INTERFACE OUT       writes down headers until it gets SIGTERM; says \"ready\" when it does";

/// The whole program; `arguments` are without its name. Gives its exit code.
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
