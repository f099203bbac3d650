//! Compares the dependency arrows of ARCHITECTURE.md with `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Each crate with the workspace's crates that it may depend on. `cc` depends on `units` only;
/// `path` and `cc` do not know each other; `scenario` knows the queues and impairments of `path`,
/// with their options. A new crate is added here, with its reason.
const ALLOWED: [(&str, &[&str]); 25] = [
    ("units", &[]),
    // It knows all queues, impairments, arrival models and metrics.
    ("scenario", &["units", "path", "trace", "workload"]),
    ("path", &["units"]),
    ("cc", &["units"]),
    ("trace", &["units"]),
    // Flow arrivals: scenarios name their models, the engine opens them.
    ("workload", &["units"]),
    // Captures and files from a fleet's hosts, as columns. The simulator reads the result, but does
    // not depend on the parsers.
    ("ingest", &["units"]),
    ("tcp", &["units", "cc"]),
    // Everything that all runners need from a scenario: no runner depends on another.
    (
        "setup",
        &[
            "units", "scenario", "path", "cc", "trace", "workload", "tcp",
        ],
    ),
    // A packet at a link, with its measurements: one rule for the simulator and the emulator.
    ("network", &["units", "path", "trace"]),
    // The path of a scenario for external packets; its tests compare it with `sim`.
    (
        "emulator",
        &[
            "units", "scenario", "path", "trace", "network", "setup", "cc", "sim",
        ],
    ),
    (
        "sim",
        &[
            "units", "scenario", "path", "cc", "trace", "network", "tcp", "workload", "setup",
        ],
    ),
    // Test cases with conditions on the results of runs.
    (
        "conformance",
        &["units", "scenario", "cc", "trace", "tcp", "sim"],
    ),
    // Many runs on threads: sweeps, and populations of paths.
    (
        "batch",
        &["units", "scenario", "cc", "trace", "setup", "sim"],
    ),
    // Algorithms in shared libraries: both sides of the interface. The library's side needs no more.
    ("plugin", &["units", "cc"]),
    // Monitor intervals, actions and trained policies: for environments and every runner.
    ("policy", &["units", "cc"]),
    // Environments for reinforcement learning.
    (
        "gym",
        &["units", "scenario", "cc", "policy", "trace", "sim", "batch"],
    ),
    // The simulator for pages.
    (
        "wasm",
        &["units", "scenario", "cc", "trace", "setup", "sim"],
    ),
    // The public face: names of the crates that users build on, and no code.
    (
        "fullpipe",
        &[
            "units",
            "scenario",
            "path",
            "cc",
            "trace",
            "tcp",
            "workload",
            "sim",
            "conformance",
            "batch",
            "plugin",
        ],
    ),
    // Real packets on the real clock; its tests compare it with `sim`.
    (
        "testbed",
        &[
            "emulator", "units", "scenario", "path", "cc", "trace", "tcp", "setup", "workload",
            "sim",
        ],
    ),
    (
        "python",
        &[
            "units",
            "scenario",
            "path",
            "cc",
            "trace",
            "tcp",
            "setup",
            "sim",
            "conformance",
            "batch",
            "testbed",
            "emulator",
            "workload",
            "ingest",
            "plugin",
            "policy",
            "gym",
        ],
    ),
    // Real QUIC.
    (
        "quic",
        &[
            "units", "scenario", "path", "cc", "trace", "tcp", "emulator", "setup", "testbed",
            "policy",
        ],
    ),
    // The loader of BPF, whose algorithms are written in C.
    ("kernel", &[]),
    // Readers, the emulator and controllers, called with any input.
    (
        "fuzz",
        &[
            "units", "scenario", "path", "cc", "emulator", "ingest", "policy", "workload",
        ],
    ),
    (
        "benches",
        &["units", "scenario", "path", "cc", "trace", "sim", "batch"],
    ),
];

/// Dependencies of tests only: a runner is compared with another but does not depend on it.
const IN_TESTS: [(&str, &[&str]); 2] = [("emulator", &["cc", "sim"]), ("testbed", &["sim"])];

/// Crates that the default build must not pull in: they would make set-up slow.
const BANNED: [&str; 10] = [
    "arrow",
    "arrow-array",
    "libbpf-sys",
    "libfuzzer-sys",
    "parquet",
    "polars",
    "tokio",
    "quinn",
    "noq-proto",
    "rustls",
];

/// The output of a command of cargo about the workspace.
fn cargo(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(words)
        .args(["--locked", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
        .output()
        .expect("cargo is available, since it runs this test");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problem}");
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

fn text(value: &serde_json::Value) -> &str {
    value.as_str().expect("a string in cargo's metadata")
}

/// The crate's name without its prefix; `None` for third-party crates.
fn ours(name: &str) -> Option<&str> {
    match name {
        "fullpipe" => Some(name),
        _ => name.strip_prefix("fullpipe-"),
    }
}

fn list(value: &serde_json::Value) -> &[serde_json::Value] {
    value.as_array().expect("a list in cargo's metadata")
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let printed = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: serde_json::Value =
        serde_json::from_str(&printed).expect("cargo metadata prints JSON");
    let allowed: BTreeMap<&str, BTreeSet<&str>> = ALLOWED
        .iter()
        .map(|(name, on)| (*name, on.iter().copied().collect()))
        .collect();
    let is_wing =
        |package: &serde_json::Value| text(&package["manifest_path"]).contains("/crates/wings/");
    let wings: BTreeSet<&str> = list(&metadata["packages"])
        .iter()
        .filter(|package| is_wing(package))
        .filter_map(|package| ours(text(&package["name"])))
        .collect();
    assert!(wings.contains("testbed"));
    let mut seen = BTreeSet::new();
    for package in list(&metadata["packages"]) {
        let Some(name) = ours(text(&package["name"])) else {
            continue;
        };
        let may = allowed
            .get(name)
            .unwrap_or_else(|| panic!("crates/{name} is missing from ARCHITECTURE.md's arrows"));
        let of_core = text(&package["manifest_path"]).contains("/crates/")
            && !is_wing(package)
            && name != "python";
        for dependency in list(&package["dependencies"]) {
            if let Some(on) = ours(text(&dependency["name"])) {
                assert!(
                    !(of_core && wings.contains(on)) || dependency["kind"] == "dev",
                    "{name} is of the core, and must not depend on the wing {on}"
                );
                let only_tests = IN_TESTS
                    .iter()
                    .any(|(of, list)| *of == name && list.contains(&on));
                assert!(
                    may.contains(on) && (!only_tests || dependency["kind"] == "dev"),
                    "{name} must not depend on {on}: see the arrows in ARCHITECTURE.md"
                );
            }
        }
        seen.insert(name);
    }
    assert_eq!(
        seen,
        allowed.keys().copied().collect(),
        "every crate of the arrows exists"
    );
}

#[test]
fn the_default_build_stays_small() {
    let tree = cargo(&["tree", "--prefix", "none", "--format", "{p}"]);
    let crates: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(crates.contains("fullpipe-sim"), "{tree}");
    for name in BANNED {
        assert!(
            !crates.contains(name),
            "{name} must not be in the default build"
        );
    }
}
