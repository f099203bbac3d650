//! Keys of [[flow]] and [[workload]]: the connections.

use std::collections::BTreeMap;

use fullpipe_units::{Bytes, ParamValue, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{no_delay, no_time};
use crate::app::App;
use crate::app_schedule::AppSchedule;
use crate::model::{BOTTLENECK, EcnFeedback, EcnSetting, Pacing, ReceiveWindow};
use crate::raw_value::RawValue;
use crate::topology::Route;
use crate::values::{Algorithm, Delay, Extra, Name, Whole};
use crate::workload::{Load, Model, Rtts, Text};

/// The most flows that a scenario may have.
pub(crate) const MOST_FLOWS: u64 = 1_000_000;

/// Segments per ACK, by default.
pub const DELAYED_ACK: u32 = 2;
/// ACKs of one segment each, by default (Linux: TCP_MAX_QUICKACKS).
pub const QUICK_ACKS: u32 = 16;
/// How long an ACK may wait, by default.
pub const ACK_DELAY: Span = Span::from_millis(40);

/// One flow, or `count` equal ones.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Flow {
    /// The flow's name in tables and file names. With a count above 1 it is numbered: a-1, a-2 and
    /// so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Name>", example = &"a")]
    #[schemars(extend("x-default" = "that of cc, numbered where several unnamed flows have the same"))]
    pub(crate) name: Option<RawValue<Name>>,
    /// The congestion control, or "none" for packets at app_rate whatever happens to them. One of
    /// your own in Python is "module:Class".
    #[schemars(example = &"cubic", example = &"none")]
    pub(crate) cc: RawValue<Algorithm>,
    /// When it starts.
    #[serde(default = "no_time")]
    pub(crate) start: RawValue<Span>,
    /// An application that does not write all the time. "on 2s off 1s": it writes for a time, at
    /// app_rate or without limit, and pauses. "on 500kB off 1s": it writes so much at once, and
    /// pauses when that was acknowledged. "request 100kB think 1s": a client asks, gets so much at
    /// once, thinks, and asks again. Each time or size may be drawn, "exp 1s" or "pareto 1s shape
    /// 1.5": so much is the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<App>", extend("x-default" = "it writes all the time"))]
    pub(crate) app: Option<RawValue<App>>,
    /// How much it transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Bytes>", extend("x-default" = "without limit, to the end of the run"))]
    pub(crate) bytes: Option<RawValue<Bytes>>,
    /// The rate at which the application provides data; with cc = "none", the rate at which packets
    /// are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Rate>", example = "5mbit", extend("x-default" = "without limit"))]
    pub(crate) app_rate: Option<RawValue<Rate>>,
    /// Changes of app_rate at times of the run: another rate, a pause, or no limit. Without
    /// app_rate it begins unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<AppSchedule>", extend("x-default" = "none"))]
    pub(crate) app_schedule: Option<RawValue<AppSchedule>>,
    /// What this flow's RTT has on top of path.rtt and the delays of the links on its routes.
    #[serde(default = "no_extra")]
    pub(crate) rtt: RawValue<Extra>,
    /// How many such flows there are.
    #[serde(default = "one_flow")]
    #[schemars(example = 10)]
    pub(crate) count: RawValue<Whole<1, MOST_FLOWS>>,
    #[serde(flatten)]
    pub(crate) tcp: Tcp,
}

/// What flows and those of workloads have alike: the connection, and where it leads.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tcp {
    /// Whether its packets are ECN-capable, classic ("ect0") or L4S ("ect1"); "auto" leaves it to
    /// the congestion control.
    #[serde(default = "as_the_cc_wants")]
    pub(crate) ecn: RawValue<EcnSetting>,
    /// How its receiver reports marks: exact counts, RFC 3168's echo until the window is reduced,
    /// or that of DCTCP.
    #[serde(default = "exact_counts")]
    pub(crate) ecn_feedback: RawValue<EcnFeedback>,
    /// The links that its data packets meet, in this order: names of [[link]] tables, and
    /// "bottleneck" for that of [path].
    #[serde(default = "over_the_bottleneck")]
    pub(crate) route: RawValue<Route>,
    /// The same for its ACKs, which share the links' queues with the data of others.
    #[serde(default = "over_no_link")]
    pub(crate) reverse_route: RawValue<Route>,
    /// Whether packets are spread over time; "auto" does so when the congestion control gives a
    /// rate.
    #[serde(default = "auto")]
    pub(crate) pacing: RawValue<Pacing>,
    /// An algorithm of the receiver that decides the window it offers, whatever the sender runs:
    /// "rledbat". cc = "rledbat" is short for this over cubic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Name>", example = &"rledbat", extend("x-default" = "none, receive_window is offered"))]
    pub(crate) receiver: Option<RawValue<Name>>,
    /// Its parameters. `fullpipe explain <receiver>` lists them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-default" = "the receiver's own"))]
    pub(crate) receiver_params: BTreeMap<String, RawValue<ParamValue>>,
    /// What the receiver's buffer holds, and with no algorithm of its own offers; "auto" tunes that
    /// as Linux does, up to half of a buffer of 6 MiB, or of another "max".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<ReceiveWindow>", extend("x-default" = "2 x (BDP + buffers of the route), with the route's smallest rate and the flow's own RTT"))]
    pub(crate) receive_window: Option<RawValue<ReceiveWindow>>,
    /// Segments per ACK.
    #[serde(default = "two_segments")]
    pub(crate) delayed_ack: RawValue<Whole<1, 64>>,
    /// How many of the first ACKs are for one segment each. Linux's receiver begins with 16; and it
    /// acknowledges each segment while the window that it offers grows, which it does from 64 kB on
    /// by two segments a segment.
    #[serde(default = "quick_acks")]
    #[schemars(example = 2000)]
    pub(crate) quick_acks: RawValue<Whole<0, 1_000_000>>,
    /// The longest that an ACK waits for more segments.
    #[serde(default = "ack_delay")]
    #[schemars(example = "40ms")]
    pub(crate) ack_delay: RawValue<Delay>,
    /// Segments that arrive within this much reach the receiver as one, as with GRO; zero is off.
    #[serde(default = "no_delay")]
    #[schemars(example = "1ms")]
    pub(crate) gro: RawValue<Delay>,
    /// Parameters of the congestion control: numbers, true or false, words. `fullpipe explain <cc>`
    /// lists them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-default" = "the congestion control's own"))]
    pub(crate) params: BTreeMap<String, RawValue<ParamValue>>,
}

