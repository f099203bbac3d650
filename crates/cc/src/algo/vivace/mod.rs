//! PCC Vivace: Dong, Meng, Zarchy, Arslan, Gilad, Godfrey and Schapira, "PCC Vivace:
//! Online-Learning Congestion Control", NSDI 2018. Section numbers are the paper's.
//!
//! The sender divides its packets into monitor intervals of a round trip, and learns the utility of
//! an interval's rate when all of its packets are acknowledged or lost, a round trip after its end.
//! Until then it sends at the current rate, which is not measured.

mod declared;
mod interval;
mod learning;

pub use declared::DESCRIPTOR;

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Rate, Span};

use self::declared::{Params, State};
use self::interval::{Intervals, Measurement};
use self::learning::{Steps, utility};
use crate::{
    Ack, Config, Conn, Context, Controller, Decision, Lost, PathChange, Recovery, Snapshot,
    Transition,
};

/// RTT before the first sample: pcc_sender.cpp kInitialRtt.
const FIRST_RTT: Span = Span::from_millis(100);
/// Smallest window and rate, in packets and packets per round trip.
const MIN_PACKETS: u64 = 2;
/// Data in flight at most, in products of rate and srtt. The paper has no window. This one only
/// ends the sending when feedback does: a queue enters srtt as it grows.
const WINDOW_GAIN: f64 = 2.0;
/// An interval with more losses than this halves the rate (pcc.h, onMonitorEnds).
const EMERGENCY_LOSS: f64 = 0.5;

/// The Vivace controller.
#[derive(Debug)]
pub struct Vivace {
    params: Params,
    smss: Bytes,
    initial_cwnd: Bytes,
    state: State,
    /// The current rate, in bit/s; 0 before the first packet.
    rate: f64,
    /// The rate at which packets leave: that of the open interval.
    pacing: Rate,
    cwnd: Bytes,
    /// For traces only: the window at the end of the starting phase.
    ssthresh: Bytes,
    /// The rates to test in the next intervals.
    planned: VecDeque<Rate>,
    intervals: Intervals,
    /// The first result of a pair.
    first: Option<Measurement>,
    latest: Option<Measurement>,
    steps: Steps,
    utility: f64,
    gradient: f64,
    /// In the starting phase: utility of the latest interval.
    previous: Option<f64>,
    /// The rate before a timeout, for undo.
    saved: Option<f64>,
}

impl Vivace {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Vivace {
        Vivace {
            params: Params::read(config),
            smss: config.smss,
            initial_cwnd: config.initial_cwnd,
            state: State::Starting,
            rate: 0.0,
            pacing: Rate::from_delivery(config.initial_cwnd, FIRST_RTT),
            cwnd: config.initial_cwnd,
            ssthresh: Bytes::MAX,
            planned: VecDeque::new(),
            intervals: Intervals::default(),
            first: None,
            latest: None,
            steps: Steps::default(),
            utility: 0.0,
            gradient: 0.0,
            previous: None,
            saved: None,
        }
    }

    fn rtt(conn: &Conn) -> Span {
        if conn.srtt > Span::ZERO {
            conn.srtt
        } else {
            FIRST_RTT
        }
    }

    /// Returns `rate` as a rate, at least two packets per round trip.
    fn at_least(&self, conn: &Conn, rate: f64) -> f64 {
        let bits = (self.smss * MIN_PACKETS).as_f64() * 8.0;
        rate.max(bits / Self::rtt(conn).as_secs_f64())
    }

    fn set_rate(&mut self, conn: &Conn, rate: f64) {
        self.rate = self.at_least(conn, rate);
    }

    fn set_window(&mut self, conn: &Conn) {
        let bytes = self.rate / 8.0 * Self::rtt(conn).as_secs_f64() * WINDOW_GAIN;
        self.cwnd = Bytes::from_f64(bytes)
            .max(self.smss * MIN_PACKETS)
            .max(self.initial_cwnd);
    }

    /// Plans the next tests: a pair of rates in random order (§5.1), or in the starting phase the
    /// rate itself.
    fn plan(&mut self, cx: &mut Context<'_>) {
        self.planned.clear();
        self.first = None;
        match self.state {
            State::Starting => self.planned.push_back(Rate::from_bps_f64(self.rate)),
            State::Learning => {
                let sign = if cx.rng.chance(0.5) { 1.0 } else { -1.0 };
                for sign in [sign, -sign] {
                    let rate = self.rate * (1.0 + sign * self.params.test_step);
                    self.planned.push_back(Rate::from_bps_f64(rate));
                }
            }
        }
    }

