//! The agents' processes. They are forked, not executed, so that no other program has to be found.
#![expect(unsafe_code, reason = "fork has no safe form")]

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdout, fork, pipe, read, write};

use crate::agent::AgentError;
use crate::sandbox::cant;
use crate::{End, SandboxError, privileges};

/// A running agent.
#[derive(Debug)]
pub(super) struct Child {
    pid: Pid,
    /// Pipe with the agent's output; it ends when the agent does.
    says: OwnedFd,
    said: String,
}

/// Outcome of an agent.
#[derive(Debug)]
pub(super) enum Ended {
    Well,
    /// The agent's error message.
    Failed(String),
}

impl Child {
    /// Runs `work` in a new process at an end of the bed.
    pub(super) fn start(
        end: &End,
        work: impl FnOnce() -> Result<(), AgentError>,
    ) -> Result<Child, SandboxError> {
        let (says, voice) = pipe().map_err(cant)?;
        // SAFETY: this process has one thread, so the child finds all its state consistent.
        match unsafe { fork() }.map_err(cant)? {
            ForkResult::Parent { child } => Ok(Child {
                pid: child,
                says,
                said: String::new(),
            }),
            ForkResult::Child => {
                drop(says);
                let ready = || {
                    dup2_stdout(&voice)?;
                    dup2_stderr(&voice)?;
                    end.enter()?;
                    privileges::keep_network()
                };
                let result = ready()
                    .map_err(|error| AgentError::new(format!("entering the bed: {error}")))
                    .and_then(|()| work());
                let code = match result {
                    Ok(()) => 0,
                    Err(failure) => {
                        let _ = write(&voice, failure.to_string().as_bytes());
                        1
                    }
                };
                // SAFETY: ends this process without the caller's exit handlers.
                unsafe { libc::_exit(code) }
            }
        }
    }

    /// Waits until the agent reports that it is ready; false if it ended first.
    pub(super) fn is_ready(&mut self) -> bool {
        let mut byte = [0; 64];
        while !self.said.contains("ready\n") {
            match read(&self.says, &mut byte) {
                Ok(0) => return false,
                Ok(count) => self.said.push_str(&String::from_utf8_lossy(&byte[..count])),
                Err(Errno::EINTR) => {}
                Err(_) => return false,
            }
        }
        self.said.clear();
        true
    }

    /// Waits for the agent to end; calls `meanwhile` at every `step`.
    pub(super) fn wait(self, step: Duration, mut meanwhile: impl FnMut()) -> Ended {
        let step = PollTimeout::try_from(step).unwrap_or(PollTimeout::NONE);
        loop {
            let mut fds = [PollFd::new(self.says.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, step) {
                Ok(0) => meanwhile(),
                Ok(_) => return self.end(),
                Err(_) => {}
            }
        }
    }

    /// Asks the agent to complete its recording and end.
    pub(super) fn stop(&self) {
        let _ = kill(self.pid, Signal::SIGTERM);
    }

    /// Reads the rest of the agent's output, and waits for its end.
    pub(super) fn end(self) -> Ended {
        let mut said = self.said;
        let _ = File::from(self.says).read_to_string(&mut said);
        loop {
            match waitpid(self.pid, None) {
                Ok(WaitStatus::Exited(_, 0)) => return Ended::Well,
                Ok(WaitStatus::Signaled(_, signal, _)) => {
                    return Ended::Failed(format!("ended by {signal}"));
                }
                Err(Errno::EINTR) => {}
                Ok(_) | Err(_) => return Ended::Failed(said),
            }
        }
    }
}

impl Ended {
    /// Turns the outcome into an error; `who` names the agent.
    pub(super) fn trouble(self, who: &str) -> SandboxError {
        let words = match self {
            Ended::Failed(words) => words,
            Ended::Well => "ended at once".to_owned(),
        };
        match words.split_once("\n  fix: ") {
            Some((problem, fix)) => SandboxError::new(format!("{who}: {problem}"), fix.trim()),
            None => SandboxError::new(
                format!("{who}: {}", words.trim()),
                "try again; a quieter machine or a slower path may help",
            ),
        }
    }
}

/// Holds the senders back until the forwarder runs, and then passes them the start of the run.
#[derive(Debug)]
pub(super) struct Gate {
    waits: OwnedFd,
    opens: OwnedFd,
}

impl Gate {
    pub(super) fn new() -> Result<Gate, SandboxError> {
        let (waits, opens) = pipe().map_err(cant)?;
        Ok(Gate { waits, opens })
    }

    /// Waits for the gate to open; returns the start of the run.
    pub(super) fn pass(&self) -> u64 {
        let mut bytes = [0; 8];
        while read(&self.waits, &mut bytes) == Err(Errno::EINTR) {}
        u64::from_le_bytes(bytes)
    }

    /// Opens the gate; the run began at `zero`.
    pub(super) fn open(&self, zero: u64) {
        // Eight bytes always fit into a pipe.
        let _ = write(&self.opens, &zero.to_le_bytes());
    }
}
