//! TCP Vegas: Brakmo, O'Malley and Peterson, "TCP Vegas: New Techniques for Congestion Detection and
//! Avoidance", SIGCOMM 1994, on NewReno's window; Linux's `tcp_vegas.c` where the paper is silent.

use fullpipe_units::{Bytes, Span, Time};

use crate::common::reno::{Reno, STATE, WindowPolicy};
use crate::common::round::RoundCounter;
use crate::common::slow_start::SlowStartKind;
use crate::common::window::{FlightSize, threshold_after};
use crate::{
    Ack, AnyController, Config, Conn, Context, Controller, Decision, Descriptor, Field, Lost,
    Marks, Param, PathChange, Recovery, RecoveryCause, RecoveryOwner, Signals, Snapshot,
    Specification, Transition, fields, params, words,
};

/// Descriptor of Vegas.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "vegas",
    purpose: "The first delay-based window: keeps two to four segments in the queue, and yields to flows that fill it.",
    specifications: &[
        Specification {
            name: "Brakmo, O'Malley and Peterson, SIGCOMM 1994",
            note: "congestion avoidance and slow start; losses are the transport's and NewReno's",
        },
        Specification {
            name: "Linux 6.1 net/ipv4/tcp_vegas.c",
            note: "details that the paper leaves open; profile \"linux\": where Linux differs",
        },
    ],
    params: &Params::ROWS,
    // The keyword itself makes the difference: the numbers are the same.
    profiles: &[],
    preset_of: None,
    fields: Vegas::FIELDS,
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::Vegas(Vegas::new(config)),
};

words! {
    /// Rules to follow where the paper and Linux differ.
    enum VegasProfile {
        Paper = "paper",
        Linux = "linux",
    }
}

params! {
    /// The parameters.
    struct Params {
        profile: VegasProfile = Param::choice(VegasProfile::WORDS)
            .says("Rules to follow where the paper and Linux differ", "§3.2, §3.3"),
        alpha: f64 = Param::number(2.0, 0.0..=1000.0).unit("segments")
            .says("α: with less of its data in the queue, the window grows", "§3.2"),
        beta: f64 = Param::number(4.0, 0.0..=1000.0).unit("segments")
            .says("β: with more of its data in the queue, the window shrinks", "§3.2"),
        gamma: f64 = Param::number(1.0, 0.0..=1000.0).unit("segments")
            .says("γ: with more of its data in the queue, slow start ends", "§3.3"),
    }
}

fields! {
    impl Vegas as cc {
        state: STATE => cc.reno.state_index(),
        base_rtt: Field::value("s", "BaseRTT: minimum RTT; 0 before the first sample")
            => cc.base_rtt,
        rtt: Field::value("s", "RTT of the last comparison; 0 before the first one")
            => cc.compared.rtt,
        diff: Field::value(
            "segments",
            "Diff of the last comparison: data of the flow in the queue",
        )
            => cc.compared.diff,
    }
}

/// Fraction of the flight size that remains after a loss (RFC 5681 §3.1, equation 4).
const BETA_LOSS: f64 = 0.5;
/// L of classic slow start (RFC 3465 §2.2), in segments. Linux counts every acknowledged segment.
const ABC_LIMIT: f64 = 2.0;
/// Fewer samples in a round trip may all be of delayed ACKs: tcp_vegas_cong_avoid.
const LEAST_SAMPLES: u32 = 3;
/// The minimum window, in segments: tcp_vegas_cong_avoid.
const MIN_SEGMENTS: u64 = 2;

/// NewReno's reductions, without its additive increase while Vegas decides.
#[derive(Debug)]
struct Reductions {
    linux: bool,
    flight: FlightSize,
    /// Whether acknowledged data counts toward an additive increase.
    increases: bool,
}

impl WindowPolicy for Reductions {
    fn left(&mut self, conn: &Conn, cwnd: Bytes, _: RecoveryCause) -> Bytes {
        if self.linux {
            // The window, even if it was not fully used, in whole segments (tcp_reno_ssthresh).
            conn.smss * (cwnd.get() / conn.smss.get() / 2)
        } else {
            self.flight.at_event(conn, cwnd).mul_f64(BETA_LOSS)
        }
    }

    #[inline]
    fn weigh(&mut self, acked: Bytes) -> Bytes {
        if self.increases { acked } else { Bytes::ZERO }
    }

    fn counts_as_linux(&self) -> bool {
        self.linux
    }
}

/// RTT samples of the round trip that is being measured.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    least: Option<Span>,
    count: u32,
}

/// The last comparison of expected and actual rate.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    rtt: Option<Span>,
    /// In segments.
    diff: f64,
}

/// The Vegas controller.
#[derive(Debug)]
pub struct Vegas {
    params: Params,
    reno: Reno<Reductions>,
    base_rtt: Option<Span>,
    round: RoundCounter,
    samples: Samples,
    compared: Compared,
    /// Whether Vegas decides, and not NewReno: outside of episodes.
    decides: bool,
    /// Whether slow start grows in this round trip.
    grows: bool,
}

impl Vegas {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Vegas {
        let params = Params::read(config);
        let linux = params.profile == VegasProfile::Linux;
        let limit = if linux { f64::INFINITY } else { ABC_LIMIT };
        let reductions = Reductions {
            linux,
            flight: FlightSize::default(),
            increases: false,
        };
        Vegas {
            params,
            reno: Reno::new(config, SlowStartKind::Classic, limit, reductions),
            base_rtt: None,
            round: RoundCounter::default(),
            samples: Samples::default(),
            compared: Compared::default(),
            decides: true,
            grows: true,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.reno.cwnd < self.reno.ssthresh
    }

