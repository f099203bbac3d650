//! A laboratory for congestion control. It runs a complete TCP (SACK, RACK-TLP, PRR, pacing, ECN)
//! with any congestion controller over modeled paths, in virtual time, and measures what happens.
//!
//! Three types carry an experiment:
//!
//! - [`Scenario`] describes an experiment: path, queues, impairments, flows. A scenario is parsed
//!   from TOML and valid throughout.
//! - [`Simulation`] runs a scenario, to the end or step by step. The same scenario and seed give
//!   the same result to the bit.
//! - [`Run`] is the result: [`Summary`] has the metrics, [`Trace`] the columns over time.
//!
//! # Run a scenario
//!
//! ```
//! use fullpipe::prelude::*;
//!
//! let text = r#"
//!     duration = "10s"
//!     measure_from = "2s"
//!
//!     [path]
//!     rate = "20mbit"
//!     rtt = "40ms"
//!     buffer = "1bdp"
//!
//!     [[flow]]
//!     cc = "bbr3"
//!
//!     [[flow]]
//!     cc = "cubic"
//! "#;
//! let scenario = Scenario::parse(text, "two_flows.toml")?;
//! let run = fullpipe::run(&scenario, &Registry::default(), TraceLevel::Off)?;
//! let goodput: f64 = run.summary.flows.iter().map(|flow| flow.goodput_bps).sum();
//! assert!(goodput > 17e6 && goodput < 20e6);
//! # Ok::<(), fullpipe::Error>(())
//! ```
//!
//! `fullpipe explain` on the command line lists every key of a scenario, and the command accepts
//! the same files.
//!
//! # Inspect a run in progress, and its trace
//!
//! ```
//! # use fullpipe::prelude::*;
//! # let text = "duration = \"2s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n[[flow]]\ncc = \"bbr3\"\n";
//! # let scenario = Scenario::parse(text, "one_flow.toml")?;
//! let every = TraceLevel::Every(Span::from_millis(10));
//! let mut simulation = Simulation::new(&scenario, &Registry::default(), every)?;
//! simulation.advance_to(Time::ZERO + Span::from_millis(500));
//! assert_eq!(simulation.now(), Time::ZERO + Span::from_millis(500));
//! while !simulation.advance(u64::MAX) {}
//!
//! let trace = simulation.finish().trace.expect("a trace was asked for");
//! let transitions = trace.table("transitions").expect("every trace has this table");
//! let states = transitions.column("to").expect("a state for each transition");
//! assert_eq!(states.label(0), Some("drain"), "BBR leaves STARTUP for DRAIN");
//! # Ok::<(), fullpipe::Error>(())
//! ```
//!
//! # Write a controller
//!
//! A controller receives ACKs and losses and answers [`Controller::decision`]. Its
//! [`Descriptor`](cc::Descriptor) declares its name, its parameters and its trace columns. Once the
//! [`Registry`] knows it, a scenario can name it.
//!
//! ```
//! use fullpipe::cc::{AnyController, Config, Marks, RecoveryOwner, Signals};
//! use fullpipe::prelude::*;
//!
//! /// Keeps a fixed window, whatever happens.
//! #[derive(Debug)]
//! struct FixedWindow(Bytes);
//!
//! impl Controller for FixedWindow {
//!     fn on_ack(&mut self, _: &mut Context<'_>, _: &Ack) {}
//!     fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}
//!     fn decision(&self) -> Decision {
//!         Decision::window(self.0, Bytes::MAX)
//!     }
//!     fn observe(&self, _row: &mut Vec<f64>) {}
//! }
//!
//! static FIXED: Descriptor = Descriptor {
//!     name: "fixed",
//!     purpose: "Keeps a window of 20 segments.",
//!     specifications: &[],
//!     params: &[],
//!     profiles: &[],
//!     preset_of: None,
//!     fields: &[],
//!     recovery: RecoveryOwner::Own,
//!     needs: Signals::NONE,
//!     marks: |_| Marks::Ignored,
//!     random: false,
//!     build: |config, _| AnyController::User(Box::new(FixedWindow(config.smss * 20))),
//! };
//!
//! // Without an operating system's bursts, which would wait for each other.
//! let text = "stack = \"rfc\"\nduration = \"5s\"\n[path]\nrate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n[[flow]]\ncc = \"fixed\"\n";
//! let scenario = Scenario::parse(text, "fixed.toml")?;
//! let registry = Registry::default().with(&FIXED);
//! let run = fullpipe::run(&scenario, &registry, TraceLevel::Off)?;
//! // 20 segments of 1,448 bytes a round trip of 40 ms.
//! let expected = 20.0 * 1448.0 * 8.0 / 0.040;
//! assert!((run.summary.flows[0].goodput_bps / expected - 1.0).abs() < 0.02);
//! # Ok::<(), fullpipe::Error>(())
//! ```
//!
//! `examples/custom-controller` in the repository is a crate with a complete example: parameters,
//! state transitions, recovery, tests.
//!
//! # Sweep, and check conformance
//!
//! [`batch`] runs the points of a sweep on threads; [`conformance`] runs the BBR draft's test cases
//! on any controller that declares BBR's states:
//!
//! ```no_run
//! # use fullpipe::prelude::*;
//! let report = fullpipe::conformance::run(&Registry::default(), "bbr3", &[])?;
//! println!("{report}");
//! # Ok::<(), fullpipe::Error>(())
//! ```
//!
//! # The crates behind it
//!
//! This crate has no code of its own. Each module is a crate, `fullpipe-` and the module's name:
//! `units` <- { `scenario`, `path`, `cc`, `trace`, `workload` } <- `tcp` <- `sim` <-
//! { `conformance`, `batch` }.

pub use fullpipe_batch as batch;
pub use fullpipe_cc as cc;
pub use fullpipe_conformance as conformance;
pub use fullpipe_path as path;
pub use fullpipe_plugin as plugin;
/// Exports an algorithm from a library of its own; see [`plugin`](mod@plugin).
pub use fullpipe_plugin::plugin;
pub use fullpipe_scenario as scenario;
pub use fullpipe_tcp as tcp;
pub use fullpipe_trace as trace;
pub use fullpipe_units as units;
pub use fullpipe_workload as workload;

pub use fullpipe_cc::{Controller, Registry};
pub use fullpipe_scenario::{Error, Scenario};
pub use fullpipe_sim::{Simulation, memory_needed, run};
pub use fullpipe_trace::{Run, Summary, Trace, TraceLevel};

/// Common imports for most programs: `use fullpipe::prelude::*`.
pub mod prelude {
    pub use fullpipe_cc::{
        Ack, Conn, Context, Controller, Decision, Descriptor, Lost, Recovery, Registry,
    };
    pub use fullpipe_scenario::Scenario;
    pub use fullpipe_sim::Simulation;
    pub use fullpipe_trace::{Run, Summary, Trace, TraceLevel};
    pub use fullpipe_units::{Bytes, Rate, Span, Time};
}
