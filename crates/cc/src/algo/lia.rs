//! LIA, the coupled congestion control of Multipath TCP: RFC 6356. Each subflow is a flow, and the
//! flows of a group are one connection.

use fullpipe_units::{Bytes, Span};

use crate::algo::newreno::{OfFlight, PROFILES, Params};
use crate::common::reno::{Reno, STATE, WindowPolicy};
use crate::{
    Ack, AnyController, Config, Conn, Context, Controller, Decision, Descriptor, Field, Group,
    Lost, Marks, PathChange, Recovery, RecoveryCause, RecoveryOwner, Shared, Signals, Snapshot,
    Specification, fields,
};

/// Descriptor of LIA.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "lia",
    purpose: "NewReno for the subflows of a multipath connection, whose windows grow together as that of one flow.",
    specifications: &[
        Specification {
            name: "RFC 6356",
            note: "the coupled increase; slow start and decrease are NewReno's",
        },
        Specification {
            name: "Multipath TCP (out-of-tree Linux), net/mptcp/mptcp_coupled.c",
            note: "the subflows that count: those with an RTT sample that have not ended",
        },
    ],
    params: &Params::ROWS,
    profiles: PROFILES,
    preset_of: None,
    fields: Lia::FIELDS,
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    marks: |_| Marks::Answered,
    random: false,
    build: |config, shared| AnyController::Lia(Lia::new(config, shared)),
};

fields! {
    impl Lia as cc {
        state: STATE => cc.reno.state_index(),
        bytes_acked:
            Field::value("B", "Acknowledged bytes counted toward the next increase by a segment")
            => cc.reno.bytes_acked(),
        alpha: Field::value("", "Aggressiveness of the connection; 1 for a single subflow") => cc.coupling.alpha,
        cwnd_total: Field::value("B", "Sum of the windows of the connection's subflows") => cc.coupling.total,
        subflows: Field::value("", "Number of subflows under way") => cc.coupling.subflows,
    }
}

/// The subflows of a connection; `None` for one that has no RTT sample yet, or has ended.
#[derive(Debug, Default)]
struct Connection(Vec<Option<Subflow>>);

/// The window of a subflow in bytes, and its smoothed RTT in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Subflow {
    cwnd: f64,
    rtt: f64,
}

/// The sums over a connection's subflows that the increase depends on.
#[derive(Clone, Copy, Debug)]
struct Coupling {
    subflows: usize,
    /// cwnd_total.
    total: f64,
    alpha: f64,
}

impl Connection {
    fn coupling(&self) -> Coupling {
        let (mut subflows, mut total, mut sum, mut best) = (0, 0.0, 0.0, 0.0_f64);
        for Subflow { cwnd, rtt } in self.0.iter().flatten() {
            subflows += 1;
            total += cwnd;
            sum += cwnd / rtt;
            best = best.max(cwnd / (rtt * rtt));
        }
        // RFC 6356 §3, equation 2. A single subflow has alpha = 1, without an error of rounding.
        let alpha = if subflows > 1 {
            total * best / (sum * sum)
        } else {
            1.0
        };
        Coupling {
            subflows,
            total,
            alpha,
        }
    }
}

/// NewReno's decrease, with a coupled increase.
#[derive(Debug)]
struct Coupled {
    halving: OfFlight,
    /// Part of an acknowledged byte that counts.
    weight: f64,
    /// Fraction of a byte that has not been counted yet.
    rest: f64,
}

impl WindowPolicy for Coupled {
    fn left(&mut self, conn: &Conn, cwnd: Bytes, cause: RecoveryCause) -> Bytes {
        self.halving.left(conn, cwnd, cause)
    }

    fn weigh(&mut self, acked: Bytes) -> Bytes {
        let counted = self.weight * acked.as_f64() + self.rest;
        self.rest = counted.fract();
        Bytes::new(counted as u64)
    }

