//! The keys of a path that are one value each, declared once: what packets meet on a link
//! (`[path]` and `[[link]]`) and on the way there and back (`[path]` alone).
//!
//! A key is its meaning, then `name: what is written => what it is = default`, whether chance has a
//! part in a value, an `example` where the kind of value has none that fits, and, if it can change
//! in mid-run, what a `[[path.change]]` says of it. From there come the fields of [`Link`], [`Path`]
//! and [`Change`], those of the file's tables ([`LinkKeys`], [`PathKeys`], [`ChangeKeys`]), reading,
//! writing, and whether another seed is another run.

#[macro_use]
mod tables;

use fullpipe_path::{Aggregation, Config, DelayTrace, Jitter, Limit, Loss, RatePattern};
use fullpipe_units::{Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::buffer::Buffer;
use crate::enums::Switch;
use crate::error::Error;
use crate::impairment::{InOrder, Policer, Shaper, Suspend};
use crate::model::{EcnField, Scenario, Written};
use crate::queue::plain;
use crate::raw_value::{RawValue, ReadValue};
use crate::source::Source;
use crate::values::Percent;

path_keys! {
    link {
        /// How the queue is managed: its kind, or its kind with options that are not the default.
        /// `fullpipe list queues` names them, `fullpipe explain <queue>` lists their options.
        queue: Config => Config = plain("pfifo"),
            random |queue: &Config| queue.descriptor().random;
        /// Loss in front of the queue, at random, in bursts, each n-th, or those of a list: of data
        /// packets, and of the ACKs of flows whose reverse_route leads over the link.
        loss: Loss => Loss = Loss::NONE,
            random Loss::is_random,
            changes "From then on path.loss.";
    }
    path {
        /// Loss of ACKs.
        reverse_loss: Loss => Loss = Loss::NONE,
            random Loss::is_random,
            changes "From then on path.reverse_loss.";
        /// The probability that a data packet comes twice, in front of the first link.
        duplicate: Percent => f64 = 0.0,
            random |p: &f64| *p > 0.0,
            example "0.1%",
            changes "From then on path.duplicate.";
        /// The same for ACKs.
        reverse_duplicate: Percent => f64 = 0.0,
            random |p: &f64| *p > 0.0,
            example "0.1%",
            changes "From then on path.reverse_duplicate.";
        /// Transmissions of the bottleneck, as a radio's: each costs a fixed time and takes what waits
        /// when it begins, up to so many packets.
        wifi: Option<Aggregation> => Option<Aggregation> = None,
            random |wifi: &Option<Aggregation>| wifi.is_some_and(|wifi| wifi.backoff > Span::ZERO),
            changes "From then on path.wifi.";
        /// Now and then nothing is sent for a time, as by a radio that sleeps or scans: data packets
        /// wait in front of the bottleneck, ACKs at the receiver.
        suspend: Option<Suspend> => Option<Suspend> = None,
            random |suspend: &Option<Suspend>| suspend.is_some_and(|suspend| suspend.random),
            changes "From then on path.suspend.";
    }
    link {
        /// A token bucket in front of the queue, which drops what does not conform; it begins full.
        policer: Option<Policer> => Option<Policer> = None,
            random never,
            changes "From then on path.policer, with a full bucket.";
        /// A token bucket behind the queue, as tc's tbf: the head of the queue waits until it has
        /// tokens. The queue is that of the link, and a bdp or time of its buffer is counted at the
        /// shaper's rate if that is lower.
        shaper: Option<Shaper> => Option<Shaper> = None,
            random never,
            changes "From then on path.shaper, with a full bucket.";
        /// What becomes of the ECN field of packets that reach the link: "strip" clears it, so that its
        /// queue and those behind it drop where they would mark.
        ecn: EcnField => EcnField = EcnField::Keep, random never;
        /// With "on" an ACK that finds an older one of its flow waiting, which says nothing that it
        /// does not say, takes its place.
        ack_filter: Switch => bool = false, random never;
    }
    path {
        /// How the delay of data packets varies behind the last link: by a time drawn for each, up to
        /// so much or of another distribution ("reorder" lets packets overtake each other), or all are
        /// held for a time now and then, and released at once.
        jitter: Jitter => Jitter = Jitter::Off,
            random Jitter::is_random,
            changes "From then on path.jitter.";
        /// The same for ACKs: "hold 10ms" releases them once in 10 ms, as Wi-Fi does that aggregates.
        reverse_jitter: InOrder => Jitter = Jitter::Off,
            random Jitter::is_random,
            changes "From then on path.reverse_jitter.";
        /// The delay of data packets behind the last link over time, as it was measured, instead of
        /// half of rtt: times, each with a delay that holds from then on. With it rtt is what a bdp is
        /// counted at, and the delay of ACKs. A file has a time and a delay a line, "0.5s, 23ms".
        delay_trace: Option<DelayTrace> => Option<DelayTrace> = None, random never;
        /// The same for ACKs, from the receiver.
        reverse_delay_trace: Option<DelayTrace> => Option<DelayTrace> = None, random never;
    }
}

/// A key that may be left out, since it leaves the path as it is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub(crate) struct Changed<T>(Option<RawValue<T>>);

impl<T> Default for Changed<T> {
    fn default() -> Changed<T> {
        Changed(None)
    }
}

impl<T> Changed<T> {
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    fn show(&self) -> Option<String> {
        self.0.as_ref().map(RawValue::show)
    }
}

impl<T: ReadValue> Changed<T> {
    fn of(value: Option<T>) -> Changed<T> {
        Changed(value.as_ref().map(RawValue::of))
    }

    fn get(&self, source: &Source, key: &str) -> Result<Option<T>, Error> {
        self.0
            .as_ref()
            .map(|leaf| leaf.get(source, key))
            .transpose()
    }
}

impl<T: ReadValue> JsonSchema for Changed<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Changed".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

impl Scenario {
    /// Whether another seed can be another run by what packets meet on the way.
    pub fn has_random_path(&self) -> bool {
        let pattern = |link: &Link| {
            link.rate_pattern
                .as_ref()
                .is_some_and(RatePattern::is_random)
        };
        self.path.draws()
            || self.path.changes.iter().any(Change::draws)
            || self.links().any(|link| link.draws() || pattern(link))
    }
}

impl Path {
    /// The plain keys of `[path]` that have not their default, like `path.jitter`: what a runner that
    /// can't do everything has to refuse.
    pub fn altered_keys(&self) -> impl Iterator<Item = String> {
        let keys = self.link.altered().chain(self.altered());
        keys.map(|name| key_of("path", name))
    }

    /// The longest two-way delay of traces, with half of `rtt` in the place of one that is not there.
    pub fn longest_traced(&self) -> Span {
        [&self.delay_trace, &self.reverse_delay_trace]
            .map(|trace| trace.as_ref().map_or(self.rtt / 2, DelayTrace::longest))
            .into_iter()
            .fold(Span::ZERO, |sum, delay| sum + delay)
    }
}

/// For keys of which no value draws.
fn never<T>(_: &T) -> bool {
    false
}

fn key_of(at: &str, name: &str) -> String {
    format!("{at}.{name}")
}
