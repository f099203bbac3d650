//! What CUBIC says of itself.

use super::Cubic;
use crate::{
    AnyController, Descriptor, Domain, Field, Param, RecoveryOwner, Signals, Specification,
};

/// What governs the window, in the order of the labels below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    SlowStart,
    Css,
    RenoFriendly,
    Concave,
    Convex,
    Recovery,
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
    params: &[
        Param {
            name: "profile",
            unit: "",
            domain: Domain::Choice(&["rfc9438", "linux"]),
            purpose: "whose rules hold where the RFC and Linux differ",
            section: "RFC 9438 §4",
        },
        Param {
            name: "slow_start",
            unit: "",
            domain: Domain::Choice(&["hystart++", "hystart", "classic"]),
            purpose: "how slow start grows and ends; classic counts L = 2 segments an ACK at most",
            section: "RFC 9438 §4.10",
        },
        Param {
            name: "c",
            unit: "segments/s^3",
            domain: Domain::Number {
                default: 0.4,
                min: 0.001,
                max: 100.0,
            },
            purpose: "C: how fast the window grows back",
            section: "RFC 9438 §4.1.1",
        },
        Param {
            name: "beta",
            unit: "",
            domain: Domain::Number {
                default: 0.7,
                min: 0.1,
                max: 0.99,
            },
            purpose: "beta_cubic: what is left of the window after congestion",
            section: "RFC 9438 §4.6",
        },
        Param {
            name: "beta_ecn",
            unit: "",
            domain: Domain::Number {
                default: 0.7,
                min: 0.1,
                max: 0.99,
            },
            purpose: "what a mark leaves of the window; 0.85 is ABE",
            section: "RFC 9438 §4.6, RFC 8511 §3.1",
        },
        Param {
            name: "fast_convergence",
            unit: "",
            domain: Domain::Flag { default: true },
            purpose: "release bandwidth when the maximum falls",
            section: "RFC 9438 §4.7",
        },
    ],
    profiles: &[],
    preset_of: None,
    fields: &[
        Field {
            name: "state",
            unit: "",
            purpose: "what governs the window",
            labels: &[
                "slow_start",
                "css",
                "reno_friendly",
                "concave",
                "convex",
                "recovery",
            ],
        },
        Field {
            name: "w_max",
            unit: "segments",
            purpose: "W_max; 0 before the first congestion and after a timeout",
            labels: &[],
        },
        Field {
            name: "w_est",
            unit: "segments",
            purpose: "W_est, the Reno-friendly window; 0 unset",
            labels: &[],
        },
        Field {
            name: "k",
            unit: "s",
            purpose: "K: from the epoch's start to its plateau",
            labels: &[],
        },
        Field {
            name: "t",
            unit: "s",
            purpose: "the epoch's age, at the last ACK",
            labels: &[],
        },
    ],
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    random: false,
    build: |config| AnyController::Cubic(Cubic::new(config)),
};
