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
//!
//! # Events
//!
//! The event queue (`event_queue.rs`) holds one entry for each thing that can happen next to a
//! flow, not one per packet, ordered by (time, kind, flow, hop). The nearest bucket of time is
//! sorted, additions to it are sorted in or go into a small heap, and later events lie in unsorted
//! buckets: with ten thousand flows a single heap would exceed the cache, and the next flows could
//! not be prefetched.
//!
//! Packets and ACKs of one flow toward one place form a FIFO (`in_flight.rs`); only its head has
//! an entry. Timers (`lazy_timer.rs`) stay in the queue when an ACK moves them, and are
//! re-armed when they fire early.
//!
//! # Shortcuts
//!
//! - **Known departures.** With drop-tail and a rate that is constant, or changes at times known in
//!   advance, only arrivals change the link. Its departure times are known on acceptance and need
//!   no event; the queue keeps the start times of waiting packets (`path/src/link.rs`). Scheduled
//!   changes need no event either: each element looks up its value in a `fullpipe_path::Timeline`.
//! - **Eager receiver.** A flow's packets arrive in order, and besides them only one timer (the
//!   delayed ACK or the next request) changes the receiver. So the receiver reads a packet ahead,
//!   with its arrival time, and its answer joins the FIFO of ACKs. An earlier timer is handled
//!   first. Two exceptions wait for their time: packets of a line that reorders, and those for a
//!   receiver with a `ReceiverController`, whose decisions are traced.
//! - **Staying inside a flow.** An arrival or an ACK is handled at once if nothing else is due
//!   before.
//!
//! With one flow most packets therefore cost no heap operation; with many, about one per arrival.
//!
//! # Why they are exact
//!
//! `EventQueue::is_first(at)` is true only if `at` is strictly before everything else that is due,
//! including the end of the run. Ties always go through the queue. Known departures and the eager
//! receiver change when a time is computed, not its value. [`Simulation::step_by_step`] switches
//! `is_first` off; a test compares the traces bit for bit. A property test in `path/src/link.rs`
//! compares a link with one that is stepped packet by packet in rational arithmetic.
//!
//! An AQM decides at dequeue, so its link (`fullpipe_path::ManagedLink`) has no known departures.
//! Its one event, `Transmit`, is due when the transmitter is free and a packet waits; the queue
//! then chooses the packet. The event queue keeps these events outside its heap, in the same order. A packet that finds the link idle passes without an event. Everything
//! that the queue sends continues in `ForwardPath::proceed`. Its drops and marks can concern any
//! flow at any time, so the link counts them (`fullpipe_trace::PerFlowCounters`); the flows' totals
//! include them at the end.

mod arrivals;
mod build;
mod datagram;
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
mod packet_log;
mod per_hop;
mod prefetch;
mod received;
mod reverse;
mod shares;
mod socket;
mod steer;
mod step;
mod waiting;

pub use engine::Simulation;
pub use memory::memory_needed;
pub use socket::Socket;

use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::{Run, TraceLevel};

/// Checks a scenario as [`run`] does, without a run; programs are left out.
///
/// # Errors
/// As [`run`].
pub fn check(scenario: &Scenario, registry: &fullpipe_cc::Registry) -> Result<(), Error> {
    build::check(scenario, registry)
}

/// Runs a scenario to its end.
///
/// # Errors If the scenario names an algorithm that `registry` does not have, one that cannot run
/// here, or a parameter that the algorithm refuses.
pub fn run(
    scenario: &Scenario,
    registry: &fullpipe_cc::Registry,
    level: TraceLevel,
) -> Result<Run, Error> {
    let mut simulation = Simulation::new(scenario, registry, level)?;
    while !simulation.advance(u64::MAX) {}
    Ok(simulation.finish())
}
