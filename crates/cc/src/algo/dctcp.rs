//! DCTCP: RFC 8257.

use fullpipe_units::Bytes;

use crate::common::marks::Alpha;
use crate::common::reno::{Reno, STATE, WindowPolicy};
use crate::common::round::RoundCounter;
use crate::common::slow_start::{SLOW_START, SlowStartKind};
use crate::common::window;
use crate::{
    Ack, AnyController, Config, Conn, Context, Controller, Decision, Descriptor, EcnCodepoint,
    Field, Lost, Marks, Param, PathChange, Profile, Recovery, RecoveryCause, RecoveryOwner,
    Signals, Specification, fields, params, words,
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
        Specification {
            name: "Linux 6.1 net/ipv4/tcp_dctcp.c",
            note: "profile \"linux\": where Linux differs",
        },
    ],
    params: &Params::ROWS,
    profiles: &[Profile {
        name: DctcpProfile::Linux.word(),
        defaults: &[],
    }],
    preset_of: None,
    fields: Dctcp::FIELDS,
    recovery: RecoveryOwner::Prr,
    needs: Signals::ECN_COUNTS,
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::Dctcp(Dctcp::new(config)),
};

words! {
    /// Rules to follow where the RFC and Linux differ.
    enum DctcpProfile {
        Rfc8257 = "rfc8257",
        Linux = "linux",
    }
}

params! {
    /// The parameters.
    struct Params {
        profile: DctcpProfile = Param::choice(DctcpProfile::WORDS)
            .says("Rules to follow where the RFC and Linux differ", "RFC 8257 §3.3"),
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
            => cc.reno.policy.alpha(),
    }
}

/// L of RFC 3465 in classic slow start. Linux counts every acknowledged segment.
const ABC_LIMIT: f64 = 2.0;

/// Reductions by the fraction of marked data: DCTCP.Alpha.
#[derive(Debug)]
enum Proportional {
    Exact(Alpha, RoundCounter),
    Linux(LinuxAlpha),
}

impl Proportional {
    fn alpha(&self) -> f64 {
        match self {
            Proportional::Exact(alpha, _) => alpha.get(),
            Proportional::Linux(alpha) => f64::from(alpha.value) / f64::from(ONE),
        }
    }

    /// Counts an ACK, and ends the observation window that ends with it.
    #[inline]
    fn on_ack(&mut self, conn: &Conn, ack: &Ack) {
        match self {
            // RFC 8257 §3.3: an observation window is about a round trip.
            Proportional::Exact(alpha, round) => {
                if round.on_ack(ack.newest.delivered, conn.delivered) {
                    alpha.end_window(conn.delivered, conn.delivered_ce);
                }
            }
            Proportional::Linux(alpha) => {
                alpha.update(conn);
                alpha.counted = (conn.delivered, conn.delivered_ce);
            }
        }
    }

    /// Processes the begin of a reduction, before which Linux updates alpha.
    fn before_reduction(&mut self, conn: &Conn) {
        if let Proportional::Linux(alpha) = self {
            alpha.update(conn);
        }
    }
}

impl WindowPolicy for Proportional {
    /// §3.3 for marks: cwnd (1 - alpha / 2). §3.5 for losses: half of the window, as in other TCPs.
    fn left(&mut self, conn: &Conn, cwnd: Bytes, cause: RecoveryCause) -> Bytes {
        let is_mark = cause == RecoveryCause::Ecn;
        match self {
            Proportional::Exact(alpha, _) => {
                let part = if is_mark { alpha.get() / 2.0 } else { 0.5 };
                cwnd.mul_f64(1.0 - part)
            }
            // In whole segments: a window of less than 2 / alpha stays (dctcp_ssthresh).
            Proportional::Linux(alpha) => {
                let segments = cwnd.get() / conn.smss.get();
                let left = match is_mark {
                    true => segments - segments * u64::from(alpha.value) / u64::from(2 * ONE),
                    false => segments / 2,
                };
                conn.smss * left
            }
        }
    }

    fn counts_as_linux(&self) -> bool {
        matches!(self, Proportional::Linux(_))
    }
}

/// Alpha of 1 in Linux (DCTCP_MAX_ALPHA).
const ONE: u32 = 1024;

/// The average in units of 1/1024 (Linux: dctcp_update_alpha).
#[derive(Debug)]
struct LinuxAlpha {
    value: u32,
    gain: f64,
    /// Data delivered, and the marked part of it, at the begin of the window and before the current
    /// ACK.
    begin: (Bytes, Bytes),
    counted: (Bytes, Bytes),
    /// Data delivered at the end of the window: all that was outstanding at its begin.
    end: Bytes,
}

impl LinuxAlpha {
    fn new(value: f64, gain: f64) -> LinuxAlpha {
        LinuxAlpha {
            value: (value * f64::from(ONE)) as u32,
            gain,
            begin: (Bytes::ZERO, Bytes::ZERO),
            counted: (Bytes::ZERO, Bytes::ZERO),
            end: Bytes::ZERO,
        }
    }

    /// Ends the window if the current ACK does. Linux has not counted that ACK yet.
    fn update(&mut self, conn: &Conn) {
        if conn.delivered < self.end {
            return;
        }
        let (all, marked) = (self.counted.0 - self.begin.0, self.counted.1 - self.begin.1);
        let part = |of: f64| (of * self.gain) as u64;
        // An alpha that is too small for a part goes as a whole (min_not_zero).
        let rest = match part(f64::from(self.value)) as u32 {
            0 => 0,
            less => self.value - less,
        };
        let more = part(marked.as_f64() * f64::from(ONE)) / all.get().max(1);
        self.value = ONE.min(rest + more as u32);
        self.begin = self.counted;
        self.end = conn.delivered + conn.inflight.max(conn.smss);
    }
}

/// The DCTCP controller.
#[derive(Debug)]
pub struct Dctcp {
    reno: Reno<Proportional>,
    capable: bool,
}

impl Dctcp {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Dctcp {
        let params = Params::read(config);
        let (alpha, g) = (params.alpha_init, params.g);
        let (limit, policy) = match params.profile {
            DctcpProfile::Rfc8257 => {
                let policy = Proportional::Exact(Alpha::new(alpha, g), RoundCounter::default());
                (ABC_LIMIT, policy)
            }
            DctcpProfile::Linux => {
                let policy = Proportional::Linux(LinuxAlpha::new(alpha, g));
                (f64::INFINITY, policy)
            }
        };
        Dctcp {
            reno: Reno::new(config, params.slow_start, limit, policy),
            capable: true,
        }
    }
}

impl Controller for Dctcp {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.policy.on_ack(cx.conn, ack);
        self.reno.on_ack(cx, ack);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        self.reno.policy.before_reduction(cx.conn);
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
