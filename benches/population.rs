//! The cost of a path of a synthetic edge: drawing it, reading its scenario, building its
//! simulations, running its downloads.
//!
//! `cargo bench -p fullpipe-benches --bench population -- [--paths=2000] [--cc=cubic,bbr1,bbr2,bbr3]
//! [--whole] [--test] [KEY=VALUE …]`
//!
//! `--whole` omits the parts, to count instructions; `KEY=VALUE` draws a key of the scenario from
//! another distribution, as `fullpipe fleet simulate --set` does.

use std::sync::atomic::AtomicBool;

use fullpipe_batch::population::{PRESETS, Population, PopulationRun};
use fullpipe_batch::{Around, Work};
use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use nix::time::{ClockId, clock_gettime};

/// Kinds of impairment on a path: name, key, and the value without the impairment.
const KINDS: [(&str, &str, &str); 6] = [
    ("with random loss", "path.loss", "0%"),
    ("with a policer", "path.policer", "off"),
    ("that reorder", "path.jitter", "off"),
    ("that hold ACKs", "path.reverse_jitter", "off"),
    ("with Wi-Fi's aggregation", "path.wifi", "off"),
    (
        "with a limited receive window",
        "flow.0.receive_window",
        "auto",
    ),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str| {
        arguments
            .iter()
            .find_map(|argument| argument.strip_prefix(name))
    };
    let number = |text: &str| text.parse().expect("a number of paths");
    let paths = if given("--test").is_some() {
        5
    } else {
        given("--paths=").map_or(2000, number)
    };
    let arms: Vec<String> = given("--cc=")
        .unwrap_or("cubic,bbr1,bbr2,bbr3")
        .split(',')
        .map(str::to_owned)
        .collect();
    let set = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"))
        .filter_map(|text| text.split_once('='));
    let set: Vec<(String, String)> = set
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    if given("--whole").is_none() {
        parts(paths, &arms, &set);
    }
    kinds(paths, &arms, &set);
}

fn population(set: &[(String, String)]) -> Population {
    let (name, text) = PRESETS[0];
    Population::read(text, name, set).unwrap_or_else(|error| panic!("{error}"))
}

fn fleet(arms: &[String], set: &[(String, String)]) -> PopulationRun {
    PopulationRun::new(population(set), arms, 1, Registry::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Measures the parts of a path separately.
fn parts(paths: u64, arms: &[String], set: &[(String, String)]) {
    let (from, registry) = (population(set), Registry::default());
    let each = |seconds: f64| 1e6 * seconds / paths as f64;
    let (drawing, _) = measured(|| {
        (0..paths)
            .map(|path| from.draw(1, path).settings.len() as u64)
            .sum()
    });
    let mut scenarios: Vec<Scenario> = Vec::new();
    let (made, _) = measured(|| {
        scenarios
            .extend((0..paths).map(|path| from.scenario(&from.draw(1, path)).expect("a path")));
        paths
    });
    let build = |scenario| {
        Simulation::new(scenario, &registry, TraceLevel::Off)
            .expect("a path")
            .events()
    };
    let (building, _) = measured(|| scenarios.iter().map(build).sum());
    println!(
        "CPU us per path: {:.1} to draw it, {:.1} to read its scenario",
        each(drawing),
        each(made - drawing)
    );
    println!(
        "{:.1} to build and drop a simulation, one per arm",
        each(building)
    );
    for arm in arms {
        let fleet = fleet(std::slice::from_ref(arm), set);
        let (seconds, packets) = measured(|| (0..paths).map(|path| run(&fleet, path)).sum());
        let seconds = seconds - made;
        println!(
            "{:.0} to download with {arm}, {:.0} ns per packet",
            each(seconds),
            each_packet(seconds, packets)
        );
    }
}

/// Measures paths by kind of impairment, with all arms.
fn kinds(paths: u64, arms: &[String], set: &[(String, String)]) {
    let (from, fleet) = (population(set), fleet(arms, set));
    // The last two sums are for paths with no impairment, and for all paths.
    let mut sums = [(0, 0.0, 0); KINDS.len() + 2];
    for path in 0..paths {
        let (seconds, packets) = measured(|| run(&fleet, path));
        let drawn = from.draw(1, path).settings;
        let is = |(_, key, none): &(&str, &str, &str)| {
            drawn
                .iter()
                .any(|(known, value)| known == key && value != none)
        };
        let mut of: Vec<usize> = (0..KINDS.len()).filter(|kind| is(&KINDS[*kind])).collect();
        of.extend(
            of.is_empty()
                .then_some(KINDS.len())
                .into_iter()
                .chain([KINDS.len() + 1]),
        );
        for kind in of {
            let (number, sum, moved) = &mut sums[kind];
            (*number, *sum, *moved) = (*number + 1, *sum + seconds, *moved + packets);
        }
    }
    let names = KINDS
        .iter()
        .map(|(name, ..)| *name)
        .chain(["with none of these", "in total"]);
    for (name, (number, seconds, packets)) in
        names.zip(sums).filter(|(_, (number, ..))| *number > 0)
    {
        println!(
            "{number} paths {name}: {} packets, {:.0} ns each",
            packets,
            each_packet(seconds, packets)
        );
    }
}

fn run(fleet: &PopulationRun, path: u64) -> u64 {
    fleet
        .run(path, &AtomicBool::new(false), Around::NOTHING)
        .expect("the run is not stopped")
        .1
}

fn each_packet(seconds: f64, packets: u64) -> f64 {
    1e9 * seconds / packets.max(1) as f64
}

/// CPU seconds of `run`, and its result.
fn measured(run: impl FnOnce() -> u64) -> (f64, u64) {
    let before = cpu_seconds();
    let made = run();
    (cpu_seconds() - before, made)
}

fn cpu_seconds() -> f64 {
    let spent = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a process has a clock");
    spent.tv_sec() as f64 + spent.tv_nsec() as f64 / 1e9
}