/// Flows that arrive while the run goes on: each opens a connection, carries its bytes and is gone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Workload {
    /// The workload's name in tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Name>", example = &"web")]
    #[schemars(extend("x-default" = "workload, numbered where there are several unnamed ones"))]
    pub(crate) name: Option<RawValue<Name>>,
    /// What its flows are made of: a file of flows as `fullpipe workload extract` writes them, the
    /// name of a preset, or for "cdf" a file of sizes with shares. Files are seen from the
    /// scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Text>", example = &"mawi-2020-06-10", extend("x-default" = "none, for models that say everything themselves"))]
    pub(crate) source: Option<RawValue<Text>>,
    /// How flows are made of it. "replay" has each flow at its time, and writes what it wrote when
    /// it wrote it; "collapsed" lets each write everything at its start; "synthetic" shuffles gaps
    /// and sizes. "cdf", "bounded_pareto" and "lognormal" draw sizes, and arrivals at random.
    #[serde(default = "replayed")]
    pub(crate) model: RawValue<Model>,
    /// What all of them carry in the mean, as a share of what the slowest link of the route can
    /// carry in full packets. The gaps between arrivals are shortened or lengthened for that;
    /// pauses within a flow stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Load>", extend("x-default" = "they arrive as often as in the source; where there is none it has to be given"))]
    pub(crate) load: Option<RawValue<Load>>,
    /// The congestion control of each.
    #[schemars(example = &"cubic", example = &"bbr3")]
    pub(crate) cc: RawValue<Algorithm>,
    /// When the first may arrive.
    #[serde(default = "no_time")]
    pub(crate) start: RawValue<Span>,
    /// From when on none arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Span>", example = "30s", extend("x-default" = "the end of the run"))]
    pub(crate) stop: Option<RawValue<Span>>,
    /// What each flow's RTT has on top of path.rtt and the delays of the links on its routes: the
    /// same for all, or drawn for each.
    #[serde(default = "no_more")]
    pub(crate) rtt: RawValue<Rtts>,
    /// The fingerprint of its source, where a run was kept: a file that has another is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Text>", extend("x-default" = "any"))]
    pub(crate) fingerprint: Option<RawValue<Text>>,
    #[serde(flatten)]
    pub(crate) tcp: Tcp,
}

fn replayed() -> RawValue<Model> {
    RawValue::of(&Model::replay())
}

fn no_more() -> RawValue<Rtts> {
    RawValue::of(&Rtts::Same(Span::ZERO))
}

fn no_extra() -> RawValue<Extra> {
    RawValue::of(&Extra(Span::ZERO))
}

fn over_the_bottleneck() -> RawValue<Route> {
    RawValue::of(&Route(vec![BOTTLENECK.to_owned()]))
}

fn over_no_link() -> RawValue<Route> {
    RawValue::of(&Route(Vec::new()))
}

pub(crate) fn one_flow() -> RawValue<Whole<1, MOST_FLOWS>> {
    RawValue::of(&Whole(1))
}

fn as_the_cc_wants() -> RawValue<EcnSetting> {
    RawValue::of(&EcnSetting::Auto)
}

fn exact_counts() -> RawValue<EcnFeedback> {
    RawValue::of(&EcnFeedback::Accurate)
}

fn auto() -> RawValue<Pacing> {
    RawValue::of(&Pacing::Auto)
}

fn two_segments() -> RawValue<Whole<1, 64>> {
    RawValue::of(&Whole(DELAYED_ACK.into()))
}

fn quick_acks() -> RawValue<Whole<0, 1_000_000>> {
    RawValue::of(&Whole(QUICK_ACKS.into()))
}

fn ack_delay() -> RawValue<Delay> {
    RawValue::of(&Delay(ACK_DELAY))
}
