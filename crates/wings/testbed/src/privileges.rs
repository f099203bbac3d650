//! Capabilities: functions that check them, and that drop those no longer needed.
#![expect(unsafe_code, reason = "capset and prctl have no safe form")]

use nix::errno::Errno;

const CHOWN: u32 = 0;
const DAC_OVERRIDE: u32 = 1;
const FOWNER: u32 = 3;
const FSETID: u32 = 4;
const KILL: u32 = 5;
const SETGID: u32 = 6;
const SETUID: u32 = 7;
const NET_BIND_SERVICE: u32 = 10;
const NET_ADMIN: u32 = 12;
const NET_RAW: u32 = 13;
const SYS_ADMIN: u32 = 21;

/// Capabilities that root's commands may keep: none of them lets a command leave its namespaces.
const HARMLESS: [u32; 9] = [
    CHOWN,
    DAC_OVERRIDE,
    FOWNER,
    FSETID,
    KILL,
    SETGID,
    SETUID,
    NET_BIND_SERVICE,
    NET_RAW,
];

/// Returns whether this process may create namespaces and devices without a user namespace.
pub(crate) fn is_admin() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    [NET_ADMIN, SYS_ADMIN]
        .iter()
        .all(|cap| bits >> cap & 1 == 1)
}

/// Returns whether it may do so outside all user namespaces, where no setting restricts it.
pub(crate) fn is_root() -> bool {
    is_admin() && in_no_user_namespace()
}

/// Returns whether this process owns root's files, regardless of its capabilities: in a user
/// namespace, root is a different user.
pub(crate) fn owns_the_machine() -> bool {
    nix::unistd::geteuid().is_root() && in_no_user_namespace()
}

fn in_no_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Limits programs executed from here on to the harmless capabilities, which only root gets.
pub(crate) fn limit() -> nix::Result<()> {
    bound(&HARMLESS)
}

/// Limits programs executed from here on to no capabilities at all, also those of root.
pub(crate) fn limit_all() -> nix::Result<()> {
    bound(&[])
}

fn bound(kept: &[u32]) -> nix::Result<()> {
    // Root's programs get inheritable capabilities despite the bounding set. Any user's get ambient
    // ones, which have to be inheritable.
    let mut sets = held()?;
    sets.iter_mut().for_each(|set| set.inheritable = 0);
    set(&sets)?;
    for cap in (0..64).filter(|cap| !kept.contains(cap)) {
        // SAFETY: the call takes only numbers.
        match Errno::result(unsafe {
            libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(cap), 0, 0, 0)
        }) {
            // The kernel does not know this capability.
            Ok(_) | Err(Errno::EINVAL) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Drops all capabilities of this thread and of threads that it starts later. Each thread that
/// already exists has to drop its own.
pub(crate) fn drop_all() -> nix::Result<()> {
    keep(0)
}

/// Drops all capabilities except that of setting up the network.
pub(crate) fn keep_network() -> nix::Result<()> {
    keep(1 << NET_ADMIN)
}

/// Drops all capabilities except that of ending processes that have changed their user.
pub(crate) fn keep_kill() -> nix::Result<()> {
    keep(1 << KILL)
}

/// Keeps those of the first 32 capabilities whose bits are set, if the thread has them.
fn keep(bits: u32) -> nix::Result<()> {
    let bits = held()?[0].permitted & bits;
    let none = Data {
        effective: 0,
        permitted: 0,
        inheritable: 0,
    };
    set(&[
        Data {
            effective: bits,
            permitted: bits,
            ..none
        },
        none,
    ])
}

// _LINUX_CAPABILITY_VERSION_3, for this thread.
const HEADER: Header = Header {
    version: 0x2008_0522,
    pid: 0,
};

/// Returns the capability sets of this thread, 32 bits of each per element.
fn held() -> nix::Result<[Data; 2]> {
    let mut sets = [Data {
        effective: 0,
        permitted: 0,
        inheritable: 0,
    }; 2];
    let mut header = HEADER;
    // SAFETY: capget(2) reads and writes the header and writes both sets; they outlive the call.
    Errno::result(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) })?;
    Ok(sets)
}

fn set(sets: &[Data; 2]) -> nix::Result<()> {
    let header = HEADER;
    // SAFETY: both pointers are to data that capset(2) reads, and that outlives the call.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) })
        .map(drop)
}
