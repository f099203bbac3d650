//! The dependency arrows of ARCHITECTURE.md, held against `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Each crate and those of ours that it may depend on: `units <- {scenario, path, cc, trace,
/// workload} <- tcp <- sim <- { conformance, sweep, testbed } <- python`. `cc` knows nothing
/// but `units`; `path` and `cc` do not know each other. `scenario` knows of `path` what queues
/// there are, with their options. A new crate is added here, with its reason.
const ALLOWED: [(&str, &[&str]); 19] = [
    ("units", &[]),
    ("scenario", &["units", "path", "workload"]),
    ("path", &["units"]),
    ("cc", &["units"]),
    ("trace", &["units"]),
    // Flows that arrive: the scenario names their models, the engine opens them.
    ("workload", &["units"]),
    // Flows of captures. Not part of `workload`: parsers have no place under the simulator, which
    // reads what is made here.
    ("capture", &["units", "source"]),
    ("tcp", &["units", "cc"]),
    // A packet at a link, with what is measured there: one rule for the simulator and the emulator.
    ("network", &["units", "path", "trace"]),
    // The path of a scenario for packets from outside; its tests hold it against `sim`.
    (
        "emulator",
        &["units", "scenario", "path", "trace", "network", "cc", "sim"],
    ),
    (
        "sim",
        &[
            "units", "scenario", "path", "cc", "trace", "network", "tcp", "workload",
        ],
    ),
    // Cases with conditions on what runs show.
    (
        "conformance",
        &["units", "scenario", "cc", "trace", "tcp", "sim"],
    ),
    // Many runs, point by point, on threads.
    ("sweep", &["units", "scenario", "cc", "trace", "sim"]),
    // A population of paths, on the threads of a sweep.
    ("edge", &["units", "scenario", "cc", "sim", "sweep"]),
    // Real packets on the real clock: `path` as the simulator builds it, metrics by `trace`.
    (
        "testbed",
        &[
            "emulator", "units", "scenario", "path", "cc", "trace", "tcp", "sim", "workload",
        ],
    ),
    // What hosts say of their connections: text in, columns out. It knows nothing of simulations.
    ("fleet", &["source"]),
    // What is in a file, whatever compresses it: of captures, and of what hosts wrote.
    ("source", &[]),
    (
        "python",
        &[
            "units",
            "scenario",
            "path",
            "cc",
            "trace",
            "sim",
            "conformance",
            "sweep",
            "edge",
            "testbed",
            "emulator",
            "workload",
            "fleet",
            "capture",
            "source",
        ],
    ),
    (
        "benches",
        &[
            "units", "scenario", "path", "cc", "trace", "sim", "sweep", "edge",
        ],
    ),
];

/// Crates that no crate of the default build may pull in: they would make set-up slow.
const BANNED: [&str; 8] = [
    "arrow",
    "arrow-array",
    "parquet",
    "polars",
    "tokio",
    "quinn",
    "noq",
    "noq-proto",
];

/// The crate with a workspace of its own: real QUIC.
const QUIC: &[&str] = &[
    "units", "scenario", "path", "cc", "trace", "tcp", "emulator", "sim", "testbed",
];

fn metadata() -> serde_json::Value {
    metadata_of("Cargo.toml", &[])
}

fn metadata_of(manifest: &str, further: &[&str]) -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(further)
        .arg("--manifest-path")
        .arg(format!("{}/../../{manifest}", env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("cargo runs, since it runs this test");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

fn text(value: &serde_json::Value) -> &str {
    value.as_str().expect("a string in cargo's metadata")
}

fn list(value: &serde_json::Value) -> &[serde_json::Value] {
    value.as_array().expect("a list in cargo's metadata")
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let metadata = metadata();
    let allowed: BTreeMap<&str, BTreeSet<&str>> = ALLOWED
        .iter()
        .map(|(name, on)| (*name, on.iter().copied().collect()))
        .collect();
    let mut seen = BTreeSet::new();
    for package in list(&metadata["packages"]) {
        let Some(name) = text(&package["name"]).strip_prefix("fullpipe-") else {
            continue;
        };
        let may = allowed
            .get(name)
            .unwrap_or_else(|| panic!("crates/{name} has no place in ARCHITECTURE.md's arrows"));
        for dependency in list(&package["dependencies"]) {
            if let Some(on) = text(&dependency["name"]).strip_prefix("fullpipe-") {
                assert!(
                    may.contains(on),
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
fn what_is_outside_the_workspace_keeps_to_the_arrows() {
    let metadata = metadata_of("crates/quic/Cargo.toml", &["--no-deps"]);
    for package in list(&metadata["packages"]) {
        for dependency in list(&package["dependencies"]) {
            if let Some(on) = text(&dependency["name"]).strip_prefix("fullpipe-") {
                assert!(
                    QUIC.contains(&on),
                    "quic must not depend on {on}: see the arrows in ARCHITECTURE.md"
                );
            }
        }
    }
}

#[test]
fn the_default_build_stays_small() {
    let metadata = metadata();
    for package in list(&metadata["packages"]) {
        let name = text(&package["name"]);
        assert!(
            !BANNED.contains(&name),
            "{name} has no place in the default build"
        );
    }
}
