//! The keys of a scenario file, declared once: name, kind, default, examples and meaning.
//!
//! serde takes names and defaults from here; the doc comments and examples become the schema and `explain`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

use crate::buffer::Buffer;
use crate::impairment::{InOrder, Jitter, Policer};
use crate::kinds::{Delay, Extra, Name, Percent, Whole};
use crate::leaf::{Kind, Leaf};
use crate::model::{self, Pacing, Queue, Value};

/// The most flows that a scenario may have.
pub(crate) const MOST_FLOWS: u64 = 1_000_000;

/// Segments per ACK, by default.
pub(crate) const DELAYED_ACK: u32 = 2;
/// How long an ACK may wait, by default.
pub(crate) const ACK_DELAY: Span = Span::from_millis(40);

/// The largest whole number of TOML.
const LARGEST: u64 = i64::MAX as u64;

/// A scenario of fullpipe: flows that share one bottleneck.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fullpipe scenario")]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// How long the run lasts, in virtual time.
    #[schemars(example = "60s")]
    pub(crate) duration: Leaf<Span>,
    /// Metrics leave out what is before.
    #[serde(default = "no_time")]
    pub(crate) measure_from: Leaf<Span>,
    /// The seed of everything random: same scenario and seed, same run.
    #[serde(default = "first_seed")]
    pub(crate) seed: Leaf<Whole<0, LARGEST>>,
    /// Each flow starts up to this much later, uniformly.
    #[serde(default = "no_time")]
    #[schemars(example = "50ms")]
    pub(crate) start_jitter: Leaf<Span>,
    /// Each packet reaches the first link up to this much later, uniformly; a flow's packets stay in order.
    #[serde(default = "no_delay")]
    #[schemars(example = "120us")]
    pub(crate) send_jitter: Leaf<Delay>,
    /// The bottleneck that the flows share, and the way there and back.
    pub(crate) path: Path,
    /// The flows, one table each.
    #[schemars(length(min = 1))]
    pub(crate) flow: Vec<Flow>,
}

/// The bottleneck that the flows share, and the way there and back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Path {
    /// The bottleneck's rate, in bits per second. Access links are 10 times as fast as its fastest.
    pub(crate) rate: Leaf<Rate>,
    /// Two-way propagation delay, without queueing.
    pub(crate) rtt: Leaf<Delay>,
    /// What may wait in front of the bottleneck, besides the packet being sent. In bdp (rate x rtt), time or packets it
    /// counts whole packets of 1500 bytes, rounded down, at the rate and RTT of the start.
    pub(crate) buffer: Leaf<Buffer>,
    /// How the queue is managed.
    #[serde(default = "pfifo")]
    pub(crate) queue: Leaf<Queue>,
    /// Random loss of data packets.
    #[serde(default = "no_loss")]
    pub(crate) loss: Leaf<Percent>,
    /// Random loss of ACKs.
    #[serde(default = "no_loss")]
    pub(crate) reverse_loss: Leaf<Percent>,
    /// A token bucket in front of the queue, which drops what does not conform; it begins full.
    #[serde(default = "no_policer")]
    pub(crate) policer: Leaf<Option<Policer>>,
    /// How the delay of data packets varies behind the bottleneck: by up to so much, uniformly ("reorder" lets packets
    /// overtake each other), or all are held for a time now and then, and released at once.
    #[serde(default = "no_jitter")]
    pub(crate) jitter: Leaf<Jitter>,
    /// The same for ACKs: "hold 10ms" releases them once in 10 ms, as Wi-Fi does that aggregates.
    #[serde(default = "no_reverse_jitter")]
    pub(crate) reverse_jitter: Leaf<InOrder>,
    /// Changes of the path in mid-run, one table each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-default" = "none"))]
    pub(crate) change: Vec<Change>,
}

