//! Keys of `[[flow]]` and `[[workload]]`: the connections.

use std::collections::BTreeMap;

use fullpipe_units::{Bytes, ParamValue, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{no_delay, no_time};
use crate::app::App;
use crate::app_schedule::AppSchedule;
use crate::model::{
    BOTTLENECK, EcnFeedback, EcnSetting, PAYLOAD, Pacing, ReceiveWindow, Transport,
};
use crate::raw_value::RawValue;
use crate::stack::StackKeys;
use crate::topology::Route;
use crate::values::{Algorithm, Delay, Extra, Mss, Name, Whole};
use crate::workload::{Load, Model, Rtts, Text};

/// Largest number of flows in a scenario.
pub(crate) const MOST_FLOWS: u64 = 1_000_000;

/// Largest initial window; a larger one is probably a mistake.
const MOST_INITIAL_WINDOW: u64 = 1_000;
/// Default initial window (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;
/// Default number of segments per ACK.
pub const DELAYED_ACK: u32 = 2;
/// Default number of packets per report of a datagram flow
/// (draft-ietf-ccwg-rfc8298bis-screamv2-01 §5).
pub const DATAGRAM_DELAYED_ACK: u32 = 16;
/// Default number of ACKs at the start that are sent for one segment each (Linux:
/// TCP_MAX_QUICKACKS).
pub const QUICK_ACKS: u32 = 16;
/// Default of the longest time that an ACK waits.
pub const ACK_DELAY: Span = Span::from_millis(40);

/// One flow, or `count` identical flows.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Flow {
    /// Name of the flow in tables and file names. With a count above 1, a number is appended: a-1,
    /// a-2 and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Name>", example = &"a")]
    #[schemars(extend("x-default" = "the name of cc, numbered if several unnamed flows have the same cc"))]
    pub(crate) name: Option<RawValue<Name>>,
    /// Congestion control algorithm. "none" sends packets at app_rate and does not react to losses
    /// or marks; "module:Class" is a Python class of your own. With --on kernel or uml,
    /// "program:iperf3" names a recipe of `fullpipe list programs`.
    #[schemars(example = &"cubic", example = &"none")]
    pub(crate) cc: RawValue<Algorithm>,
    /// Transport. With "datagram", lost data is not sent again, nothing waits for it, and the receiver
    /// reports each packet (RFC 8888).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Transport>", extend("x-default" = "tcp; datagram for a media source"))]
    pub(crate) transport: Option<RawValue<Transport>>,
    /// Time at which the flow starts.
    #[serde(default = "no_time")]
    pub(crate) start: RawValue<Span>,
    /// Application that writes with pauses. "on 2s off 1s" writes for 2 s, at app_rate or without
    /// limit, and pauses for 1 s. "on 500kB off 1s" writes 500 kB at once and pauses for 1 s after
    /// they are acknowledged. "request 100kB think 1s" is a client that requests 100 kB, receives
    /// them, thinks for 1 s and requests again. Each time or size may be random: "exp 1s" and
    /// "pareto 1s shape 1.5" are distributions with a mean of 1 s. "media 50fps from 500kbit to
    /// 20mbit" is an encoder of 50 frames per second, whose rate the congestion control sets between
    /// these limits. "vary 20%" behind it varies the sizes of frames by up to 20 %, and "discard
    /// 100ms" discards the data that waits to be sent when the oldest has waited for more than 100
    /// ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<App>", extend("x-default" = "the application writes all the time"))]
    pub(crate) app: Option<RawValue<App>>,
    /// Bytes to transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Bytes>", extend("x-default" = "unlimited, until the end of the run"))]
    pub(crate) bytes: Option<RawValue<Bytes>>,
    /// Rate at which the application writes data; with cc = "none", the rate at which packets are
    /// sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Rate>", example = "5mbit", extend("x-default" = "unlimited"))]
    pub(crate) app_rate: Option<RawValue<Rate>>,
    /// Changes of app_rate during the run: times, each with a new rate, "pause" or "unlimited".
    /// Without app_rate, the application starts unlimited. "100ms pause every 1s" begins anew, at
    /// app_rate, every second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<AppSchedule>", extend("x-default" = "none"))]
    pub(crate) app_schedule: Option<RawValue<AppSchedule>>,
    /// Two-way propagation delay of this flow in addition to path.rtt and the delays of the links
    /// on its routes.
    #[serde(default = "no_extra")]
    pub(crate) rtt: RawValue<Extra>,
    /// Group of the flow: the flows of a group are the subflows of one connection, and algorithms
    /// that couple them, like "lia", see the whole group. Other algorithms ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Name>", example = &"phone", extend("x-default" = "none: the flow is a connection of its own"))]
    pub(crate) group: Option<RawValue<Name>>,
    /// Number of identical flows that this table describes.
    #[serde(default = "one_flow")]
    #[schemars(example = 10)]
    pub(crate) count: RawValue<Whole<1, MOST_FLOWS>>,
    #[serde(flatten)]
    pub(crate) tcp: Tcp,
}

