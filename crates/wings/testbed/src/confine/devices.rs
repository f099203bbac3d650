//! A /dev of its own: devices that every program may use, new terminals, and shared memory.

use std::ffi::{CStr, CString};
use std::fs::{DirBuilder, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

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
    let nodes = nodes();
    let (data, memory) = (MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, MsFlags::MS_NOSUID);
    file_system("tmpfs", "/dev", data, "mode=0755,size=1m")?;
    folder("/dev/pts")?;
    let group = match privileges::is_root() {
        true => format!(",gid={TTY_GROUP}"),
        false => String::new(),
    };
    let terminals = format!("newinstance,ptmxmode=0666,mode=0620{group}");
    file_system("devpts", "/dev/pts", data, &terminals)?;
    folder("/dev/shm")?;
    // Programs execute code there, such as user-mode Linux.
    file_system("tmpfs", "/dev/shm", memory, "mode=1777")?;
    for (name, to) in LINKS {
        symlink(to, format!("/dev/{name}")).map_err(errno)?;
    }
    set(c"/", libc::AT_RECURSIVE, NODEV, 0)?;
    for (name, node) in nodes {
        let place = format!("/dev/{name}");
        File::create(&place).map_err(errno)?;
        let source = PathBuf::from(format!("/proc/self/fd/{}", node.as_raw_fd()));
        let none = None::<&str>;
        mount(Some(&source), &*place, none, MsFlags::MS_BIND, none)?;
        enable(&place)?;
    }
    enable("/dev/pts")
}

/// Opens the devices to keep, and the terminal of this process. A container may not have all.
fn nodes() -> Vec<(&'static str, File)> {
    let terminal = std::fs::read_link("/proc/self/fd/0").ok();
    let terminal = terminal.filter(|path| path.starts_with("/dev/pts"));
    NODES
        .into_iter()
        .map(|name| (name, PathBuf::from(format!("/dev/{name}"))))
        .chain(terminal.map(|path| (CONSOLE, path)))
        .filter_map(|(name, path)| Some((name, path_only(&path)?)))
        .collect()
}

pub(super) fn file_system(
    kind: &str,
    place: &str,
    flags: MsFlags,
    options: &str,
) -> nix::Result<()> {
    mount(Some(kind), place, Some(kind), flags, Some(options))
}

pub(super) fn path_only(file: &Path) -> Option<File> {
    let mut options = File::options();
    options.read(true).custom_flags(OFlag::O_PATH.bits());
    options.open(file).ok()
}

fn folder(path: &str) -> nix::Result<()> {
    DirBuilder::new().mode(0o755).create(path).map_err(errno)
}

pub(super) fn errno(error: std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Lets device files of this mount be opened.
fn enable(place: &str) -> nix::Result<()> {
    let place = CString::new(place).map_err(|_| Errno::EINVAL)?;
    set(&place, 0, 0, NODEV)
}

/// The flags MOUNT_ATTR_… of mount_setattr(2), which libc does not have.
const RDONLY: u64 = 1;
const NOSUID: u64 = 2;
const NODEV: u64 = 4;

/// The `struct mount_attr` of mount_setattr(2).
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Makes a mount and all below it read-only, without devices and set-user-ID programs.
pub(super) fn read_only(place: &CStr) -> nix::Result<()> {
    set(place, libc::AT_RECURSIVE, RDONLY | NOSUID | NODEV, 0)
}

/// Changes attributes of mounts.
fn set(place: &CStr, flags: i32, set: u64, clear: u64) -> nix::Result<()> {
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
            libc::AT_FDCWD,
            place.as_ptr(),
            flags,
            &raw const attributes,
            size,
        )
    })
    .map(drop)
}
