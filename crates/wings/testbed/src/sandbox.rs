//! Processes in namespaces of their own, which leave nothing behind however they end.
//!
//! ```text
//! fullpipe ── keeper ── first process of a PID namespace: forwarder ── COMMAND, far ends, and all that they start
//! ```
//!
//! The kernel kills a PID namespace with its first process. That one dies with its keeper, and the
//! keeper with the caller (PR_SET_PDEATHSIG), so `kill -9` of any of them ends all. Network
//! namespaces have no name: they, and the devices in them, last as long as those processes.
#![expect(unsafe_code, reason = "fork")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, send, socketpair};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getgid, getppid, getuid, pipe2};
use serde_json::{Value, json};

use crate::confine::{self, Confinement};
use crate::link::or_unconfined;
use crate::{SandboxError, privileges};

/// A running sandbox. Dropping it ends all of its processes.
#[derive(Debug)]
pub struct Sandbox {
    keeper: Pid,
    /// Pipe that ends the processes inside: by a byte, or by its closing when this process ends.
    lifeline: Option<OwnedFd>,
    said: BufReader<File>,
    over: bool,
}

/// The connection of the processes inside with the caller.
#[derive(Clone, Debug)]
pub struct Inside {
    voice: Arc<Mutex<File>>,
    lifeline: Arc<OwnedFd>,
    owns_the_machine: bool,
}

impl Sandbox {
    /// Runs `body` as the first process of a PID namespace, where it may create network namespaces.
    /// Its result is the last message that is [heard](Sandbox::hear).
    pub fn start(
        body: impl FnOnce(&Inside) -> Result<Value, SandboxError>,
    ) -> Result<Sandbox, SandboxError> {
        let (lifeline_inside, lifeline) = socketpair(
            AddressFamily::Unix,
            SockType::Stream,
            None,
            SockFlag::SOCK_CLOEXEC,
        )
        .map_err(cant)?;
        let (said, voice) = pipe2(OFlag::O_CLOEXEC).map_err(cant)?;
        let caller = nix::unistd::getpid();
        // SAFETY: the child is single-threaded and runs only our code. That code takes no lock that
        // a thread of the caller may hold, except the allocator's lock, which the C library keeps
        // usable across fork.
        match unsafe { fork() }.map_err(cant)? {
            ForkResult::Parent { child } => {
                let said = BufReader::new(File::from(said));
                Ok(Sandbox {
                    keeper: child,
                    lifeline: Some(lifeline),
                    said,
                    over: false,
                })
            }
            ForkResult::Child => {
                drop((lifeline, said));
                let inside = Inside {
                    voice: Arc::new(Mutex::new(File::from(voice))),
                    lifeline: Arc::new(lifeline_inside),
                    owns_the_machine: privileges::owns_the_machine(),
                };
                // A panic must end here, and not continue as a second caller.
                let keep = AssertUnwindSafe(|| keep(caller, &inside, body));
                quit(catch_unwind(keep).unwrap_or(101))
            }
        }
    }

    /// Returns the next message from inside, or `None` at the end. [`Errno::EINTR`] means that a
    /// signal arrived, which the caller must handle.
    pub fn hear(&mut self) -> Result<Option<Value>, Errno> {
        self.hear_within(PollTimeout::NONE)
    }

    /// As [`Sandbox::hear`]; also `None` if no message arrives in time.
    pub fn hear_within(&mut self, patience: PollTimeout) -> Result<Option<Value>, Errno> {
        if self.said.buffer().is_empty() {
            let mut fds = [PollFd::new(self.said.get_ref().as_fd(), PollFlags::POLLIN)];
            if poll(&mut fds, patience)? == 0 {
                return Ok(None);
            }
        }
        let mut line = String::new();
        match self.said.read_line(&mut line) {
            Ok(0) | Err(_) => Ok(None),
            // `None` if the sender was killed in the middle of a line.
            Ok(_) => Ok(serde_json::from_str(&line).ok()),
        }
    }

    /// Asks the processes inside to end; their messages until then can still be heard.
    pub fn stop(&mut self) {
        if let Some(lifeline) = self.lifeline.take() {
            // Closing the lifeline is not enough: a process forked meanwhile, such as another
            // sandbox, may hold it open. If the processes inside have already ended, the write must
            // not cause a SIGPIPE.
            let _ = send(lifeline.as_raw_fd(), b".", MsgFlags::MSG_NOSIGNAL);
        }
    }

