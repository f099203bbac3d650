//! Keys of [host] and [quic]: the machines at the flows' ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{no_delay, off};
use crate::enums::Switch;
use crate::raw_value::RawValue;
use crate::values::{Delay, Percent, Whole};

/// The largest number that a CPU may have: what glibc's CPU sets hold.
const MOST_CPUS: u64 = 1023;
/// Packets that a system call of a host takes, by default: 64 KiB in segments of 1448 bytes, as
/// with GSO.
const BATCH: u32 = 45;

/// The machines at the flows' ends: each end of a flow is a program with a CPU of its own.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    /// CPU time of sending a data packet.
    #[serde(default = "no_delay")]
    #[schemars(example = "3us")]
    pub(crate) send: RawValue<Delay>,
    /// CPU time of receiving a data packet.
    #[serde(default = "no_delay")]
    #[schemars(example = "2us")]
    pub(crate) receive: RawValue<Delay>,
    /// CPU time of sending or receiving an ACK.
    #[serde(default = "no_delay")]
    #[schemars(example = "1us")]
    pub(crate) ack: RawValue<Delay>,
    /// CPU time of a system call, which sends or receives a batch.
    #[serde(default = "no_delay")]
    #[schemars(example = "5us")]
    pub(crate) call: RawValue<Delay>,
    /// Packets in a batch, at most: what one turn of the program reads, and what it sends.
    #[serde(default = "batch")]
    pub(crate) batch: RawValue<Whole<1, 1000>>,
    /// The least time that a delivery-rate sample covers: shorter ones are joined.
    #[serde(default = "no_delay")]
    #[schemars(example = "1ms")]
    pub(crate) rate_interval: RawValue<Delay>,
    /// The least time from an event to a sleeping program's turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Delay>", example = "5us", extend("x-default" = "programs wake at once"))]
    pub(crate) wake_min: Option<RawValue<Delay>>,
    /// The median of that time, which is drawn from a bounded Pareto distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Delay>", example = "20us", extend("x-default" = "programs wake at once"))]
    pub(crate) wake_median: Option<RawValue<Delay>>,
    /// The longest such time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Delay>", example = "1ms", extend("x-default" = "programs wake at once"))]
    pub(crate) wake_max: Option<RawValue<Delay>>,
    /// In each run a flow's CPU times are up to this much longer or shorter, uniformly.
    #[serde(default = "no_variation")]
    #[schemars(example = "20%")]
    pub(crate) variation: RawValue<Percent>,
}

/// How this machine runs real QUIC in real time, a thread a side: --on quic. Everything else leaves
/// it alone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quic {
    /// The CPU that the servers' thread stays on, as /proc/cpuinfo counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Whole<0, MOST_CPUS>>", example = 0, extend("x-default" = "any"))]
    pub(crate) server_cpu: Option<RawValue<Whole<0, MOST_CPUS>>>,
    /// The CPU that the clients' thread stays on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Whole<0, MOST_CPUS>>", example = 1, extend("x-default" = "any"))]
    pub(crate) client_cpu: Option<RawValue<Whole<0, MOST_CPUS>>>,
    /// With "on" neither thread ever sleeps: no wake-up is late, and two CPUs are busy all the
    /// time.
    #[serde(default = "off")]
    pub(crate) busy_poll: RawValue<Switch>,
}

fn no_variation() -> RawValue<Percent> {
    RawValue::of(&Percent(0.0))
}

fn batch() -> RawValue<Whole<1, 1000>> {
    RawValue::of(&Whole(BATCH.into()))
}
