//! fullpipe's side: a library as a descriptor, and its controllers.

mod controller;
mod image;
mod table;

use core::fmt;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fullpipe_cc::{Descriptor, Registry};
use libloading::Library;

use crate::abi::{self, Plugin};
#[cfg(unix)]
pub(crate) use controller::{broken, checked, fault, numbers};

/// The reason for which a library can't be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// Description of the problem, without the file.
    pub problem: String,
    /// Suggested fix.
    pub fix: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  fix: {}", self.problem, self.fix)
    }
}

impl Error for LoadError {}

fn refusal<T>(problem: impl Into<String>, fix: impl Into<String>) -> Result<T, LoadError> {
    Err(LoadError {
        problem: problem.into(),
        fix: fix.into(),
    })
}

/// A loaded library.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The algorithm; its name is that by which scenarios call it.
    pub descriptor: &'static Descriptor,
    /// The library's file.
    pub file: PathBuf,
    /// The contents of the file when it was loaded.
    pub content: Arc<[u8]>,
    plugin: &'static Plugin,
}

/// The algorithms from libraries in this process, in the order of loading. None is ever unloaded:
/// traces have texts of theirs.
static KNOWN: Mutex<Vec<Loaded>> = Mutex::new(Vec::new());

/// A library that was opened, whether its algorithm was taken or refused: the system gives it again.
struct Opened {
    file: PathBuf,
    content: Arc<[u8]>,
    /// Its table; `None` if it has none of this version.
    plugin: Option<&'static Plugin>,
}

/// The longest library, in bytes.
const LONGEST: u64 = 1 << 30;

static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// Loads the library in `file`, and makes its algorithm known in this process: as `name`, or by the
/// name that it gives itself. A library replaces an earlier one of its file, or of any file if
/// `replaces` is true.
///
/// The library's code runs with all rights of the process, from here on.
///
/// # Errors
/// When the file is no library for this machine, has no algorithm, or has one for another version
/// of the interface; or when the name belongs to another algorithm.
pub fn load(file: &Path, name: Option<&str>, replaces: bool) -> Result<Loaded, LoadError> {
    match fs::metadata(file) {
        Ok(about) if !about.is_file() => return refusal("not a file", "name a shared library"),
        Ok(about) if about.len() > LONGEST => {
            return refusal("more than 1 GiB", "name a shared library");
        }
        _ => {}
    }
    let content: Arc<[u8]> = match fs::read(file) {
        Ok(content) => content.into(),
        Err(error) => {
            let words = error.to_string();
            let words = words.split(" (os error").next().unwrap_or_default();
            return refusal(format!("can't be read: {words}"), "name a shared library");
        }
    };
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let earlier = opened.iter().find(|each| each.content == content);
    let plugin = match earlier.and_then(|each| each.plugin) {
        Some(same) => same,
        None => {
            image::check(&content)?;
            let builds = opened.iter().filter(|each| each.file == file).count();
            let plugin = open(&spelled(&file, builds));
            let old = plugin.as_ref().is_ok_and(|new| {
                let tables = opened.iter().filter_map(|each| each.plugin);
                tables.into_iter().any(|each| std::ptr::eq(each, *new))
            });
            opened.push(Opened {
                file: file.clone(),
                content: Arc::clone(&content),
                plugin: plugin.as_ref().ok().copied().filter(|_| !old),
            });
            if old {
                return refusal(
                    "was overwritten after it was loaded",
                    "start fullpipe again, or build the library to a new file",
                );
            }
            plugin?
        }
    };
    // SAFETY: `open` has checked the version, and the interface promises that the texts stay valid.
    let own = unsafe { table::text(plugin.name, "its name") };
    let own = own.map_err(|problem| LoadError {
        problem,
        fix: "correct its table".to_owned(),
    })?;
    let name = name.unwrap_or(own);
    refuse_name(name, &file, &content, &known, replaces)?;
    let same = |each: &&Loaded| std::ptr::eq(each.plugin, plugin) && each.descriptor.name == name;
    let descriptor = match known.iter().find(same) {
        Some(same) => same.descriptor,
        // SAFETY: as above, for the whole table.
        None => match unsafe { table::descriptor(name, plugin) } {
            Ok(descriptor) => descriptor,
            Err(problem) => return refusal(problem, "correct its table"),
        },
    };
    let loaded = Loaded {
        descriptor,
        file,
        content,
        plugin,
    };
    // The latest is the last one, and the only one of its name that `loaded` returns.
    known.retain(|each| !std::ptr::eq(each.descriptor, descriptor));
    known.push(loaded.clone());
    Ok(loaded)
}

