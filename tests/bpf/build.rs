//! Builds each algorithm in `bpf/` as a library for this machine's processor, with traps where the
//! behavior is undefined.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

fn main() {
    let sources =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../bpf");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    println!("cargo:rerun-if-changed={}", sources.display());
    println!("cargo:rerun-if-env-changed=CC");
    let cc = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    for entry in fs::read_dir(&sources).expect("the folder bpf") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let Some(name) = name.strip_suffix(".bpf.c") else {
            continue;
        };
        let status = Command::new(&cc)
            .args([
                "-O1",
                "-g",
                "-DFP_NATIVE",
                "-shared",
                "-fPIC",
                "-Wall",
                "-Wextra",
            ])
            .args(["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"])
            .arg("-I")
            .arg(sources.join("include"))
            .arg(&path)
            .arg("-o")
            .arg(out.join(format!("{name}.so")))
            .status()
            .unwrap_or_else(|error| panic!("{cc}: {error}; install a C compiler"));
        assert!(status.success(), "{cc} does not compile {}", path.display());
    }
}
