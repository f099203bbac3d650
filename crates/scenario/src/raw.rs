//! The keys of a scenario file, declared once: name, kind, default, examples and meaning.
//!
//! serde takes names and defaults from here; the doc comments and examples become the schema and `explain`.

use std::collections::BTreeMap;

use path::{Aggregation, Config, Jitter, Loss, RatePattern};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;
use units::{Bytes, Rate, Span};

use crate::app::App;
use crate::app_schedule::AppSchedule;
use crate::buffer::Buffer;
use crate::choices::{PathKind, Switch};
use crate::expect::Conditions;
use crate::impairment::{InOrder, Policer, Shaper, Suspend};
use crate::kinds::{Algorithm, Delay, Extra, Name, Percent, Whole};
use crate::leaf::Leaf;
use crate::model::{BOTTLENECK, Ecn, EcnFeedback, EcnField, Pacing, ReceiveWindow, Value};
use crate::profile::ProfileName;
use crate::queue::plain;
use crate::topology::Route;
use crate::workload::{Load, Model, Rtts, Text};

/// The most flows that a scenario may have.
pub(crate) const MOST_FLOWS: u64 = 1_000_000;

/// The largest number that a CPU may have: what glibc's CPU sets hold.
const MOST_CPUS: u64 = 1023;

/// Segments per ACK, by default.
pub const DELAYED_ACK: u32 = 2;
/// ACKs of one segment each, by default (Linux: TCP_MAX_QUICKACKS).
pub const QUICK_ACKS: u32 = 16;
/// Packets that a system call of a host takes, by default: 64 KiB in segments of 1448 bytes, as with GSO.
pub(crate) const BATCH: u32 = 45;
/// How long an ACK may wait, by default.
pub const ACK_DELAY: Span = Span::from_millis(40);

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
    /// What runs shall come to: a metric, >=, <=, > or <, and a quantity. `fullpipe check` runs the scenario and says whether
    /// it holds, in every repetition or in the quantile of them that the condition names: "p90 of flow.a.rtt.p95 <= 80ms".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Conditions>", extend("x-default" = "nothing"))]
    pub(crate) expect: Option<Leaf<Conditions>>,
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
    /// What `fullpipe sweep` varies: any keys, each with a list of values, or with a range to draw from. Anything else runs
    /// the scenario as it is without this table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sweep", extend("x-default" = "nothing is varied"))]
    pub(crate) sweep: Option<Sweep>,
}

/// What `fullpipe sweep` varies: any keys, each with a list of values, or with a range to draw from. [`crate::sweep`] takes it
/// out of the file, and reads it; here it is declared.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub(crate) struct Sweep {
    /// Runs of each point, with a seed each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Whole<1, LARGEST>>", example = 30, extend("x-default" = "one"))]
    repeat: Option<Leaf<Whole<1, LARGEST>>>,
    /// Keys that are varied together instead of in every combination: the first value of each, then the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(title = "list of keys", extend("x-default" = "none"))]
    zip: Vec<String>,
    /// How many points are drawn at random, from ranges like "1ms..1s log" and lists, instead of every combination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Whole<1, LARGEST>>", example = 100, extend("x-default" = "every combination"))]
    sample: Option<Leaf<Whole<1, LARGEST>>>,
}