/// A change of the path in mid-run: when, and what is different from then on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// When.
    #[schemars(example = "10s")]
    pub(crate) at: Leaf<Span>,
    /// From then on path.rate, for the packet being sent and those that wait, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Rate>", extend("x-default" = "unchanged"))]
    pub(crate) rate: Option<Leaf<Rate>>,
    /// From then on path.rtt, for packets that leave the bottleneck and ACKs that leave the receiver. When it shrinks, none
    /// overtakes those on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Delay>", extend("x-default" = "unchanged"))]
    pub(crate) rtt: Option<Leaf<Delay>>,
    /// From then on path.buffer; what waits already stays. A bdp is that of the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Buffer>", extend("x-default" = "unchanged"))]
    pub(crate) buffer: Option<Leaf<Buffer>>,
    /// From then on path.loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Percent>", extend("x-default" = "unchanged"))]
    pub(crate) loss: Option<Leaf<Percent>>,
    /// From then on path.reverse_loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Percent>", extend("x-default" = "unchanged"))]
    pub(crate) reverse_loss: Option<Leaf<Percent>>,
    /// From then on path.policer, with a full bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Option<Policer>>", extend("x-default" = "unchanged"))]
    pub(crate) policer: Option<Leaf<Option<Policer>>>,
    /// From then on path.jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Jitter>", extend("x-default" = "unchanged"))]
    pub(crate) jitter: Option<Leaf<Jitter>>,
    /// From then on path.reverse_jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<InOrder>", extend("x-default" = "unchanged"))]
    pub(crate) reverse_jitter: Option<Leaf<InOrder>>,
}

/// One flow, or `count` equal ones.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    /// The flow's name in tables and file names. With a count above 1 it is numbered: a-1, a-2 and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Name>", example = &"a")]
    #[schemars(extend("x-default" = "that of cc, numbered where several unnamed flows have the same"))]
    pub(crate) name: Option<Leaf<Name>>,
    /// The congestion control, or "none" for packets at app_rate whatever happens to them.
    #[schemars(example = &"cubic", example = &"none")]
    pub(crate) cc: Leaf<Name>,
    /// When it starts.
    #[serde(default = "no_time")]
    pub(crate) start: Leaf<Span>,
    /// How much it transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Bytes>", extend("x-default" = "without limit, to the end of the run"))]
    pub(crate) bytes: Option<Leaf<Bytes>>,
    /// The rate at which the application provides data; with cc = "none", the rate at which packets are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Rate>", example = "5mbit", extend("x-default" = "without limit"))]
    pub(crate) app_rate: Option<Leaf<Rate>>,
    /// What this flow's RTT has on top of path.rtt.
    #[serde(default = "no_extra")]
    pub(crate) rtt: Leaf<Extra>,
    /// How many such flows there are.
    #[serde(default = "one_flow")]
    #[schemars(example = 10)]
    pub(crate) count: Leaf<Whole<1, MOST_FLOWS>>,
    /// Whether packets are spread over time; "auto" does so when the congestion control gives a rate.
    #[serde(default = "auto")]
    pub(crate) pacing: Leaf<Pacing>,
    /// The receiver's window, fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Bytes>", extend("x-default" = "2 x (BDP + buffer), with the BDP of the flow's own RTT"))]
    pub(crate) receive_window: Option<Leaf<Bytes>>,
    /// Segments per ACK.
    #[serde(default = "two_segments")]
    pub(crate) delayed_ack: Leaf<Whole<1, 64>>,
    /// The longest that an ACK waits for more segments.
    #[serde(default = "ack_delay")]
    #[schemars(example = "40ms")]
    pub(crate) ack_delay: Leaf<Delay>,
    /// Segments that arrive within this much reach the receiver as one, as with GRO; zero is off.
    #[serde(default = "no_delay")]
    #[schemars(example = "1ms")]
    pub(crate) gro: Leaf<Delay>,
    /// Parameters of the congestion control: numbers, true or false, words. `fullpipe explain <cc>` lists them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-default" = "the congestion control's own"))]
    pub(crate) params: BTreeMap<String, Leaf<Value>>,
}

fn no_time() -> Leaf<Span> {
    Leaf::of(&Span::ZERO)
}

fn no_delay() -> Leaf<Delay> {
    Leaf::of(&Delay(Span::ZERO))
}

fn no_extra() -> Leaf<Extra> {
    Leaf::of(&Extra(Span::ZERO))
}

fn no_loss() -> Leaf<Percent> {
    Leaf::of(&Percent(0.0))
}

fn no_policer() -> Leaf<Option<Policer>> {
    Leaf::of(&None)
}

fn no_jitter() -> Leaf<Jitter> {
    Leaf::of(&Jitter::Off)
}

fn no_reverse_jitter() -> Leaf<InOrder> {
    Leaf::of(&InOrder(Jitter::Off))
}