    fn counts_as_linux(&self) -> bool {
        self.halving.counts_as_linux()
    }
}

/// Whether the siblings of a subflow take it into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Not before the first RTT sample (Linux: mptcp_ccc_sk_can_send).
    New,
    Counts,
    Ended,
}

/// The LIA controller of a subflow.
#[derive(Debug)]
pub struct Lia {
    reno: Reno<Coupled>,
    connection: Group<Connection>,
    /// Place of the subflow in its connection.
    place: usize,
    coupling: Coupling,
    standing: Standing,
}

impl Lia {
    /// Creates a controller for a subflow of the connection that the configuration's group names.
    pub fn new(config: &Config, shared: &mut Shared) -> Lia {
        let params = Params::read(config);
        let policy = Coupled {
            halving: OfFlight::new(&params),
            weight: 1.0,
            rest: 0.0,
        };
        let connection: Group<Connection> = shared.group(config);
        let (place, coupling) = {
            let subflows = &mut *connection.lock();
            subflows.0.push(None);
            (subflows.0.len() - 1, subflows.coupling())
        };
        Lia {
            reno: Reno::new(config, params.slow_start, params.abc_limit, policy),
            connection,
            place,
            coupling,
            standing: Standing::New,
        }
    }

    /// Makes a change of the window between a look at the siblings and a notice to them.
    #[inline]
    fn coupled(&mut self, conn: &Conn, change: impl FnOnce(&mut Reno<Coupled>)) {
        let mut connection = self.connection.lock();
        if self.standing == Standing::New && conn.srtt > Span::ZERO {
            self.standing = Standing::Counts;
        }
        let standing = self.standing;
        let subflow = |reno: &Reno<Coupled>| {
            (standing == Standing::Counts).then(|| Subflow {
                cwnd: reno.cwnd.as_f64(),
                rtt: conn.srtt.as_nanos() as f64,
            })
        };
        connection.0[self.place] = subflow(&self.reno);
        self.coupling = connection.coupling();
        // RFC 6356 §3, equation 1: of the two terms, the second is NewReno's increase, and this is
        // the smaller one as a part of it.
        let Coupling { total, alpha, .. } = self.coupling;
        self.reno.policy.weight = if self.coupling.subflows > 1 {
            (alpha * self.reno.cwnd.as_f64() / total).min(1.0)
        } else {
            1.0
        };
        change(&mut self.reno);
        connection.0[self.place] = subflow(&self.reno);
    }
}

impl Lia {
    #[cold] // once; the dispatch of `on_sent` stays small
    fn enter(&mut self, conn: &Conn) {
        self.coupled(conn, |_| {});
    }
}

impl Controller for Lia {
    fn on_sent(&mut self, cx: &mut Context<'_>, _: &Snapshot) -> bool {
        if self.standing == Standing::New {
            self.enter(cx.conn);
        }
        false
    }

    fn on_lost(&mut self, _: &mut Context<'_>, lost: &Lost) {
        self.reno.policy.halving.flight.on_lost(lost);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.policy.halving.flight.on_ack();
        self.coupled(cx.conn, |reno| reno.on_ack(cx, ack));
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        self.coupled(cx.conn, |reno| reno.on_recovery(cx, change));
    }

    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        self.coupled(cx.conn, |reno| reno.on_unused(cx.conn, cwnd));
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        let smss = cx.conn.smss;
        match change {
            PathChange::Mtu => self.coupled(cx.conn, |reno| reno.cwnd = reno.cwnd.max(smss)),
            PathChange::Threshold { ssthresh } => self.reno.ssthresh = ssthresh,
            PathChange::EcnFailed | PathChange::Seed { .. } => {}
        }
    }

    fn on_end(&mut self, _: &mut Context<'_>) {
        self.standing = Standing::Ended;
        self.connection.lock().0[self.place] = None;
    }

    fn decision(&self) -> Decision {
        Decision::window(self.reno.cwnd, self.reno.ssthresh)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