/// The bottleneck that the flows share, and the way there and back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false), transform = or_a_profile)]
pub(crate) struct Path {
    /// A named path: its values stand wherever this scenario says nothing. `fullpipe list profiles` names them, `fullpipe
    /// explain <profile>` has each value with its source. On the command line it replaces the file's [path], and every
    /// other value given there is a change of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<ProfileName>", example = &"lte", extend("x-default" = "none, the path is given here"))]
    pub(crate) profile: Option<Leaf<ProfileName>>,
    /// "loopback": two programs on one machine, with nothing but its memory between them. In real time QUIC runs over the
    /// machine's own loopback then; in the simulator the path is the profile of that name, wherever this scenario says nothing.
    /// On the command line it replaces the file's [path], as a profile does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<PathKind>", example = &"loopback", extend("x-default" = "none, the path is links"))]
    pub(crate) kind: Option<Leaf<PathKind>>,
    #[serde(flatten)]
    pub(crate) link: Link,
    /// Two-way propagation delay, without queueing.
    pub(crate) rtt: Leaf<Delay>,
    /// Loss of ACKs.
    #[serde(default = "no_loss")]
    pub(crate) reverse_loss: Leaf<Loss>,
    /// The probability that a data packet comes twice, in front of the first link.
    #[serde(default = "no_copies")]
    #[schemars(example = "0.1%")]
    pub(crate) duplicate: Leaf<Percent>,
    /// The same for ACKs.
    #[serde(default = "no_copies")]
    #[schemars(example = "0.1%")]
    pub(crate) reverse_duplicate: Leaf<Percent>,
    /// Transmissions of the bottleneck, as a radio's: each costs a fixed time and takes what waits when it begins, up to so many
    /// packets.
    #[serde(default = "no_wifi")]
    pub(crate) wifi: Leaf<Option<Aggregation>>,
    /// Now and then nothing is sent for a time, as by a radio that sleeps or scans: data packets wait in front of the
    /// bottleneck, ACKs at the receiver.
    #[serde(default = "no_suspend")]
    pub(crate) suspend: Leaf<Option<Suspend>>,
    /// How the delay of data packets varies behind the last link: by a time drawn for each, up to so much or of another
    /// distribution ("reorder" lets packets overtake each other), or all are held for a time now and then, and released at
    /// once.
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

/// What every link has, the bottleneck in [path] and those in [[link]].
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Link {
    /// The link's rate, in bits per second. Access links are 10 times as fast as the fastest link ever is. With a
    /// rate_pattern it is only the rate that bdp is counted at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Rate>", extend("x-default" = "the mean of rate_pattern; without one it has to be there"))]
    pub(crate) rate: Option<Leaf<Rate>>,
    /// How the rate varies: between two rates as a sine, a saw or a random walk, by a schedule, or by a trace of delivery
    /// opportunities as mahimahi's. Files are seen from the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<RatePattern>", extend("x-default" = "none, the rate is constant"))]
    pub(crate) rate_pattern: Option<Leaf<RatePattern>>,
    /// What may wait in front of the link, besides the packet being sent. In bdp (its rate x path.rtt), time or packets it
    /// counts whole packets of 1500 bytes, rounded down, at the rate and RTT of the start; queues that count bytes round
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Buffer>", extend("x-default" = "tc's limit for queues that have one; the others need it"))]
    pub(crate) buffer: Option<Leaf<Buffer>>,
    /// How the queue is managed: its kind, or its kind with options that are not the default. `fullpipe list queues` names
    /// them, `fullpipe explain <queue>` lists their options.
    #[serde(default = "pfifo")]
    pub(crate) queue: Leaf<Config>,
    /// Loss in front of the queue, at random, in bursts, each n-th, or those of a list: of data packets, and of the ACKs of
    /// flows whose reverse_route leads over the link.
    #[serde(default = "no_loss")]
    pub(crate) loss: Leaf<Loss>,
    /// A token bucket in front of the queue, which drops what does not conform; it begins full.
    #[serde(default = "no_policer")]
    pub(crate) policer: Leaf<Option<Policer>>,
    /// A token bucket behind the queue, as tc's tbf: the head of the queue waits until it has tokens. The queue is that of
    /// the link, and a bdp or time of its buffer is counted at the shaper's rate if that is lower.
    #[serde(default = "no_shaper")]
    pub(crate) shaper: Leaf<Option<Shaper>>,
    /// What becomes of the ECN field of packets that reach the link: "strip" clears it, so that its queue and those behind
    /// it drop where they would mark.
    #[serde(default = "kept")]
    pub(crate) ecn: Leaf<EcnField>,
    /// With "on" an ACK that finds an older one of its flow waiting, which says nothing that it does not say, takes its place.
    #[serde(default = "off")]
    pub(crate) ack_filter: Leaf<Switch>,
}

/// A further link.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct NamedLink {
    /// The link's name, by which routes call it.
    #[schemars(example = &"uplink")]
    pub(crate) name: Leaf<Name>,
    #[serde(flatten)]
    pub(crate) link: Link,
    /// One-way propagation delay behind the link, on top of path.rtt.
    #[serde(default = "no_delay")]
    #[schemars(example = "5ms")]
    pub(crate) delay: Leaf<Delay>,
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
    #[schemars(with = "Leaf<Loss>", extend("x-default" = "unchanged"))]
    pub(crate) loss: Option<Leaf<Loss>>,
    /// From then on path.reverse_loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Loss>", extend("x-default" = "unchanged"))]
    pub(crate) reverse_loss: Option<Leaf<Loss>>,
    /// From then on path.duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Percent>", extend("x-default" = "unchanged"))]
    pub(crate) duplicate: Option<Leaf<Percent>>,
    /// From then on path.reverse_duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Percent>", extend("x-default" = "unchanged"))]
    pub(crate) reverse_duplicate: Option<Leaf<Percent>>,
    /// From then on path.wifi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Option<Aggregation>>", extend("x-default" = "unchanged"))]
    pub(crate) wifi: Option<Leaf<Option<Aggregation>>>,
    /// From then on path.suspend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Option<Suspend>>", extend("x-default" = "unchanged"))]
    pub(crate) suspend: Option<Leaf<Option<Suspend>>>,
    /// From then on path.policer, with a full bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Option<Policer>>", extend("x-default" = "unchanged"))]
    pub(crate) policer: Option<Leaf<Option<Policer>>>,
    /// From then on path.shaper, with a full bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Option<Shaper>>", extend("x-default" = "unchanged"))]
    pub(crate) shaper: Option<Leaf<Option<Shaper>>>,
    /// From then on path.jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Jitter>", extend("x-default" = "unchanged"))]
    pub(crate) jitter: Option<Leaf<Jitter>>,
    /// From then on path.reverse_jitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<InOrder>", extend("x-default" = "unchanged"))]
    pub(crate) reverse_jitter: Option<Leaf<InOrder>>,
}

