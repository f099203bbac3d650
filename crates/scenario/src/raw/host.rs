//! Keys of `[host]` and `[quic]`: the machines at the flows' ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{no_delay, off};
use crate::enums::Switch;
use crate::host::BATCH;
use crate::raw_value::RawValue;
use crate::values::{Delay, Percent, Whole};

/// Largest number of a CPU: glibc's CPU sets hold no larger one.
const MOST_CPUS: u64 = 1023;

/// The machines at the flows' ends: CPU times of the programs. With any such time,
/// each end of a flow is a program with a CPU of its own.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    /// CPU time to send a data packet.
    #[serde(default = "no_delay")]
    #[schemars(example = "3us")]
    pub(crate) send: RawValue<Delay>,
    /// CPU time to receive a data packet.
    #[serde(default = "no_delay")]
    #[schemars(example = "2us")]
    pub(crate) receive: RawValue<Delay>,
    /// CPU time to send or receive an ACK.
    #[serde(default = "no_delay")]
    #[schemars(example = "1us")]
    pub(crate) ack: RawValue<Delay>,
    /// CPU time of a system call, which sends or receives one batch of packets.
    #[serde(default = "no_delay")]
    #[schemars(example = "5us")]
    pub(crate) call: RawValue<Delay>,
    /// Largest number of packets in a batch. Each time a program runs, it reads at most one batch
    /// and sends at most one.
    #[serde(default = "batch")]
    pub(crate) batch: RawValue<Whole<1, 1000>>,
    /// Shortest time that a delivery-rate sample covers; shorter samples are merged.
    #[serde(default = "no_delay")]
    #[schemars(example = "1ms")]
    pub(crate) rate_interval: RawValue<Delay>,
    /// Shortest wake-up time of a sleeping program, from the event to the moment it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Delay>", example = "5us", extend("x-default" = "programs wake at once"))]
    pub(crate) wake_min: Option<RawValue<Delay>>,
    /// Median wake-up time of a sleeping program. Wake-up times are drawn from a bounded Pareto
    /// distribution with the given shortest, median and longest time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Delay>", example = "20us", extend("x-default" = "programs wake at once"))]
    pub(crate) wake_median: Option<RawValue<Delay>>,
    /// Longest wake-up time of a sleeping program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Delay>", example = "1ms", extend("x-default" = "programs wake at once"))]
    pub(crate) wake_max: Option<RawValue<Delay>>,
    /// Largest deviation of a flow's CPU times from these values, drawn uniformly in each run: with
    /// "20%" they are up to a fifth longer or shorter.
    #[serde(default = "no_variation")]
    #[schemars(example = "20%")]
    pub(crate) variation: RawValue<Percent>,
}

/// Threads and CPUs of real QUIC in real time (--on quic), which runs one thread per side. Other
/// runners ignore this table.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quic {
    /// Number of the CPU that the servers' thread is pinned to, as in /proc/cpuinfo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Whole<0, MOST_CPUS>>", example = 0, extend("x-default" = "any"))]
    pub(crate) server_cpu: Option<RawValue<Whole<0, MOST_CPUS>>>,
    /// Number of the CPU that the clients' thread is pinned to, as in /proc/cpuinfo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Whole<0, MOST_CPUS>>", example = 1, extend("x-default" = "any"))]
    pub(crate) client_cpu: Option<RawValue<Whole<0, MOST_CPUS>>>,
    /// Busy polling: with "on" neither thread ever sleeps. Then no wake-up is late, and two CPUs
    /// are busy all the time.
    #[serde(default = "off")]
    pub(crate) busy_poll: RawValue<Switch>,
}

fn no_variation() -> RawValue<Percent> {
    RawValue::of(&Percent(0.0))
}

fn batch() -> RawValue<Whole<1, 1000>> {
    RawValue::of(&Whole(BATCH.into()))
}
