//! The cost of a sweep beyond its runs: CPU seconds of 1,000 runs of 10 s at 100 Mbit/s (80 million
//! packets) in a plain loop and, alternating with it, as a sweep on all cores.
//!
//! `cargo bench -p fullpipe-benches --bench sweep -- [--test] [--small]`
//!
//! With `--small`, 20,000 runs of 1 s at 20 Mbit/s, of 1,600 packets each.

use std::fs;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use fullpipe_batch::Around;
use fullpipe_batch::sweep::{Plan, Request};
use fullpipe_cc::Registry;
use fullpipe_trace::TraceLevel;

const TEXT: &str = "duration = \"10s\"\n[path]\nrate = \"100mbit\"\nrtt = \"50ms\"\nbuffer = \"1bdp\"\n[[flow]]\ncc = \"cubic\"\n";
const SMALL: &str = "duration = \"1s\"\n[path]\nrate = \"20mbit\"\nrtt = \"20ms\"\nbuffer = \"2bdp\"\n[[flow]]\ncc = \"cubic\"\n";
const ROUNDS: u64 = 5;

fn main() {
    let asks = |option: &str| std::env::args().any(|argument| argument == option);
    let (text, runs) = if asks("--small") {
        (SMALL, 20_000)
    } else {
        (TEXT, 1_000)
    };
    let (rounds, repeat) = if asks("--test") {
        (1, 4)
    } else {
        (ROUNDS, runs / ROUNDS)
    };
    let request = Request {
        repeat: Some(repeat),
        ..Request::default()
    };
    let plan = Arc::new(
        Plan::new(
            text,
            "sweep.toml",
            &request,
            fullpipe_cc::Registry::default(),
        )
        .unwrap_or_else(|error| panic!("{error}")),
    );
    let (mut bare, mut swept, mut wall) = (0.0, 0.0, 0.0);
    let mut packets = (0, 0);
    for _ in 0..rounds {
        let (cost, moved, _) = measured(|| in_a_loop(&plan));
        bare += cost;
        packets.0 += moved;
        let (cost, moved, took) = measured(|| as_a_sweep(&plan));
        swept += cost;
        packets.1 += moved;
        wall += took;
    }
    assert_eq!(packets.0, packets.1, "both make the same runs");
    println!(
        "{} runs, {} packets: {bare:.2} CPU s in a loop, {swept:.2} CPU s as a sweep ({:+.1} %), which took {wall:.2} s",
        rounds * repeat,
        packets.0,
        (swept / bare - 1.0) * 100.0
    );
}

/// Makes the runs one after the other, without anything else.
fn in_a_loop(plan: &Plan) -> u64 {
    let registry = Registry::default();
    let mut scenario = plan.scenario(0);
    let runs = plan.seeds().map(|seed| {
        scenario.seed = seed;
        fullpipe_sim::run(&scenario, &registry, TraceLevel::Off)
            .unwrap_or_else(|error| panic!("{error}"))
            .summary
            .packets
    });
    runs.sum()
}

fn as_a_sweep(plan: &Arc<Plan>) -> u64 {
    let threads = available_parallelism().map_or(1, usize::from);
    let running = plan.start(
        std::slice::from_ref(&(0..plan.runs())),
        threads,
        Duration::from_secs(1),
        Around::NOTHING,
    );
    while let (Some(_), _) | (None, false) = running
        .next(Duration::from_secs(1))
        .unwrap_or_else(|error| panic!("{error:?}"))
    {}
    running.packets()
}

/// CPU seconds, packets, and seconds of wall-clock time.
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn measured(run: impl FnOnce() -> u64) -> (f64, u64, f64) {
    let (begun, before) = (Instant::now(), cpu_seconds());
    let packets = run();
    (
        cpu_seconds() - before,
        packets,
        begun.elapsed().as_secs_f64(),
    )
}

/// CPU time of all threads of this process so far, including threads that have ended.
fn cpu_seconds() -> f64 {
    let account = fs::read_to_string("/proc/self/stat").expect("Linux reports CPU time here");
    let fields: Vec<&str> = account
        .rsplit(") ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let ticks = |field: usize| {
        fields[field]
            .parse::<f64>()
            .expect("utime and stime are numbers")
    };
    (ticks(11) + ticks(12)) / 100.0
}
