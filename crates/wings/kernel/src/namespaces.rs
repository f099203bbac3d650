//! Network namespaces of the running processes, and the sockets in them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::sched::{CloneFlags, setns};

use crate::diagnostics;

/// The sockets of one algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Number of sockets.
    pub count: usize,
    /// Whether the sockets of a namespace could not be read, so that there may be more.
    pub partial: bool,
}

/// Returns the inode of this process' network namespace.
pub fn own() -> u64 {
    fs::metadata("/proc/self/ns/net").map_or(0, |file| file.ino())
}

/// Returns a file of each network namespace that a process uses or that `ip netns` has named.
fn all() -> BTreeMap<u64, PathBuf> {
    let names = |folder: &str| {
        let read = fs::read_dir(folder).into_iter().flatten().flatten();
        read.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let processes = names("/proc")
        .into_iter()
        .map(|folder| folder.join("ns/net"));
    let named = names("/run/netns");
    processes
        .chain(named)
        .filter_map(|file| Some((fs::metadata(&file).ok()?.ino(), file)))
        .collect()
}

/// Calls a function in a network namespace, on a thread of its own; `None` if this process may not
/// enter it, or it is gone.
pub fn within<T: Send>(inode: u64, call: impl FnOnce() -> T + Send) -> Option<T> {
    if inode == own() {
        return Some(call());
    }
    let file = File::open(all().get(&inode)?).ok()?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            setns(&file, CloneFlags::CLONE_NEWNET).ok()?;
            Some(call())
        });
        thread.join().ok().flatten()
    })
}

/// Returns the number of sockets that use an algorithm, in all network namespaces.
pub fn sockets(name: &str) -> Sockets {
    let (of, partial) = used();
    Sockets {
        count: of.get(name).copied().unwrap_or(0),
        partial,
    }
}

/// Returns the number of sockets of each algorithm in all network namespaces, and whether those of
/// a namespace could not be read.
pub fn used() -> (BTreeMap<String, usize>, bool) {
    let (mut found, mut partial) = (BTreeMap::new(), false);
    for inode in all().into_keys() {
        match within(inode, diagnostics::congestion_controls) {
            Some(Ok(of)) => of
                .into_iter()
                .for_each(|(name, count)| *found.entry(name).or_default() += count),
            _ => partial = true,
        }
    }
    (found, partial)
}