/// The machines at the flows' ends: each end of a flow is a program with a CPU of its own.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    /// CPU time of sending a data packet.
    #[serde(default = "no_delay")]
    #[schemars(example = "3us")]
    pub(crate) send: Leaf<Delay>,
    /// CPU time of receiving a data packet.
    #[serde(default = "no_delay")]
    #[schemars(example = "2us")]
    pub(crate) receive: Leaf<Delay>,
    /// CPU time of sending or receiving an ACK.
    #[serde(default = "no_delay")]
    #[schemars(example = "1us")]
    pub(crate) ack: Leaf<Delay>,
    /// CPU time of a system call, which sends or receives a batch.
    #[serde(default = "no_delay")]
    #[schemars(example = "5us")]
    pub(crate) call: Leaf<Delay>,
    /// Packets in a batch, at most: what one turn of the program reads, and what it sends.
    #[serde(default = "batch")]
    pub(crate) batch: Leaf<Whole<1, 1000>>,
    /// The least time that a delivery-rate sample covers: shorter ones are joined.
    #[serde(default = "no_delay")]
    #[schemars(example = "1ms")]
    pub(crate) rate_interval: Leaf<Delay>,
    /// The least time from an event to a sleeping program's turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Delay>", example = "5us", extend("x-default" = "programs wake at once"))]
    pub(crate) wake_min: Option<Leaf<Delay>>,
    /// The median of that time, which is drawn from a bounded Pareto distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Delay>", example = "20us", extend("x-default" = "programs wake at once"))]
    pub(crate) wake_median: Option<Leaf<Delay>>,
    /// The longest such time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Delay>", example = "1ms", extend("x-default" = "programs wake at once"))]
    pub(crate) wake_max: Option<Leaf<Delay>>,
    /// In each run a flow's CPU times are up to this much longer or shorter, uniformly.
    #[serde(default = "no_variation")]
    #[schemars(example = "20%")]
    pub(crate) variation: Leaf<Percent>,
}

/// How this machine runs real QUIC in real time, a thread a side: --on quic. Everything else leaves it alone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quic {
    /// The CPU that the servers' thread stays on, as /proc/cpuinfo counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Whole<0, MOST_CPUS>>", example = 0, extend("x-default" = "any"))]
    pub(crate) server_cpu: Option<Leaf<Whole<0, MOST_CPUS>>>,
    /// The CPU that the clients' thread stays on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Whole<0, MOST_CPUS>>", example = 1, extend("x-default" = "any"))]
    pub(crate) client_cpu: Option<Leaf<Whole<0, MOST_CPUS>>>,
    /// With "on" neither thread ever sleeps: no wake-up is late, and two CPUs are busy all the time.
    #[serde(default = "off")]
    pub(crate) busy_poll: Leaf<Switch>,
}

