//! A /dev of its own: devices that every program may use, new terminals, and shared memory.

use std::fs::{DirBuilder, File};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::mount::{MsFlags, mount};

use crate::privileges;

/// Devices that lead nowhere.
const NODES: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("ptmx", "pts/ptmx"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// The terminal of this process, which has no name among the new terminals.
const CONSOLE: &str = "console";
/// Group of terminals, by which `write` and the like open them (`tty` in every distribution).
const TTY_GROUP: u32 = 5;

/// Replaces /dev, and disables device files in all other places.
pub(super) fn minimal() -> nix::Result<()> {
    let mut nodes = Vec::new();
    for name in NODES {
        nodes.push((name, path_only(&format!("/dev/{name}"))?));
    }
    let terminal = std::fs::read_link("/proc/self/fd/0");
    if let Some(terminal) = terminal.ok().filter(|path| path.starts_with("/dev/pts")) {
        nodes.push((CONSOLE, path_only(&terminal.to_string_lossy())?));
    }
    let common = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    mount(
        Some("tmpfs"),
        "/dev",
        Some("tmpfs"),
        common,
        Some("mode=0755,size=1m"),
    )?;
    let private = if privileges::is_root() {
        format!(",gid={TTY_GROUP}")
    } else {
        String::new()
    };
    let terminals = format!("newinstance,ptmxmode=0666,mode=0620{private}");
    folder("/dev/pts")?;
    mount(
        Some("devpts"),
        "/dev/pts",
        Some("devpts"),
        common,
        Some(&*terminals),
    )?;
    folder("/dev/shm")?;
    // Programs execute code there, such as user-mode Linux.
    let memory = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(
        Some("tmpfs"),
        "/dev/shm",
        Some("tmpfs"),
        memory,
        Some("mode=1777"),
    )?;
    for (name, to) in LINKS {
        symlink(to, format!("/dev/{name}")).map_err(errno)?;
    }
    set(libc::AT_FDCWD, c"/", libc::AT_RECURSIVE, NODEV, 0)?;
    for (name, node) in nodes {
        let place = format!("/dev/{name}");
        File::create(&place).map_err(errno)?;
        let source = PathBuf::from(format!("/proc/self/fd/{}", node.as_raw_fd()));
        mount(
            Some(&source),
            &*place,
            None::<&str>,
            MsFlags::MS_BIND,
            None::<&str>,
        )?;
        enable(&place)?;
    }
    enable("/dev/pts")
}

fn path_only(file: &str) -> nix::Result<File> {
    File::options()
        .read(true)
        .custom_flags(OFlag::O_PATH.bits())
        .open(file)
        .map_err(errno)
}

fn folder(path: &str) -> nix::Result<()> {
    DirBuilder::new().mode(0o755).create(path).map_err(errno)
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Lets device files of this mount be opened.
fn enable(place: &str) -> nix::Result<()> {
    let place = std::ffi::CString::new(place).map_err(|_| Errno::EINVAL)?;
    set(libc::AT_FDCWD, &place, 0, 0, NODEV)
}

/// MOUNT_ATTR_NODEV of mount_setattr(2), which libc does not have.
const NODEV: u64 = 4;

/// The `struct mount_attr` of mount_setattr(2).
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Changes attributes of mounts.
fn set(at: RawFd, place: &std::ffi::CStr, flags: i32, set: u64, clear: u64) -> nix::Result<()> {
    let attributes = MountAttributes {
        set,
        clear,
        propagation: 0,
        user_namespace: 0,
    };
    let size = std::mem::size_of::<MountAttributes>();
    // SAFETY: mount_setattr(2) reads the text and `size` bytes of the attributes; both outlive it.
    Errno::result(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            place.as_ptr(),
            flags,
            &raw const attributes,
            size,
        )
    })
    .map(drop)
}
