//! A process that keeps an algorithm loaded until its standard input has something to say: the end
//! of a pipe's writer, or, if the standard input is a pidfd, the end of that process.

use std::io::Write;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use serde_json::json;

use crate::default::{self, Default};
use crate::load::{Loaded, Plan};
use crate::{Problem, pins};

/// Loads the algorithm of a plan, reports it on standard output, and holds it.
///
/// # Errors
/// When it can't be loaded; nothing is left of it.
pub fn hold(plan: &Plan) -> Result<(), Problem> {
    // Before anything is loaded, so that no signal can end this process without a clean-up.
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    let broken = |error: Errno| {
        Problem::new(
            format!("the holder: {}", error.desc()),
            "end other processes",
        )
    };
    signals.thread_block().map_err(broken)?;
    let ended = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).map_err(broken)?;
    if plan.detach {
        pins::check()?;
    }
    let mut loaded = Loaded::new(plan)?;
    let previous = default::current();
    if plan.detach {
        pins::pin(&mut loaded, plan.default.then_some(&previous))?;
        if plan.default
            && let Err(problem) = default::set(&loaded.name)
        {
            pins::remove(&loaded.name)?;
            return Err(problem);
        }
        report(&loaded);
        return Ok(());
    }
    let default = match plan.default {
        true => Some(Default::set(&loaded.name, &previous)?),
        false => None,
    };
    report(&loaded);
    is_over(PollTimeout::NONE, Some(&ended));
    // While the algorithm is loaded, no new socket can fail to get it.
    drop(default);
    drop(loaded);
    Ok(())
}

/// Waits for the end: that standard input has something to say, or that a signal arrives. Returns
/// whether it is there.
pub(crate) fn is_over(most: PollTimeout, signals: Option<&SignalFd>) -> bool {
    let stdin = std::io::stdin();
    let mut all = vec![PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    all.extend(signals.map(|signals| PollFd::new(signals.as_fd(), PollFlags::POLLIN)));
    loop {
        match poll(&mut all, most) {
            Err(Errno::EINTR) => {}
            Ok(0) => return false,
            _ => return true,
        }
    }
}

fn report(loaded: &Loaded) {
    // The caller may have ended, which is a reason to end, but no error.
    let _ = writeln!(std::io::stdout(), "{}", json!({ "loaded": loaded.name }));
}
