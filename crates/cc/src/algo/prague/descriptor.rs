//! What Prague says of itself.

use super::Prague;
use crate::{
    AnyController, Descriptor, Domain, Field, Param, RecoveryOwner, Signals, Specification,
};

/// What governs the window, in the order of the labels below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    SlowStart,
    Avoidance,
    Recovery,
}

impl Phase {
    const NAMES: &[&str] = &["slow_start", "congestion_avoidance", "recovery"];

    pub(super) const fn name(self) -> &'static str {
        Phase::NAMES[self as usize]
    }
}

/// The static.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "prague",
    purpose: "For L4S: DCTCP's answer to marks, paced and fair among round trips, for the Internet.",
    specifications: &[
        Specification {
            name: "draft-briscoe-iccrg-prague-congestion-control-04",
            note: "in the default options of Linux, which it describes",
        },
        Specification {
            name: "L4STeam/linux net/ipv4/tcp_prague.c 0.6",
            note: "the arithmetic; without classic ECN detection",
        },
        Specification {
            name: "RFC 9331",
            note: "ECT(1), a scalable answer to marks",
        },
    ],
    params: &[
        Param {
            name: "alpha_gain",
            unit: "",
            domain: Domain::Number {
                default: 1.0 / 16.0,
                min: 0.0001,
                max: 1.0,
            },
            purpose: "the weight of the latest round in alpha",
            section: "tcp_prague.c PRAGUE_SHIFT_G",
        },
        Param {
            name: "alpha_init",
            unit: "",
            domain: Domain::Number {
                default: 1.0,
                min: 0.0,
                max: 1.0,
            },
            purpose: "alpha until the first round with a mark is over",
            section: "tcp_prague.c prague_init",
        },
        Param {
            name: "rtt_scaling",
            unit: "",
            domain: Domain::Choice(&["rate", "none"]),
            purpose: "whether a flow grows as if its round trip were target_rtt, if it is shorter",
            section: "tcp_prague.c prague_rtt_scaling",
        },
        Param {
            name: "target_rtt",
            unit: "ms",
            domain: Domain::Number {
                default: 25.0,
                min: 0.01,
                max: 100.0,
            },
            purpose: "the round trip at which all flows grow alike",
            section: "tcp_prague.c prague_rtt_target",
        },
        Param {
            name: "rtt_transition",
            unit: "rounds",
            domain: Domain::Number {
                default: 500.0,
                min: 0.0,
                max: 1e6,
            },
            purpose: "after slow start, until rtt_scaling begins",
            section: "tcp_prague.c prague_rtt_transition",
        },
    ],
    profiles: &[],
    preset_of: None,
    fields: &[
        Field {
            name: "state",
            unit: "",
            purpose: "what governs the window",
            labels: Phase::NAMES,
        },
        Field {
            name: "alpha",
            unit: "",
            purpose: "the average part of packets that are marked",
            labels: &[],
        },
        Field {
            name: "window",
            unit: "segments",
            purpose: "the window with its fraction",
            labels: &[],
        },
        Field {
            name: "increase",
            unit: "segments",
            purpose: "what a round trip without marks adds",
            labels: &[],
        },
    ],
    recovery: RecoveryOwner::Own,
    needs: Signals::ECN_COUNTS.and(Signals::ECT1).and(Signals::PACING),
    random: false,
    build: |config| AnyController::Prague(Prague::new(config)),
};
