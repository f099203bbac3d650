//! NewReno: RFC 5681 and RFC 6582 with appropriate byte counting (RFC 3465), in bytes.

use fullpipe_units::{Bytes, Time};

use crate::common::reno::{Reno, STATE, WindowPolicy};
use crate::common::slow_start::{SLOW_START, SlowStartKind};
use crate::common::window::FlightSize;
use crate::{
    Ack, AnyController, Config, Conn, Context, Controller, Decision, Default, Descriptor, Field,
    Lost, Marks, Param, PathChange, Profile, Recovery, RecoveryCause, RecoveryOwner, Signals,
    Specification, fields, params, words,
};

/// Descriptor of NewReno.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "newreno",
    purpose: "Additive increase and multiplicative decrease: the baseline for comparison with other algorithms.",
    specifications: &[
        Specification {
            name: "RFC 5681",
            note: "slow start, congestion avoidance, timeout",
        },
        Specification {
            name: "RFC 6582",
            note: "one reduction per episode; recovery is the transport's PRR",
        },
        Specification {
            name: "RFC 3465",
            note: "counts bytes, not ACKs",
        },
        Specification {
            name: "Linux 6.12 net/ipv4/tcp_cong.c",
            note: "profile \"linux\": where Linux differs",
        },
    ],
    params: &Params::ROWS,
    profiles: PROFILES,
    preset_of: None,
    fields: NewReno::FIELDS,
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::NewReno(NewReno::new(config)),
};

words! {
    /// Rules to follow where the RFCs and Linux differ.
    pub(super) enum RenoProfile {
        Rfc5681 = "rfc5681",
        Linux = "linux",
    }
}

// Linux counts every acknowledged segment in slow start.
pub(super) const PROFILES: &[Profile] = &[Profile {
    name: RenoProfile::Linux.word(),
    defaults: &[("abc_limit", Default::Number(1e6))],
}];

params! {
    /// The parameters.
    pub(super) struct Params {
        profile: RenoProfile = Param::choice(RenoProfile::WORDS)
            .says("Rules to follow where the RFCs and Linux differ", "RFC 5681 §3.1"),
        slow_start: SlowStartKind = SLOW_START,
        abc_limit: f64 = Param::number(2.0, 1.0..=1e6).unit("segments").says(
            "L: maximum increase per ACK in classic slow start",
            "RFC 3465 §2.2",
        ),
        beta_ecn: f64 = Param::number(0.5, 0.1..=0.99).says(
            "Fraction of the window that remains after a CE mark; 0.8 is ABE",
            "RFC 3168 §6.1.2, RFC 8511 §3.1",
        ),
    }
}

fields! {
    impl NewReno as cc {
        state: STATE => cc.0.state_index(),
        bytes_acked:
            Field::value("B", "Acknowledged bytes counted toward the next increase by a segment")
            => cc.0.bytes_acked(),
    }
}

/// Fraction of the flight size that remains after a loss (RFC 5681 §3.1, equation 4).
const BETA_LOSS: f64 = 0.5;

/// Reduces the window to a fraction of the flight size.
#[derive(Debug)]
pub(super) struct OfFlight {
    profile: RenoProfile,
    pub(super) flight: FlightSize,
    beta_ecn: f64,
}

impl OfFlight {
    pub(super) fn new(params: &Params) -> OfFlight {
        OfFlight {
            profile: params.profile,
            flight: FlightSize::default(),
            beta_ecn: params.beta_ecn,
        }
    }
}

impl WindowPolicy for OfFlight {
    fn left(&mut self, conn: &Conn, cwnd: Bytes, cause: RecoveryCause) -> Bytes {
        // RFC 8511 §3.1.
        let beta = if cause == RecoveryCause::Ecn {
            self.beta_ecn
        } else {
            BETA_LOSS
        };
        match self.profile {
            RenoProfile::Rfc5681 => self.flight.at_event(conn, cwnd).mul_f64(beta),
            // The window, even if it was not fully used, in whole segments (tcp_reno_ssthresh).
            RenoProfile::Linux => {
                let segments = (cwnd.get() / conn.smss.get()) as f64 * beta;
                conn.smss * segments as u64
            }
        }
    }

    fn counts_as_linux(&self) -> bool {
        self.profile == RenoProfile::Linux
    }
}

/// The NewReno controller.
#[derive(Debug)]
pub struct NewReno(Reno<OfFlight>);

impl NewReno {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> NewReno {
        let params = Params::read(config);
        let policy = OfFlight::new(&params);
        NewReno(Reno::new(
            config,
            params.slow_start,
            params.abc_limit,
            policy,
        ))
    }
}

impl Controller for NewReno {
    #[inline]
    fn wants_sent(&mut self, _: Time, _: bool) -> bool {
        false
    }

    fn on_lost(&mut self, _: &mut Context<'_>, lost: &Lost) {
        self.0.policy.flight.on_lost(lost);
    }

    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.0.policy.flight.on_ack();
        self.0.on_ack(cx, ack);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        self.0.on_recovery(cx, change);
    }

    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        self.0.on_unused(cx.conn, cwnd);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => self.0.cwnd = self.0.cwnd.max(cx.conn.smss),
            PathChange::Threshold { ssthresh } => self.0.ssthresh = ssthresh,
            PathChange::EcnFailed | PathChange::Seed { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision::window(self.0.cwnd, self.0.ssthresh)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
