//! Data packets per CPU second in the runs of `docs/evidence/performance.md`: whole runs, including set-up
//! and metrics.
//!
//! `cargo bench -p fullpipe-benches --bench speed -- [--repeat=5] [--trace=10ms|ack] [--test]
//! [NAME…]`
//!
//! With `--repeat`, figures are medians. With `--trace`, each run alternates between no trace and a
//! trace, and the ratio of CPU time with and without trace is printed as well.

use std::{fs, process};

use cases::{CASES, Case};
use fullpipe_cc::Registry;
use fullpipe_sim::Simulation;
use fullpipe_trace::Summary;
use fullpipe_trace::TraceLevel;
use fullpipe_units::Span;

fn main() {
    let (mut level, mut smoke, mut repeat, mut names) = (TraceLevel::Off, false, 1, Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--trace=10ms" => level = TraceLevel::Every(Span::from_millis(10)),
            "--trace=ack" => level = TraceLevel::Acks,
            "--test" => smoke = true,
            "--bench" => {} // passed by cargo
            name if CASES.iter().any(|case| case.name == name) => names.push(name.to_owned()),
            other => match other
                .strip_prefix("--repeat=")
                .and_then(|times| times.parse().ok())
            {
                Some(times) if times > 0 => repeat = times,
                _ => {
                    let known: Vec<&str> = CASES.iter().map(|case| case.name).collect();
                    eprintln!(
                        "{other:?} is neither an option nor a run; runs are {}",
                        known.join(", ")
                    );
                    process::exit(2);
                }
            },
        }
    }
    println!(
        "{:18} {:>10} {:>8} {:>16} {:>13} {:>14} {:>8} {:>8}",
        "run",
        "packets",
        "CPU s",
        "packets/CPU s",
        "least–most",
        "events/packet",
        "Mbit/s",
        "trace"
    );
    for case in CASES
        .iter()
        .filter(|case| names.is_empty() || names.iter().any(|name| name == case.name))
    {
        measure(case, level, if smoke { 1 } else { case.seconds }, repeat);
    }
}

/// Runs a case `repeat` times and prints a line.
fn measure(case: &Case, level: TraceLevel, seconds: u32, repeat: usize) {
    let (mut plain, mut traced) = (Vec::new(), Vec::new());
    let mut summary = None;
    for _ in 0..repeat {
        let (cost, result) = run(case, TraceLevel::Off, seconds);
        plain.push(cost);
        summary = Some(result);
        if level != TraceLevel::Off {
            traced.push(run(case, level, seconds).0);
        }
    }
    let summary = summary.expect("it ran at least once");
    let packets = summary.packets as f64;
    let cost = median(&mut plain);
    let (least, most) = (
        packets / plain[plain.len() - 1] / 1e6,
        packets / plain[0] / 1e6,
    );
    let range = format!("{least:.1}–{most:.1}");
    let more = if traced.is_empty() {
        String::new()
    } else {
        format!("{:+.1} %", (median(&mut traced) / cost - 1.0) * 100.0)
    };
    println!(
        "{:18} {:>10} {cost:>8.2} {:>14.2} M {range:>13} {:>14.2} {:>8.1} {more:>8}",
        case.name,
        summary.packets,
        packets / cost / 1e6,
        summary.events as f64 / packets,
        summary
            .flows
            .iter()
            .map(|flow| flow.goodput_bps)
            .sum::<f64>()
            / 1e6,
    );
}

/// CPU seconds of one run, and its metrics.
fn run(case: &Case, level: TraceLevel, seconds: u32) -> (f64, Summary) {
    let before = cpu_seconds();
    let scenario = case.scenario(seconds);
    let mut simulation = Simulation::new(&scenario, &Registry::default(), level)
        .unwrap_or_else(|error| panic!("{error}"));
    while !simulation.advance(u64::MAX) {}
    let run = simulation.finish();
    (cpu_seconds() - before, run.summary)
}

/// Sorts the values and returns the middle one.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU time of this process so far.
fn cpu_seconds() -> f64 {
    let account = fs::read_to_string("/proc/self/schedstat").expect("Linux reports CPU time here");
    let ns = account
        .split(' ')
        .next()
        .and_then(|ns| ns.parse::<f64>().ok());
    ns.expect("its first number is the nanoseconds on a CPU") / 1e9
}