fn first_seed() -> Leaf<Whole<0, LARGEST>> {
    Leaf::of(&Whole(1))
}

fn pfifo() -> Leaf<Queue> {
    Leaf::of(&Queue::Pfifo)
}

fn one_flow() -> Leaf<Whole<1, MOST_FLOWS>> {
    Leaf::of(&Whole(1))
}

fn auto() -> Leaf<Pacing> {
    Leaf::of(&Pacing::Auto)
}

fn two_segments() -> Leaf<Whole<1, 64>> {
    Leaf::of(&Whole(DELAYED_ACK.into()))
}

fn ack_delay() -> Leaf<Delay> {
    Leaf::of(&Delay(ACK_DELAY))
}

impl From<&model::Scenario> for Scenario {
    fn from(scenario: &model::Scenario) -> Scenario {
        Scenario {
            duration: Leaf::of(&scenario.duration),
            measure_from: Leaf::of(&scenario.measure_from),
            seed: Leaf::of(&Whole(scenario.seed)),
            start_jitter: Leaf::of(&scenario.start_jitter),
            send_jitter: Leaf::of(&Delay(scenario.send_jitter)),
            path: Path::from(&scenario.path),
            flow: scenario.flows.iter().map(Flow::from).collect(),
        }
    }
}

impl From<&model::Path> for Path {
    fn from(path: &model::Path) -> Path {
        Path {
            rate: Leaf::of(&path.rate),
            rtt: Leaf::of(&Delay(path.rtt)),
            buffer: Leaf::of(&path.buffer),
            queue: Leaf::of(&path.queue),
            loss: Leaf::of(&Percent(path.loss)),
            reverse_loss: Leaf::of(&Percent(path.reverse_loss)),
            policer: Leaf::of(&path.policer),
            jitter: Leaf::of(&path.jitter),
            reverse_jitter: Leaf::of(&InOrder(path.reverse_jitter)),
            change: path.changes.iter().map(Change::from).collect(),
        }
    }
}

impl Change {
    /// The keys that say something different, and what they say.
    pub(crate) fn given(&self) -> Vec<(&'static str, String)> {
        fn shown<T>(name: &'static str, leaf: &Option<Leaf<T>>) -> Option<(&'static str, String)> {
            leaf.as_ref().map(|leaf| (name, leaf.show()))
        }
        let keys = [
            shown("rate", &self.rate),
            shown("rtt", &self.rtt),
            shown("buffer", &self.buffer),
            shown("loss", &self.loss),
            shown("reverse_loss", &self.reverse_loss),
            shown("policer", &self.policer),
            shown("jitter", &self.jitter),
            shown("reverse_jitter", &self.reverse_jitter),
        ];
        keys.into_iter().flatten().collect()
    }
}

impl From<&model::Change> for Change {
    fn from(change: &model::Change) -> Change {
        Change {
            at: Leaf::of(&change.at),
            rate: optional(&change.rate),
            rtt: optional(&change.rtt.map(Delay)),
            buffer: optional(&change.buffer),
            loss: optional(&change.loss.map(Percent)),
            reverse_loss: optional(&change.reverse_loss.map(Percent)),
            policer: optional(&change.policer),
            jitter: optional(&change.jitter),
            reverse_jitter: optional(&change.reverse_jitter.map(InOrder)),
        }
    }
}

fn optional<T: Kind>(value: &Option<T>) -> Option<Leaf<T>> {
    value.as_ref().map(Leaf::of)
}

impl From<&model::Flow> for Flow {
    fn from(flow: &model::Flow) -> Flow {
        Flow {
            name: Some(Leaf::of(&Name(flow.name.clone()))),
            cc: Leaf::of(&Name(flow.cc.clone())),
            start: Leaf::of(&flow.start),
            bytes: optional(&flow.bytes),
            app_rate: optional(&flow.app_rate),
            rtt: Leaf::of(&Extra(flow.extra_rtt)),
            count: one_flow(),
            pacing: Leaf::of(&flow.pacing),
            receive_window: optional(&flow.receive_window),
            delayed_ack: Leaf::of(&Whole(u64::from(flow.delayed_ack))),
            ack_delay: Leaf::of(&Delay(flow.ack_delay)),
            gro: Leaf::of(&Delay(flow.gro)),
            params: flow.params.iter().map(|(name, value)| (name.clone(), Leaf::of(value))).collect(),
        }
    }
}
