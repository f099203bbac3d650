//! What Prague says of itself.

use fullpipe_units::Span;

use super::Prague;
use crate::{
    AnyController, Descriptor, Field, Param, RecoveryOwner, Signals, Specification, fields, params,
    words,
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
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Prague::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::ECN_COUNTS.and(Signals::ECT1).and(Signals::PACING),
    random: false,
    build: |config| AnyController::Prague(Prague::new(config)),
};

words! {
    /// Whether a flow of a short round trip grows as one of a longer.
    pub(super) enum RttScaling {
        Rate = "rate",
        None = "none",
    }
}

params! {
    /// What can be set.
    pub(super) struct Params {
        alpha_gain: f64 = Param::number(1.0 / 16.0, 0.0001..=1.0)
            .says("the weight of the latest round in alpha", "tcp_prague.c PRAGUE_SHIFT_G"),
        alpha_init: f64 = Param::number(1.0, 0.0..=1.0)
            .says("alpha until the first round with a mark is over", "tcp_prague.c prague_init"),
        rtt_scaling: RttScaling = Param::choice(RttScaling::WORDS).says(
            "whether a flow grows as if its round trip were target_rtt, if it is shorter",
            "tcp_prague.c prague_rtt_scaling",
        ),
        target_rtt: Span = Param::number(25.0, 0.01..=100.0).unit("ms")
            .says("the round trip at which all flows grow alike", "tcp_prague.c prague_rtt_target"),
        rtt_transition: u64 = Param::number(500.0, 0.0..=1e6).unit("rounds").says(
            "after slow start, until rtt_scaling begins",
            "tcp_prague.c prague_rtt_transition",
        ),
    }
}

fields! {
    pub(super) impl Prague as cc {
        state: Field::state(Phase::NAMES, "what governs the window") => cc.phase() as usize,
        alpha: Field::value("", "the average part of packets that are marked") => cc.alpha.get(),
        window: Field::value("segments", "the window with its fraction") => cc.window,
        increase: Field::value("segments", "what a round trip without marks adds") => cc.increase,
    }
}
