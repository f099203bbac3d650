//! Keys of `[path]`, `[[link]]` and `[[path.change]]`.

use fullpipe_path::RatePattern;
use fullpipe_units::{Rate, Span};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::no_delay;
use crate::buffer::{Buffer, LinkBuffer};
use crate::enums::PathKind;
use crate::path_keys::{ChangeKeys, LinkKeys, PathKeys};
use crate::profile::ProfileName;
use crate::raw_value::RawValue;
use crate::values::{Delay, Name};

/// The bottleneck that the flows share, and the delays and impairments in both directions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false), transform = or_a_profile)]
pub(crate) struct Path {
    /// Named path that gives the values of all keys that this scenario does not set. `fullpipe list
    /// profiles` lists the names; `fullpipe explain <profile>` shows each value and its source. On
    /// the command line it replaces the file's [path], and other --set options modify the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<ProfileName>", example = &"lte", extend("x-default" = "none: [path] sets all values"))]
    pub(crate) profile: Option<RawValue<ProfileName>>,
    /// Kind of path. "loopback" is two programs on one machine, connected only by its memory: in
    /// real time, QUIC runs over this machine's loopback; in the simulator, the profile "loopback"
    /// gives the values of all keys that this scenario does not set. On the command line it
    /// replaces the file's [path], as a profile does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<PathKind>", example = &"loopback", extend("x-default" = "none: the path consists of links"))]
    pub(crate) kind: Option<RawValue<PathKind>>,
    #[serde(flatten)]
    pub(crate) link: Link,
    /// Two-way propagation delay of the path, without queueing.
    pub(crate) rtt: RawValue<Delay>,
    #[serde(flatten)]
    pub(crate) keys: PathKeys,
    /// Changes of the path during the run, one table each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none"))]
    pub(crate) change: Vec<Change>,
}

/// Keys of every link: of the bottleneck in `[path]` and of each `[[link]]`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Link {
    /// Link capacity in bits per second. The access link of each flow is 10 times as fast as the
    /// fastest link ever is. With a rate_pattern, rate is only the reference for buffers in bdp or
    /// time and for the default receive_window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Rate>", extend("x-default" = "the mean of rate_pattern; required without a rate_pattern"))]
    pub(crate) rate: Option<RawValue<Rate>>,
    /// Variation of the link's rate over time: a sine, a saw or a random walk between two rates, a
    /// schedule, or a trace of delivery opportunities in mahimahi's format. File names are relative
    /// to the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<RatePattern>", extend("x-default" = "none: the rate is constant"))]
    pub(crate) rate_pattern: Option<RawValue<RatePattern>>,
    /// Limit of the queue in front of the link, without the packet being sent. A buffer in bdp (the
    /// link's rate x path.rtt), time or packets is counted in whole packets, rounded down, at the
    /// rate and RTT of the start of the run. A packet has 1500 bytes, unless a flow's mss makes
    /// larger ones, or all make smaller ones. Queues that count bytes do not round. "default" is the
    /// queue's default limit in tc, or 1bdp for a queue without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<LinkBuffer>", extend("x-default" = "the queue's default limit in tc; required for queues without one"))]
    pub(crate) buffer: Option<RawValue<LinkBuffer>>,
    #[serde(flatten)]
    pub(crate) keys: LinkKeys,
}

/// A link in addition to the bottleneck of [path].
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct NamedLink {
    /// Name of the link, which route and reverse_route refer to.
    #[schemars(example = &"uplink")]
    pub(crate) name: RawValue<Name>,
    #[serde(flatten)]
    pub(crate) link: Link,
    /// One-way propagation delay behind the link, in addition to path.rtt.
    #[serde(default = "no_delay")]
    #[schemars(example = "5ms")]
    pub(crate) delay: RawValue<Delay>,
}

/// Makes the required keys of `[path]` optional where a profile, or a kind that names one, gives
/// them.
fn or_a_profile(path: &mut Schema) {
    if let Some(required) = path.remove("required") {
        path.insert(
            "anyOf".to_owned(),
            json!([{ "required": required }, { "required": ["profile"] }, { "required": ["kind"] }]),
        );
    }
}

/// A change of the path during the run: a time, and the values from then on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Change {
    /// Time of the change.
    #[schemars(example = "10s")]
    pub(crate) at: RawValue<Span>,
    /// Value of path.rate from this time on. It also applies to the packet being sent and to queued
    /// packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Rate>", extend("x-default" = "unchanged"))]
    pub(crate) rate: Option<RawValue<Rate>>,
    /// Value of path.rtt from this time on, for packets that leave the bottleneck and ACKs that
    /// leave the receiver. When it shrinks, no packet overtakes those in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Delay>", extend("x-default" = "unchanged"))]
    pub(crate) rtt: Option<RawValue<Delay>>,
    /// Value of path.buffer from this time on. Packets already queued stay. A bdp is that of the
    /// start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Buffer>", extend("x-default" = "unchanged"))]
    pub(crate) buffer: Option<RawValue<Buffer>>,
    #[serde(flatten)]
    pub(crate) keys: ChangeKeys,
}

impl Change {
    /// Returns the keys that the change sets, with their new values.
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