/// One flow, or `count` equal ones.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Flow {
    /// The flow's name in tables and file names. With a count above 1 it is numbered: a-1, a-2 and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Name>", example = &"a")]
    #[schemars(extend("x-default" = "that of cc, numbered where several unnamed flows have the same"))]
    pub(crate) name: Option<Leaf<Name>>,
    /// The congestion control, or "none" for packets at app_rate whatever happens to them. One of your own in Python is
    /// "module:Class".
    #[schemars(example = &"cubic", example = &"none")]
    pub(crate) cc: Leaf<Algorithm>,
    /// When it starts.
    #[serde(default = "no_time")]
    pub(crate) start: Leaf<Span>,
    /// An application that does not write all the time. "on 2s off 1s": it writes for a time, at app_rate or without limit,
    /// and pauses. "on 500kB off 1s": it writes so much at once, and pauses when that was acknowledged. "request 100kB think
    /// 1s": a client asks, gets so much at once, thinks, and asks again. Each time or size may be drawn, "exp 1s" or
    /// "pareto 1s shape 1.5": so much is the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<App>", extend("x-default" = "it writes all the time"))]
    pub(crate) app: Option<Leaf<App>>,
    /// How much it transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Bytes>", extend("x-default" = "without limit, to the end of the run"))]
    pub(crate) bytes: Option<Leaf<Bytes>>,
    /// The rate at which the application provides data; with cc = "none", the rate at which packets are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Rate>", example = "5mbit", extend("x-default" = "without limit"))]
    pub(crate) app_rate: Option<Leaf<Rate>>,
    /// Changes of app_rate at times of the run: another rate, a pause, or no limit. Without app_rate it begins unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<AppSchedule>", extend("x-default" = "none"))]
    pub(crate) app_schedule: Option<Leaf<AppSchedule>>,
    /// What this flow's RTT has on top of path.rtt and the delays of the links on its routes.
    #[serde(default = "no_extra")]
    pub(crate) rtt: Leaf<Extra>,
    /// How many such flows there are.
    #[serde(default = "one_flow")]
    #[schemars(example = 10)]
    pub(crate) count: Leaf<Whole<1, MOST_FLOWS>>,
    #[serde(flatten)]
    pub(crate) tcp: Tcp,
}

/// What flows and those of workloads have alike: the connection, and where it leads.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tcp {
    /// Whether its packets are ECN-capable, classic ("ect0") or L4S ("ect1"); "auto" leaves it to the congestion control.
    #[serde(default = "as_the_cc_wants")]
    pub(crate) ecn: Leaf<Ecn>,
    /// How its receiver reports marks: exact counts, RFC 3168's echo until the window is reduced, or that of DCTCP.
    #[serde(default = "exact_counts")]
    pub(crate) ecn_feedback: Leaf<EcnFeedback>,
    /// The links that its data packets meet, in this order: names of [[link]] tables, and "bottleneck" for that of [path].
    #[serde(default = "over_the_bottleneck")]
    pub(crate) route: Leaf<Route>,
    /// The same for its ACKs, which share the links' queues with the data of others.
    #[serde(default = "over_no_link")]
    pub(crate) reverse_route: Leaf<Route>,
    /// Whether packets are spread over time; "auto" does so when the congestion control gives a rate.
    #[serde(default = "auto")]
    pub(crate) pacing: Leaf<Pacing>,
    /// An algorithm of the receiver that decides the window it offers, whatever the sender runs: "rledbat".
    /// cc = "rledbat" is short for this over cubic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Name>", example = &"rledbat", extend("x-default" = "none, receive_window is offered"))]
    pub(crate) receiver: Option<Leaf<Name>>,
    /// Its parameters. `fullpipe explain <receiver>` lists them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-default" = "the receiver's own"))]
    pub(crate) receiver_params: BTreeMap<String, Leaf<Value>>,
    /// What the receiver's buffer holds, and with no algorithm of its own offers; "auto" tunes that as Linux does, up to
    /// half of a buffer of 6 MiB, or of another "max".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<ReceiveWindow>", extend("x-default" = "2 x (BDP + buffers of the route), with the route's smallest rate and the flow's own RTT"))]
    pub(crate) receive_window: Option<Leaf<ReceiveWindow>>,
    /// Segments per ACK.
    #[serde(default = "two_segments")]
    pub(crate) delayed_ack: Leaf<Whole<1, 64>>,
    /// How many of the first ACKs are for one segment each. Linux's receiver begins with 16; and it acknowledges each segment
    /// while the window that it offers grows, which it does from 64 kB on by two segments a segment.
    #[serde(default = "quick_acks")]
    #[schemars(example = 2000)]
    pub(crate) quick_acks: Leaf<Whole<0, 1_000_000>>,
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

