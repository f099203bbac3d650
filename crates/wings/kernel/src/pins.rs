//! Algorithms that stay loaded without a process: their links are files of a BPF file system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use nix::sys::statfs::{FsType, statfs};

use crate::load::{COUNTERS, Loaded, ROWS};
use crate::{Problem, default, namespaces, settings};

const BPF: &str = "/sys/fs/bpf";
/// BPF_FS_MAGIC.
const MAGIC: FsType = FsType(0xcafe_4a11);
const LINK: &str = "link";
/// The counters' file; names in a BPF file system have no dots.
const DATA: &str = "counters";
const PREVIOUS: &str = "previous";
/// Length of a name in the kernel, TCP_CA_NAME_MAX.
const NAME: usize = 16;

fn folder(name: &str) -> PathBuf {
    Path::new(BPF).join("fullpipe").join(name)
}

/// Refuses a machine without a BPF file system.
///
/// # Errors
/// When the machine has no such file system.
pub fn check() -> Result<(), Problem> {
    match statfs(BPF) {
        Ok(found) if found.filesystem_type() == MAGIC => Ok(()),
        _ => Err(Problem::new(
            format!("--detach: {BPF} is no BPF file system"),
            format!("as root: mount -t bpf bpf {BPF}"),
        )),
    }
}

/// Returns the names of detached algorithms, with their folders.
pub fn all() -> Vec<(String, PathBuf)> {
    let read = fs::read_dir(folder("")).into_iter().flatten().flatten();
    read.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect()
}

/// Keeps an algorithm loaded after the end of this process. `previous` is the default that its
/// unloading restores.
///
/// # Errors
/// When a file can't be made; nothing is left of it.
pub fn pin(loaded: &mut Loaded, previous: Option<&str>) -> Result<(), Problem> {
    let folder = folder(&loaded.name);
    let refused = |error: &dyn std::fmt::Display| {
        Problem::new(
            format!("--detach: {}: {error}", folder.display()),
            "run it as root",
        )
    };
    fs::create_dir_all(&folder).map_err(|error| refused(&error))?;
    // The link is the last one, so that an early end leaves no algorithm.
    let pinned = pin_maps(loaded, previous, &folder).and_then(|()| {
        for (device, link) in &mut loaded.devices {
            let pinned = link.pin(folder.join(format!("device{device}")));
            pinned.map_err(|error| refused(&error))?;
        }
        let link = loaded.link.pin(folder.join(LINK));
        link.map_err(|error| refused(&error))
    });
    if pinned.is_err() {
        let _ = remove_files(&folder);
    }
    pinned
}

fn pin_maps(loaded: &Loaded, previous: Option<&str>, folder: &Path) -> Result<(), Problem> {
    let refused = |error: libbpf_rs::Error| {
        Problem::new(
            format!("--detach: {}: {error}", folder.display()),
            "run it as root",
        )
    };
    for mut map in loaded.of_trace() {
        let rows = map.name() == ROWS;
        debug_assert!(rows || settings::is_section(map.name(), COUNTERS));
        map.pin(folder.join(if rows { ROWS } else { DATA }))
            .map_err(refused)?;
    }
    if let Some(previous) = previous {
        let mut value = [0; NAME + 8];
        let bytes = previous.as_bytes();
        let length = bytes.len().min(NAME);
        value[..length].copy_from_slice(&bytes[..length]);
        value[NAME..].copy_from_slice(&namespaces::own().to_ne_bytes());
        let options = bpf_map_create_opts {
            sz: size_of::<bpf_map_create_opts>() as u64,
            ..Default::default()
        };
        let size = value.len() as u32;
        let mut map = MapHandle::create(MapType::Array, Some("fp_previous"), 4, size, 1, &options)
            .map_err(refused)?;
        map.update(&[0; 4], &value, MapFlags::ANY)
            .and_then(|()| map.pin(folder.join(PREVIOUS)))
            .map_err(refused)?;
    }
    Ok(())
}

/// Returns the file of a detached algorithm's map.
pub(crate) fn map(folder: &Path, rows: bool) -> PathBuf {
    folder.join(if rows { ROWS } else { DATA })
}

/// Unloads a detached algorithm, and restores the default that it replaced.
///
/// # Errors
/// When this process may not.
pub fn remove(name: &str) -> Result<(), Problem> {
    let folder = folder(name);
    if let Some((previous, namespace)) = previous(&folder) {
        namespaces::within(namespace, || default::restore(name, &previous));
    }
    remove_files(&folder).map_err(|error| {
        Problem::new(
            format!("{}: {error}", folder.display()),
            "run it as root, as it was loaded",
        )
    })
}

/// Returns the default that an algorithm replaced, and the inode of the network namespace.
fn previous(folder: &Path) -> Option<(String, u64)> {
    let map = MapHandle::from_pinned_path(folder.join(PREVIOUS)).ok()?;
    let value = map.lookup(&[0; 4], MapFlags::ANY).ok()??;
    let name = value.get(..NAME)?.split(|byte| *byte == 0).next()?;
    let namespace = u64::from_ne_bytes(value.get(NAME..NAME + 8)?.try_into().ok()?);
    Some((String::from_utf8(name.to_vec()).ok()?, namespace))
}

fn remove_files(folder: &Path) -> io::Result<()> {
    // The link first: the algorithm is unloaded, even if another file can't be removed.
    let link = folder.join(LINK);
    if link.exists() {
        fs::remove_file(link)?;
    }
    for entry in fs::read_dir(folder)?.flatten() {
        fs::remove_file(entry.path())?;
    }
    fs::remove_dir(folder)?;
    // It stays if another algorithm is detached.
    let _ = folder.parent().map(fs::remove_dir);
    Ok(())
}
