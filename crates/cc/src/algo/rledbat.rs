//! rLEDBAT: RFC 9840, LEDBAT++ in the receiver.

use fullpipe_units::{Bytes, Span, Time};

use crate::common::ledbat_pp::{
    CONSTANT, HISTORY, LedbatWindow, Phase, Progress, RAMP, SPACING, TARGET,
};
use crate::{
    Arrival, Config, Domain, Field, Param, RecoveryOwner, Signals, Specification, WindowController,
    WindowDescriptor,
};

/// What rLEDBAT says of itself.
pub static DESCRIPTOR: WindowDescriptor = WindowDescriptor {
    name: "rledbat",
    purpose: "LEDBAT++ in the receiver: whatever the sender runs, it becomes background traffic by the window offered to it.",
    specifications: &[
        Specification {
            name: "RFC 9840",
            note: "round trips by timestamps, retransmissions, a window that does not shrink",
        },
        Specification {
            name: "draft-irtf-iccrg-ledbat-plus-plus-06",
            note: "the window's law, as in ledbat++",
        },
    ],
    params: &[
        TARGET,
        CONSTANT,
        RAMP,
        SPACING,
        Param {
            name: "current_filter",
            unit: "samples",
            domain: Domain::Number {
                default: 10.0,
                min: 1.0,
                max: 100.0,
            },
            purpose: "the current delay is the minimum of so many round trips",
            section: "net-research/rledbat_module",
        },
        HISTORY,
        Param {
            name: "tick",
            unit: "ms",
            domain: Domain::Number {
                default: 1.0,
                min: 0.001,
                max: 100.0,
            },
            purpose: "how coarse the timestamps are",
            section: "RFC 7323 §5.4",
        },
    ],
    profiles: &[],
    preset_of: None,
    fields: &[
        // One that repairs losses is the sender's.
        Field {
            name: "state",
            unit: "",
            purpose: "what governs the window",
            labels: STATES,
        },
        Field {
            name: "window",
            unit: "B",
            purpose: "RLWND: what is to be on its way",
            labels: &[],
        },
        Field {
            name: "base_delay",
            unit: "s",
            purpose: "the path's round trip; 0 before a sample",
            labels: &[],
        },
        Field {
            name: "queue_delay",
            unit: "s",
            purpose: "the filtered round trip over the base",
            labels: &[],
        },
    ],
    recovery: RecoveryOwner::Sender,
    needs: Signals::TIMESTAMPS,
    random: false,
    build: |config| Box::new(Rledbat::new(config)),
};

const STATES: &[&str] = &["slow_start", "congestion_avoidance", "slowdown", "ramp"];

/// The controller.
#[derive(Debug)]
pub struct Rledbat {
    window: LedbatWindow,
    smss: f64,
    tick: Span,
    /// Until then nothing changes: the last halving takes a round trip to be seen (RFC 9840:
    /// end.reduction.time).
    settled_at: Time,
}

impl Rledbat {
    /// One for a connection.
    pub fn new(config: &Config) -> Rledbat {
        Rledbat {
            window: LedbatWindow::new(config, config.number("current_filter") as usize),
            smss: config.smss.as_f64(),
            tick: Span::from_secs_f64(config.number("tick") / 1e3),
            settled_at: Time::ZERO,
        }
    }
}

impl WindowController for Rledbat {
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
            // RFC 9840 §4.3: once a round trip.
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

    fn window(&self) -> Bytes {
        Bytes::from_f64(self.window.get().cwnd * self.smss + 1e-3)
    }

    fn tick(&self) -> Span {
        self.tick
    }

    fn observe(&self, row: &mut Vec<f64>) {
        let seconds = |span: Option<Span>| span.map_or(0.0, Span::as_secs_f64);
        let (state, delay) = (self.window.get().phase.index(), self.window.delay());
        row.extend([
            state as f64,
            self.window().as_f64(),
            seconds(delay.base()),
            seconds(delay.queueing()),
        ]);
    }
}

const _: () = assert!(STATES.len() + 1 == Phase::NAMES.len());