/// Keys that flows and workloads share: the connection and its routes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tcp {
    /// ECN codepoint of data packets: ECN-capable with classic semantics ("ect0") or L4S semantics
    /// ("ect1"), or not ECN-capable ("off"). "auto" leaves the choice to the congestion control.
    #[serde(default = "as_the_cc_wants")]
    pub(crate) ecn: RawValue<EcnSetting>,
    /// Feedback of the receiver on ECN marks: exact counts as with AccECN ("accurate"), the ECE
    /// flag until the sender reduces its window as in RFC 3168 ("classic"), the ECE flag for marked
    /// packets only as in RFC 8257 ("dctcp"), or none, since the receiver misbehaves ("concealed").
    #[serde(default = "exact_counts")]
    pub(crate) ecn_feedback: RawValue<EcnFeedback>,
    /// Links that data packets cross, in order: names of [[link]] tables, and "bottleneck" for the
    /// link of [path].
    #[serde(default = "over_the_bottleneck")]
    pub(crate) route: RawValue<Route>,
    /// Links that ACKs cross, in order: names as in route. ACKs share the queues of these links
    /// with the data of other flows.
    #[serde(default = "over_no_link")]
    pub(crate) reverse_route: RawValue<Route>,
    /// Pacing, which spreads packets over time. "auto" paces if the congestion control sets a
    /// pacing rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Pacing>", extend("x-default" = "that of stack: on with \"linux-fq\", auto otherwise and without TCP"))]
    pub(crate) pacing: Option<RawValue<Pacing>>,
    /// Payload of a full segment (MSS without options). Its packet has 52 bytes more: 1500 with the
    /// default, 9000 with "8948B". Buffers that are given in bdp or time are counted in the largest
    /// packets of the scenario.
    #[serde(default = "usual_mss")]
    #[schemars(example = &"8948B", example = &"536B")]
    pub(crate) mss: RawValue<Mss>,
    /// Initial congestion window, in segments (Linux: initcwnd of a route).
    #[serde(default = "ten_segments")]
    #[schemars(example = 32)]
    pub(crate) initial_window: RawValue<Whole<1, MOST_INITIAL_WINDOW>>,
    /// Algorithm of the receiver that sets the advertised window, for any algorithm of the sender:
    /// "rledbat". cc = "rledbat" is short for cc = "cubic" with this receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Name>", example = &"rledbat", extend("x-default" = "none: the receiver advertises receive_window"))]
    pub(crate) receiver: Option<RawValue<Name>>,
    /// Parameters of the receiver's algorithm. `fullpipe explain <receiver>` lists them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-default" = "the defaults of the receiver's algorithm"))]
    pub(crate) receiver_params: BTreeMap<String, RawValue<ParamValue>>,
    /// Capacity of the receiver's buffer, which is also the advertised window unless receiver names
    /// an algorithm. "auto" tunes the window as Linux does, up to half of a buffer of 6 MiB; "auto
    /// max 1MB" limits the buffer to 1 MB instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<ReceiveWindow>", extend("x-default" = "2 x (BDP + buffers of the route), with the route's smallest rate and the flow's own RTT"))]
    pub(crate) receive_window: Option<RawValue<ReceiveWindow>>,
    /// Number of segments that the receiver acknowledges with one ACK (delayed ACKs). A receiver of
    /// datagrams also reports the last packet of each frame at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Whole<1, 64>>", example = 1, extend("x-default" = "2; 16 with transport = \"datagram\""))]
    pub(crate) delayed_ack: Option<RawValue<Whole<1, 64>>>,
    /// Number of ACKs at the start of the connection that acknowledge one segment each. Linux's
    /// receiver sends 16 of them. It also acknowledges each segment while its advertised window
    /// grows, from 64 kB by two segments per segment received.
    #[serde(default = "quick_acks")]
    #[schemars(example = 2000)]
    pub(crate) quick_acks: RawValue<Whole<0, 1_000_000>>,
    /// Longest time that an ACK waits for more segments.
    #[serde(default = "ack_delay")]
    #[schemars(example = "40ms")]
    pub(crate) ack_delay: RawValue<Delay>,
    /// Time within which arriving segments are merged into one before they reach the receiver, as
    /// with GRO. Zero turns merging off.
    #[serde(default = "no_delay")]
    #[schemars(example = "1ms")]
    pub(crate) gro: RawValue<Delay>,
    /// Time by which a misbehaving receiver acknowledges data before they arrive (optimistic ACKs).
    /// It acknowledges at once whatever arrives, and as many packets more as arrived within this
    /// time. It conceals losses, so a transfer that loses data does not complete. Zero is an honest
    /// receiver.
    #[serde(default = "no_delay")]
    #[schemars(example = "10ms")]
    pub(crate) optimistic_acks: RawValue<Delay>,
    #[serde(flatten)]
    pub(crate) stack: StackKeys,
    /// Parameters of the congestion control: numbers, true or false, or words. `fullpipe explain
    /// <cc>` lists them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-default" = "the defaults of the congestion control"))]
    pub(crate) params: BTreeMap<String, RawValue<ParamValue>>,
}