/// Flows that arrive while the run goes on: each opens a connection, carries its bytes and is gone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Workload {
    /// The workload's name in tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Name>", example = &"web")]
    #[schemars(extend("x-default" = "workload, numbered where there are several unnamed ones"))]
    pub(crate) name: Option<Leaf<Name>>,
    /// What its flows are made of: a file of flows as `fullpipe workload extract` writes them, the name of a preset, or for
    /// "cdf" a file of sizes with shares. Files are seen from the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Text>", example = &"mawi-2020-06-10", extend("x-default" = "none, for models that say everything themselves"))]
    pub(crate) source: Option<Leaf<Text>>,
    /// How flows are made of it. "replay" has each flow at its time, and writes what it wrote when it wrote it; "collapsed" lets
    /// each write everything at its start; "synthetic" shuffles gaps and sizes. "cdf", "bounded_pareto" and "lognormal" draw
    /// sizes, and arrivals at random.
    #[serde(default = "replayed")]
    pub(crate) model: Leaf<Model>,
    /// What all of them carry in the mean, as a share of what the slowest link of the route can carry in full packets. The gaps
    /// between arrivals are shortened or lengthened for that; pauses within a flow stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Load>", extend("x-default" = "they arrive as often as in the source; where there is none it has to be given"))]
    pub(crate) load: Option<Leaf<Load>>,
    /// The congestion control of each.
    #[schemars(example = &"cubic", example = &"bbr3")]
    pub(crate) cc: Leaf<Algorithm>,
    /// When the first may arrive.
    #[serde(default = "no_time")]
    pub(crate) start: Leaf<Span>,
    /// From when on none arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Span>", example = "30s", extend("x-default" = "the end of the run"))]
    pub(crate) stop: Option<Leaf<Span>>,
    /// What each flow's RTT has on top of path.rtt and the delays of the links on its routes: the same for all, or drawn for each.
    #[serde(default = "no_more")]
    pub(crate) rtt: Leaf<Rtts>,
    /// The fingerprint of its source, where a run was kept: a file that has another is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Leaf<Text>", extend("x-default" = "any"))]
    pub(crate) fingerprint: Option<Leaf<Text>>,
    #[serde(flatten)]
    pub(crate) tcp: Tcp,
}

fn no_time() -> Leaf<Span> {
    Leaf::of(&Span::ZERO)
}

fn no_delay() -> Leaf<Delay> {
    Leaf::of(&Delay(Span::ZERO))
}

fn replayed() -> Leaf<Model> {
    Leaf::of(&Model::replay())
}

fn no_more() -> Leaf<Rtts> {
    Leaf::of(&Rtts::Same(Span::ZERO))
}

fn no_extra() -> Leaf<Extra> {
    Leaf::of(&Extra(Span::ZERO))
}

fn no_loss() -> Leaf<Loss> {
    Leaf::of(&Loss::NONE)
}

fn no_copies() -> Leaf<Percent> {
    Leaf::of(&Percent(0.0))
}

fn no_variation() -> Leaf<Percent> {
    Leaf::of(&Percent(0.0))
}

fn no_wifi() -> Leaf<Option<Aggregation>> {
    Leaf::of(&None)
}

fn no_suspend() -> Leaf<Option<Suspend>> {
    Leaf::of(&None)
}

fn no_shaper() -> Leaf<Option<Shaper>> {
    Leaf::of(&None)
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

fn kept() -> Leaf<EcnField> {
    Leaf::of(&EcnField::Keep)
}

fn off() -> Leaf<Switch> {
    Leaf::of(&Switch(false))
}

fn over_the_bottleneck() -> Leaf<Route> {
    Leaf::of(&Route(vec![BOTTLENECK.to_owned()]))
}

fn over_no_link() -> Leaf<Route> {
    Leaf::of(&Route(Vec::new()))
}

fn first_seed() -> Leaf<Whole<0, LARGEST>> {
    Leaf::of(&Whole(1))
}

fn pfifo() -> Leaf<Config> {
    Leaf::of(&plain("pfifo"))
}

pub(crate) fn one_flow() -> Leaf<Whole<1, MOST_FLOWS>> {
    Leaf::of(&Whole(1))
}

fn as_the_cc_wants() -> Leaf<Ecn> {
    Leaf::of(&Ecn::Auto)
}

fn exact_counts() -> Leaf<EcnFeedback> {
    Leaf::of(&EcnFeedback::Accurate)
}

fn batch() -> Leaf<Whole<1, 1000>> {
    Leaf::of(&Whole(BATCH.into()))
}

fn auto() -> Leaf<Pacing> {
    Leaf::of(&Pacing::Auto)
}

fn two_segments() -> Leaf<Whole<1, 64>> {
    Leaf::of(&Whole(DELAYED_ACK.into()))
}

fn quick_acks() -> Leaf<Whole<0, 1_000_000>> {
    Leaf::of(&Whole(QUICK_ACKS.into()))
}

fn ack_delay() -> Leaf<Delay> {
    Leaf::of(&Delay(ACK_DELAY))
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
