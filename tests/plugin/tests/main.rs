//! Libraries on the other side of the interface: in Rust and in C.

#![allow(missing_docs, reason = "tests")]

mod c;
mod faults;
mod refused;
mod same;

use std::path::PathBuf;

use fullpipe_cc::{Descriptor, Registry};
use fullpipe_scenario::Scenario;
use fullpipe_trace::{Run, TraceLevel};

/// Returns the file of a library that cargo has built for this test.
fn built(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("the test is a file");
    let (before, after) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let file = here.with_file_name(format!("{before}{name}{after}"));
    assert!(file.is_file(), "{}: cargo builds it", file.display());
    file
}

/// Loads a library under a name that no other test has.
fn loaded(file: &std::path::Path, name: &str) -> &'static Descriptor {
    fullpipe_plugin::load(file, Some(name), false)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        .descriptor
}

fn run(text: &str, registry: &Registry) -> Run {
    let scenario =
        Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    fullpipe_sim::run(&scenario, registry, TraceLevel::Acks)
        .unwrap_or_else(|error| panic!("{error}"))
}
