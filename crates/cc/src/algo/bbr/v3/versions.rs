//! Descriptors of the versions, and their differences from the draft's numbers.

use super::Bbr;
use super::declared::{Params, Profile as Of};
use super::rules::{DRAFT, LINUX_V2, LINUX_V3, LOOPBACK, PICOQUIC, Rules};
use crate::{
    AnyController, Default, Descriptor, Domain, Marks, Param, Profile, RecoveryOwner, Signals,
    Specification,
};

/// A parameter's name and its default in a version.
type Override = (&'static str, Default);

/// Descriptor of BBRv2.
pub static BBR2: Descriptor = Descriptor {
    name: "bbr2",
    purpose: "BBRv3's predecessor: probes until a queue builds, and backs off further.",
    specifications: &[Specification {
        name: "google/bbr v2alpha net/ipv4/tcp_bbr2.c",
        note: "reference implementation; sections without a file name are those of draft-ietf-ccwg-bbr-06, which developed from it",
    }],
    params: &V2_PARAMS,
    profiles: &[],
    preset_of: None,
    fields: Bbr::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::RATE_SAMPLE
        .and(Signals::PACING)
        .and(Signals::LOST_EACH)
        .and(Signals::TX_INFLIGHT),
    marks: |config| answers(Params::read(config).ecn),
    random: true,
    build: |config, _| AnyController::Bbr(Box::new(Bbr::new(config, |_| &LINUX_V2))),
};

/// Descriptor of BBRv3.
pub static BBR3: Descriptor = Descriptor {
    name: "bbr3",
    purpose: "Paces at the measured bottleneck bandwidth, within bounds learned from loss.",
    specifications: &[
        Specification {
            name: "draft-ietf-ccwg-bbr-06",
            note: "profile \"draft\"",
        },
        Specification {
            name: "google/bbr v3 net/ipv4/tcp_bbr.c",
            note: "profile \"linux\", and the reaction to CE marks",
        },
        Specification {
            name: "picoquic bbr.c e62593f2, 7795f22c",
            note: "the exits on delay, and two profiles of 2024",
        },
    ],
    params: &v3_params(&[
        "draft",
        "linux",
        "loopback",
        "picoquic-2024-09",
        "picoquic-2024-10",
    ]),
    profiles: PROFILES,
    marks: |config| {
        let params = Params::read(config);
        let rules = v3_rules(&params);
        answers(params.ecn || rules.marks_are_losses)
    },
    build: |config, _| AnyController::Bbr(Box::new(Bbr::new(config, v3_rules))),
    ..BBR2
};

/// picoquic's BBRv3 of September 2024, as it was when it suffered from noise on the loopback
/// interface.
pub static PICOQUIC_2024_09: Descriptor = Descriptor {
    name: "bbr3-picoquic-2024-09",
    purpose: "BBRv3 as in picoquic of September 2024: leaves Startup and UP on delay, whatever the RTT.",
    params: &v3_params(&[
        "picoquic-2024-09",
        "picoquic-2024-10",
        "draft",
        "linux",
        "loopback",
    ]),
    preset_of: Some("bbr3"),
    ..BBR3
};

/// picoquic's BBRv3 of October 2024.
pub static PICOQUIC_2024_10: Descriptor = Descriptor {
    name: "bbr3-picoquic-2024-10",
    purpose: "BBRv3 as in picoquic of October 2024: leaves Startup and UP on delay, but not below 128 us of RTT.",
    params: &v3_params(&[
        "picoquic-2024-10",
        "picoquic-2024-09",
        "draft",
        "linux",
        "loopback",
    ]),
    preset_of: Some("bbr3"),
    ..BBR3
};

/// Returns the response to marks.
fn answers(yes: bool) -> Marks {
    if yes { Marks::Answered } else { Marks::Ignored }
}

fn v3_rules(params: &Params) -> &'static Rules {
    match params.profile {
        Of::Draft => &DRAFT,
        Of::Linux => &LINUX_V3,
        Of::Loopback => &LOOPBACK,
        Of::Picoquic202409 | Of::Picoquic202410 => &PICOQUIC,
    }
}

/// 2/ln 2 in Linux's fixed point: `bbr_high_gain`.
const HIGH_GAIN: f64 = 739.0 / 256.0;