    fn linux(&self) -> bool {
        self.params.profile == VegasProfile::Linux
    }

    /// Begins to measure: the samples until then belong to another window.
    fn restart(&mut self, conn: &Conn) {
        self.decides = true;
        self.grows = true;
        self.samples = Samples::default();
        self.round.restart(conn.delivered);
    }

    fn sample(&mut self, rtt: Span) {
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.samples.least = Some(self.samples.least.map_or(rtt, |least| least.min(rtt)));
        self.samples.count += 1;
    }

    /// Lets NewReno's window grow by an ACK, in slow start only or as NewReno.
    fn grow(&mut self, cx: &mut Context<'_>, ack: &Ack, as_newreno: bool) {
        self.reno.policy.increases = as_newreno;
        self.reno.on_ack(cx, ack);
    }

    /// §3.2, once per round trip: compares the rates that are expected without a queue and measured,
    /// at the ACK that ends the round trip.
    fn end_round(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let Samples { least, count } = core::mem::take(&mut self.samples);
        // The paper's distinguished segment is the first of the round trip.
        let of_first = ack.rtt.map(|rtt| rtt.raw);
        let rtt = if self.linux() { least } else { of_first };
        let (Some(base), Some(rtt), LEAST_SAMPLES..) = (self.base_rtt, rtt, count) else {
            self.grow(cx, ack, true);
            return;
        };
        let diff = self.diff(cx.conn, base, rtt);
        self.compared = Compared {
            rtt: Some(rtt),
            diff,
        };
        if self.in_slow_start() {
            self.slow_start(cx, ack, base, rtt);
        } else if diff > self.params.beta {
            self.reno.cwnd = self.reno.cwnd.saturating_sub(cx.conn.smss);
            self.reno.ssthresh = self.reno.ssthresh.min(self.reno.cwnd);
        } else if diff < self.params.alpha && cx.conn.cwnd_limited {
            self.reno.cwnd += cx.conn.smss;
        }
        self.reno.cwnd = self.reno.cwnd.max(cx.conn.smss * MIN_SEGMENTS);
        self.reno.ssthresh = threshold_after(self.reno.cwnd, self.reno.ssthresh, cx.conn.smss);
    }

    /// Returns Diff (§3.2) in segments: Expected − Actual, cwnd/BaseRTT − cwnd/RTT, times BaseRTT.
    fn diff(&self, conn: &Conn, base: Span, rtt: Span) -> f64 {
        let queued = (rtt - base).as_nanos() as f64;
        if self.linux() {
            // By the delay in multiples of BaseRTT, and in whole segments.
            let segments = (self.reno.cwnd.get() / conn.smss.get()) as f64;
            (segments * queued / base.as_nanos().max(1) as f64).floor()
        } else {
            let segments = self.reno.cwnd.as_f64() / conn.smss.as_f64();
            segments * queued / rtt.as_nanos().max(1) as f64
        }
    }

    /// §3.3: the window doubles every other round trip only. In between it does not change, so that
    /// the comparison is valid. Linux's doubles each round trip.
    fn slow_start(&mut self, cx: &mut Context<'_>, ack: &Ack, base: Span, rtt: Span) {
        let is_valid = self.linux() || !self.grows;
        self.grows = is_valid;
        if !is_valid {
            return;
        }
        if self.compared.diff <= self.params.gamma {
            self.grow(cx, ack, false);
            return;
        }
        // Linux: the window of the actual rate without a queue, and a segment, since truncation
        // would leave the link unused.
        let share = base.as_nanos() as f64 / rtt.as_nanos() as f64;
        let segments = (self.reno.cwnd.as_f64() / cx.conn.smss.as_f64() * share) as u64 + 1;
        self.reno.cwnd = self.reno.cwnd.min(cx.conn.smss * segments);
        self.reno.ssthresh = self.reno.cwnd;
        let transition = Transition {
            from: "slow_start",
            to: "congestion_avoidance",
            reason: "more than gamma in the queue",
        };
        cx.observer.transition(cx.now, transition);
    }
}

impl Controller for Vegas {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        // CA_EVENT_TX_START of tcp_vegas_cwnd_event; the paper keeps BaseRTT.
        if packet.inflight.get() == u64::from(packet.size) {
            if self.linux() {
                self.base_rtt = None;
            }
            self.restart(cx.conn);
        }
        false
    }

    #[inline]
    fn wants_sent(&mut self, _: Time, from_idle: bool) -> bool {
        from_idle
    }

    fn on_lost(&mut self, _: &mut Context<'_>, lost: &Lost) {
        self.reno.policy.flight.on_lost(lost);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.policy.flight.on_ack();
        if let Some(rtt) = ack.rtt {
            self.sample(rtt.raw);
        }
        if !self.decides {
            self.grow(cx, ack, true);
        } else if self.round.on_ack(ack.newest.delivered, cx.conn.delivered) {
            self.end_round(cx, ack);
        } else if self.in_slow_start() && self.grows {
            self.grow(cx, ack, false);
        }
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        self.reno.policy.increases = false;
        self.reno.on_recovery(cx, change);
        match change {
            Recovery::Exit | Recovery::Spurious => self.restart(cx.conn),
            Recovery::Enter(_) | Recovery::Timeout { .. } | Recovery::Persistent => {
                self.decides = false;
            }
        }
    }

    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        self.reno.on_unused(cx.conn, cwnd);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => {
                self.reno.cwnd = self.reno.cwnd.max(cx.conn.smss * MIN_SEGMENTS);
            }
            PathChange::Threshold { ssthresh } => self.reno.ssthresh = ssthresh,
            PathChange::EcnFailed | PathChange::Seed { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision::window(self.reno.cwnd, self.reno.ssthresh)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
