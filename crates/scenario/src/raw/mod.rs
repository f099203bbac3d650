//! The keys of a scenario file, declared once: name, kind, default, examples and meaning.
//!
//! serde takes names and defaults from here; the doc comments and examples become the schema and
//! `explain`.

mod flow;
mod host;
mod link;

use fullpipe_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::enums::Switch;
use crate::expect::Conditions;
use crate::raw_value::RawValue;
use crate::values::{Delay, Whole};

pub use flow::{ACK_DELAY, DELAYED_ACK, QUICK_ACKS};
pub(crate) use flow::{Flow, MOST_FLOWS, Tcp, Workload, one_flow};
pub(crate) use host::{Host, Quic};
pub(crate) use link::{Change, Link, NamedLink, Path};

/// The largest whole number of TOML.
const LARGEST: u64 = i64::MAX as u64;

/// A scenario of fullpipe: flows that share one bottleneck.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fullpipe scenario")]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// How long the run lasts, in virtual time.
    #[schemars(example = "60s")]
    pub(crate) duration: RawValue<Span>,
    /// Metrics leave out what is before.
    #[serde(default = "no_time")]
    pub(crate) measure_from: RawValue<Span>,
    /// The seed of everything random: same scenario and seed, same run.
    #[serde(default = "first_seed")]
    pub(crate) seed: RawValue<Whole<0, LARGEST>>,
    /// Each `[[flow]]` starts up to this much later, uniformly; what arrives of a workload is drawn
    /// anyway.
    #[serde(default = "no_time")]
    #[schemars(example = "50ms")]
    pub(crate) start_jitter: RawValue<Span>,
    /// Each packet reaches the first link up to this much later, uniformly; a flow's packets stay
    /// in order.
    #[serde(default = "no_delay")]
    #[schemars(example = "120us")]
    pub(crate) send_jitter: RawValue<Delay>,
    /// What runs shall come to: a metric, >=, <=, > or <, and a quantity. `fullpipe check` runs the
    /// scenario and says whether it holds, in every repetition or in the quantile of them that the
    /// condition names: "p90 of flow.a.rtt.p95 <= 80ms".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Conditions>", extend("x-default" = "nothing"))]
    pub(crate) expect: Option<RawValue<Conditions>>,
    /// The bottleneck that the flows share, and the way there and back.
    pub(crate) path: Path,
    /// Further links, one table each: a flow meets those that its routes name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none"))]
    pub(crate) link: Vec<NamedLink>,
    /// The machines at the flows' ends, if they take time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Host", extend("x-default" = "endpoints take no time"))]
    pub(crate) host: Option<Host>,
    /// How this machine runs real QUIC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Quic", extend("x-default" = "a thread a side, where the kernel puts it"))]
    pub(crate) quic: Option<Quic>,
    /// The flows, one table each; there is at least one, or a workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none, beside a workload"))]
    pub(crate) flow: Vec<Flow>,
    /// Flows that arrive while the run goes on, many of a kind, one table each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none"))]
    pub(crate) workload: Vec<Workload>,
    /// What `fullpipe sweep` varies: any keys, each with a list of values, or with a range to draw
    /// from. Anything else runs the scenario as it is without this table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sweep", extend("x-default" = "nothing is varied"))]
    pub(crate) sweep: Option<Sweep>,
}

/// What `fullpipe sweep` varies: any keys, each with a list of values, or with a range to draw
/// from. [`crate::sweep`] takes it out of the file, and reads it; here it is declared.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub(crate) struct Sweep {
    /// Runs of each point, with a seed each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Whole<1, LARGEST>>", example = 30, extend("x-default" = "one"))]
    repeat: Option<RawValue<Whole<1, LARGEST>>>,
    /// Keys that are varied together instead of in every combination: the first value of each, then
    /// the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(title = "list of keys", extend("x-default" = "none"))]
    zip: Vec<String>,
    /// How many points are drawn at random, from ranges like "1ms..1s log" and lists, instead of
    /// every combination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Whole<1, LARGEST>>", example = 100, extend("x-default" = "every combination"))]
    sample: Option<RawValue<Whole<1, LARGEST>>>,
}

fn no_time() -> RawValue<Span> {
    RawValue::of(&Span::ZERO)
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
