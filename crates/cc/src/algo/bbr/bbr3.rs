//! What BBRv3 says of itself.

use fullpipe_units::Span;

use super::Bbr;
use super::declared::*;
use super::delay::DelayRules;
use super::params::Options;
use super::rules::{DRAFT, LINUX_V3, PICOQUIC};
use crate::common::bbr::pacing::BurstRule;
use crate::{
    AnyController, Config, Default, Descriptor, Domain, Param, Profile, RecoveryOwner, Signals,
    Specification,
};

/// The static.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bbr3",
    purpose: "Paces at the bottleneck's bandwidth, measured, within bounds that it learns from loss.",
    specifications: &[
        Specification {
            name: "draft-ietf-ccwg-bbr-06",
            note: "profile \"draft\"",
        },
        Specification {
            name: "google/bbr v3 net/ipv4/tcp_bbr.c",
            note: "profile \"linux\", and the answer to marks",
        },
        Specification {
            name: "picoquic bbr.c e62593f2, 7795f22c",
            note: "the exits on delay, and two profiles of 2024",
        },
    ],
    params: &params(&["draft", "linux", "picoquic-2024-09", "picoquic-2024-10"]),
    profiles: PROFILES,
    preset_of: None,
    fields: FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::RATE_SAMPLE
        .and(Signals::PACING)
        .and(Signals::LOST_EACH)
        .and(Signals::TX_INFLIGHT),
    random: true,
    build: |config| AnyController::Bbr(build(config)),
};

/// As picoquic was when it met the loopback's noise.
pub static PICOQUIC_2024_09: Descriptor = Descriptor {
    name: "bbr3-picoquic-2024-09",
    purpose: "BBRv3 as in picoquic of September 2024: leaves Startup and UP on delay, whatever the RTT.",
    params: &params(&["picoquic-2024-09", "picoquic-2024-10", "draft", "linux"]),
    preset_of: Some("bbr3"),
    ..DESCRIPTOR
};

/// And a month later.
pub static PICOQUIC_2024_10: Descriptor = Descriptor {
    name: "bbr3-picoquic-2024-10",
    purpose: "BBRv3 as in picoquic of October 2024: leaves Startup and UP on delay, but not below 128 us of RTT.",
    params: &params(&["picoquic-2024-10", "picoquic-2024-09", "draft", "linux"]),
    preset_of: Some("bbr3"),
    ..DESCRIPTOR
};

const PROFILES: &[Profile] = &[
    Profile {
        name: "linux",
        defaults: LINUX,
    },
    Profile {
        name: "picoquic-2024-09",
        defaults: PICOQUIC_09,
    },
    Profile {
        name: "picoquic-2024-10",
        defaults: PICOQUIC_10,
    },
];

/// Everything that can be set; the first profile is the default.
const fn params(profiles: &'static [&'static str]) -> [Param; 54] {
    [
        Param {
            name: "profile",
            unit: "",
            domain: Domain::Choice(profiles),
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
        LOSS_FLOOR,
        STARTUP_LOSS_EVENTS,
        BETA,
        HEADROOM,
        MIN_PIPE_CWND,
        MAX_BW_WINDOW,
        EXTRA_ACKED_WINDOW,
        EXTRA_ACKED_STARTUP_WINDOW,
        EXTRA_ACKED_CAP,
        FILTER_TIME,
        MIN_RTT_WINDOW,
        PROBE_RTT_INTERVAL,
        PROBE_RTT_DURATION,
        PROBE_RTT_RENEWED_BY_EQUAL,
        PROBE_WAIT_BASE,
        PROBE_WAIT_SPREAD,
        RENO_ROUNDS,
        RENO_ROUNDS_CHOICES,
        STARTUP_EXIT_ON_DELAY,
        UP_EXIT_ON_DELAY,
        DELAY_GROWTH,
        DELAY_MARGIN,
        DELAY_GUARD,
        DELAY_COUNT,
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
    ]
}

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

/// 20 % may be lost, three segments at least, and delay ends Startup and UP.
const PICOQUIC_10: &[(&str, Default)] = &[
    ("drain_rounds", Default::Number(0.0)),
    ("loss_threshold", Default::Number(0.2)),
    ("loss_floor", Default::Number(3.0)),
    ("startup_loss_events", Default::Number(1.0)),
    ("startup_exit_on_delay", Default::Flag(true)),
    ("up_exit_on_delay", Default::Flag(true)),
];

/// The same, without margin and guard.
const PICOQUIC_09: &[(&str, Default)] = &[
    ("drain_rounds", Default::Number(0.0)),
    ("loss_threshold", Default::Number(0.2)),
    ("loss_floor", Default::Number(3.0)),
    ("startup_loss_events", Default::Number(1.0)),
    ("startup_exit_on_delay", Default::Flag(true)),
    ("up_exit_on_delay", Default::Flag(true)),
    ("delay_margin", Default::Number(0.0)),
    ("delay_guard", Default::Number(0.0)),
];

fn build(config: &Config) -> Bbr {
    let max = config.number("send_quantum_max");
    let draft = BurstRule {
        length: 1e-3,
        by_rtt: false,
        singles: false,
        max,
    };
    let linux = BurstRule {
        length: BurstRule::LINUX_LENGTH,
        by_rtt: true,
        ..draft
    };
    let (rules, burst) = match config.word("profile") {
        "draft" => (DRAFT, draft),
        "linux" => (LINUX_V3, linux),
        _ => (PICOQUIC, draft),
    };
    let span = |name| Span::from_secs_f64(config.number(name));
    let options = Options {
        up_queue_gain: f64::INFINITY,
        filter_time: Span::from_secs_f64(config.number("filter_time")),
        loss_floor: config.number("loss_floor"),
        delay: DelayRules {
            ends_startup: config.flag("startup_exit_on_delay"),
            ends_up: config.flag("up_exit_on_delay"),
            guard: span("delay_guard"),
            margin: span("delay_margin"),
            growth: config.number("delay_growth"),
            count: config.number("delay_count") as u32,
        },
    };
    Bbr::new(config, rules, burst, &options)
}
