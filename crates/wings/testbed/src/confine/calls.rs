//! The system calls that a confined program may not make: those that change the machine, or that
//! reach what no namespace separates.
//!
//! All others are allowed. Most refused calls need a capability that the program does not have
//! either: the filter is a second barrier. Without a capability work keys, perf, io_uring, sockets
//! of other families, characters put into a terminal's input, and namespaces of a user.

use std::collections::BTreeMap;

use libc::c_long;
use nix::errno::Errno;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::{SandboxError, sandbox};

pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused to everyone.
const OUTSIDE: &[c_long] = &[
    // The kernel's code, and programs in it.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // A ring makes calls that no filter sees, such as opening sockets.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Keys, which the caller's session shares.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Clocks.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_vhangup,
    // Files outside of the mounts.
    libc::SYS_open_by_handle_at,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Refused to root's programs. A user's may make mounts and namespaces of their own in a user
/// namespace, as Chromium's sandbox does.
const NAMESPACES: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
];
/// The number on every architecture; libc does not have it yet.
const OPEN_TREE_ATTR: c_long = 467;

const NEW: [libc::c_int; 8] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWTIME,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Families of sockets that belong to a network namespace and that programs use. Others, such as
/// AF_VSOCK, reach the machine's host or its devices.
const FAMILIES: [libc::c_int; 5] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
    libc::AF_PACKET,
];

/// Input of the terminal, as if typed: the caller's shell would execute it. TIOCSTI and TIOCLINUX,
/// whose type in libc depends on the platform.
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// Returns the filters of a program, for a thread to apply one after the other.
pub(super) fn filters(root: bool) -> Result<Vec<BpfProgram>, SandboxError> {
    available().map_err(|error| {
        sandbox::refused(
            "the system calls of a program to be filtered (seccomp)",
            error,
        )
    })?;
    let build = || {
        let mut filters = vec![refused(root)?, other_families()?];
        filters.extend(root.then(missing).transpose()?);
        Ok(filters)
    };
    build().map_err(unfiltered)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn unfiltered(error: seccompiler::BackendError) -> SandboxError {
    SandboxError::new(
        format!("a program's system calls can't be filtered: {error}"),
        "use a machine with a 64-bit processor of Arm or x86",
    )
}

pub(super) fn available() -> nix::Result<()> {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the call reads the action, which outlives it.
    Errno::result(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        )
    })
    .map(drop)
}

/// Refuses calls, as the kernel refuses those that need a capability.
fn refused(root: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: Rules = OUTSIDE.iter().map(|call| (*call, Vec::new())).collect();
    let typing = TYPING.iter().map(|code| one(1, SeccompCmpOp::Eq, *code));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    if root {
        rules.extend(NAMESPACES.iter().map(|call| (*call, Vec::new())));
        // In clone(2), the lowest byte is the signal of the child's end.
        let in_clone = |flag: &&libc::c_int| **flag != libc::CLONE_NEWTIME;
        let new = |flag: &libc::c_int| one(0, SeccompCmpOp::MaskedEq(*flag as u64), *flag as u64);
        let with: Result<_, _> = NEW.iter().filter(in_clone).map(new).collect();
        rules.insert(libc::SYS_clone, with?);
        rules.insert(
            libc::SYS_unshare,
            NEW.iter().map(new).collect::<Result<_, _>>()?,
        );
    }
    program(rules, Errno::EPERM)
}

/// Hides a call whose arguments a filter can't read, so that programs use the older one.
fn missing() -> Result<BpfProgram, seccompiler::BackendError> {
    program([(libc::SYS_clone3, Vec::new())].into(), Errno::ENOSYS)
}

/// Hides families of sockets. Programs such as tcpdump look for those that the kernel has.
fn other_families() -> Result<BpfProgram, seccompiler::BackendError> {
    let not =
        |family: &libc::c_int| SeccompCondition::new(0, Dword, SeccompCmpOp::Ne, *family as u64);
    let other = SeccompRule::new(FAMILIES.iter().map(not).collect::<Result<_, _>>()?)?;
    program(
        [(libc::SYS_socket, vec![other])].into(),
        Errno::EAFNOSUPPORT,
    )
}

fn program(rules: Rules, error: Errno) -> Result<BpfProgram, seccompiler::BackendError> {
    filtered(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error as u32),
    )
}

/// Returns a filter: the action of the calls that have a rule, and that of all others.
pub(super) fn filtered(
    rules: Rules,
    others: SeccompAction,
    of_rules: SeccompAction,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, others, of_rules, arch)?;
    filter.try_into().map(without_x32)
}

pub(super) fn one(
    argument: u8,
    is: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    // The kernel uses 32 bits of each of these arguments, whatever the others are.
    SeccompRule::new(vec![SeccompCondition::new(argument, Dword, is, value)?])
}

/// Refuses calls by x32's numbers. They are the same calls, but the library does not know them. Kernels
/// without x32 answer in this way, too.
fn without_x32(mut program: BpfProgram) -> BpfProgram {
    /// Length of the library's check of the architecture, which comes first.
    const CHECKED: usize = 3;
    const X32: u32 = 0x4000_0000;
    if cfg!(target_arch = "x86_64") {
        let step = |code: u32, jf, k| seccompiler::sock_filter {
            code: code as u16,
            jt: 0,
            jf,
            k,
        };
        let number = step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0);
        let is_x32 = step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32);
        let unknown = libc::SECCOMP_RET_ERRNO | Errno::ENOSYS as u32;
        let refuse = step(libc::BPF_RET | libc::BPF_K, 0, unknown);
        program.splice(CHECKED..CHECKED, [number, is_x32, refuse]);
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_of_the_architecture_has_the_expected_length() {
        let program = missing().expect("a filter");
        // Load the architecture, compare, end; then the number of the call is loaded.
        assert_eq!((program[0].code, program[0].k), (0x20, 4));
        assert_eq!(program[2].code, 0x06);
        assert_eq!((program[3].code, program[3].k), (0x20, 0));
        if cfg!(target_arch = "x86_64") {
            assert_eq!((program[4].code, program[4].k), (0x35, 0x4000_0000));
            assert_eq!((program[6].code, program[6].k), (0x20, 0));
        }
    }
}