/// Flows that arrive during the run: each opens a connection, transfers its bytes and ends.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Workload {
    /// Name of the workload in tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Name>", example = &"web")]
    #[schemars(extend("x-default" = "workload, numbered if several workloads are unnamed"))]
    pub(crate) name: Option<RawValue<Name>>,
    /// Source of the flows: a file written by `fullpipe workload extract`, the name of a preset,
    /// or, for the model "cdf", a file of sizes with shares. File names are relative to the
    /// scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Text>", example = &"mawi-2020-06-10", extend("x-default" = "none, for models that need no source"))]
    pub(crate) source: Option<RawValue<Text>>,
    /// Model that generates the flows. From a source, "replay" starts each flow and writes each
    /// piece of its data at the recorded times; "collapsed" writes all data of a flow at its start;
    /// "synthetic" does so with shuffled sizes and gaps between flows. "cdf", "bounded_pareto" and
    /// "lognormal" draw sizes from a distribution, with Poisson arrivals.
    #[serde(default = "replayed")]
    pub(crate) model: RawValue<Model>,
    /// Mean load of all flows of the workload together, as a share of the payload that the slowest
    /// link of its route can carry in full packets. The gaps between arrivals are scaled to reach
    /// it; pauses within a flow stay as they are. On each link, the workloads whose data cross it at
    /// one time must offer less than it carries; ACKs do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Load>", extend("x-default" = "the load of the source; required for models that draw arrivals"))]
    pub(crate) load: Option<RawValue<Load>>,
    /// Congestion control algorithm of every flow.
    #[schemars(example = &"cubic", example = &"bbr3")]
    pub(crate) cc: RawValue<Algorithm>,
    /// Time from which flows arrive.
    #[serde(default = "no_time")]
    pub(crate) start: RawValue<Span>,
    /// Time from which no more flows arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Span>", example = "30s", extend("x-default" = "the end of the run"))]
    pub(crate) stop: Option<RawValue<Span>>,
    /// Two-way propagation delay of each flow in addition to path.rtt and the delays of the links
    /// on its routes: one value for all flows, or a distribution to draw from.
    #[serde(default = "no_more")]
    pub(crate) rtt: RawValue<Rtts>,
    /// Fingerprint of the source with which a saved run was made. A source with another fingerprint
    /// is refused.
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

pub(super) fn no_extra() -> RawValue<Extra> {
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

fn usual_mss() -> RawValue<Mss> {
    RawValue::of(&Mss(PAYLOAD))
}

fn ten_segments() -> RawValue<Whole<1, MOST_INITIAL_WINDOW>> {
    RawValue::of(&Whole(INITIAL_WINDOW.into()))
}

fn quick_acks() -> RawValue<Whole<0, 1_000_000>> {
    RawValue::of(&Whole(QUICK_ACKS.into()))
}

fn ack_delay() -> RawValue<Delay> {
    RawValue::of(&Delay(ACK_DELAY))
}
