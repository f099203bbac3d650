//! Data packets per CPU second of the runs that `docs/performance.md` lists: one whole process, one figure a line.
//!
//! `cargo run --release -p fullpipe-sim --example speed [NAME…]`

use std::fs;

use cc::Registry;
use scenario::Scenario;
use sim::{Simulation, TraceLevel};
use units::Span;

/// (name, rate, rtt, buffer, duration in s, flows, keys of the flow, loss)
type Case = (&'static str, &'static str, &'static str, &'static str, u64, u32, &'static str, &'static str);

const CASES: [Case; 9] = [
    ("cubic-1g", "1gbit", "10ms", "8bdp", 400, 1, "cc = \"cubic\"", "0%"),
    ("bbr1-1g", "1gbit", "10ms", "8bdp", 400, 1, "cc = \"bbr1\"", "0%"),
    ("newreno-1g", "1gbit", "10ms", "8bdp", 400, 1, "cc = \"newreno\"", "0%"),
    ("cubic-100m", "100mbit", "50ms", "8bdp", 1000, 1, "cc = \"cubic\"", "0%"),
    ("bbr1-100m", "100mbit", "50ms", "8bdp", 1000, 1, "cc = \"bbr1\"", "0%"),
    ("cubic-10flows", "1gbit", "10ms", "8bdp", 100, 10, "cc = \"cubic\"", "0%"),
    ("cubic-10000flows", "10gbit", "10ms", "8bdp", 10, 10_000, "cc = \"cubic\"", "0%"),
    ("cubic-lossy", "10gbit", "10ms", "1bdp", 20, 1, "cc = \"cubic\"\nparams = { slow_start = \"classic\" }", "0%"),
    ("bbr1-lossy", "1gbit", "10ms", "8bdp", 100, 1, "cc = \"bbr1\"", "1%"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (level, names): (_, Vec<&String>) = match arguments.first().map(String::as_str) {
        Some("--trace=10ms") => (TraceLevel::Every(Span::from_millis(10)), arguments[1..].iter().collect()),
        Some("--trace=ack") => (TraceLevel::Acks, arguments[1..].iter().collect()),
        _ => (TraceLevel::Off, arguments.iter().collect()),
    };
    println!(
        "{:18} {:>10} {:>8} {:>13} {:>10} {:>9}",
        "run", "packets", "CPU s", "packets/CPU s", "events/pkt", "Mbit/s"
    );
    for (name, rate, rtt, buffer, duration, count, flow, loss) in CASES {
        if !names.is_empty() && !names.iter().any(|wanted| *wanted == name) {
            continue;
        }
        let text = format!(
            "duration = \"{duration}s\"\n[path]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"{buffer}\"\nloss = \"{loss}\"\n\
             [[flow]]\n{flow}\ncount = {count}\n"
        );
        let scenario = Scenario::parse(&text, name).unwrap_or_else(|error| panic!("{error}"));
        let before = cpu_seconds();
        let mut simulation =
            Simulation::new(&scenario, &Registry::default(), level).unwrap_or_else(|error| panic!("{error}"));
        while !simulation.advance(u64::MAX) {}
        let run = simulation.finish();
        let seconds = cpu_seconds() - before;
        let summary = run.summary;
        let goodput: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
        println!(
            "{name:18} {:>10} {seconds:>8.2} {:>11.2} M {:>10.2} {:>9.1}",
            summary.packets,
            summary.packets as f64 / seconds / 1e6,
            summary.events as f64 / summary.packets as f64,
            goodput / 1e6,
        );
    }
}

/// CPU time of this process, from the kernel's account.
fn cpu_seconds() -> f64 {
    let ns = fs::read_to_string("/proc/self/schedstat").expect("Linux's schedstat");
    ns.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("its first number is the time on the CPU") / 1e9
}
