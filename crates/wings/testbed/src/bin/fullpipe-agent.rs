//! One end of a run on kernel TCP; see `fullpipe_testbed::agent`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fullpipe_testbed::agent::run(std::env::args_os().skip(1)).into()
}
