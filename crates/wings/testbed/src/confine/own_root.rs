//! A root directory of its own: a few folders of the machine, read-only, and files that are given by
//! their contents. There is no /proc, /sys or /dev.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

use super::devices::{errno, file_system, path_only, read_only};
use crate::{SandboxError, sandbox};

/// The files of a contained program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// Folders and files of the machine, none inside another; missing ones are left out.
    pub(crate) places: Vec<PathBuf>,
    /// Files with their contents, by their absolute names.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
}

/// A folder of every machine, over which the new root is mounted before it becomes the root.
const PLACE: &str = "/tmp";
/// Size of the given files, and of the empty folders around them.
const SIZE: &str = "mode=0755,size=64m";

/// Makes a root directory of the files, and enters it. The mounts must be private.
pub(crate) fn enter(shown: &Shown) -> Result<(), SandboxError> {
    // The descriptors still refer to what the new mount covers.
    let open: Vec<(PathBuf, File, bool)> = shown
        .places
        .iter()
        .filter_map(|place| Some((place.clone(), path_only(place)?, place.is_dir())))
        .collect();
    let made = || -> nix::Result<()> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        file_system("tmpfs", PLACE, flags, SIZE)?;
        for (place, file, is_folder) in &open {
            let to = inside(place);
            if *is_folder {
                folder(&to)?;
            } else {
                file_at(&to, &[])?;
            }
            let from = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
            mount(Some(&from), &to, None::<&str>, bind, None::<&str>)?;
        }
        for (place, content) in &shown.files {
            file_at(&inside(place), content)?;
        }
        read_only(c"/tmp")
    };
    made().map_err(|error| {
        let step = "a root directory with few files (mount tmpfs, MS_BIND)";
        sandbox::refused(step, error)
    })?;
    drop(open);
    let entered = || -> nix::Result<()> {
        chdir(PLACE)?;
        // The old root is mounted over the new one, and then removed (pivot_root(2), Notes).
        pivot_root(".", ".")?;
        umount2(".", MntFlags::MNT_DETACH)?;
        chdir("/")
    };
    entered().map_err(|error| sandbox::refused("another root directory (pivot_root)", error))
}

fn inside(place: &Path) -> PathBuf {
    let mut name = OsString::from(PLACE);
    name.push(place);
    PathBuf::from(name)
}

fn folder(place: &Path) -> nix::Result<()> {
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o755)
        .create(place)
        .map_err(errno)
}

fn file_at(place: &Path, content: &[u8]) -> nix::Result<()> {
    if let Some(parent) = place.parent() {
        folder(parent)?;
    }
    fs::write(place, content).map_err(errno)
}
