//! DCTCP: RFC 8257.

use fullpipe_units::Bytes;

use crate::common::marks::Alpha;
use crate::common::reno::{Reno, STATE, WindowPolicy};
use crate::common::round::RoundCounter;
use crate::common::slow_start::{SLOW_START, SlowStartKind};
use crate::common::window;
use crate::{
    Ack, AnyController, Config, Conn, Context, Controller, Decision, Descriptor, EcnCodepoint,
    Field, Lost, Marks, Param, PathChange, Recovery, RecoveryCause, RecoveryOwner, Signals,
    Specification, fields, params,
};

/// Descriptor of DCTCP.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "dctcp",
    purpose: "For data centers: reduces the window in proportion to the fraction of marked packets, which keeps queues short.",
    specifications: &[
        Specification {
            name: "RFC 8257",
            note: "the sender's part; the transport implements the receiver's",
        },
        Specification {
            name: "RFC 5681",
            note: "slow start, increase, losses",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Dctcp::FIELDS,
    recovery: RecoveryOwner::Prr,
    needs: Signals::ECN_COUNTS,
    marks: |_| Marks::Answered,
    random: false,
    build: |config| AnyController::Dctcp(Dctcp::new(config)),
};

params! {
    /// The parameters.
    struct Params {
        g: f64 = Param::number(1.0 / 16.0, 0.0001..=1.0)
            .says(
                "DCTCP.g: weight of the latest observation window in DCTCP.Alpha",
                "RFC 8257 §3.3, §4.2",
            ),
        alpha_init: f64 = Param::number(1.0, 0.0..=1.0)
            .says("Initial value of DCTCP.Alpha", "RFC 8257 §3.3"),
        slow_start: SlowStartKind = SLOW_START,
    }
}

fields! {
    impl Dctcp as cc {
        state: STATE => cc.reno.state_index(),
        alpha: Field::value("", "DCTCP.Alpha: average fraction of bytes marked CE")
            => cc.reno.policy.get(),
    }
}

/// L of RFC 3465 in classic slow start.
const ABC_LIMIT: f64 = 2.0;

impl WindowPolicy for Alpha {
    /// §3.3 for marks: cwnd (1 - alpha / 2). §3.5 for losses: half of the window, as in other TCPs.
    fn left(&mut self, _: &Conn, cwnd: Bytes, cause: RecoveryCause) -> Bytes {
        let part = if cause == RecoveryCause::Ecn {
            self.get() / 2.0
        } else {
            0.5
        };
        cwnd.mul_f64(1.0 - part)
    }
}

/// The DCTCP controller.
#[derive(Debug)]
pub struct Dctcp {
    reno: Reno<Alpha>,
    round: RoundCounter,
    capable: bool,
}

impl Dctcp {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Dctcp {
        let params = Params::read(config);
        let alpha = Alpha::new(params.alpha_init, params.g);
        Dctcp {
            reno: Reno::new(config, params.slow_start, ABC_LIMIT, alpha),
            round: RoundCounter::default(),
            capable: true,
        }
    }
}

impl Controller for Dctcp {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        // RFC 8257 §3.3: an observation window is about a round trip.
        if self.round.on_ack(ack.newest.delivered, cx.conn.delivered) {
            self.reno
                .policy
                .end_window(cx.conn.delivered, cx.conn.delivered_ce);
        }
        self.reno.on_ack(cx, ack);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        window::on_recovery(&mut self.reno, cx, change);
    }

    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        self.reno.on_unused(cx.conn, cwnd);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => self.reno.cwnd = self.reno.cwnd.max(cx.conn.smss),
            PathChange::EcnFailed => self.capable = false,
            PathChange::Threshold { ssthresh } => self.reno.ssthresh = ssthresh,
            PathChange::Seed { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        let ecn = if self.capable {
            EcnCodepoint::Ect0
        } else {
            EcnCodepoint::NotEct
        };
        Decision {
            ecn,
            ..Decision::window(self.reno.cwnd, self.reno.ssthresh)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
