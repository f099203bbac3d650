//! Measures how fast a capture is read: `cargo run --release -p fullpipe-ingest --example capture
//! FILE`.

use std::time::Duration;

use fullpipe_ingest::capture::{Heard, Options, Running};
use fullpipe_units::Span;

fn main() {
    let files = std::env::args_os().skip(1).map(Into::into).collect();
    let options = Options {
        idle: Span::from_secs(60),
        pause: Span::from_millis(100),
        udp: false,
        addresses: false,
    };
    let mut running = Running::start(files, options);
    loop {
        if let Heard::Done(report) = running.next(Duration::from_secs(60)) {
            println!(
                "{} packets, {} flows, {} open at most",
                report.packets, report.flows, report.most_open
            );
            return;
        }
    }
}
