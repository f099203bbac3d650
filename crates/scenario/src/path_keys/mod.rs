//! The keys of a path that hold one value each, declared once: elements of a link (`[path]` and
//! `[[link]]`), and elements of the path in either direction (`[path]` alone).
//!
//! A declaration is the meaning of the key, then `name: type in the file => type in the model =
//! default`, a test whether a value uses random numbers, an `example` where the type has no fitting
//! one, and, if the key can change during the run, its meaning in a `[[path.change]]`. The macros
//! generate from it the fields of [`Link`], [`Path`] and [`Change`], those of the file's tables
//! ([`LinkKeys`], [`PathKeys`], [`ChangeKeys`]), reading and writing them, and the test whether
//! another seed can change the run.

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
        /// Queueing discipline of the link: its name, or a table with its name as kind and its
        /// options. `fullpipe list queues` lists the names, `fullpipe explain <queue>` the options.
        queue: Config => Config = plain("pfifo"),
            random |queue: &Config| queue.descriptor().random;
        /// Loss of packets in front of the queue: at random, in bursts, every n-th packet, or the
        /// packets of a list. It affects data packets, and ACKs of flows whose reverse_route
        /// crosses the link.
        loss: Loss => Loss = Loss::NONE,
            random Loss::is_random,
            changes "Value of path.loss from this time on.";
    }
    path {
        /// Loss of ACKs as they leave the receiver, in front of all links: at random, in bursts,
        /// every n-th ACK, or the ACKs of a list.
        reverse_loss: Loss => Loss = Loss::NONE,
            random Loss::is_random,
            changes "Value of path.reverse_loss from this time on.";
        /// Probability that a data packet is duplicated in front of the first link of its route.
        duplicate: Percent => f64 = 0.0,
            random |p: &f64| *p > 0.0,
            example "0.1%",
            changes "Value of path.duplicate from this time on.";
        /// Probability that an ACK is duplicated as it leaves the receiver, in front of all links.
        reverse_duplicate: Percent => f64 = 0.0,
            random |p: &f64| *p > 0.0,
            example "0.1%",
            changes "Value of path.reverse_duplicate from this time on.";
        /// Frame aggregation at the bottleneck, as in Wi-Fi: each transmission has a fixed overhead
        /// and carries the packets that are queued when it begins, up to a maximum number.
        wifi: Option<Aggregation> => Option<Aggregation> = None,
            random |wifi: &Option<Aggregation>| wifi.is_some_and(|wifi| wifi.backoff > Span::ZERO),
            changes "Value of path.wifi from this time on.";
        /// Recurring silence of the bottleneck, as of a radio that sleeps or scans: meanwhile data
        /// packets wait in front of the bottleneck and ACKs at the receiver.
        suspend: Option<Suspend> => Option<Suspend> = None,
            random |suspend: &Option<Suspend>| suspend.is_some_and(|suspend| suspend.random),
            changes "Value of path.suspend from this time on.";
    }
    link {
        /// Token bucket in front of the queue. It starts full and drops packets for which it has
        /// too few tokens.
        policer: Option<Policer> => Option<Policer> = None,
            random never,
            changes "Value of path.policer from this time on, with a full bucket.";
        /// Token bucket behind the queue, as in tc's tbf: the packet at the head of the queue waits
        /// until the bucket has tokens for it. The queue and buffer are those of the link; a buffer
        /// in bdp or time is computed at the shaper's rate if that is below the link's.
        shaper: Option<Shaper> => Option<Shaper> = None,
            random never,
            changes "Value of path.shaper from this time on, with a full bucket.";
        /// Treatment of the ECN field of packets that reach the link: "keep" leaves it unchanged,
        /// "strip" clears it, so that the queues of this link and of later ones drop the packets
        /// that they would otherwise mark.
        ecn: EcnField => EcnField = EcnField::Keep, random never;
        /// ACK filtering: with "on", an ACK in this link's queue is removed when a newer ACK of the
        /// same flow carries all its information. It affects flows whose reverse_route crosses the
        /// link.
        ack_filter: Switch => bool = false, random never;
    }
    path {
        /// Additional delay of data packets behind the last link: a random delay drawn for each
        /// packet, uniform or from another distribution ("reorder" lets packets overtake each
        /// other), or "hold", which periodically holds all packets for a time and then releases
        /// them at once.
        jitter: Jitter => Jitter = Jitter::Off,
            random Jitter::is_random,
            changes "Value of path.jitter from this time on.";
        /// Additional delay of ACKs on their way back: a random delay drawn for each ACK, in order,
        /// or "hold", which periodically holds all ACKs. "hold 10ms" releases ACKs every 10 ms, as
        /// aggregation in Wi-Fi does.
        reverse_jitter: InOrder => Jitter = Jitter::Off,
            random Jitter::is_random,
            changes "Value of path.reverse_jitter from this time on.";
        /// Measured one-way delay of data packets behind the last link, which replaces half of rtt:
        /// times, each with the delay from then on. rtt then only sets the BDP and, as half of it,
        /// the delay of ACKs. A file has one time and its delay per line: "0.5s, 23ms".
        delay_trace: Option<DelayTrace> => Option<DelayTrace> = None, random is_drawn;
        /// Measured one-way delay of ACKs on their way back, which replaces half of rtt: times,
        /// each with the delay from then on. A file has one time and its delay per line: "0.5s,
        /// 23ms".
        reverse_delay_trace: Option<DelayTrace> => Option<DelayTrace> = None, random is_drawn;
    }
}

/// The value of a key in a change; if omitted, the path keeps its value.
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
    /// Returns whether the links or the path use random numbers, so that another seed can change
    /// the run.
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
    /// Returns the plain keys of `[path]` that differ from their defaults, like `path.jitter`. A
    /// runner refuses those that it does not support.
    pub fn altered_keys(&self) -> impl Iterator<Item = String> {
        let keys = self.link.altered().chain(self.altered());
        keys.map(|name| key_of("path", name))
    }

    /// Returns the longest two-way delay of both delay traces, with half of `rtt` for a missing
    /// one.
    pub fn longest_traced(&self) -> Span {
        [&self.delay_trace, &self.reverse_delay_trace]
            .map(|trace| trace.as_ref().map_or(self.rtt / 2, DelayTrace::longest))
            .into_iter()
            .fold(Span::ZERO, |sum, delay| sum + delay)
    }
}

/// Returns whether a trace begins at a drawn place.
fn is_drawn(trace: &Option<DelayTrace>) -> bool {
    trace.as_ref().is_some_and(DelayTrace::is_random)
}

/// Returns false, for keys whose values never use random numbers.
fn never<T>(_: &T) -> bool {
    false
}

fn key_of(at: &str, name: &str) -> String {
    format!("{at}.{name}")
}
