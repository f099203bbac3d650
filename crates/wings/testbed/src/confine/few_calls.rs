//! The system calls of a contained program: all that it may make. It computes, and reads files that
//! it is given; it starts no process or thread, opens no socket and touches no other process.
//!
//! The list is that of an interpreter of Python that imports modules and answers over an open socket.

use libc::c_long;
use nix::errno::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompCmpOp};

use super::calls::{self, Rules};
use crate::{SandboxError, sandbox};

/// Flags of clone(2) that a fork may have, besides its signal.
const FORK: u64 = (libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID) as u64;
const SIGCHLD: u64 = libc::SIGCHLD as u64;

const COMMON: &[c_long] = &[
    // Open descriptors.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    // The open socket.
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_shutdown,
    // Files, which are all read-only.
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    // Memory.
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    // Signals to itself, by its own handlers.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Itself.
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_getcpu,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_futex,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    // The beginning and the end.
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The same in the older numbers of x86.
#[cfg(target_arch = "x86_64")]
const OLD: &[c_long] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_dup2,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_time,
    libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[c_long] = &[];

/// Returns the filter of a contained program. With `forks` it may also start processes, and limit itself further.
pub(super) fn filter(forks: bool) -> Result<BpfProgram, SandboxError> {
    calls::available().map_err(|error| {
        let step = "the system calls of a program to be filtered (seccomp)";
        sandbox::refused(step, error)
    })?;
    let mut rules: Rules = COMMON
        .iter()
        .chain(OLD)
        .map(|call| (*call, Vec::new()))
        .collect();
    if forks {
        let fork =
            calls::one(0, SeccompCmpOp::MaskedEq(!FORK), SIGCHLD).map_err(calls::unfiltered)?;
        rules.insert(libc::SYS_clone, vec![fork]);
        let whole = [libc::SYS_prlimit64, libc::SYS_prctl, libc::SYS_seccomp];
        rules.extend(whole.map(|call| (call, Vec::new())));
    } else {
        // Limits of its own may be read, and not set.
        let reads = calls::one(2, SeccompCmpOp::Eq, 0).map_err(calls::unfiltered)?;
        rules.insert(libc::SYS_prlimit64, vec![reads]);
    }
    let refused = SeccompAction::Errno(Errno::EPERM as u32);
    calls::filtered(rules, refused, SeccompAction::Allow).map_err(calls::unfiltered)
}
