//! What CUBIC says of itself.

use super::Cubic;
use crate::common::slow_start::SlowStartKind;
use crate::{
    AnyController, Descriptor, Field, Param, RecoveryOwner, Signals, Specification, fields, params,
    words,
};

/// What governs the window.
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

/// The static.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cubic",
    purpose: "The default of most systems: a window that is a cubic function of the time since the last congestion.",
    specifications: &[
        Specification {
            name: "RFC 9438",
            note: "profile \"rfc9438\"",
        },
        Specification {
            name: "Linux 6.12 net/ipv4/tcp_cubic.c",
            note: "profile \"linux\": where it differs",
        },
        Specification {
            name: "RFC 9406",
            note: "HyStart++, the default slow start",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Cubic::FIELDS,
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    random: false,
    build: |config| AnyController::Cubic(Cubic::new(config)),
};

words! {
    /// Whose rules hold where the RFC and Linux differ.
    pub(super) enum CubicProfile {
        Rfc9438 = "rfc9438",
        Linux = "linux",
    }
}

/// RFC 9406 comes first here.
const SLOW_STARTS: &[&str] = &[
    SlowStartKind::HyStartPlusPlus.word(),
    SlowStartKind::HyStart.word(),
    SlowStartKind::Classic.word(),
];

params! {
    /// What can be set.
    pub(super) struct Params {
        profile: CubicProfile = Param::choice(CubicProfile::WORDS)
            .says("whose rules hold where the RFC and Linux differ", "RFC 9438 §4"),
        slow_start: SlowStartKind = Param::choice(SLOW_STARTS).says(
            "how slow start grows and ends; classic counts L = 2 segments an ACK at most",
            "RFC 9438 §4.10",
        ),
        c: f64 = Param::number(0.4, 0.001..=100.0).unit("segments/s^3")
            .says("C: how fast the window grows back", "RFC 9438 §4.1.1"),
        beta: f64 = Param::number(0.7, 0.1..=0.99)
            .says("beta_cubic: what is left of the window after congestion", "RFC 9438 §4.6"),
        beta_ecn: f64 = Param::number(0.7, 0.1..=0.99).says(
            "what a mark leaves of the window; 0.85 is ABE",
            "RFC 9438 §4.6, RFC 8511 §3.1",
        ),
        fast_convergence: bool = Param::flag(true)
            .says("release bandwidth when the maximum falls", "RFC 9438 §4.7"),
    }
}

fields! {
    pub(super) impl Cubic as cc {
        state: Field::state(Phase::NAMES, "what governs the window") => cc.phase() as usize,
        w_max:
            Field::value("segments", "W_max; 0 before the first congestion and after a timeout")
            => cc.window.w_max,
        w_est: Field::value("segments", "W_est, the Reno-friendly window; 0 unset")
            => cc.window.epoch.map(|epoch| epoch.w_est),
        k: Field::value("s", "K: from the epoch's start to its plateau")
            => cc.window.epoch.map(|epoch| epoch.k),
        t: Field::value("s", "the epoch's age, at the last ACK")
            => cc.window.epoch.map(|epoch| epoch.age(cc.last_ack)),
    }
}
