//! Computes the fingerprint of the sources, `FULLPIPE_SOURCES`: the same from a clone and from an sdist, with any
//! profile, at any path and time.
//!
//! It has the files of this crate and of those that it uses, and the other crates that `Cargo.lock` gives them.
//! `python/fullpipe/base/build.py` adds the modules of Python.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of a crate with what its numbers depend on; tests and benchmarks are not among them.
const FOLDERS: [&str; 4] = ["src", "profiles", "presets", "include"];
/// The names of this project's crates begin so; the rest is the name of the folder.
const OURS: &str = "fullpipe-";

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = here.ancestors().nth(2).expect("crates/python is two below");
    let (ours, others) = crates(root);
    let mut sum = Fnv::new();
    for (name, folder) in &ours {
        for part in FOLDERS.map(|part| folder.join(part)) {
            for (file, content) in files(&part) {
                let place = file.strip_prefix(folder).expect("it is below");
                sum.add(
                    format!("{name} {}", place.to_string_lossy().replace('\\', "/")).as_bytes(),
                );
                sum.add(&content);
            }
            if part.is_dir() {
                println!("cargo::rerun-if-changed={}", part.display());
            }
        }
    }
    let lock = root.join("Cargo.lock");
    for each in locked(&fs::read_to_string(&lock).expect("Cargo.lock"), others) {
        sum.add(each.as_bytes());
    }
    println!("cargo::rerun-if-changed={}", lock.display());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=FULLPIPE_SOURCES={:032x}", sum.0);
}

/// Returns the folders of this crate and of those of ours that it uses, and the names of all others that these use.
fn crates(root: &Path) -> (BTreeMap<String, PathBuf>, BTreeSet<String>) {
    let (mut ours, mut others) = (BTreeMap::new(), BTreeSet::new());
    let mut left = vec!["python".to_owned()];
    while let Some(name) = left.pop() {
        let mut places = ["crates", "crates/wings"]
            .map(|place| root.join(place).join(&name))
            .into_iter();
        let folder = places
            .find(|each| each.is_dir())
            .expect("a crate has its folder");
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        println!(
            "cargo::rerun-if-changed={}",
            folder.join("Cargo.toml").display()
        );
        for used in dependencies(&manifest) {
            match used.strip_prefix(OURS) {
                Some(known) if ours.contains_key(known) || known == name => {}
                Some(new) => left.push(new.to_owned()),
                None => drop(others.insert(used)),
            }
        }
        ours.insert(name, folder);
    }
    (ours, others)
}

/// Returns the names in the tables `[dependencies]` and `[target.….dependencies]` of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let (mut found, mut inside) = (Vec::new(), false);
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]"
                || line.starts_with("[target.") && line.ends_with(".dependencies]");
        } else if let Some(end) = line
            .find(['.', ' ', '='])
            .filter(|_| inside && !line.starts_with('#'))
        {
            found.push(line[..end].to_owned());
        }
    }
    found
}

/// Returns name, version and checksum of crates and of all that they use, in order.
fn locked(lock: &str, crates: BTreeSet<String>) -> BTreeSet<String> {
    let packages: Vec<&str> = lock.split("[[package]]").skip(1).collect();
    let value = |package: &str, key: &str| {
        let line = package
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.map(|text| text.trim_matches('"').to_owned())
            .unwrap_or_default()
    };
    let mut left: Vec<String> = crates.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(wanted) = left.pop() {
        // A name, and its version if there are several.
        let mut words = wanted.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        for package in &packages {
            let its = value(package, "version");
            if value(package, "name") == name && version.is_none_or(|version| version == its) {
                let about = format!("{name} {its} {}", value(package, "checksum"));
                if found.insert(about) {
                    let used = package.split("dependencies = [").nth(1).unwrap_or_default();
                    let lines = used
                        .lines()
                        .map(str::trim)
                        .filter(|line| line.starts_with('"'));
                    left.extend(lines.map(|line| line.trim_matches(['"', ',']).to_owned()));
                }
            }
        }
    }
    found
}

/// Returns the files in a folder and below, in the order of their names, with LF at the ends of lines.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let mut content = fs::read(&path).expect("a source can be read");
            content.retain(|byte| *byte != b'\r');
            found.insert(path, content);
        }
    }
    found
}

/// FNV-1a with 128 bits: it shows a change, and protects from none.
struct Fnv(u128);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds a part, with its length, so that no two lists of parts are the same.
    fn add(&mut self, part: &[u8]) {
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
}
