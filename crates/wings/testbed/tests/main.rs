//! Tests on the real clock: programs and the kernel's TCP behind a path.

mod agent;
mod forwarder;
mod kernel;
mod link;
mod uml_topology;

/// Reports that a test can't be done on this machine, and lets it pass; fails it where
/// FULLPIPE_NO_SKIP states that the machine supports every test.
fn skip(why: &dyn std::fmt::Display) {
    assert!(
        std::env::var_os("FULLPIPE_NO_SKIP").is_none(),
        "skipped: {why}"
    );
    eprintln!("SKIPPED: {why}");
}
