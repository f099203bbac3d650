//! A program that does not reach the machine: code of unknown quality, such as a candidate of
//! `fullpipe score`.
//!
//! It has an own root directory with few files, which are read-only; no network, no process besides
//! its own, no capability and few system calls; and limits of memory and processor time. It reaches the
//! caller by one socket only. It ends with the caller. SECURITY.md lists the promises with their tests.
//!
//! The program itself is trusted: it forks, and each of its processes calls [`close`] before it runs code
//! of unknown quality.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, execve};
use serde_json::Value;

use crate::confine::{self, Shown};
use crate::{Inside, Sandbox, SandboxError, privileges, sandbox};

/// Descriptor of the socket in the program.
pub const SOCKET: i32 = 3;
/// Most descriptors of the program.
const DESCRIPTORS: u64 = 64;

/// A program to contain.
#[derive(Clone, Debug, Default)]
pub struct Contained {
    /// The program, by its absolute name, and its arguments.
    pub command: Vec<String>,
    /// All variables of its environment, as `NAME=VALUE`.
    pub environment: Vec<String>,
    /// Folders and files of the machine that it may read, none inside another; missing ones are left out.
    pub places: Vec<PathBuf>,
    /// Further files with their contents, by their absolute names.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Most memory, in bytes of address space.
    pub memory: u64,
    /// Most processor time, in seconds.
    pub cpu_s: u64,
}

/// Starts the program, which gets the socket as the descriptor [`SOCKET`]. Its output is lost.
///
/// # Errors
/// When a process can't be started. When the machine does not allow a part of the containment, the
/// sandbox says so ([`Sandbox::hear`]), and the program does not run.
pub fn start(program: Contained, socket: OwnedFd) -> Result<Sandbox, SandboxError> {
    Sandbox::start(move |_: &Inside| {
        let null = null()?;
        prepare(&program)?;
        execute(&program, &socket, &null)
    })
}

/// Tests whether a program can be contained here.
///
/// # Errors
/// When it can't; the error names the refused step, and a way to allow it.
pub fn containable() -> Result<(), SandboxError> {
    sandbox::tried(|_| prepare(&Contained::default()))
}

fn null() -> Result<OwnedFd, SandboxError> {
    let opened = File::options().read(true).write(true).open("/dev/null");
    opened.map(OwnedFd::from).map_err(|error| {
        let code = error.raw_os_error().unwrap_or(libc::EIO);
        sandbox::cant(Errno::from_raw(code))
    })
}

/// Contains this process, except for the filter of its system calls, which would not let it execute the rest.
fn prepare(program: &Contained) -> Result<(), SandboxError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(sandbox::no_netns)?;
    let own = CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWCGROUP;
    unshare(own).map_err(|error| {
        let step = "namespaces for names, shared memory and control groups (unshare CLONE_NEWUTS, \
                    CLONE_NEWIPC, CLONE_NEWCGROUP)";
        sandbox::refused(step, error)
    })?;
    confine::enter(&Shown {
        places: program.places.clone(),
        files: program.files.clone(),
    })?;
    privileges::limit_all()
        .and_then(|()| privileges::drop_all())
        .map_err(|error| sandbox::refused("a program without capabilities (capset)", error))?;
    confine::few_calls(true).map(drop)
}

/// Limits this process, which may have more memory than the program that it executes next.
fn limit(program: &Contained) -> Result<(), SandboxError> {
    let limits = [
        (Resource::RLIMIT_AS, program.memory),
        (Resource::RLIMIT_CPU, program.cpu_s),
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_NOFILE, DESCRIPTORS),
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_MEMLOCK, 0),
        (Resource::RLIMIT_MSGQUEUE, 0),
    ];
    limits
        .into_iter()
        .try_for_each(|(resource, most)| setrlimit(resource, most, most))
        .map_err(|error| sandbox::refused("limits of a program (setrlimit)", error))
}

/// Contains this process, which a contained program has forked: it starts no process or thread from now on.
///
/// # Errors
/// When the machine does not allow it.
pub fn close() -> Result<(), SandboxError> {
    setrlimit(Resource::RLIMIT_NPROC, 0, 0)
        .map_err(|error| sandbox::refused("limits of a program (setrlimit)", error))?;
    confine::few_calls(false)?.apply()
}

/// Executes the program; returns only with an error.
fn execute(program: &Contained, socket: &OwnedFd, null: &OwnedFd) -> Result<Value, SandboxError> {
    let texts = |all: &[String]| -> Result<Vec<CString>, SandboxError> {
        let text = |each: &String| CString::new(each.as_str());
        all.iter().map(text).collect::<Result<_, _>>().map_err(|_| {
            SandboxError::new("a word of the program has a zero byte", "name other files")
        })
    };
    let (words, environment) = (texts(&program.command)?, texts(&program.environment)?);
    let connected = || -> nix::Result<()> {
        dup2_stdin(null.as_fd())?;
        dup2_stdout(null.as_fd())?;
        dup2_stderr(null.as_fd())?;
        confine::give(socket.as_raw_fd(), SOCKET)
    };
    connected().map_err(sandbox::cant)?;
    let filter = confine::few_calls(true)?;
    limit(program)?;
    filter.apply()?;
    let error = match words.first() {
        Some(first) => execve(first, &words, &environment).err(),
        None => Some(Errno::ENOENT),
    };
    Err(SandboxError::new(
        format!(
            "the contained program can't be executed: {}",
            error.unwrap_or(Errno::EIO).desc()
        ),
        "check that the interpreter and its libraries are readable",
    ))
}
