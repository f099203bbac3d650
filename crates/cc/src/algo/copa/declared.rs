//! What Copa says of itself.

use fullpipe_units::Span;

use super::{Copa, Rtts};
use crate::{
    AnyController, Descriptor, Field, Param, RecoveryOwner, Signals, Specification, fields, params,
    words,
};

/// The static.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "copa",
    purpose: "Keeps a few packets in the queue and empties it every five round trips; competes where others fill it.",
    specifications: &[
        Specification {
            name: "Arun and Balakrishnan, NSDI 2018",
            note: "followed, with both modes",
        },
        Specification {
            name: "venkatarun95/genericCC markoviancc.cc",
            note: "where the paper is silent: the least window, the bound of the velocity",
        },
        Specification {
            name: "facebook/mvfst Copa.cpp",
            note: "the velocity restarts when the direction turns",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Copa::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::PACING,
    random: false,
    build: |config| AnyController::Copa(Copa::new(config)),
};

words! {
    /// Which modes there are.
    pub(super) enum Modes {
        Both = "both",
        Default = "default",
    }
}

params! {
    /// What can be set.
    pub(super) struct Params {
        delta: f64 = Param::number(0.5, 0.001..=10.0).unit("1/packets").says(
            "δ of default mode: the target is 1/δ packets of the flow in the queue",
            "§2.1, §2.2",
        ),
        modes: Modes = Param::choice(Modes::WORDS)
            .says("whether competitive mode answers flows that fill the buffer", "§2.2"),
        nearly_empty: f64 = Param::number(1.0, 0.0..=10.0).unit("packets").says(
            "a queue that holds no more of the flow counts as nearly empty, too; 0 is the paper's rule alone",
            "docs/reference/models/copa.md",
        ),
        min_rtt_window: Span = Param::number(10.0, 0.1..=3600.0).unit("s")
            .says("how long the least RTT counts as the path's", "§2.1"),
        pacing_gain: f64 = Param::number(2.0, 1.0..=10.0)
            .says("the pacing rate, in windows an RTTstanding", "§2.1"),
    }
}

fields! {
    pub(super) impl Copa as cc {
        state: Field::state(State::NAMES, "the mode, or slow start before it")
            => cc.state() as usize,
        rtt_min: Field::value("s", "RTTmin; 0 unset") => cc.rtts.map(|rtts| rtts.min),
        rtt_standing: Field::value("s", "RTTstanding; 0 unset") => cc.rtts.map(|rtts| rtts.standing),
        queue_delay: Field::value("s", "dq: RTTstanding less RTTmin")
            => cc.rtts.map(Rtts::queue_delay),
        delta: Field::value("1/packets", "δ in force") => 1.0 / cc.per_delta,
        velocity: Field::value("", "v: how much faster than 1/δ packets a round trip") => cc.velocity,
    }
}

/// What governs the window.
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
