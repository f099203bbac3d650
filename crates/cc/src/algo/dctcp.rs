//! DCTCP: RFC 8257.

use units::Bytes;

use crate::kit::marks::Alpha;
use crate::kit::round::RoundCounter;
use crate::kit::slow_start::{AnySlowStart, SlowStart};
use crate::kit::window::{AdditiveIncrease, Episode, loss_window, report, state};
use crate::{
    Ack, AnyController, Config, Controller, Cx, Decision, Descriptor, Domain, Ecn, Field, Lost, Param, PathChange,
    Recovery, RecoveryCause, RecoveryOwner, Signals, Specification,
};

/// What DCTCP says of itself.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "dctcp",
    purpose: "For data centres: reduces the window by as much as packets are marked, so that short queues do.",
    specifications: &[
        Specification { name: "RFC 8257", note: "the sender's part; the receiver's is the transport's" },
        Specification { name: "RFC 5681", note: "slow start, increase, losses" },
    ],
    params: &[
        Param {
            name: "g",
            unit: "",
            domain: Domain::Number { default: 1.0 / 16.0, min: 0.0001, max: 1.0 },
            purpose: "DCTCP.g: the weight of the latest window",
            section: "RFC 8257 §3.3",
        },
        Param {
            name: "alpha_init",
            unit: "",
            domain: Domain::Number { default: 1.0, min: 0.0, max: 1.0 },
            purpose: "DCTCP.Alpha before the first window",
            section: "RFC 8257 §3.3",
        },
        Param {
            name: "slow_start",
            unit: "",
            domain: Domain::Choice(&["classic", "hystart++", "hystart"]),
            purpose: "how slow start grows and ends",
            section: "RFC 5681 §3.1, RFC 9406, Linux net/ipv4/tcp_cubic.c",
        },
    ],
    profiles: &[],
    preset_of: None,
    fields: &[
        Field {
            name: "state",
            unit: "",
            purpose: "what governs the window",
            labels: &["slow_start", "css", "congestion_avoidance", "recovery"],
        },
        Field {
            name: "alpha",
            unit: "",
            purpose: "DCTCP.Alpha: the average part of bytes that are marked",
            labels: &[],
        },
    ],
    recovery: RecoveryOwner::Prr,
    needs: Signals::ECN_COUNTS,
    random: false,
    build: |config| AnyController::Dctcp(Dctcp::new(config)),
};

/// L of RFC 3465 in classic slow start.
const ABC_LIMIT: f64 = 2.0;

/// The controller.
#[derive(Debug)]
pub struct Dctcp {
    cwnd: Bytes,
    ssthresh: Bytes,
    alpha: Alpha,
    round: RoundCounter,
    slow_start: AnySlowStart,
    increase: AdditiveIncrease,
    episode: Episode,
    capable: bool,
    /// `cwnd` and `ssthresh` before the last loss, for undo.
    saved: Option<(Bytes, Bytes)>,
}

impl Dctcp {
    /// One for a connection.
    pub fn new(config: &Config) -> Dctcp {
        Dctcp {
            cwnd: config.initial_cwnd,
            ssthresh: Bytes::MAX,
            alpha: Alpha::new(config.number("alpha_init"), config.number("g")),
            round: RoundCounter::default(),
            slow_start: AnySlowStart::named(config.word("slow_start"), ABC_LIMIT),
            increase: AdditiveIncrease::default(),
            episode: Episode::None,
            capable: true,
            saved: None,
        }
    }

    /// The window loses `part` of itself.
    fn reduce(&mut self, cx: &Cx<'_>, part: f64) {
        self.ssthresh = self.cwnd.mul_f64(1.0 - part).max(cx.conn.smss * 2);
        self.increase.reset();
        self.slow_start.on_congestion();
    }

    fn on_timeout(&mut self, cx: &Cx<'_>, again: bool) {
        if !again {
            self.saved = Some((self.cwnd, self.ssthresh));
            self.reduce(cx, 0.5);
        }
        self.episode = Episode::Timeout;
        self.increase.reset();
        self.cwnd = loss_window(cx.conn);
    }

    fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.saved.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
        self.episode = Episode::None;
    }

    fn state(&self) -> &'static str {
        state(self.episode, self.cwnd < self.ssthresh, self.slow_start.is_css())
    }
}

impl Controller for Dctcp {
    fn on_lost(&mut self, _: &mut Cx<'_>, _: &Lost) {}

    #[inline]
    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        // RFC 8257 §3.3: an observation window is about a round trip.
        if self.round.on_ack(ack.newest.delivered, cx.conn.delivered) {
            self.alpha.end_window(cx.conn.delivered, cx.conn.delivered_ce);
        }
        if cx.conn.in_recovery {
            return;
        }
        if self.cwnd < self.ssthresh && self.slow_start.drive(cx, ack, &mut self.cwnd, &mut self.ssthresh) {
            return;
        }
        if cx.conn.cwnd_limited {
            self.cwnd = self.increase.grow(self.cwnd, ack.newly_acked, cx.conn.smss);
        }
    }

    fn on_recovery(&mut self, cx: &mut Cx<'_>, change: Recovery) {
        let before = self.state();
        match change {
            Recovery::Enter(cause) => {
                // §3.3 for marks: cwnd (1 - alpha / 2). §3.5 for losses: as any TCP.
                let part = if cause == RecoveryCause::Ecn { self.alpha.get() / 2.0 } else { 0.5 };
                self.saved = (cause == RecoveryCause::Loss).then_some((self.cwnd, self.ssthresh));
                self.reduce(cx, part);
                self.episode = Episode::Recovery;
                self.cwnd = self.ssthresh;
            }
            Recovery::Exit => self.episode = Episode::None,
            Recovery::Spurious => self.undo(),
            Recovery::Timeout { again } => self.on_timeout(cx, again),
            Recovery::Persistent => {
                self.on_timeout(cx, true);
                self.cwnd = cx.conn.smss * 2;
            }
        }
        report(cx, before, self.state(), change);
    }

    fn on_path(&mut self, cx: &mut Cx<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => self.cwnd = self.cwnd.max(cx.conn.smss),
            PathChange::EcnFailed => self.capable = false,
            PathChange::Seed { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        let ecn = if self.capable { Ecn::Ect0 } else { Ecn::NotEct };
        Decision { ecn, ..Decision::window(self.cwnd, self.ssthresh) }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        let state = match (self.episode, self.cwnd < self.ssthresh) {
            (Episode::Recovery, _) => 3.0,
            (_, true) => f64::from(u8::from(self.slow_start.is_css())),
            (_, false) => 2.0,
        };
        row.extend([state, self.alpha.get()]);
    }
}
