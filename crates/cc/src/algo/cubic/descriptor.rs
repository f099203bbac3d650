//! Descriptor, parameters and trace fields of CUBIC.

use super::Cubic;
use crate::common::slow_start::SlowStartKind;
use crate::{
    AnyController, Default, Descriptor, Field, Marks, Param, Profile, RecoveryOwner, Signals,
    Specification, fields, params, words,
};

/// State of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    SlowStart,
    Css,
    RenoFriendly,
    Concave,
    Convex,
    Recovery,
}

impl Phase {
    const NAMES: &[&str] = &[
        "slow_start",
        "css",
        "reno_friendly",
        "concave",
        "convex",
        "recovery",
    ];
}

/// Descriptor of CUBIC.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cubic",
    purpose: "Default of most operating systems: the window is a cubic function of the time since the last congestion.",
    specifications: &[
        Specification {
            name: "RFC 9438",
            note: "profile \"rfc9438\"",
        },
        Specification {
            name: "Linux 6.12 net/ipv4/tcp_cubic.c",
            note: "profile \"linux\": where Linux differs",
        },
        Specification {
            name: "RFC 9406",
            note: "HyStart++, the default slow start of profile \"rfc9438\"",
        },
    ],
    params: &Params::ROWS,
    profiles: &[Profile {
        name: CubicProfile::Linux.word(),
        defaults: &[("slow_start", Default::Word(SlowStartKind::HyStart.word()))],
    }],
    preset_of: None,
    fields: Cubic::FIELDS,
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::Cubic(Cubic::new(config)),
};

words! {
    /// Rules to follow where the RFC and Linux differ.
    pub(super) enum CubicProfile {
        Rfc9438 = "rfc9438",
        Linux = "linux",
    }
}

/// HyStart++ (RFC 9406) is the default of profile "rfc9438".
const SLOW_STARTS: &[&str] = &[
    SlowStartKind::HyStartPlusPlus.word(),
    SlowStartKind::HyStart.word(),
    SlowStartKind::HyStartLateRounds.word(),
    SlowStartKind::Classic.word(),
];

params! {
    /// The parameters.
    pub(super) struct Params {
        profile: CubicProfile = Param::choice(CubicProfile::WORDS)
            .says("Rules to follow where the RFC and Linux differ", "RFC 9438 §4"),
        slow_start: SlowStartKind = Param::choice(SLOW_STARTS).says(
            "Slow-start algorithm; hystart is that of Linux since 6.14, hystart-5.16 that of Linux 5.16 to 6.13 before the repair of its rounds, classic that of RFC 5681, with at most 2 segments of growth per ACK",
            "RFC 9438 §4.10",
        ),
        c: f64 = Param::number(0.4, 0.001..=100.0).unit("segments/s^3")
            .says("C: scale of the cubic growth", "RFC 9438 §4.1.1"),
        beta: f64 = Param::number(0.7, 0.1..=0.99)
            .says("beta_cubic: fraction of the window that remains after a loss", "RFC 9438 §4.6"),
        beta_ecn: f64 = Param::number(0.7, 0.1..=0.99).says(
            "Fraction of the window that remains after a CE mark; 0.85 is ABE",
            "RFC 9438 §4.6, RFC 8511 §3.1",
        ),
        fast_convergence: bool = Param::flag(true)
            .says("Lower W_max further when it shrinks between congestion events, which frees capacity for new flows", "RFC 9438 §4.7"),
    }
}

fields! {
    pub(super) impl Cubic as cc {
        state: Field::state(Phase::NAMES, "State of the controller") => cc.phase() as usize,
        w_max:
            Field::value("segments", "W_max: window at the last congestion; 0 before the first and after a timeout")
            => cc.window.w_max,
        w_est: Field::value("segments", "W_est: the Reno-friendly window; 0 if unset")
            => cc.window.epoch.map(|epoch| epoch.w_est),
        k: Field::value("s", "K: time from the start of the epoch to its plateau")
            => cc.window.epoch.map(|epoch| epoch.k),
        t: Field::value("s", "t: age of the epoch at the last ACK")
            => cc.window.epoch.map(|epoch| epoch.age(cc.last_ack)),
    }
}