fn refuse_name(
    name: &str,
    file: &Path,
    content: &Arc<[u8]>,
    known: &[Loaded],
    replaces: bool,
) -> Result<(), LoadError> {
    let fit = (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
    if !fit {
        return refusal(
            format!("the name {name:?} can't be one of an algorithm"),
            "use 1 to 64 letters, digits, \"-\", \"_\", \".\" and \"+\"",
        );
    }
    let fix = || {
        format!(
            "give it a name of its own: --plugin NAME={}",
            file.display()
        )
    };
    if name == "none" || Registry::default().names().contains(&name) {
        return refusal(format!("{name} is the name of a built-in algorithm"), fix());
    }
    let other = known.iter().rfind(|each| {
        each.descriptor.name == name && each.file != file && each.content != *content
    });
    match other {
        Some(other) if !replaces => refusal(
            format!("{} has an algorithm {name}, too", other.file.display()),
            fix(),
        ),
        _ => Ok(()),
    }
}

/// Returns another spelling of a file's name for each of its builds: the system gives the earlier
/// library for a name that it knows, without a look at the file.
fn spelled(file: &Path, builds: usize) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new(""));
    let folder = (0..builds).fold(folder.to_owned(), |folder, _| folder.join("."));
    folder.join(file.file_name().unwrap_or_default())
}

/// Returns the table of the library.
fn open(file: &Path) -> Result<&'static Plugin, LoadError> {
    // SAFETY: the user named the library, and its initializers run with the user's rights.
    let library = match unsafe { opened(file) } {
        Ok(library) => library,
        Err(error) => {
            return refusal(
                format!("can't be loaded: {}", deepest(&error)),
                "build it on this machine, with the libraries that it needs",
            );
        }
    };
    // SAFETY: the interface gives this name to a function of this type.
    let entry = unsafe { library.get::<extern "C" fn() -> *const Plugin>(b"fullpipe_plugin\0") };
    let Ok(entry) = entry.map(|entry| *entry) else {
        return refusal(
            "exports no function fullpipe_plugin",
            "export it: fullpipe_plugin::plugin!(DESCRIPTOR) does in Rust, FULLPIPE_PLUGIN(table) in C",
        );
    };
    let pointer = entry();
    std::mem::forget(library);
    if pointer.is_null() {
        return refusal("describes no algorithm", "return the address of a table");
    }
    // SAFETY: the table of every version begins with its number.
    let version = unsafe { *pointer.cast::<u32>() };
    if !(abi::OLDEST..=abi::VERSION).contains(&version) {
        return refusal(
            format!(
                "is for version {version} of the interface, and this fullpipe has version {}",
                abi::VERSION
            ),
            "build it again: `fullpipe plugin build CRATE` in Rust, with this fullpipe's header in C",
        );
    }
    // SAFETY: the tables of these versions are alike, and the table stays valid until the process ends.
    Ok(unsafe { &*pointer })
}

/// # Safety
/// The library's initializers must be safe to call.
#[cfg(unix)]
unsafe fn opened(file: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::unix;
    // With RTLD_LAZY, a call of a missing function would end the process.
    let flags = unix::RTLD_NOW | unix::RTLD_LOCAL;
    // SAFETY: the caller vouches for it.
    unsafe { unix::Library::open(Some(file), flags) }.map(Library::from)
}

/// # Safety
/// The library's initializers must be safe to call.
#[cfg(not(unix))]
unsafe fn opened(file: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: the caller vouches for it.
    unsafe { Library::new(file) }
}

fn deepest(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Returns the loaded algorithms, the latest of each name.
pub fn loaded() -> Vec<Loaded> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let last = |(place, each): &(usize, &Loaded)| {
        known[place + 1..]
            .iter()
            .all(|later| later.descriptor.name != each.descriptor.name)
    };
    let latest = known.iter().enumerate().filter(last);
    latest.map(|(_, each)| each.clone()).collect()
}

/// Returns the built-in algorithms, the loaded ones, and those of other processes.
pub fn registry() -> Registry {
    let all = loaded();
    let registry = all.iter().fold(Registry::default(), |registry, each| {
        registry.with(each.descriptor)
    });
    #[cfg(unix)]
    let registry = crate::remote::connected(registry);
    registry
}

/// Returns the library whose descriptor has this name: compared by address, since another library
/// may have had the same name before.
fn known_as(name: &'static str) -> (&'static Descriptor, &'static Plugin) {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known
        .iter()
        .find(|each| std::ptr::eq(each.descriptor.name, name))
        .expect("only a loaded library's descriptor builds a controller");
    (found.descriptor, found.plugin)
}
