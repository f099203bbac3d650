//! Data packets per CPU second of the runs of `docs/performance.md`: whole runs, set-up and metrics included.
//!
//! `cargo bench -p fullpipe-sim --bench speed -- [--trace=10ms|ack] [--test] [NAME…]`

mod cases;

use std::{fs, process};

use cases::{CASES, Case};
use cc::Registry;
use sim::{Simulation, TraceLevel};
use units::Span;

fn main() {
    let (mut level, mut smoke, mut names) = (TraceLevel::Off, false, Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--trace=10ms" => level = TraceLevel::Every(Span::from_millis(10)),
            "--trace=ack" => level = TraceLevel::Acks,
            "--test" => smoke = true,
            "--bench" => {} // cargo's own
            name if CASES.iter().any(|case| case.name == name) => names.push(name.to_owned()),
            other => {
                let known: Vec<&str> = CASES.iter().map(|case| case.name).collect();
                eprintln!("no run is called {other:?}; there are {}", known.join(", "));
                process::exit(2);
            }
        }
    }
    println!(
        "{:18} {:>10} {:>8} {:>16} {:>14} {:>8}",
        "run", "packets", "CPU s", "packets/CPU s", "events/packet", "Mbit/s"
    );
    for case in CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name)) {
        measure(case, level, if smoke { 1 } else { case.seconds });
    }
}

fn measure(case: &Case, level: TraceLevel, seconds: u32) {
    let before = cpu_seconds();
    let scenario = case.scenario(seconds);
    let mut simulation =
        Simulation::new(&scenario, &Registry::default(), level).unwrap_or_else(|error| panic!("{error}"));
    while !simulation.advance(u64::MAX) {}
    let run = simulation.finish();
    let seconds = cpu_seconds() - before;
    let summary = run.summary;
    let goodput: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    println!(
        "{:18} {:>10} {seconds:>8.2} {:>14.2} M {:>14.2} {:>8.1}",
        case.name,
        summary.packets,
        summary.packets as f64 / seconds / 1e6,
        summary.events as f64 / summary.packets as f64,
        goodput / 1e6,
    );
}

/// CPU time of this process so far.
fn cpu_seconds() -> f64 {
    let account = fs::read_to_string("/proc/self/schedstat").expect("Linux keeps an account of CPU time here");
    let ns = account.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
    ns.expect("its first number is the nanoseconds on a CPU") / 1e9
}
