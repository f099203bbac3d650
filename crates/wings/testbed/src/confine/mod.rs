//! Limits of a program behind a path, besides its network.
//!
//! The first process prepares the mounts that all programs share. Each program enters the rest on
//! its own, just before it is executed: the forwarder is not confined, and so not slowed down.
//! SECURITY.md lists the promises with their tests.
#![expect(unsafe_code, reason = "seccomp, mount_setattr and fcntl")]

mod calls;
mod devices;
mod few_calls;
mod own_root;
mod read_only;

use std::os::fd::RawFd;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use seccompiler::BpfProgram;

pub(crate) use own_root::{Shown, enter};
pub(crate) use read_only::protect;

use crate::{SandboxError, privileges, sandbox};

/// Confinement of programs, for the processes of a sandbox.
#[derive(Debug)]
pub(crate) struct Confinement {
    filters: Vec<BpfProgram>,
}

/// A filter of all but a few system calls.
#[derive(Debug)]
pub(crate) struct FewCalls(BpfProgram);

/// Returns the filter of a contained program, or with `forks` that of one whose processes are contained.
pub(crate) fn few_calls(forks: bool) -> Result<FewCalls, SandboxError> {
    few_calls::filter(forks).map(FewCalls)
}

impl FewCalls {
    /// Filters the calls of this process, and of the program that it executes next.
    pub(crate) fn apply(&self) -> Result<(), SandboxError> {
        seccompiler::apply_filter(&self.0).map_err(|_| sandbox::cant(Errno::last()))
    }
}

/// Flags of a mounted interface of the kernel.
const INTERFACE: MsFlags = MsFlags::MS_RDONLY
    .union(MsFlags::MS_NOSUID)
    .union(MsFlags::MS_NODEV)
    .union(MsFlags::MS_NOEXEC);

impl Confinement {
    /// Prepares the confinement of programs that this thread starts from now on. This process sees
    /// the same mounts, so it must have opened its devices.
    ///
    /// # Errors
    /// When the machine does not allow a part of it.
    pub(crate) fn prepare(root: bool) -> Result<Confinement, SandboxError> {
        prepare(root)
    }

    /// Confines this process, which is about to execute a program in its network namespace.
    pub(crate) fn enter(&self) -> std::io::Result<()> {
        // A view of /sys belongs to a network namespace, so each end needs its own.
        unshare(CloneFlags::CLONE_NEWNS)?;
        let _ = own_sys();
        Ok(())
    }

    /// Filters the system calls of this process and of all that it starts or executes, which get no
    /// more privileges than it has (`no_new_privs`).
    pub(crate) fn filter(&self) -> std::io::Result<()> {
        self.filters
            .iter()
            .try_for_each(|filter| seccompiler::apply_filter(filter))
            .map_err(|_| std::io::Error::last_os_error())
    }
}

fn prepare(root: bool) -> Result<Confinement, SandboxError> {
    let own = CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWCGROUP;
    unshare(own).map_err(|error| {
        let step = "namespaces for names, shared memory and control groups (unshare CLONE_NEWUTS, \
                    CLONE_NEWIPC, CLONE_NEWCGROUP)";
        sandbox::refused(step, error)
    })?;
    if root && !std::fs::read_link("/proc/self").is_ok_and(|own| own == Path::new("1")) {
        return Err(sandbox::refused(
            "a /proc with only the program's processes (mount proc)",
            Errno::EPERM,
        ));
    }
    devices::minimal()
        .map_err(|error| sandbox::refused("a /dev with few devices (mount tmpfs)", error))?;
    match own_sys() {
        // In a container a user may not mount it, but can't write to it either.
        Err(error) if privileges::is_root() => {
            return Err(sandbox::refused(
                "a /sys of the path's network (mount sysfs)",
                error,
            ));
        }
        _ => {}
    }
    sandbox::return_to_here();
    keep_folders().map_err(sandbox::cant)?;
    let filters = calls::filters(root)?;
    Ok(Confinement { filters })
}

/// Mounts /sys for this thread's network namespace, and the control groups below this process's.
fn own_sys() -> nix::Result<()> {
    let (devices, groups) = ("sysfs", "cgroup2");
    let none = None::<&str>;
    mount(Some(devices), "/sys", Some(devices), INTERFACE, none)?;
    // The place exists only if the kernel has control groups. Programs look there for the limits of
    // their memory.
    let place = "/sys/fs/cgroup";
    let _ = mount(Some(groups), place, Some(groups), INTERFACE, none);
    Ok(())
}

/// Passes the descriptor `from` to the program that this process executes, as `to`, and no other one
/// beyond the standard ones.
pub(crate) fn give(from: RawFd, to: RawFd) -> nix::Result<()> {
    let first = libc::c_uint::try_from(to + 1).unwrap_or(libc::c_uint::MAX);
    let on_exec = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
    // SAFETY: the calls take only numbers. A duplicate has no flag that closes it.
    unsafe {
        Errno::result(if from == to {
            libc::fcntl(from, libc::F_SETFD, 0)
        } else {
            libc::dup2(from, to)
        })?;
        Errno::result(libc::close_range(first, libc::c_uint::MAX, on_exec)).map(drop)
    }
}

/// Keeps open folders and disks of the caller from programs: through a folder they would reach the
/// mounts outside.
fn keep_folders() -> nix::Result<()> {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else {
        return Ok(());
    };
    let numbers: Vec<RawFd> = open
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers {
        // SAFETY: fstat(2) writes `about`, which outlives the call; an unused number is an error.
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let known = unsafe { libc::fstat(number, &raw mut about) } == 0;
        if known && matches!(about.st_mode & libc::S_IFMT, libc::S_IFDIR | libc::S_IFBLK) {
            // SAFETY: the call takes only numbers, and closes nothing in this process.
            Errno::result(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
        }
    }
    Ok(())
}