    /// Ends all processes inside at once, whatever they do.
    pub fn kill(&mut self) {
        if !self.over {
            // It fails only if the keeper has ended, and the others with it.
            let _ = nix::sys::signal::kill(self.keeper, Signal::SIGKILL);
        }
        self.end();
    }

    /// Ends the sandbox, and waits until all its processes have ended.
    pub fn end(&mut self) {
        self.stop();
        if !std::mem::replace(&mut self.over, true) {
            while waitpid(self.keeper, None) == Err(Errno::EINTR) {}
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.end();
    }
}

impl Inside {
    /// Sends a message to the caller.
    pub fn say(&self, what: &Value) {
        let mut line = what.to_string();
        line.push('\n');
        let mut voice = self
            .voice
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // The call fails only if the caller has ended, and then this process ends soon.
        let _ = voice.write_all(line.as_bytes());
    }

    /// Returns whether the processes inside own root's files, regardless of their capabilities.
    pub(crate) fn owns_the_machine(&self) -> bool {
        self.owns_the_machine
    }

    /// Waits until the caller requests the end of the sandbox, or has ended.
    pub fn wait_for_stop(&self) {
        let mut fds = [PollFd::new(self.lifeline.as_fd(), PollFlags::POLLIN)];
        while poll(&mut fds, PollTimeout::NONE) == Err(Errno::EINTR) {}
    }
}

/// Tests whether network namespaces can be created here, in processes that leave nothing behind.
///
/// # Errors
/// When they can't; the error names the refused step, and a way to allow it.
pub fn allowed() -> Result<(), SandboxError> {
    tried(|_| unshare(CloneFlags::CLONE_NEWNET).map_err(no_netns))
}

/// Tests whether the programs of a link can be confined here.
///
/// # Errors
/// When they can't; the error names the refused step, and a way to allow it.
pub fn confinable() -> Result<(), SandboxError> {
    tried(|inside| {
        unshare(CloneFlags::CLONE_NEWNET).map_err(no_netns)?;
        Confinement::prepare(inside.owns_the_machine())
            .map(drop)
            .map_err(or_unconfined)
    })
}

pub(crate) fn tried(
    step: impl FnOnce(&Inside) -> Result<(), SandboxError>,
) -> Result<(), SandboxError> {
    let mut sandbox = Sandbox::start(|inside| step(inside).map(|()| Value::Null))?;
    loop {
        let said = match sandbox.hear() {
            Err(Errno::EINTR) => continue,
            said => said.ok().flatten().unwrap_or_default(),
        };
        let word = |key: &str| said["trouble"][key].as_str().map(str::to_owned);
        return match (word("problem"), word("fix")) {
            (Some(problem), Some(fix)) => Err(SandboxError { problem, fix }),
            _ if said.get("done").is_some() => Ok(()),
            _ => Err(SandboxError::new(
                "the processes of a test sandbox were killed",
                "check the limits of memory and processes",
            )),
        };
    }
}

pub(crate) fn no_netns(error: Errno) -> SandboxError {
    refused("a network namespace (unshare CLONE_NEWNET)", error)
}

/// Ends this process without the exit handlers that it inherited from the caller.
pub(crate) fn quit(code: i32) -> ! {
    // SAFETY: the call takes a number, and does not return.
    unsafe { libc::_exit(code) }
}

/// Runs the keeper: creates the first process, and waits for it.
fn keep(
    caller: Pid,
    inside: &Inside,
    body: impl FnOnce(&Inside) -> Result<Value, SandboxError>,
) -> i32 {
    // Ignore the terminal's signals, which are for the command; this process ends when the caller
    // ends.
    for number in [
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGTSTP,
    ] {
        // SAFETY: ignoring installs no handler.
        let _ = unsafe { signal(number, SigHandler::SigIgn) };
    }
    if let Err(trouble) = separate() {
        inside.say(&json!({ "trouble": { "problem": trouble.problem, "fix": trouble.fix } }));
        return 1;
    }
    // Set after the change of credentials, which would clear it.
    let bound = prctl::set_pdeathsig(Signal::SIGKILL);
    if bound.is_err() || getppid() != caller {
        return 1;
    }
    // A process inside may have the same user and as few capabilities: by tracing us it could
    // leave.
    if prctl::set_dumpable(false).is_err() {
        return 1;
    }
    // SAFETY: as above; this process has one thread.
    match unsafe { fork() } {
        Ok(ForkResult::Parent { child }) => {
            let _ = privileges::drop_all();
            while waitpid(child, None) == Err(Errno::EINTR) {}
            0
        }
        Ok(ForkResult::Child) => first_process(inside, body),
        Err(error) => {
            let trouble = cant(error);
            inside.say(&json!({ "trouble": { "problem": trouble.problem, "fix": trouble.fix } }));
            1
        }
    }
}

/// Runs the first process in the sandbox.
fn first_process(
    inside: &Inside,
    body: impl FnOnce(&Inside) -> Result<Value, SandboxError>,
) -> i32 {
    let bound = prctl::set_pdeathsig(Signal::SIGKILL);
    let orphaned = {
        let mut fds = [PollFd::new(inside.lifeline.as_fd(), PollFlags::empty())];
        !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
    };
    if bound.is_err() || orphaned {
        return 1;
    }
    let mounted = own_proc();
    let protected = if inside.owns_the_machine {
        mounted.and_then(|()| confine::protect())
    } else {
        Ok(())
    };
    inside.say(&match protected.and_then(|()| body(inside)) {
        Ok(done) => json!({ "done": done }),
        Err(trouble) => {
            json!({ "trouble": { "problem": trouble.problem, "fix": trouble.fix } })
        }
    });
    0
}

/// Creates namespaces for the processes started from now on. Without root they need a user
/// namespace, in which users keep their identities.
fn separate() -> Result<(), SandboxError> {
    if privileges::is_admin() {
        return unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS).map_err(|error| {
            refused(
                "namespaces for processes and mounts (unshare CLONE_NEWPID, CLONE_NEWNS)",
                error,
            )
        });
    }
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)
        .map_err(|error| refused("a user namespace (unshare CLONE_NEWUSER)", error))?;
    let map = |file: &str, text: String| {
        std::fs::write(format!("/proc/self/{file}"), text).map_err(|error| {
            refused(
                &format!("a user namespace (its {file})"),
                Errno::from_raw(error.raw_os_error().unwrap_or(0)),
            )
        })
    };
    map("setgroups", "deny".to_owned())?;
    map("uid_map", format!("{user} {user} 1"))?;
    map("gid_map", format!("{group} {group} 1"))
}

