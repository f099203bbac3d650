//! What a path of a synthetic edge costs: drawing it, reading its scenario, building its simulations, its downloads.
//!
//! `cargo bench -p fullpipe-benches --bench edge -- [--paths=2000] [--cc=cubic,bbr1,bbr2,bbr3] [--by] [--test] [KEY=VALUE …]`
//!
//! `KEY=VALUE` draws a key of the scenario from something else, as `fullpipe fleet simulate --set` does; `--by` says besides
//! what paths of some kind cost.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cc::Registry;
use edge::{Fleet, PRESETS, Population};
use sim::{Simulation, TraceLevel};
use sweep::Work;

/// What may make a path slow: what it is called, and how it is told.
const KINDS: [(&str, fn(&str, &str) -> bool); 6] = [
    ("random loss", |key, value| key == "path.loss" && value != "0%"),
    ("a policer", |key, value| key == "path.policer" && value != "off"),
    ("reordering", |key, value| key == "path.jitter" && value != "off"),
    ("held ACKs", |key, value| key == "path.reverse_jitter" && value != "off"),
    ("Wi-Fi", |key, value| key == "path.wifi" && value != "off"),
    ("a small receive window", |key, value| key == "flow.0.receive_window" && !value.contains("auto")),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='));
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let paths = given("--paths").map_or(2000, |number| number.parse().expect("a number of paths"));
    let paths: u64 = if has("--test") { 5 } else { paths };
    let arms: Vec<String> = given("--cc").unwrap_or("cubic,bbr1,bbr2,bbr3").split(',').map(str::to_owned).collect();
    let set = arguments.iter().filter(|argument| !argument.starts_with("--")).filter_map(|text| text.split_once('='));
    let set: Vec<(String, String)> = set.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let (name, text) = PRESETS[0];
    let population = || Population::read(text, name, &set).unwrap_or_else(|error| panic!("{error}"));
    let fleet = |arms: &[String]| Fleet::new(population(), arms, 1, Registry::default()).expect("arms that are there");

    let registry = Registry::default();
    let from = population();
    let mut scenarios = Vec::new();
    let (drawing, _) = measured(|| (0..paths).map(|path| from.draw(1, path).settings.len() as u64).sum());
    let (reading, _) = measured(|| {
        scenarios = (0..paths).map(|path| from.scenario(&from.draw(1, path)).expect("a path")).collect();
        0
    });
    let (building, _) = measured(|| {
        let build = |scenario| Simulation::new(scenario, &registry, TraceLevel::Off).expect("a path").events();
        scenarios.iter().map(build).sum()
    });
    let each = |seconds: f64| 1e6 * seconds / paths as f64;
    println!("a path, microseconds of CPU: to draw {:.1}, to read {:.1}", each(drawing), each(reading - drawing));
    println!("to build and drop a simulation {:.1}", each(building));
    let mut all = 0.0;
    for arm in &arms {
        let fleet = fleet(std::slice::from_ref(arm));
        let (seconds, packets) = measured(|| (0..paths).map(|path| run(&fleet, path)).sum());
        all += seconds - reading;
        println!(
            "a download under {arm} {:.0}, {:.0} ns a packet",
            each(seconds - reading),
            per_packet(seconds - reading, packets)
        );
    }
    println!("a path {:.0}", each(all + reading));
    if has("--by") {
        let mut by: BTreeMap<String, (u64, f64, u64)> = BTreeMap::new();
        let fleet = fleet(&arms);
        for path in 0..paths {
            let begun = Instant::now();
            let packets = run(&fleet, path);
            let seconds = begun.elapsed().as_secs_f64();
            let drawn = from.draw(1, path);
            let of =
                |kind: &&(&str, fn(&str, &str) -> bool)| drawn.settings.iter().any(|(key, value)| kind.1(key, value));
            let mut kinds: Vec<&str> = KINDS.iter().filter(of).map(|(name, _)| *name).collect();
            if kinds.is_empty() {
                kinds.push("none of these");
            }
            for kind in kinds {
                let sum = by.entry(kind.to_owned()).or_default();
                *sum = (sum.0 + 1, sum.1 + seconds, sum.2 + packets);
            }
        }
        for (kind, (number, seconds, packets)) in by {
            println!(
                "{kind}: {:.1} % of the paths, {:.0} ns a packet, {:.0} packets a path",
                100.0 * number as f64 / paths as f64,
                per_packet(seconds, packets),
                packets as f64 / number as f64
            );
        }
    }
}

fn run(fleet: &Fleet, path: u64) -> u64 {
    fleet.run(path, &AtomicBool::new(false)).expect("nobody stops it").1
}

fn per_packet(seconds: f64, packets: u64) -> f64 {
    1e9 * seconds / packets.max(1) as f64
}

/// CPU seconds, and what came of it.
fn measured(run: impl FnOnce() -> u64) -> (f64, u64) {
    let before = cpu_seconds();
    let made = run();
    (cpu_seconds() - before, made)
}

/// CPU time of this process so far: `schedstat` has nanoseconds.
fn cpu_seconds() -> f64 {
    let account = fs::read_to_string("/proc/self/schedstat").expect("Linux keeps an account of CPU time here");
    account.split(' ').next().and_then(|first| first.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}
