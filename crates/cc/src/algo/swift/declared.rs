//! Descriptor, parameters and trace fields of Swift.

use super::Swift;
use crate::{
    AnyController, Descriptor, Field, Marks, Param, RecoveryOwner, Signals, Specification, fields,
    params,
};

/// Descriptor of Swift.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "swift",
    purpose: "For datacenters: keeps the delays of the fabric and of the hosts at targets, with a window for each.",
    specifications: &[
        Specification {
            name: "Kumar et al., \"Swift: Delay is Simple and Effective for Congestion Control in the Datacenter\", SIGCOMM 2020",
            note: "Algorithm 1, target delays, windows for fabric and endpoints, windows below one packet",
        },
        Specification {
            name: "Broadcom csg-htsim, swift.cpp (2021)",
            note: "constants that the paper leaves to the operator, and the time of the last decrease",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Swift::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::PACING.and(Signals::HOST_DELAYS),
    marks: |_| Marks::Ignored,
    random: false,
    build: |config, _| AnyController::Swift(Swift::new(config)),
};

params! {
    /// The parameters.
    pub(super) struct Params {
        base_target: f64 = Param::number(20.0, 0.1..=1e7).unit("us")
            .says("Base target delay of the fabric; must exceed the RTT of the empty path", "§3.5"),
        hop_scaling: f64 = Param::number(3.05, 0.0..=1e6).unit("us")
            .says("ħ: target delay added per hop", "§3.5"),
        hops: f64 = Param::number(1.0, 0.0..=255.0)
            .says("Number of hops of the path, which Swift reads from the TTL", "§3.5"),
        fs_range: f64 = Param::number(100.0, 0.0..=1e7).unit("us")
            .says("Largest target delay added for small windows", "§3.5"),
        fs_min_cwnd: f64 = Param::number(0.1, 0.001..=1e6).unit("segments")
            .says("Window up to which fs_range is added in full", "§3.5"),
        fs_max_cwnd: f64 = Param::number(100.0, 0.002..=1e6).unit("segments")
            .says("Window from which nothing is added; not more than fs_min_cwnd means none for any window", "§3.5"),
        endpoint_target: f64 = Param::number(100.0, 0.1..=1e7).unit("us")
            .says("Target delay of the two hosts", "§3.4"),
        ai: f64 = Param::number(1.0, 0.001..=1000.0).unit("segments")
            .says("Additive increase per round trip", "Algorithm 1"),
        beta: f64 = Param::number(0.8, 0.001..=1.0)
            .says("β: weight of the excess delay in a decrease", "Algorithm 1"),
        max_mdf: f64 = Param::number(0.5, 0.001..=0.999)
            .says("Largest decrease per round trip, as a fraction", "Algorithm 1"),
        retx_reset_threshold: u32 = Param::number(5.0, 1.0..=100.0)
            .says("Consecutive timeouts after which the window is min_cwnd", "Algorithm 1"),
        min_cwnd: f64 = Param::number(0.01, 0.0001..=1.0).unit("segments")
            .says("Smallest window", "Algorithm 1"),
        max_cwnd: f64 = Param::number(10_000.0, 1.0..=1e6).unit("segments")
            .says("Largest window", "Algorithm 1"),
    }
}

/// The window in force.
const LIMITS: &[&str] = &["fabric", "endpoint"];

fields! {
    pub(super) impl Swift as cc {
        limit: Field::state(LIMITS, "The smaller window, which is in force") => usize::from(cc.endpoint.cwnd < cc.fabric.cwnd),
        fcwnd: Field::value("segments", "Window of the fabric") => cc.fabric.cwnd,
        ecwnd: Field::value("segments", "Window of the endpoints") => cc.endpoint.cwnd,
        fabric_delay: Field::value("s", "Latest delay of the fabric: RTT less what the hosts took") => cc.fabric.delay,
        endpoint_delay: Field::value("s", "Latest delay of the two hosts") => cc.endpoint.delay,
        target_delay: Field::value("s", "Latest target of the fabric's delay") => cc.target,
    }
}
