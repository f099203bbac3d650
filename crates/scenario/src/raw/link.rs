//! Keys of [path] and [[link]], and of what changes in mid-run.

use fullpipe_path::RatePattern;
use fullpipe_units::{Rate, Span};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::no_delay;
use crate::buffer::Buffer;
use crate::enums::PathKind;
use crate::path_keys::{ChangeKeys, LinkKeys, PathKeys};
use crate::profile::ProfileName;
use crate::raw_value::RawValue;
use crate::values::{Delay, Name};

/// The bottleneck that the flows share, and the way there and back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false), transform = or_a_profile)]
pub(crate) struct Path {
    /// A named path: its values stand wherever this scenario says nothing. `fullpipe list profiles`
    /// names them, `fullpipe explain <profile>` has each value with its source. On the command line
    /// it replaces the file's [path], and every other value given there is a change of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<ProfileName>", example = &"lte", extend("x-default" = "none, the path is given here"))]
    pub(crate) profile: Option<RawValue<ProfileName>>,
    /// "loopback": two programs on one machine, with nothing but its memory between them. In real
    /// time QUIC runs over the machine's own loopback then; in the simulator the path is the
    /// profile of that name, wherever this scenario says nothing. On the command line it replaces
    /// the file's [path], as a profile does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<PathKind>", example = &"loopback", extend("x-default" = "none, the path is links"))]
    pub(crate) kind: Option<RawValue<PathKind>>,
    #[serde(flatten)]
    pub(crate) link: Link,
    /// Two-way propagation delay, without queueing.
    pub(crate) rtt: RawValue<Delay>,
    #[serde(flatten)]
    pub(crate) keys: PathKeys,
    /// Changes of the path in mid-run, one table each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none"))]
    pub(crate) change: Vec<Change>,
}

/// What every link has, the bottleneck in [path] and those in [[link]].
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Link {
    /// The link's rate, in bits per second. Access links are 10 times as fast as the fastest link
    /// ever is. With a rate_pattern it is only the rate that bdp is counted at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Rate>", extend("x-default" = "the mean of rate_pattern; without one it has to be there"))]
    pub(crate) rate: Option<RawValue<Rate>>,
    /// How the rate varies: between two rates as a sine, a saw or a random walk, by a schedule, or
    /// by a trace of delivery opportunities as mahimahi's. Files are seen from the scenario's
    /// folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<RatePattern>", extend("x-default" = "none, the rate is constant"))]
    pub(crate) rate_pattern: Option<RawValue<RatePattern>>,
    /// What may wait in front of the link, besides the packet being sent. In bdp (its rate x
    /// path.rtt), time or packets it counts whole packets of 1500 bytes, rounded down, at the rate
    /// and RTT of the start; queues that count bytes round nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Buffer>", extend("x-default" = "tc's limit for queues that have one; the others need it"))]
    pub(crate) buffer: Option<RawValue<Buffer>>,
    #[serde(flatten)]
    pub(crate) keys: LinkKeys,
}

/// A further link.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct NamedLink {
    /// The link's name, by which routes call it.
    #[schemars(example = &"uplink")]
    pub(crate) name: RawValue<Name>,
    #[serde(flatten)]
    pub(crate) link: Link,
    /// One-way propagation delay behind the link, on top of path.rtt.
    #[serde(default = "no_delay")]
    #[schemars(example = "5ms")]
    pub(crate) delay: RawValue<Delay>,
}

/// What must be given may come from a profile instead, which a kind stands for, too.
fn or_a_profile(path: &mut Schema) {
    if let Some(required) = path.remove("required") {
        path.insert(
            "anyOf".to_owned(),
            json!([{ "required": required }, { "required": ["profile"] }, { "required": ["kind"] }]),
        );
    }
}

/// A change of the path in mid-run: when, and what is different from then on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Change {
    /// When.
    #[schemars(example = "10s")]
    pub(crate) at: RawValue<Span>,
    /// From then on path.rate, for the packet being sent and those that wait, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Rate>", extend("x-default" = "unchanged"))]
    pub(crate) rate: Option<RawValue<Rate>>,
    /// From then on path.rtt, for packets that leave the bottleneck and ACKs that leave the
    /// receiver. When it shrinks, none overtakes those on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Delay>", extend("x-default" = "unchanged"))]
    pub(crate) rtt: Option<RawValue<Delay>>,
    /// From then on path.buffer; what waits already stays. A bdp is that of the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Buffer>", extend("x-default" = "unchanged"))]
    pub(crate) buffer: Option<RawValue<Buffer>>,
    #[serde(flatten)]
    pub(crate) keys: ChangeKeys,
}

impl Change {
    /// The keys that say something different, and what they say.
    pub(crate) fn given(&self) -> Vec<(&'static str, String)> {
        fn shown<T>(
            name: &'static str,
            leaf: &Option<RawValue<T>>,
        ) -> Option<(&'static str, String)> {
            leaf.as_ref().map(|leaf| (name, leaf.show()))
        }
        let own = [
            shown("rate", &self.rate),
            shown("rtt", &self.rtt),
            shown("buffer", &self.buffer),
        ];
        own.into_iter().flatten().chain(self.keys.given()).collect()
    }
}
