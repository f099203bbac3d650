//! Keys of [path] and [[link]], and of what changes in mid-run.

use fullpipe_path::{Aggregation, Config, Jitter, Loss, RatePattern};
use fullpipe_units::{Rate, Span};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{no_delay, off};
use crate::buffer::Buffer;
use crate::enums::{PathKind, Switch};
use crate::impairment::{InOrder, Policer, Shaper, Suspend};
use crate::model::EcnField;
use crate::profile::ProfileName;
use crate::queue::plain;
use crate::raw_value::RawValue;
use crate::values::{Delay, Name, Percent};

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
    /// Loss of ACKs.
    #[serde(default = "no_loss")]
    pub(crate) reverse_loss: RawValue<Loss>,
    /// The probability that a data packet comes twice, in front of the first link.
    #[serde(default = "no_copies")]
    #[schemars(example = "0.1%")]
    pub(crate) duplicate: RawValue<Percent>,
    /// The same for ACKs.
    #[serde(default = "no_copies")]
    #[schemars(example = "0.1%")]
    pub(crate) reverse_duplicate: RawValue<Percent>,
    /// Transmissions of the bottleneck, as a radio's: each costs a fixed time and takes what waits
    /// when it begins, up to so many packets.
    #[serde(default = "no_wifi")]
    pub(crate) wifi: RawValue<Option<Aggregation>>,
    /// Now and then nothing is sent for a time, as by a radio that sleeps or scans: data packets
    /// wait in front of the bottleneck, ACKs at the receiver.
    #[serde(default = "no_suspend")]
    pub(crate) suspend: RawValue<Option<Suspend>>,
    /// How the delay of data packets varies behind the last link: by a time drawn for each, up to
    /// so much or of another distribution ("reorder" lets packets overtake each other), or all are
    /// held for a time now and then, and released at once.
    #[serde(default = "no_jitter")]
    pub(crate) jitter: RawValue<Jitter>,
    /// The same for ACKs: "hold 10ms" releases them once in 10 ms, as Wi-Fi does that aggregates.
    #[serde(default = "no_reverse_jitter")]
    pub(crate) reverse_jitter: RawValue<InOrder>,
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
    /// How the queue is managed: its kind, or its kind with options that are not the default.
    /// `fullpipe list queues` names them, `fullpipe explain <queue>` lists their options.
    #[serde(default = "pfifo")]
    pub(crate) queue: RawValue<Config>,
    /// Loss in front of the queue, at random, in bursts, each n-th, or those of a list: of data
    /// packets, and of the ACKs of flows whose reverse_route leads over the link.
    #[serde(default = "no_loss")]
    pub(crate) loss: RawValue<Loss>,
    /// A token bucket in front of the queue, which drops what does not conform; it begins full.
    #[serde(default = "no_policer")]
    pub(crate) policer: RawValue<Option<Policer>>,
    /// A token bucket behind the queue, as tc's tbf: the head of the queue waits until it has
    /// tokens. The queue is that of the link, and a bdp or time of its buffer is counted at the
    /// shaper's rate if that is lower.
    #[serde(default = "no_shaper")]
    pub(crate) shaper: RawValue<Option<Shaper>>,
    /// What becomes of the ECN field of packets that reach the link: "strip" clears it, so that its
    /// queue and those behind it drop where they would mark.
    #[serde(default = "kept")]
    pub(crate) ecn: RawValue<EcnField>,
    /// With "on" an ACK that finds an older one of its flow waiting, which says nothing that it
    /// does not say, takes its place.
    #[serde(default = "off")]
    pub(crate) ack_filter: RawValue<Switch>,
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
#[serde(deny_unknown_fields)]
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
    /// From then on path.loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Loss>", extend("x-default" = "unchanged"))]
    pub(crate) loss: Option<RawValue<Loss>>,
    /// From then on path.reverse_loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Loss>", extend("x-default" = "unchanged"))]
    pub(crate) reverse_loss: Option<RawValue<Loss>>,
    /// From then on path.duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Percent>", extend("x-default" = "unchanged"))]
    pub(crate) duplicate: Option<RawValue<Percent>>,
    /// From then on path.reverse_duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Percent>", extend("x-default" = "unchanged"))]
    pub(crate) reverse_duplicate: Option<RawValue<Percent>>,
    /// From then on path.wifi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Option<Aggregation>>", extend("x-default" = "unchanged"))]
    pub(crate) wifi: Option<RawValue<Option<Aggregation>>>,
    /// From then on path.suspend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Option<Suspend>>", extend("x-default" = "unchanged"))]
    pub(crate) suspend: Option<RawValue<Option<Suspend>>>,
    /// From then on path.policer, with a full bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Option<Policer>>", extend("x-default" = "unchanged"))]
    pub(crate) policer: Option<RawValue<Option<Policer>>>,
    /// From then on path.shaper, with a full bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Option<Shaper>>", extend("x-default" = "unchanged"))]
    pub(crate) shaper: Option<RawValue<Option<Shaper>>>,
    /// From then on path.jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Jitter>", extend("x-default" = "unchanged"))]
    pub(crate) jitter: Option<RawValue<Jitter>>,
    /// From then on path.reverse_jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<InOrder>", extend("x-default" = "unchanged"))]
    pub(crate) reverse_jitter: Option<RawValue<InOrder>>,
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
        let keys = [
            shown("rate", &self.rate),
            shown("rtt", &self.rtt),
            shown("buffer", &self.buffer),
            shown("loss", &self.loss),
            shown("reverse_loss", &self.reverse_loss),
            shown("duplicate", &self.duplicate),
            shown("reverse_duplicate", &self.reverse_duplicate),
            shown("wifi", &self.wifi),
            shown("suspend", &self.suspend),
            shown("policer", &self.policer),
            shown("shaper", &self.shaper),
            shown("jitter", &self.jitter),
            shown("reverse_jitter", &self.reverse_jitter),
        ];
        keys.into_iter().flatten().collect()
    }
}

fn no_loss() -> RawValue<Loss> {
    RawValue::of(&Loss::NONE)
}

fn no_copies() -> RawValue<Percent> {
    RawValue::of(&Percent(0.0))
}

fn no_wifi() -> RawValue<Option<Aggregation>> {
    RawValue::of(&None)
}

fn no_suspend() -> RawValue<Option<Suspend>> {
    RawValue::of(&None)
}

fn no_shaper() -> RawValue<Option<Shaper>> {
    RawValue::of(&None)
}

fn no_policer() -> RawValue<Option<Policer>> {
    RawValue::of(&None)
}

fn no_jitter() -> RawValue<Jitter> {
    RawValue::of(&Jitter::Off)
}

fn no_reverse_jitter() -> RawValue<InOrder> {
    RawValue::of(&InOrder(Jitter::Off))
}

fn kept() -> RawValue<EcnField> {
    RawValue::of(&EcnField::Keep)
}

fn pfifo() -> RawValue<Config> {
    RawValue::of(&plain("pfifo"))
}
