//! The default congestion control of a network namespace, and its restoration.

use std::fs;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{SigSet, Signal};

use crate::Problem;

const FILE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Argument that makes this program a guard.
pub const GUARD: &str = "guard";

/// Returns the default of this network namespace.
pub fn current() -> String {
    fs::read_to_string(FILE)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Sets the default of this network namespace.
///
/// # Errors
/// When this process may not.
pub fn set(name: &str) -> Result<(), Problem> {
    fs::write(FILE, name).map_err(|error| {
        Problem::new(
            format!("--default: {FILE}: {error}"),
            "run it as root, with /proc/sys writable",
        )
    })
}

/// Restores a default, if it is still the algorithm that replaced it.
pub fn restore(name: &str, previous: &str) {
    if current() == name {
        let _ = set(previous);
    }
}

/// A default that lasts as long as this value, and at most as long as this process.
///
/// A process of its own, the guard, restores the former default if this process is killed. Without
/// it the namespace would keep the algorithm in memory.
#[derive(Debug)]
pub struct Default {
    guard: Child,
}

impl Default {
    /// Makes an algorithm the default of this network namespace; `previous` is the default that is
    /// restored.
    ///
    /// # Errors
    /// When this process may not.
    pub fn set(name: &str, previous: &str) -> Result<Default, Problem> {
        let program = std::env::current_exe();
        let guard = program.and_then(|program| {
            Command::new(program)
                .args([GUARD, name, previous])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        });
        let guard = guard.map_err(|error| {
            Problem::new(
                format!("--default: the process that restores it: {error}"),
                "end other processes, or raise their limit",
            )
        })?;
        let guarded = Default { guard };
        set(name)?;
        Ok(guarded)
    }
}

impl Drop for Default {
    fn drop(&mut self) {
        // The guard restores the default when its standard input closes.
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Waits for the end of the process that started this one, and restores the default.
pub fn guard(name: &str, previous: &str) {
    // A signal to the group of processes must not end the guard before the holder.
    let mut signals = SigSet::empty();
    for signal in [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ] {
        signals.add(signal);
    }
    let _ = signals.thread_block();
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    restore(name, previous);
}
