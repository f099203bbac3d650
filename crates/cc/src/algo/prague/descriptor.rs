//! Descriptor, parameters and trace fields of Prague.

use fullpipe_units::Span;

use super::Prague;
use crate::{
    AnyController, Descriptor, Field, Marks, Param, RecoveryOwner, Signals, Specification, fields,
    params, words,
};

/// State of the controller, in the order of the labels below.
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

/// Descriptor of Prague.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "prague",
    purpose: "For L4S on the Internet: DCTCP's reaction to marks, with pacing and less dependence on the RTT.",
    specifications: &[
        Specification {
            name: "draft-briscoe-iccrg-prague-congestion-control-04",
            note: "implemented with the default options of Linux, which the draft describes",
        },
        Specification {
            name: "L4STeam/linux net/ipv4/tcp_prague.c 0.6",
            note: "the arithmetic; without classic ECN detection",
        },
        Specification {
            name: "RFC 9331",
            note: "ECT(1), a scalable reaction to marks",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Prague::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::ECN_COUNTS.and(Signals::ECT1).and(Signals::PACING),
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::Prague(Prague::new(config)),
};

words! {
    /// Whether a flow with a short RTT grows like one with a longer RTT.
    pub(super) enum RttScaling {
        Rate = "rate",
        None = "none",
    }
}

params! {
    /// The parameters.
    pub(super) struct Params {
        alpha_gain: f64 = Param::number(1.0 / 16.0, 0.0001..=1.0)
            .says("Weight of the latest round in alpha", "tcp_prague.c PRAGUE_SHIFT_G"),
        alpha_init: f64 = Param::number(1.0, 0.0..=1.0)
            .says(
                "Value of alpha until the end of the first round with a mark",
                "tcp_prague.c prague_init",
            ),
        rtt_scaling: RttScaling = Param::choice(RttScaling::WORDS).says(
            "Scaling of the increase: with rate, a flow with a smaller RTT grows as if its RTT were target_rtt",
            "tcp_prague.c prague_rtt_scaling",
        ),
        target_rtt: Span = Param::number(25.0, 0.01..=100.0).unit("ms")
            .says(
                "RTT at which flows with smaller RTTs grow alike",
                "tcp_prague.c prague_rtt_target",
            ),
        rtt_transition: u64 = Param::number(500.0, 0.0..=1e6).unit("rounds").says(
            "Rounds between the end of slow start and the start of rtt_scaling",
            "tcp_prague.c prague_rtt_transition",
        ),
    }
}

fields! {
    pub(super) impl Prague as cc {
        state: Field::state(Phase::NAMES, "State of the controller") => cc.phase() as usize,
        alpha: Field::value("", "Average fraction of packets marked CE") => cc.alpha.get(),
        window: Field::value("segments", "Target window, with its fraction") => cc.window,
        increase: Field::value("segments", "Window increase per round trip without marks")
            => cc.increase,
    }
}
