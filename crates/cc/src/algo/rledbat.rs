//! rLEDBAT: RFC 9840, LEDBAT++ in the receiver.

use fullpipe_units::{Bytes, Span, Time};

use crate::common::delay::BASE_HISTORY;
use crate::common::ledbat_pp::{
    BASE_DELAY, CONSTANT, FILTER, LedbatPolicy, LedbatWindow, Phase, Progress, QUEUE_DELAY, RAMP,
    RampKind, SPACING, TARGET,
};
use crate::{
    Arrival, Config, Default, Field, Marks, Param, ReceiverController, ReceiverDecision,
    ReceiverDescriptor, RecoveryOwner, Signals, Specification, fields, params,
};

/// Descriptor of rLEDBAT.
pub static DESCRIPTOR: ReceiverDescriptor = ReceiverDescriptor {
    name: "rledbat",
    purpose: "LEDBAT++ in the receiver: turns the traffic of any sender into background traffic by the advertised window.",
    specifications: &[
        Specification {
            name: "RFC 9840",
            note: "RTTs from timestamps, detection of retransmissions, a window that does not shrink",
        },
        Specification {
            name: "draft-irtf-iccrg-ledbat-plus-plus-06",
            note: "the window's rules, as in ledbat++",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Rledbat::FIELDS,
    recovery: RecoveryOwner::Sender,
    needs: Signals::TIMESTAMPS,
    marks: |_| Marks::Answered,
    random: false,
    build: |config| Box::new(Rledbat::new(config)),
};

params! {
    /// The parameters.
    struct Params {
        target: f64 = TARGET,
        constant: f64 = CONSTANT,
        ramp: RampKind = RAMP,
        slowdown_spacing: f64 = SPACING,
        current_filter: usize = FILTER
            .with_default(Default::Number(10.0))
            .says(FILTER.purpose, "net-research/rledbat_module"),
        base_history: usize = BASE_HISTORY,
        tick: Span = Param::number(1.0, 0.001..=100.0).unit("ms")
            .says("Granularity of the timestamps", "RFC 7323 §5.4"),
    }
}

fields! {
    impl Rledbat as cc {
        // All labels except `recovery`, a state of the sender only.
        state: Field::state(STATES, "State of the controller") => cc.window.get().phase.index(),
        window: Field::value("B", "RLWND: amount of data that the receiver allows in flight")
            => cc.window(),
        base_delay: BASE_DELAY => cc.window.delay().base(),
        queue_delay: QUEUE_DELAY => cc.window.delay().queueing(),
    }
}

const STATES: &[&str] = &["slow_start", "congestion_avoidance", "slowdown", "ramp"];

/// The rLEDBAT controller.
#[derive(Debug)]
pub struct Rledbat {
    window: LedbatWindow,
    smss: f64,
    tick: Span,
    /// Until this time the window does not change: a halving takes a round trip to become visible
    /// (RFC 9840: end.reduction.time).
    settled_at: Time,
}

impl Rledbat {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Rledbat {
        let params = Params::read(config);
        let policy = LedbatPolicy {
            target: params.target,
            constant: params.constant,
            ramp: params.ramp,
            slowdown_spacing: params.slowdown_spacing,
            current_filter: params.current_filter,
            base_history: params.base_history,
        };
        Rledbat {
            window: LedbatWindow::new(policy),
            smss: config.smss.as_f64(),
            tick: params.tick,
            settled_at: Time::ZERO,
        }
    }

    fn window(&self) -> Bytes {
        Bytes::from_f64(self.window.get().cwnd * self.smss + 1e-3)
    }
}

impl ReceiverController for Rledbat {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) {
        let Arrival {
            size,
            rtt,
            srtt,
            retransmit,
            limited,
            ..
        } = *arrival;
        if now < self.settled_at {
            self.window.sample(now, rtt);
        } else if retransmit {
            // RFC 9840 §4.3: at most once per round trip.
            self.window.on_congestion(now, srtt);
            self.settled_at = now + srtt;
        } else {
            let acked = size.as_f64() / self.smss;
            self.window.on_progress(&Progress {
                now,
                rtt,
                srtt,
                acked,
                limited,
            });
        }
    }

    fn decision(&self) -> ReceiverDecision {
        ReceiverDecision {
            window: Some(self.window()),
            ..ReceiverDecision::default()
        }
    }

    fn tick(&self) -> Span {
        self.tick
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}

const _: () = assert!(STATES.len() + 1 == Phase::NAMES.len());