/// Settings of root that can keep other users from creating user namespaces: the value of each that
/// does so, and one that does not.
const BARRIERS: [(&str, &str, &str); 3] = [
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user.max_user_namespaces", "0", "10000"),
];
/// Settings that, at zero, keep every user from creating namespaces.
const LIMITS: [&str; 6] = [
    "user.max_pid_namespaces",
    "user.max_mnt_namespaces",
    "user.max_net_namespaces",
    "user.max_uts_namespaces",
    "user.max_ipc_namespaces",
    "user.max_cgroup_namespaces",
];

/// Creates an error about a step that this machine does not allow, with a way to allow it.
pub(crate) fn refused(step: &str, error: Errno) -> SandboxError {
    let is = |setting: &str, value: &str| {
        let file = format!("/proc/sys/{}", setting.replace('.', "/"));
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == value)
    };
    let barred = BARRIERS
        .iter()
        .find(|(setting, bars, _)| !privileges::is_root() && is(setting, bars));
    let fix = if let Some((setting, _, allows)) = barred {
        format!("run it as root, or let root allow user namespaces: sysctl {setting}={allows}")
    } else if let Some(setting) = LIMITS.iter().find(|setting| is(setting, "0")) {
        format!("as root, allow it: sysctl {setting}=10000")
    } else if error == Errno::ENOSPC {
        "raise this machine's limit of namespaces (sysctl user), or nest fewer of them".to_owned()
    } else {
        "run it as root, on the machine itself or in a container with --privileged (CAP_SYS_ADMIN and CAP_NET_ADMIN)"
            .to_owned()
    };
    SandboxError::new(
        format!("this machine does not allow {step}: {}", error.desc()),
        fix,
    )
}

/// Sets up private mounts, and a /proc that shows only the sandbox's processes where that is
/// allowed: in containers it often is not.
fn own_proc() -> Result<(), SandboxError> {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>)
        .map_err(|error| refused("private mounts (MS_PRIVATE)", error))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>);
    return_to_here();
    Ok(())
}

/// Changes to the current directory by its name: it may be in a mount that a new one covers.
pub(crate) fn return_to_here() {
    let Ok(here) = std::env::current_dir() else {
        return; // It has been removed, so it has no name.
    };
    if std::env::set_current_dir(here).is_err() {
        let _ = std::env::set_current_dir("/");
    }
}

pub(crate) fn cant(error: Errno) -> SandboxError {
    SandboxError::new(
        format!("a process can't be started: {error}"),
        "check `ulimit -u` and `ulimit -n`",
    )
}
