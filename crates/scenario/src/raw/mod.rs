//! The keys of a scenario file, declared once: name, kind, default, examples and meaning.
//!
//! serde takes names and defaults from these structs; their doc comments and examples become the
//! JSON schema and the output of `explain`.

mod flow;
mod host;
mod link;
mod program;

use fullpipe_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::enums::Switch;
use crate::expect::Conditions;
use crate::raw_value::RawValue;
use crate::stack::Stack;
use crate::values::{Delay, WarmUp, Whole};

pub use flow::{ACK_DELAY, DATAGRAM_DELAYED_ACK, DELAYED_ACK, INITIAL_WINDOW, QUICK_ACKS};
pub(crate) use flow::{Flow, MOST_FLOWS, Tcp, Workload, one_flow};
pub(crate) use host::{Host, Quic};
pub(crate) use link::{Change, Link, NamedLink, Path};
pub(crate) use program::Program;

/// The largest whole number of TOML.
const LARGEST: u64 = i64::MAX as u64;

/// A fullpipe scenario: flows that share a bottleneck.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fullpipe scenario")]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// Length of the run, in virtual time.
    #[schemars(example = "60s")]
    pub(crate) duration: RawValue<Span>,
    /// End of the warm-up: metrics exclude everything before this time. "auto" is 100 RTTs with full
    /// buffers, of the flow for which they are longest: at least 10 s, and at most half of the
    /// duration. The buffer of an AQM counts as empty.
    #[serde(default = "no_warm_up")]
    #[schemars(example = &"auto")]
    pub(crate) measure_from: RawValue<WarmUp>,
    /// Seed of all random numbers: the same scenario with the same seed gives the same run.
    #[serde(default = "first_seed")]
    pub(crate) seed: RawValue<Whole<0, LARGEST>>,
    /// TCP at both ends of every flow. "rfc" is what specifications say, without the limits and
    /// heuristics of an operating system. "linux" is a current Linux whose devices have fq_codel: its
    /// endpoints, and its rules of each algorithm that has them (profile = "linux"). "linux-fq" is
    /// the same with fq, which paces every flow. Keys of a flow and parameters of its algorithm
    /// override it.
    #[serde(default = "usual_stack")]
    #[schemars(example = &"linux")]
    pub(crate) stack: RawValue<Stack>,
    /// Longest random delay of the start of each `[[flow]]`, drawn uniformly. Arrivals of workloads
    /// are not affected.
    #[serde(default = "no_time")]
    #[schemars(example = "50ms")]
    pub(crate) start_jitter: RawValue<Span>,
    /// Longest random delay of each data packet before the first link of its route, drawn
    /// uniformly. The packets of a flow stay in order.
    #[serde(default = "no_delay")]
    #[schemars(example = "120us")]
    pub(crate) send_jitter: RawValue<Delay>,
    /// Conditions that every run must meet: a metric, >=, <=, > or <, and a bound. `fullpipe check`
    /// runs the scenario and tests them. Each condition must hold in every repetition, or for the
    /// quantile of the repetitions that it names: "p90 of flow.a.rtt.p95 <= 80ms".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Conditions>", extend("x-default" = "no conditions"))]
    pub(crate) expect: Option<RawValue<Conditions>>,
    /// The bottleneck that the flows share, and the delays and impairments in both directions.
    pub(crate) path: Path,
    /// Further links, one table each. A link carries the flows that name it in route or
    /// reverse_route.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none"))]
    pub(crate) link: Vec<NamedLink>,
    /// The machines at both ends of each flow: CPU costs and wake-up times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Host", extend("x-default" = "sending and receiving take no time"))]
    pub(crate) host: Option<Host>,
    /// Threads and CPUs of real QUIC on this machine (--on quic).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Quic", extend("x-default" = "one thread per side, placed by the kernel"))]
    pub(crate) quic: Option<Quic>,
    /// Flows, one table each. A scenario needs at least one flow, one program or one workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none, if the scenario has a program or a workload"))]
    pub(crate) flow: Vec<Flow>,
    /// Transfers of a user's own programs, one table each: flows that follow the others. They run
    /// with --on kernel or uml.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none"))]
    pub(crate) program: Vec<Program>,
    /// Workloads, one table each: many flows of one kind that arrive during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none"))]
    pub(crate) workload: Vec<Workload>,
    /// Keys that `fullpipe sweep` varies, each with a list of values or with a range to draw from.
    /// Other commands ignore this table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sweep", extend("x-default" = "no key is varied"))]
    pub(crate) sweep: Option<Sweep>,
}

/// Keys that `fullpipe sweep` varies, each with a list of values or with a range to draw from.
/// Declared here for the schema; [`crate::sweep`] removes the table from the file and reads it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub(crate) struct Sweep {
    /// Number of runs of each point, each with its own seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Whole<1, LARGEST>>", example = 30, extend("x-default" = "one"))]
    repeat: Option<RawValue<Whole<1, LARGEST>>>,
    /// Keys that are varied together instead of in every combination: the first point has the first
    /// value of each, the second point the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(title = "list of keys", extend("x-default" = "none"))]
    zip: Vec<String>,
    /// Number of points to draw at random, from ranges like "1ms..1s log" and from lists, instead
    /// of running every combination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Whole<1, LARGEST>>", example = 100, extend("x-default" = "every combination"))]
    sample: Option<RawValue<Whole<1, LARGEST>>>,
}

fn usual_stack() -> RawValue<Stack> {
    RawValue::of(&Stack::default())
}

fn no_time() -> RawValue<Span> {
    RawValue::of(&Span::ZERO)
}

fn no_warm_up() -> RawValue<WarmUp> {
    RawValue::of(&WarmUp(Some(Span::ZERO)))
}

fn no_delay() -> RawValue<Delay> {
    RawValue::of(&Delay(Span::ZERO))
}

fn off() -> RawValue<Switch> {
    RawValue::of(&Switch(false))
}

fn first_seed() -> RawValue<Whole<0, LARGEST>> {
    RawValue::of(&Whole(1))
}
