//! The real clock: programs and the kernel's TCP behind a path.

mod agent;
mod forwarder;
mod kernel;
mod link;
mod uml_topology;

/// A test can't be done on this machine, and passes; where everything is said to be there
/// (FULLPIPE_NO_SKIP), it fails.
fn skip(why: &dyn std::fmt::Display) {
    assert!(
        std::env::var_os("FULLPIPE_NO_SKIP").is_none(),
        "skipped: {why}"
    );
    eprintln!("SKIPPED: {why}");
}
