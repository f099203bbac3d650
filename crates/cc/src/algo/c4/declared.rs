//! Descriptor, parameters, states and trace fields of C4.

use fullpipe_units::Span;

use super::C4;
use crate::{
    AnyController, Descriptor, Field, Marks, Param, RecoveryOwner, Signals, Specification, fields,
    params,
};

/// Descriptor of C4.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "c4",
    purpose: "For real-time media: a rate that only congestion reduces, and a window for the greatest RTT without a queue.",
    specifications: &[
        Specification {
            name: "draft-huitema-ccwg-c4-spec, the text after -04",
            note: "implemented, with trimming and draining",
        },
        Specification {
            name: "draft-huitema-ccwg-c4-design",
            note: "details that the specification leaves open: the first RTT, application-limited flows",
        },
        Specification {
            name: "private-octopus/picoquic c4.c",
            note: "details that both leave open: growth in Initial, the window after a loss",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: C4::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::RATE_SAMPLE
        .and(Signals::LOST_EACH)
        .and(Signals::PACING),
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::C4(C4::new(config)),
};

params! {
    /// The parameters.
    pub(super) struct Params {
        cruise_eras: u32 = Param::number(2.0, 1.0..=100.0).unit("eras")
            .says("Time in Cruising before the next Probing", "§4.5"),
        probe_alpha: f64 = Param::number(17.0 / 16.0, 1.0..=2.0)
            .says("Rate in Probing, in nominal rates; half of the excess after a CE mark", "§4.6"),
        push_alpha: f64 = Param::number(1.25, 1.0..=2.0)
            .says("Rate in Pushing, in nominal rates", "§4.7"),
        drain_alpha: f64 = Param::number(0.875, 0.5..=1.0)
            .says("Rate in a Recovery that drains the queue, in nominal rates", "§5.7"),
        beta: f64 = Param::number(0.25, 0.0..=0.9)
            .says("Reduction of the nominal rate after losses, and the greatest reduction after other signs", "§5.5.1"),
        max_jitter: Span = Param::number(250.0, 1.0..=10_000.0).unit("ms")
            .says("MAX_JITTER: limit of the nominal max RTT above the running min RTT", "§3.2"),
        rtt_floor: Span = Param::number(1.0, 0.0..=100.0).unit("ms")
            .says("Least nominal max RTT", "§6.3"),
    }
}

fields! {
    pub(super) impl C4 as cc {
        state: Field::state(State::NAMES, "State of the controller") => cc.state as usize,
        nominal_rate: Field::value("bit/s", "Nominal rate; 0 before the first sample")
            => cc.nominal.rate * 8.0,
        nominal_max_rtt:
            Field::value("s", "Nominal max RTT; 0 before the first sample") => cc.nominal.max_rtt,
        running_min_rtt:
            Field::value("s", "Running min RTT; 0 before the first sample") => cc.nominal.min_rtt,
        alpha: Field::value("", "Rate in this state, in nominal rates") => cc.alpha,
        sensitivity: Field::value("", "Sensitivity to signs of congestion, 0 to 1")
            => cc.nominal.sensitivity(),
        loss_rate: Field::value("", "Smoothed loss rate") => cc.signs.loss_rate,
        ecn_alpha: Field::value("", "Smoothed fraction of packets marked CE")
            => cc.signs.ecn_alpha,
        congestions: Field::value("", "Successive cycles with congestion") => cc.congestions,
    }
}

/// State of the controller (§4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Initial,
    Resuming,
    Recovery,
    Cruising,
    Probing,
    Pushing,
}

impl State {
    const NAMES: &[&str] = &[
        "initial", "resuming", "recovery", "cruising", "probing", "pushing",
    ];

    pub(super) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
