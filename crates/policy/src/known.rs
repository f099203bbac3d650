//! The policies of this process, as algorithms.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fullpipe_cc::{AnyController, Config, Descriptor, Registry, Shared, steered};

use crate::file::{Read, Refused};
use crate::policy::Policy;

/// A policy that was read from a file. It lives as long as the process.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its declaration as an algorithm.
    pub descriptor: &'static Descriptor,
    /// The file.
    pub file: PathBuf,
    /// The text of the file when it was read.
    pub text: Arc<str>,
    read: Arc<Read>,
}

impl Loaded {
    /// Returns the number of values in its observation.
    pub fn observed(&self) -> usize {
        self.read.spaces.observed()
    }

    /// Returns its action for an observation.
    pub fn action(&self, observation: &[f32]) -> f64 {
        self.read.network.outputs(observation)[0]
    }
}

/// The longest file, in bytes: many times that of the largest network that an ACK has time for.
const LONGEST: u64 = 256 << 20;

static LOADED: Mutex<Vec<Loaded>> = Mutex::new(Vec::new());

/// Reads a policy: from now on, it is the algorithm `name` of this process. A file with the same
/// text as before makes no new one.
///
/// # Errors If the file can't be read or is no policy.
pub fn load(file: &Path, name: &str) -> Result<Loaded, Refused> {
    let refused = |problem: String| Refused {
        key: String::new(),
        problem,
        fix: "name a file that fullpipe.gym.save_policy has written".to_owned(),
    };
    match fs::metadata(file) {
        Ok(about) if !about.is_file() => return Err(refused("not a file".to_owned())),
        Ok(about) if about.len() > LONGEST => return Err(refused("more than 256 MiB".to_owned())),
        _ => {}
    }
    let text =
        fs::read_to_string(file).map_err(|error| refused(format!("can't be read: {error}")))?;
    let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |known: &&Loaded| known.descriptor.name == name && *known.text == *text;
    if let Some(known) = all.iter().find(same) {
        return Ok(known.clone());
    }
    let read = Arc::new(Read::of(&text)?);
    let descriptor: &'static mut Descriptor = Box::leak(Box::new(Descriptor {
        name: name.to_owned().leak(),
        purpose: "A trained policy",
        build,
        ..steered::DESCRIPTOR
    }));
    let loaded = Loaded {
        descriptor,
        file: file.to_owned(),
        text: text.into(),
        read,
    };
    all.push(loaded.clone());
    Ok(loaded)
}

/// Returns the policies of this process, the latest of each name.
pub fn loaded() -> Vec<Loaded> {
    let all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut latest: Vec<Loaded> = Vec::new();
    for each in all.iter().rev() {
        if latest
            .iter()
            .all(|known| known.descriptor.name != each.descriptor.name)
        {
            latest.push(each.clone());
        }
    }
    latest
}

/// Returns the built-in algorithms and the policies of this process.
pub fn registry() -> Registry {
    with_loaded(Registry::default())
}

/// Adds the policies of this process.
#[must_use]
pub fn with_loaded(registry: Registry) -> Registry {
    loaded()
        .into_iter()
        .fold(registry, |registry, each| registry.with(each.descriptor))
}

fn build(config: &Config, _: &mut Shared) -> AnyController {
    let all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    // Compared by address: the same name may have belonged to another policy before.
    let known = all
        .iter()
        .find(|known| std::ptr::eq(known.descriptor.name, config.algorithm))
        .expect("only a descriptor of this list builds one");
    AnyController::User(Box::new(Policy::new(Arc::clone(&known.read), config)))
}