    /// Begins an interval with `packet`: a planned test, or one without measurement. Returns
    /// whether the pacing rate changed.
    fn begin_interval(&mut self, packet: &Snapshot) -> bool {
        let planned = self.planned.pop_front();
        let rate = planned.unwrap_or(Rate::from_bps_f64(self.rate));
        self.intervals.begin(rate, planned.is_some(), packet);
        let changed = rate != self.pacing;
        self.pacing = rate;
        changed
    }

    /// Uses the results of the intervals that are complete.
    fn learn(&mut self, cx: &mut Context<'_>) {
        while let Some(measured) = self.intervals.take() {
            let Some(measured) = measured else { continue };
            if measured.app_limited {
                // The rate was not reached, so nothing was learned about it.
                self.intervals.clear();
                self.plan(cx);
                continue;
            }
            let utility = utility(&self.params, &measured);
            (self.latest, self.utility) = (Some(measured), utility);
            if measured.loss > EMERGENCY_LOSS {
                let rate = self.rate / 2.0;
                self.restart(cx, rate, "more than half of an interval was lost");
            } else if self.state == State::Starting {
                self.start(cx, utility);
            } else if let Some(first) = self.first.take() {
                self.step(cx, &first, &measured);
            } else {
                self.first = Some(measured);
            }
        }
    }

    /// The starting phase: doubles the rate until the utility decreases.
    fn start(&mut self, cx: &mut Context<'_>, utility: f64) {
        if self.previous.is_none_or(|previous| utility > previous) {
            self.previous = Some(utility);
            self.set_rate(cx.conn, self.rate * 2.0);
            self.plan(cx);
        } else {
            let rate = self.rate / 2.0;
            self.restart(cx, rate, "utility decreased");
        }
    }

    /// §5.1: moves the rate along the gradient of the utility between two tested rates.
    fn step(&mut self, cx: &mut Context<'_>, first: &Measurement, second: &Measurement) {
        let utilities = [first, second].map(|measured| utility(&self.params, measured));
        let rates = [first, second].map(|measured| measured.rate.as_f64() / 1e6);
        self.gradient = (utilities[0] - utilities[1]) / (rates[0] - rates[1]);
        let change = self.steps.change(&self.params, self.rate, self.gradient);
        self.set_rate(cx.conn, self.rate + change);
        self.plan(cx);
    }

    /// Begins to learn anew from `rate`.
    fn restart(&mut self, cx: &mut Context<'_>, rate: f64, reason: &'static str) {
        if self.state == State::Starting {
            self.state = State::Learning;
            self.ssthresh = self.cwnd;
            let (from, to) = (State::Starting.name(), State::Learning.name());
            cx.observer
                .transition(cx.now, Transition { from, to, reason });
        }
        self.steps = Steps::default();
        self.intervals.clear();
        self.set_rate(cx.conn, rate);
        self.plan(cx);
    }
}

impl Controller for Vivace {
    #[inline(never)] // the dispatch for other algorithms stays small
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        if self.rate == 0.0 {
            // pcc_sender.cpp: the initial window per round trip.
            let bits = self.initial_cwnd.as_f64() * 8.0;
            self.set_rate(cx.conn, bits / Self::rtt(cx.conn).as_secs_f64());
            self.plan(cx);
        }
        let length = (Self::rtt(cx.conn), self.params.interval_packets);
        let waits = !self.planned.is_empty();
        let changed =
            self.intervals.is_over(packet.sent, length, waits) && self.begin_interval(packet);
        self.intervals.on_sent(packet);
        changed
    }

    fn on_lost(&mut self, _: &mut Context<'_>, lost: &Lost) {
        self.intervals.on_lost(&lost.packet);
    }

    fn on_acked(&mut self, _: &mut Context<'_>, packet: &Snapshot) {
        self.intervals.on_acked(packet);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.intervals.on_rtt(&ack.newest, rtt.raw);
        }
        self.learn(cx);
        self.set_window(cx.conn);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        match change {
            // Losses and marks count in the utility of their interval, and have no other effect.
            Recovery::Enter(_) | Recovery::Exit => {}
            // pcc.h, onTimeout.
            Recovery::Timeout { again: false } => {
                self.saved = Some(self.rate);
                let rate = self.rate / 2.0;
                self.restart(cx, rate, "timeout");
            }
            Recovery::Timeout { again: true } | Recovery::Persistent => {
                let rate = self.rate / 2.0;
                self.restart(cx, rate, "timeout");
            }
            Recovery::Spurious => {
                if let Some(rate) = self.saved.take() {
                    let rate = rate.max(self.rate);
                    self.restart(cx, rate, "spurious timeout");
                }
            }
        }
        self.set_window(cx.conn);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        if change == PathChange::Mtu {
            self.smss = cx.conn.smss;
        }
    }

    fn decision(&self) -> Decision {
        Decision {
            pacing_rate: Some(self.pacing),
            send_quantum: self.smss,
            ..Decision::window(self.cwnd, self.ssthresh)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
