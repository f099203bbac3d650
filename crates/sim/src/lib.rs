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
//! let run = fullpipe_sim::run(&scenario, &fullpipe_cc::Registry::default(), fullpipe_trace::TraceLevel::Off)?;
//! assert!(run.summary.flows[0].goodput_bps > 9e6);
//! # Ok::<(), fullpipe_scenario::Error>(())
//! ```

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
mod socket;
mod step;
mod waiting;

pub use engine::Simulation;
pub use memory::memory_needed;
pub use socket::Socket;

use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::{Run, TraceLevel};

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
