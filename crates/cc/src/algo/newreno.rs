//! NewReno: RFC 5681 and RFC 6582 with appropriate byte counting (RFC 3465), in bytes.

use units::Bytes;

use crate::kit::slow_start::{AnySlowStart, SlowStart};
use crate::kit::window::{AdditiveIncrease, Episode, FlightSize, loss_window, report, state};
use crate::{
    Ack, AnyController, Config, Controller, Cx, Decision, Descriptor, Domain, Field, Lost, Param, PathChange, Recovery,
    RecoveryCause, RecoveryOwner, Signals, Specification,
};

/// What NewReno says of itself.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "newreno",
    purpose: "The additive increase and multiplicative decrease that everything else is compared with.",
    specifications: &[
        Specification { name: "RFC 5681", note: "slow start, congestion avoidance, timeout" },
        Specification { name: "RFC 6582", note: "one reduction an episode; its recovery is the transport's PRR" },
        Specification { name: "RFC 3465", note: "bytes are counted, not ACKs" },
    ],
    params: &[
        Param {
            name: "slow_start",
            unit: "",
            domain: Domain::Choice(&["classic", "hystart++", "hystart"]),
            purpose: "how slow start grows and ends",
            section: "RFC 5681 §3.1, RFC 9406, Linux net/ipv4/tcp_cubic.c",
        },
        Param {
            name: "abc_limit",
            unit: "segments",
            domain: Domain::Number { default: 2.0, min: 1.0, max: 1e6 },
            purpose: "L: what one ACK counts at most in classic slow start",
            section: "RFC 3465 §2.2",
        },
        Param {
            name: "beta_ecn",
            unit: "",
            domain: Domain::Number { default: 0.5, min: 0.1, max: 0.99 },
            purpose: "what a mark leaves of the window; 0.8 is ABE",
            section: "RFC 3168 §6.1.2, RFC 8511 §3.1",
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
        Field { name: "bytes_acked", unit: "B", purpose: "counted towards the next segment", labels: &[] },
    ],
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    random: false,
    build: |config| AnyController::NewReno(NewReno::new(config)),
};

/// What a loss leaves of the flight (RFC 5681 §3.1, equation 4).
const BETA_LOSS: f64 = 0.5;

/// The controller.
#[derive(Debug)]
pub struct NewReno {
    cwnd: Bytes,
    ssthresh: Bytes,
    slow_start: AnySlowStart,
    increase: AdditiveIncrease,
    flight: FlightSize,
    episode: Episode,
    beta_ecn: f64,
    /// `cwnd` and `ssthresh` before the last reduction, for undo.
    saved: Option<(Bytes, Bytes)>,
}

impl NewReno {
    /// One for a connection.
    pub fn new(config: &Config) -> NewReno {
        NewReno {
            cwnd: config.initial_cwnd,
            ssthresh: Bytes::MAX,
            slow_start: AnySlowStart::named(config.word("slow_start"), config.number("abc_limit")),
            increase: AdditiveIncrease::default(),
            flight: FlightSize::default(),
            episode: Episode::None,
            beta_ecn: config.number("beta_ecn"),
            saved: None,
        }
    }

    /// A part of the flight from now on, half of it after a loss; what was before is kept for undo.
    fn reduce(&mut self, cx: &Cx<'_>, beta: f64) {
        self.saved = Some((self.cwnd, self.ssthresh));
        // RFC 5681 §3.1, equation 4.
        self.ssthresh = self.flight.at_event(cx.conn, self.cwnd).mul_f64(beta).max(cx.conn.smss * 2);
        self.increase.reset();
        self.slow_start.on_congestion();
    }

    fn on_timeout(&mut self, cx: &Cx<'_>, again: bool) {
        // RFC 5681 §3.1: another timeout of one segment holds ssthresh. §4.3: one inside recovery, where a retransmission
        // was lost, is a second sign of congestion.
        if !again {
            self.reduce(cx, BETA_LOSS);
        }
        self.episode = Episode::Timeout;
        self.increase.reset();
        self.cwnd = loss_window(cx.conn);
    }

    fn state(&self) -> &'static str {
        state(self.episode, self.cwnd < self.ssthresh, self.slow_start.is_css())
    }

    fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.saved.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
        self.episode = Episode::None;
    }
}

impl Controller for NewReno {
    fn on_lost(&mut self, _: &mut Cx<'_>, lost: &Lost) {
        self.flight.on_lost(lost);
    }

    #[inline]
    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        self.flight.on_ack();
        if cx.conn.in_recovery {
            return;
        }
        if self.cwnd < self.ssthresh && self.slow_start.drive(cx, ack, &mut self.cwnd, &mut self.ssthresh) {
            return;
        }
        // RFC 7661 §4.1: a window that was not used proves nothing.
        if cx.conn.cwnd_limited {
            // RFC 3465 §2.1.
            self.cwnd = self.increase.grow(self.cwnd, ack.newly_acked, cx.conn.smss);
        }
    }

    fn on_recovery(&mut self, cx: &mut Cx<'_>, change: Recovery) {
        let before = self.state();
        match change {
            Recovery::Enter(cause) => {
                // RFC 8511 §3.1.
                self.reduce(cx, if cause == RecoveryCause::Ecn { self.beta_ecn } else { BETA_LOSS });
                self.episode = Episode::Recovery;
                // RFC 6582 §3.2, step 3, full acknowledgment: where PRR runs the window to.
                self.cwnd = self.ssthresh;
            }
            Recovery::Exit => self.episode = Episode::None,
            Recovery::Spurious => self.undo(),
            Recovery::Timeout { again } => self.on_timeout(cx, again),
            Recovery::Persistent => {
                // RFC 9002 §7.6.2: the minimum window.
                self.on_timeout(cx, true);
                self.cwnd = cx.conn.smss * 2;
            }
        }
        report(cx, before, self.state(), change);
    }

    fn on_path(&mut self, cx: &mut Cx<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => self.cwnd = self.cwnd.max(cx.conn.smss),
            PathChange::EcnFailed | PathChange::Seed { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision::window(self.cwnd, self.ssthresh)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        let state = match (self.episode, self.cwnd < self.ssthresh) {
            (Episode::Recovery, _) => 3.0,
            (_, true) => f64::from(u8::from(self.slow_start.is_css())),
            (_, false) => 2.0,
        };
        row.extend([state, self.increase.bytes_acked().as_f64()]);
    }
}
