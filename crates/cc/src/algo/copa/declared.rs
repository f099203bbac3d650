//! Descriptor, parameters and trace fields of Copa.

use fullpipe_units::Span;

use super::{Copa, Rtts};
use crate::{
    AnyController, Descriptor, Field, Marks, Param, RecoveryOwner, Signals, Specification, fields,
    params, words,
};

/// Descriptor of Copa.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "copa",
    purpose: "Keeps a few packets in the queue and empties it every five round trips; competes with flows that fill it.",
    specifications: &[
        Specification {
            name: "Arun and Balakrishnan, NSDI 2018",
            note: "implemented, with both modes",
        },
        Specification {
            name: "venkatarun95/genericCC markoviancc.cc",
            note: "details that the paper leaves open: the minimum window, the limit of the velocity",
        },
        Specification {
            name: "facebook/mvfst Copa.cpp",
            note: "resets the velocity when the direction changes",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Copa::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::PACING,
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::Copa(Copa::new(config)),
};

words! {
    /// Modes in which the flow may operate.
    pub(super) enum Modes {
        Both = "both",
        Default = "default",
    }
}

params! {
    /// The parameters.
    pub(super) struct Params {
        delta: f64 = Param::number(0.5, 0.001..=10.0).unit("1/packets").says(
            "δ in default mode: the flow aims to have 1/δ of its packets in the queue",
            "§2.1, §2.2",
        ),
        modes: Modes = Param::choice(Modes::WORDS)
            .says(
                "Modes to use: both, or default without competitive mode, which reacts to flows that fill the buffer",
                "§2.2",
            ),
        nearly_empty: f64 = Param::number(1.0, 0.0..=10.0).unit("packets").says(
            "The queue also counts as nearly empty if it holds at most this amount of the flow; 0 for the paper's rule alone",
            "docs/reference/models/copa.md",
        ),
        min_rtt_window: Span = Param::number(10.0, 0.1..=3600.0).unit("s")
            .says("Window of the minimum-RTT filter", "§2.1"),
        pacing_gain: f64 = Param::number(2.0, 1.0..=10.0)
            .says("Pacing rate, in windows per RTTstanding", "§2.1"),
    }
}

fields! {
    pub(super) impl Copa as cc {
        state: Field::state(State::NAMES, "Mode, or slow start")
            => cc.state() as usize,
        rtt_min:
            Field::value("s", "RTTmin: minimum RTT in min_rtt_window; 0 before the first sample")
            => cc.rtts.map(|rtts| rtts.min),
        rtt_standing: Field::value(
            "s",
            "RTTstanding: minimum RTT in the last half srtt; 0 before the first sample",
        )
            => cc.rtts.map(|rtts| rtts.standing),
        queue_delay: Field::value("s", "dq: queueing delay, RTTstanding less RTTmin")
            => cc.rtts.map(Rtts::queue_delay),
        delta: Field::value("1/packets", "δ in force") => 1.0 / cc.per_delta,
        velocity: Field::value(
            "",
            "v: speed of the window's changes, in multiples of 1/δ packets per round trip",
        )
            => cc.velocity,
    }
}

/// State of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    SlowStart,
    Default,
    Competitive,
}

impl State {
    const NAMES: &[&str] = &["slow_start", "default", "competitive"];

    pub(super) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
