//! Runner 1: a scenario in virtual time, one seed, one thread.
//!
//! ```
//! let text = r#"
//!     duration = "2s"
//!     [path]
//!     rate = "10mbit"
//!     rtt = "20ms"
//!     buffer = "2bdp"
//!     [[flow]]
//!     cc = "cubic"
//! "#;
//! let scenario = fullpipe_scenario::Scenario::parse(text, "example.toml")?;
//! let run = fullpipe_sim::run(&scenario, &fullpipe_cc::Registry::default(), fullpipe_sim::TraceLevel::Off)?;
//! assert!(run.summary.flows[0].goodput_bps > 9e6);
//! # Ok::<(), fullpipe_scenario::Error>(())
//! ```

mod algorithms;
mod arrivals;
mod build;
mod engine;
mod event_queue;
mod flow;
mod flow_path;
mod forward_path;
mod host;
mod in_flight;
mod lazy_timer;
mod link;
mod memory;
mod observe;
mod prefetch;
mod reverse;
mod slowdown;
mod socket;
mod step;
mod waiting;

pub use algorithms::{PROVIDES, Runner, controller, resolved};
pub use engine::Simulation;
pub use memory::memory_needed;
pub use slowdown::Servers;
pub use socket::Socket;

use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::{Summary, Trace};
use fullpipe_units::{Rate, Span, Time};

/// How much of a run is kept over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceLevel {
    /// Nothing.
    Off,
    /// A row a flow and link at every interval.
    Every(Span),
    /// A row at every ACK; links at every millisecond.
    Acks,
}

/// What a run gives.
#[derive(Debug)]
pub struct Run {
    /// Its metrics.
    pub summary: Summary,
    /// Its trace, if one was asked for.
    pub trace: Option<Trace>,
}

/// Whether another seed can give another run: by jitter, by random loss, by hosts, or by a queue,
/// an algorithm or an application that draws.
pub fn is_random(scenario: &Scenario, registry: &fullpipe_cc::Registry) -> bool {
    let starts = scenario.start_jitter > Span::ZERO && !scenario.flows.is_empty();
    let jitter = starts || scenario.send_jitter > Span::ZERO;
    let path = &scenario.path;
    let losses = path
        .changes
        .iter()
        .flat_map(|change| change.loss.iter().chain(&change.reverse_loss));
    let loss = losses
        .chain(scenario.links().map(|link| &link.loss))
        .chain([&path.reverse_loss])
        .any(fullpipe_path::Loss::is_random);
    let jitters = path
        .changes
        .iter()
        .flat_map(|change| change.jitter.iter().chain(&change.reverse_jitter));
    let late = jitters
        .chain([&path.jitter, &path.reverse_jitter])
        .any(fullpipe_path::Jitter::is_random);
    let copies = path
        .changes
        .iter()
        .flat_map(|change| change.duplicate.iter().chain(&change.reverse_duplicate));
    let doubled = copies
        .chain([&path.duplicate, &path.reverse_duplicate])
        .any(|p| *p > 0.0);
    let backoff = path
        .schedule(|change| change.wifi)
        .map(|(_, wifi)| wifi)
        .chain([path.wifi])
        .flatten();
    let contends = backoff.into_iter().any(|wifi| wifi.backoff > Span::ZERO);
    let suspends = path
        .schedule(|change| change.suspend)
        .map(|(_, suspend)| suspend)
        .chain([path.suspend])
        .flatten();
    let radio = contends || suspends.into_iter().any(|suspend| suspend.random);
    let draws = |cc: &str| registry.get(cc).is_some_and(|descriptor| descriptor.random);
    let host = scenario
        .host
        .as_ref()
        .is_some_and(|host| host.wake.is_some() || host.variation > 0.0);
    let queue = scenario.links().any(|link| link.queue.descriptor().random);
    let pattern = scenario
        .links()
        .filter_map(|link| link.rate_pattern.as_ref())
        .any(fullpipe_path::RatePattern::is_random);
    let flow = |flow: &fullpipe_scenario::Flow| {
        draws(&flow.cc) || flow.app.is_some_and(|app| app.is_random())
    };
    let flows = scenario.flows.iter().any(flow);
    let arrives =
        |workload: &fullpipe_scenario::Workload| workload.is_random || flow(&workload.flow);
    let workloads = scenario.workloads.iter().any(arrives);
    jitter || loss || late || doubled || radio || host || queue || pattern || flows || workloads
}

/// The rate at which the bottleneck can send over time: (from, rate) each, of a rate that varies by
/// a pattern the means of `bins` equal parts of the run. Where a shaper is slower, it is the
/// shaper's.
pub fn rate_over_time(scenario: &Scenario, bins: u64) -> Vec<(Time, Rate)> {
    let path = &scenario.path;
    let mut times: Vec<Time> = path
        .changes
        .iter()
        .map(|change| Time::ZERO + change.at)
        .collect();
    let end = Time::ZERO + scenario.duration;
    if path.link.rate_pattern.is_some() {
        times.extend(
            (1..bins).map(|bin| Time::ZERO + scenario.duration.mul_f64(bin as f64 / bins as f64)),
        );
    }
    times.extend([Time::ZERO, end]);
    times.sort_unstable();
    times.dedup();
    let rates = scenario.transmitter(build::BOTTLENECK).mean_rates(&times);
    let shaped = |at: Time| {
        let changed = path
            .schedule(|change| change.shaper)
            .take_while(|(from, _)| Time::ZERO + *from <= at)
            .last();
        changed
            .map_or(path.link.shaper, |(_, shaper)| shaper)
            .map_or(Rate::MAX, |shaper| shaper.rate)
    };
    times
        .iter()
        .zip(rates)
        .map(|(at, rate)| (*at, rate.min(shaped(*at))))
        .collect()
}

/// Runs a scenario to its end.
///
/// # Errors
/// When the scenario names an algorithm that `registry` does not have, or one that can't run here,
/// or a parameter that the algorithm refuses.
pub fn run(
    scenario: &Scenario,
    registry: &fullpipe_cc::Registry,
    level: TraceLevel,
) -> Result<Run, Error> {
    let mut simulation = Simulation::new(scenario, registry, level)?;
    while !simulation.advance(u64::MAX) {}
    Ok(simulation.finish())
}
