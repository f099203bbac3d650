//! Read-only mounts of the kernel's own file systems, through whose files root's programs could
//! change the machine.
//!
//! Capabilities don't guard these files: root owns them, and permission to write is checked as for
//! any other file.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::mount::{MsFlags, mount};
use nix::sys::statvfs::{FsFlags, statvfs};

use crate::SandboxError;

/// File systems that are interfaces of the kernel. (`proc` is also mounted in places other than
/// /proc.)
const INTERFACES: [&str; 13] = [
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "efivarfs",
    "fusectl",
    "proc",
    "pstore",
    "securityfs",
    "sysfs",
    "tracefs",
];
/// The part of /proc/sys that belongs to the network namespace of its reader.
const OWN: &str = "/proc/sys/net";

/// Makes these file systems read-only in this mount namespace, which is private: all of /sys, and
/// the part of /proc that belongs to no process. The settings of the network stay writable, since
/// they belong to the network namespace of the process that writes them.
///
/// # Errors
/// When one of the file systems stays writable.
pub(crate) fn protect() -> Result<(), SandboxError> {
    let own = File::options()
        .read(true)
        .custom_flags(OFlag::O_PATH.bits())
        .open(OWN);
    let shared = shared_of_proc();
    for place in &shared {
        let _ = mount(
            Some(place),
            place,
            None::<&str>,
            MsFlags::MS_BIND,
            None::<&str>,
        );
        let _ = remount(place, "");
    }
    if let Ok(own) = own {
        // The descriptor still refers to the writable mount, which lies below the new one.
        let source = PathBuf::from(format!("/proc/self/fd/{}", own.as_raw_fd()));
        let _ = mount(
            Some(&source),
            OWN,
            None::<&str>,
            MsFlags::MS_BIND,
            None::<&str>,
        );
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    for mounted in mounts
        .lines()
        .filter_map(Mounted::read)
        .filter(Mounted::is_the_machines)
    {
        let _ = remount(&mounted.place, mounted.options);
    }
    let writable = |place: &PathBuf| {
        place.exists()
            && !statvfs(place).is_ok_and(|found| found.flags().contains(FsFlags::ST_RDONLY))
    };
    match shared
        .into_iter()
        .chain([PathBuf::from("/sys")])
        .find(writable)
    {
        None => Ok(()),
        Some(place) => Err(SandboxError::new(
            format!(
                "this machine does not allow making {} read-only for root's programs",
                place.display()
            ),
            "run it as another user, or in a container with --privileged",
        )),
    }
}

/// Returns the folders in /proc that belong to no process, and the writable files there.
fn shared_of_proc() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let shared = |entry: &std::fs::DirEntry| {
        let of_a_process = entry
            .file_name()
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_digit);
        // The call does not follow links such as `self`.
        let about = entry.metadata().ok();
        let can_change = |about: std::fs::Metadata| {
            about.is_dir() || about.is_file() && about.permissions().mode() & 0o222 != 0
        };
        !of_a_process && about.is_some_and(can_change)
    };
    entries
        .flatten()
        .filter(shared)
        .map(|entry| entry.path())
        .collect()
}

/// A line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
struct Mounted<'a> {
    place: PathBuf,
    options: &'a str,
    kind: &'a str,
}

impl Mounted<'_> {
    fn read(line: &str) -> Option<Mounted<'_>> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut words = mount.split(' ').skip(4);
        let place = PathBuf::from(unescaped(words.next()?));
        Some(Mounted {
            place,
            options: words.next()?,
            kind: file_system.split(' ').next()?,
        })
    }

    fn is_the_machines(&self) -> bool {
        let below = self.place.starts_with("/sys") || INTERFACES.contains(&self.kind);
        // /proc itself contains the processes' own files, and `protect` handles its other parts.
        below && self.place != Path::new("/proc") && self.place != Path::new(OWN)
    }
}

/// Undoes the escapes of blanks, tabs, line ends and backslashes, such as `\040`.
fn unescaped(text: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (octal, plain)| {
        text.replace(octal, plain)
    })
}

/// Remounts read-only with all other options kept: a user namespace may remove none.
fn remount(place: &Path, options: &str) -> nix::Result<()> {
    let kept = options.split(',').fold(MsFlags::empty(), |flags, option| {
        flags
            | match option {
                "nosuid" => MsFlags::MS_NOSUID,
                "nodev" => MsFlags::MS_NODEV,
                "noexec" => MsFlags::MS_NOEXEC,
                "noatime" => MsFlags::MS_NOATIME,
                "nodiratime" => MsFlags::MS_NODIRATIME,
                "relatime" => MsFlags::MS_RELATIME,
                _ => MsFlags::empty(),
            }
    });
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | kept;
    mount(None::<&str>, place, None::<&str>, flags, None::<&str>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_says_where_and_what() {
        let line = "36 35 98:0 /a /mnt/my\\040disk rw,nosuid,relatime shared:1 - cgroup2 cgroup rw";
        let found = Mounted::read(line).expect("a mount");
        assert_eq!(
            (found.place.to_str(), found.options, found.kind),
            (Some("/mnt/my disk"), "rw,nosuid,relatime", "cgroup2")
        );
        assert!(found.is_the_machines());
        assert!(
            !Mounted::read("22 27 0:21 / /proc rw - proc proc rw")
                .expect("a mount")
                .is_the_machines()
        );
        assert!(
            !Mounted::read("27 1 254:0 / / rw - ext4 /dev/vda rw")
                .expect("a mount")
                .is_the_machines()
        );
        assert!(
            Mounted::read("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw")
                .expect("a mount")
                .is_the_machines()
        );
    }
}
