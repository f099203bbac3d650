//! Processes that keep an algorithm loaded, and algorithms that stay loaded without one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::load::{Plan, offered};
use crate::{Problem, clock, pins};

/// Name of this program, as the kernel gives it: at most 15 characters.
const PROGRAM: &str = "fullpipe-kernel";
/// Argument that makes this program a holder; its plan follows.
pub const HOLD: &str = "hold";
/// Time that a holder has to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A loaded algorithm.
#[derive(Clone, Debug)]
pub struct Holding {
    /// Name in the kernel.
    pub name: String,
    /// Process whose end unloads it; `None` if it is detached, or another program loaded it.
    pub process: Option<i32>,
    /// Folder of its pinned link; `None` if it is not detached.
    pub pinned: Option<PathBuf>,
    /// Plan of the holder.
    pub plan: Option<Plan>,
}

/// Returns fullpipe's algorithms that are loaded. Objects of other programs with such names have
/// neither a process nor a folder.
pub fn all() -> Vec<Holding> {
    let mut found: Vec<Holding> = processes()
        .into_iter()
        .map(|(process, plan)| Holding {
            name: kernel_name(&plan),
            process: Some(process),
            pinned: None,
            plan: Some(plan),
        })
        .collect();
    found.extend(pins::all().into_iter().map(|(name, folder)| Holding {
        name,
        process: None,
        pinned: Some(folder),
        plan: None,
    }));
    let offered = offered();
    found.retain(|holding| offered.contains(&holding.name) || holding.pinned.is_some());
    let others = offered.iter().filter(|name| name.starts_with("fp_"));
    let others: Vec<Holding> = others
        .filter(|name| !found.iter().any(|holding| holding.name == **name))
        .map(|name| Holding {
            name: name.clone(),
            process: None,
            pinned: None,
            plan: None,
        })
        .collect();
    found.extend(others);
    found
}

/// Returns the name of a plan's algorithm in the kernel: the word that its object's file has.
fn kernel_name(plan: &Plan) -> String {
    let file = plan.object.file_name().and_then(|name| name.to_str());
    let stem = file.and_then(|name| name.split('.').next());
    format!("fp_{}", stem.unwrap_or_default())
}

fn processes() -> Vec<(i32, Plan)> {
    let read = fs::read_dir("/proc").into_iter().flatten().flatten();
    let holder = |folder: PathBuf| {
        let process = folder.file_name()?.to_str()?.parse().ok()?;
        let comm = fs::read_to_string(folder.join("comm")).ok()?;
        if comm.trim_end() != PROGRAM {
            return None;
        }
        Some((process, plan_of(&folder)?))
    };
    read.filter_map(|entry| holder(entry.path())).collect()
}

fn plan_of(folder: &Path) -> Option<Plan> {
    let line = fs::read(folder.join("cmdline")).ok()?;
    let mut words = line.split(|byte| *byte == 0).skip(1);
    if words.next()? != HOLD.as_bytes() {
        return None;
    }
    serde_json::from_slice(words.next()?).ok()
}

/// Unloads an algorithm, and waits until new sockets can't choose it.
///
/// # Errors
/// When nothing of that name is loaded, or this process may not unload it.
pub fn unload(name: &str) -> Result<(), Problem> {
    let of: Vec<Holding> = all()
        .into_iter()
        .filter(|holding| holding.name == name)
        .collect();
    if of.is_empty() {
        return Err(Problem::new(
            format!("{name} is not loaded"),
            "fullpipe kernel list shows the loaded ones",
        ));
    }
    for holding in of {
        match (holding.process, &holding.pinned) {
            (Some(process), _) => end(name, process)?,
            (None, Some(_)) => pins::remove(name)?,
            (None, None) => {
                return Err(Problem::new(
                    format!("{name}: another program loaded it"),
                    format!("bpftool struct_ops unregister name {name}"),
                ));
            }
        }
    }
    let gone = wait_until(|| !offered().iter().any(|known| known == name));
    if gone {
        Ok(())
    } else {
        Err(Problem::new(
            format!("{name} is still loaded"),
            "fullpipe kernel list names the process that holds it",
        ))
    }
}

fn end(name: &str, process: i32) -> Result<(), Problem> {
    match kill(Pid::from_raw(process), Signal::SIGTERM) {
        Ok(()) => {}
        Err(Errno::ESRCH) => return Ok(()),
        Err(error) => {
            return Err(Problem::new(
                format!("{name}: process {process} holds it: {}", error.desc()),
                "run it as the user who loaded it, or as root",
            ));
        }
    }
    let folder = PathBuf::from(format!("/proc/{process}"));
    if wait_until(|| plan_of(&folder).is_none()) {
        return Ok(());
    }
    Err(Problem::new(
        format!("{name}: process {process} holds it and does not end"),
        format!("kill -9 {process}"),
    ))
}

/// Waits until a condition holds; returns whether it does.
pub(crate) fn wait_until(condition: impl Fn() -> bool) -> bool {
    let end = clock::now() + PATIENCE;
    while !condition() {
        if clock::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}
