//! Descriptor, parameters and trace fields of Vivace.

use super::Vivace;
use crate::{
    AnyController, Descriptor, Field, Marks, Param, RecoveryOwner, Signals, Specification, fields,
    params,
};

/// Descriptor of PCC Vivace.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "vivace",
    purpose: "Tests two rates in turn and moves toward the one of higher utility: rate less penalties for loss and growing RTTs.",
    specifications: &[
        Specification {
            name: "Dong et al., \"PCC Vivace: Online-Learning Congestion Control\", NSDI 2018",
            note: "utility, gradient ascent, confidence amplifier, dynamic change boundary",
        },
        Specification {
            name: "WebRTC modules/congestion_controller/pcc (2018)",
            note: "the paper's constants, one pair of tests per step, and how its boundary shrinks",
        },
        Specification {
            name: "PCCproject/PCC-Uspace, branches NSDI-2018 and master",
            note: "the first rate, the reaction to a timeout and to losses of more than half of an interval",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Vivace::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::PACING
        .and(Signals::LOST_EACH)
        .and(Signals::ACKED_EACH),
    marks: |_| Marks::Ignored,
    random: true,
    build: |config, _| AnyController::Vivace(Vivace::new(config)),
};

params! {
    /// The parameters.
    pub(super) struct Params {
        throughput_exponent: f64 = Param::number(0.9, 0.1..=0.999)
            .says("t: exponent of the rate", "§4.1, equation 1"),
        rtt_gradient_coefficient: f64 = Param::number(900.0, 0.0..=1e6)
            .says("b: weight of the RTT gradient; 0 for Vivace-Loss", "§4.1, equation 1"),
        loss_coefficient: f64 = Param::number(11.35, 0.0..=1e6)
            .says("c: weight of the loss fraction", "§4.1, equation 1"),
        rtt_gradient_threshold: f64 = Param::number(0.01, 0.0..=1.0)
            .says("RTT gradients below this count as 0", "§5.2"),
        test_step: f64 = Param::number(0.05, 0.001..=0.5)
            .says("ε: difference between a tested rate and the current one, as a fraction", "§5.1"),
        conversion_factor: f64 = Param::number(1.0, 0.001..=1000.0).unit("Mbit/s per utility per Mbit/s")
            .says("θ0: change of the rate for a gradient of 1", "§5.1"),
        initial_boundary: f64 = Param::number(0.05, 0.001..=1.0)
            .says("ω0: largest change, as a fraction of the rate", "§5.1"),
        boundary_increment: f64 = Param::number(0.1, 0.0..=1.0)
            .says("δ: growth of the boundary after each change that it limited", "§5.1"),
        interval_packets: u64 = Param::number(10.0, 1.0..=1000.0).unit("packets")
            .says("Minimum length of a monitor interval, which otherwise is a round trip", "WebRTC kMinPacketsNumberPerInterval"),
    }
}

fields! {
    pub(super) impl Vivace as cc {
        state: Field::state(State::NAMES, "Starting, or online learning") => cc.state as usize,
        base_rate: Field::value("bit/s", "Rate around which the tests are made") => cc.rate,
        utility: Field::value("", "Utility of the latest tested rate") => cc.utility,
        utility_gradient: Field::value("", "Latest gradient of the utility, per Mbit/s") => cc.gradient,
        rtt_gradient: Field::value("", "d(RTT)/dT in the latest tested interval") => cc.latest.map_or(0.0, |latest| latest.rtt_gradient),
        interval_loss: Field::value("", "Fraction of bytes lost in the latest tested interval") => cc.latest.map_or(0.0, |latest| latest.loss),
        amplifier: Field::value("", "τ: number of consecutive steps in one direction, negative downward") => cc.steps.consecutive as f64,
    }
}

/// State of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Starting,
    Learning,
}

impl State {
    const NAMES: &[&str] = &["starting", "learning"];

    pub(super) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
