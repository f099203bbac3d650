//! What BBRv3 says of itself.

use super::Bbr;
use super::declared::*;
use super::rules::{DRAFT, LINUX_V3};
use crate::kit::bbr::pacing::BurstRule;
use crate::{
    AnyController, Config, Default, Descriptor, Domain, Param, Profile, RecoveryOwner, Signals, Specification,
};

/// The static.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bbr3",
    purpose: "Paces at the bottleneck's bandwidth, measured, within bounds that it learns from loss.",
    specifications: &[
        Specification { name: "draft-ietf-ccwg-bbr-06", note: "profile \"draft\"" },
        Specification { name: "google/bbr v3 net/ipv4/tcp_bbr.c", note: "profile \"linux\", and the answer to marks" },
    ],
    params: &[
        Param {
            name: "profile",
            unit: "",
            domain: Domain::Choice(&["draft", "linux"]),
            purpose: "whose rules and defaults",
            section: "docs/models/bbr3.md",
        },
        STARTUP_PACING_GAIN,
        STARTUP_CWND_GAIN,
        DRAIN_PACING_GAIN,
        DRAIN_CWND_GAIN,
        DRAIN_ROUNDS,
        UP_PACING_GAIN,
        UP_CWND_GAIN,
        DOWN_PACING_GAIN,
        CRUISE_PACING_GAIN,
        REFILL_PACING_GAIN,
        CWND_GAIN,
        PROBE_RTT_PACING_GAIN,
        PROBE_RTT_CWND_GAIN,
        PACING_MARGIN,
        FULL_BW_GROWTH,
        FULL_BW_ROUNDS,
        LOSS_THRESHOLD,
        STARTUP_LOSS_EVENTS,
        BETA,
        HEADROOM,
        MIN_PIPE_CWND,
        MAX_BW_WINDOW,
        EXTRA_ACKED_WINDOW,
        EXTRA_ACKED_STARTUP_WINDOW,
        EXTRA_ACKED_CAP,
        MIN_RTT_WINDOW,
        PROBE_RTT_INTERVAL,
        PROBE_RTT_DURATION,
        PROBE_RTT_RENEWED_BY_EQUAL,
        PROBE_WAIT_BASE,
        PROBE_WAIT_SPREAD,
        RENO_ROUNDS,
        RENO_ROUNDS_CHOICES,
        UNDO,
        LOSS_PROBE_COUNTS,
        FAST_PATH,
        SEND_QUANTUM_MAX,
        ECN,
        ECN_ALPHA_GAIN,
        ECN_ALPHA_INIT,
        ECN_FACTOR,
        ECN_THRESHOLD,
        ECN_STARTUP_ROUNDS,
        ECN_MAX_RTT,
        ECN_REPROBE_GAIN,
    ],
    profiles: &[Profile { name: "linux", defaults: LINUX }],
    fields: FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::RATE_SAMPLE.and(Signals::PACING).and(Signals::LOST_EACH).and(Signals::TX_INFLIGHT),
    random: true,
    build: |config| AnyController::Bbr(build(config)),
};

/// The fractions that Linux's fixed point holds, and what it has besides the draft.
const LINUX: &[(&str, Default)] = &[
    ("startup_pacing_gain", Default::Number(710.0 / 256.0)),
    ("drain_pacing_gain", Default::Number(88.0 / 256.0)),
    ("drain_rounds", Default::Number(0.0)),
    ("down_pacing_gain", Default::Number(232.0 / 256.0)),
    ("loss_threshold", Default::Number(5.0 / 256.0)),
    ("beta", Default::Number(180.0 / 256.0)),
    ("headroom", Default::Number(38.0 / 256.0)),
    ("extra_acked_window", Default::Number(5.0)),
    ("extra_acked_cap", Default::Number(0.1)),
    ("fast_path", Default::Flag(true)),
];

fn build(config: &Config) -> Bbr {
    let max = config.number("send_quantum_max");
    let (rules, burst) = match config.word("profile") {
        "linux" => (LINUX_V3, BurstRule { length: BurstRule::LINUX_LENGTH, by_rtt: true, singles: false, max }),
        _ => (DRAFT, BurstRule { length: 1e-3, by_rtt: false, singles: false, max }),
    };
    Bbr::new(config, rules, burst, f64::INFINITY)
}
