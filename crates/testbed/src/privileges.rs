//! Capabilities: which there are, and that none is kept longer than needed.
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

/// What root's commands may keep: nothing with which they could leave their namespaces.
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

/// Whether this process may make namespaces and devices without a user namespace.
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

/// Whether it has them in no user namespace, so that settings about those do not concern it.
pub(crate) fn is_root() -> bool {
    is_admin() && in_no_user_namespace()
}

/// Whether root's files are this process's, whatever its capabilities: in a user namespace, root is
/// somebody else.
pub(crate) fn owns_the_machine() -> bool {
    nix::unistd::geteuid().is_root() && in_no_user_namespace()
}

fn in_no_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// What is executed from here on gets no capability but the harmless ones, and those only as root.
pub(crate) fn limit() -> nix::Result<()> {
    // Root gets inheritable ones past the bounding set, and anybody gets ambient ones, which are
    // inheritable, too.
    let mut sets = held()?;
    sets.iter_mut().for_each(|set| set.inheritable = 0);
    set(&sets)?;
    for cap in (0..64).filter(|cap| !HARMLESS.contains(cap)) {
        // SAFETY: takes numbers only.
        match Errno::result(unsafe {
            libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(cap), 0, 0, 0)
        }) {
            // The kernel has no such one.
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

/// This thread, and those it starts, have no capability from here on. Each thread that is there
/// already has to do so itself.
pub(crate) fn drop_all() -> nix::Result<()> {
    keep(0)
}

/// The same, but for that of setting up its network.
pub(crate) fn keep_network() -> nix::Result<()> {
    keep(1 << NET_ADMIN)
}

/// The same, but for that of ending processes that have become somebody else's.
pub(crate) fn keep_kill() -> nix::Result<()> {
    keep(1 << KILL)
}

/// Keeps those of the first 32 whose bits are set, if they are there.
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

// _LINUX_CAPABILITY_VERSION_3, of this thread.
const HEADER: Header = Header {
    version: 0x2008_0522,
    pid: 0,
};

/// The sets of this thread, 32 bits of each at a time.
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
    // SAFETY: both point to what capset(2) reads, and outlive the call.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) })
        .map(drop)
}