const V2_PARAMS: [Param; 46] = with_defaults(
    without(&[
        "profile",
        "loss_floor",
        "filter_time",
        "startup_exit_on_delay",
        "up_exit_on_delay",
        "delay_growth",
        "delay_margin",
        "delay_guard",
        "delay_count",
    ]),
    &[
        ("startup_pacing_gain", Default::Number(HIGH_GAIN)),
        ("startup_cwnd_gain", Default::Number(HIGH_GAIN)),
        ("drain_pacing_gain", Default::Number(88.0 / 256.0)),
        ("drain_cwnd_gain", Default::Number(HIGH_GAIN)),
        ("drain_rounds", Default::Number(0.0)),
        ("up_cwnd_gain", Default::Number(2.0)),
        ("down_pacing_gain", Default::Number(0.75)),
        ("loss_threshold", Default::Number(5.0 / 256.0)),
        ("startup_loss_events", Default::Number(8.0)),
        ("beta", Default::Number(180.0 / 256.0)),
        ("headroom", Default::Number(38.0 / 256.0)),
        ("extra_acked_window", Default::Number(5.0)),
        ("extra_acked_cap", Default::Number(0.1)),
        ("probe_rtt_renewed_by_equal", Default::Flag(true)),
        ("loss_probe_counts", Default::Flag(false)),
        ("fast_path", Default::Flag(true)),
        ("ecn_reprobe_gain", Default::Number(0.0)),
    ],
);

const PROFILES: &[Profile] = &[
    Profile {
        name: Of::Linux.word(),
        defaults: LINUX,
    },
    Profile {
        name: Of::Loopback.word(),
        defaults: LOOPBACK_DEFAULTS,
    },
    Profile {
        name: Of::Picoquic202409.word(),
        defaults: &PICOQUIC_09,
    },
    Profile {
        name: Of::Picoquic202410.word(),
        defaults: &PICOQUIC_10,
    },
];

/// Fractions in Linux's fixed point, and options that Linux has in addition to the draft.
const LINUX: &[Override] = &[
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

/// Samples outlast wake-ups that are late by some milliseconds, however short the cycles are.
const LOOPBACK_DEFAULTS: &[Override] = &[("filter_time", Default::Number(0.3))];

/// Tolerates 20 % loss and at least three segments; delay ends Startup and UP.
const PICOQUIC_10: [Override; 6] = [
    ("drain_rounds", Default::Number(0.0)),
    ("loss_threshold", Default::Number(0.2)),
    ("loss_floor", Default::Number(3.0)),
    ("startup_loss_events", Default::Number(1.0)),
    ("startup_exit_on_delay", Default::Flag(true)),
    ("up_exit_on_delay", Default::Flag(true)),
];

/// `PICOQUIC_10` without margin and guard.
const PICOQUIC_09: [Override; 8] = {
    let [a, b, c, d, e, f] = PICOQUIC_10;
    let margin = ("delay_margin", Default::Number(0.0));
    [
        a,
        b,
        c,
        d,
        e,
        f,
        margin,
        ("delay_guard", Default::Number(0.0)),
    ]
};

/// Returns all parameters except those of v2 alone; the first profile is the default.
const fn v3_params(profiles: &'static [&'static str]) -> [Param; 54] {
    let mut rows: [Param; 54] = without(&["up_queue_gain"]);
    let profile = &mut rows[place_of("profile", &Params::ROWS)];
    profile.domain = Domain::Choice(profiles);
    rows
}

/// Returns the rows except those named in `names`.
const fn without<const N: usize>(names: &[&str]) -> [Param; N] {
    let all = Params::ROWS;
    let mut rows = [all[0]; N];
    let (mut from, mut to) = (0, 0);
    while from < all.len() {
        let (mut i, mut leave) = (0, false);
        while i < names.len() {
            leave |= place_of(names[i], &all) == from;
            i += 1;
        }
        if !leave {
            rows[to] = all[from];
            to += 1;
        }
        from += 1;
    }
    assert!(to == N, "N is the number of remaining rows");
    rows
}

const fn with_defaults<const N: usize>(mut rows: [Param; N], defaults: &[Override]) -> [Param; N] {
    let mut i = 0;
    while i < defaults.len() {
        let (name, default) = defaults[i];
        let place = place_of(name, &rows);
        rows[place] = rows[place].with_default(default);
        i += 1;
    }
    rows
}

/// Returns the index of the row with this name. In constants, a wrong name does not compile.
const fn place_of(name: &str, rows: &[Param]) -> usize {
    let (name, mut place) = (name.as_bytes(), 0);
    while place < rows.len() {
        let other = rows[place].name.as_bytes();
        let mut same = 0;
        while same < name.len() && same < other.len() && name[same] == other[same] {
            same += 1;
        }
        if same == name.len() && same == other.len() {
            return place;
        }
        place += 1;
    }
    panic!("no parameter has this name");
}

/// Checks that the profiles' names are declared.
const _: () = {
    with_defaults(Params::ROWS, LINUX);
    with_defaults(Params::ROWS, LOOPBACK_DEFAULTS);
    with_defaults(Params::ROWS, &PICOQUIC_09);
};
