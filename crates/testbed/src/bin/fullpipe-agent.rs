//! One end of a run on kernel TCP; see `testbed::agent`.

use std::process::ExitCode;

fn main() -> ExitCode {
    testbed::agent::run(std::env::args_os().skip(1)).into()
}
