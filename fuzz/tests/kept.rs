//! The kept inputs and the seeds of each target, without libFuzzer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fullpipe_fuzz::TARGETS;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The files of a directory, if it exists, in the order of their names.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let sorted: BTreeSet<PathBuf> = entries
        .map(|entry| entry.expect("an entry can be read").path())
        .collect();
    sorted.into_iter().collect()
}

/// The names of the targets in Python.
fn in_python() -> BTreeSet<String> {
    files(&Path::new(ROOT).join("fuzz/python"))
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "py"))
        .map(|file| {
            file.file_stem()
                .expect("a file has a name")
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| !name.starts_with('_'))
        .collect()
}

#[test]
fn every_kept_input_and_every_seed_passes() {
    let seeds = Path::new(env!("CARGO_TARGET_TMPDIR")).join("seeds");
    let written = Command::new("python3")
        .arg(Path::new(ROOT).join("tools/fuzz_seeds.py"))
        .arg(&seeds)
        .status()
        .expect("python3 runs");
    assert!(written.success());
    for (name, check) in TARGETS {
        let kept = files(&Path::new(ROOT).join("fuzz/corpus").join(name));
        assert!(!kept.is_empty(), "fuzz/corpus/{name} has inputs");
        for file in kept.iter().chain(&files(&seeds.join(name))) {
            // The test's output names the input on which a check fails.
            println!("{}", file.display());
            check(&fs::read(file).expect("an input can be read"));
        }
    }
}

#[test]
fn every_directory_of_inputs_is_of_a_target() {
    let mut targets = in_python();
    targets.extend(TARGETS.map(|(name, _)| name.to_owned()));
    let kept = files(&Path::new(ROOT).join("fuzz/corpus"));
    let kept: BTreeSet<String> = kept
        .iter()
        .map(|directory| {
            directory
                .file_name()
                .expect("it has a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(kept, targets);
}
