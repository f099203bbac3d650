//! C4: draft-huitema-ccwg-c4-spec, in the text that follows its version -04. Section numbers are
//! this draft's.

mod declared;
mod nominal;
mod signs;
mod states;

pub use declared::DESCRIPTOR;

use fullpipe_units::{Bytes, Rate, Span};

use self::declared::{Params, State};
use self::nominal::{EraRtts, Nominal};
use self::signs::{Sign, Signs};
use crate::common::round::RoundCounter;
use crate::common::window::loss_window;
use crate::{
    Ack, Config, Context, Controller, Decision, EcnCodepoint, LossCause, Lost, PathChange,
    Recovery, RecoveryCause,
};

/// §4.1: minimum pacing rate in Initial, in bytes per second: 1,048,576 bit/s.
const MIN_INITIAL_RATE: f64 = 131_072.0;
/// §4.1: limit of the margin for errors of the nominal max RTT.
const MAX_MARGIN: Span = Span::from_millis(15);
/// §4.1: minimum window and minimum quantum, in packets.
const MIN_PACKETS: u64 = 2;
/// §4.1: duration of a quantum at the pacing rate, in seconds.
const QUANTUM_TIME: f64 = 4e-3;
/// §4.1: maximum quantum.
const MAX_QUANTUM: f64 = 65_536.0;

/// An era: a round trip by packets (§1).
#[derive(Clone, Copy, Debug, Default)]
struct Era {
    /// Ends the era.
    round: RoundCounter,
    /// Number of eras in this state that have ended.
    ended: u32,
    rtts: Option<EraRtts>,
    /// Nominal rate at its start.
    rate: f64,
    /// Whether one of its samples was not application-limited.
    is_full: bool,
}

/// The time from the end of one Recovery to the end of the next.
#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    /// Nominal rate at its start.
    rate: f64,
    /// Nominal rate at the start of Probing.
    probe_rate: f64,
    /// "Recent maximum rate" (§5.5.2); 0 without a sample.
    max_rate: f64,
    /// Whether a sample since the start of Probing or Pushing was not application-limited.
    is_full: bool,
    /// Whether Recovery began with a sign of congestion, or one arrived during it (§3.1).
    is_congested: bool,
    /// Whether Recovery follows Probing.
    was_probed: bool,
    /// Whether the next Recovery drains the queue (§5.7).
    drains: bool,
}

/// The window in Initial (§4.2).
#[derive(Clone, Copy, Debug)]
struct Initial {
    cwnd: Bytes,
    /// Data acknowledged in this state.
    acked: Bytes,
    /// Successive eras without an increase of the nominal rate.
    flat_eras: u32,
}

/// The C4 controller.
#[derive(Debug)]
pub struct C4 {
    params: Params,
    smss: Bytes,
    state: State,
    nominal: Nominal,
    signs: Signs,
    alpha: f64,
    /// `alpha` of the previous era: the one with which the packets acknowledged now were sent.
    alpha_previous: f64,
    era: Era,
    cycle: Cycle,
    initial: Initial,
    /// Successive cycles with congestion (§5.5.2).
    congestions: u32,
    /// Remembered window, and the rate of that window per RTT, once known (§4.3).
    seed: Option<(Bytes, Option<f64>)>,
    cwnd: Bytes,
    /// For traces only: half of the window at the end of Initial.
    ssthresh: Bytes,
    pacing_rate: Option<Rate>,
    quantum: Bytes,
    /// Window until the next ACK after a timeout.
    probe_window: Option<Bytes>,
    is_capable: bool,
}

impl C4 {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> C4 {
        C4 {
            params: Params::read(config),
            smss: config.smss,
            state: State::Initial,
            nominal: Nominal::default(),
            signs: Signs::default(),
            alpha: states::INITIAL_ALPHA,
            alpha_previous: states::INITIAL_ALPHA,
            era: Era::default(),
            cycle: Cycle::default(),
            initial: Initial {
                cwnd: config.initial_cwnd,
                acked: Bytes::ZERO,
                flat_eras: 0,
            },
            congestions: 0,
            seed: None,
            cwnd: config.initial_cwnd,
            ssthresh: Bytes::MAX,
            pacing_rate: None,
            quantum: Bytes::ZERO,
            probe_window: None,
            is_capable: true,
        }
    }

    /// Takes an RTT sample (§3.2). Returns the sign of congestion that it gives (§5.2).
    #[inline]
    fn measure_rtt(&mut self, cx: &mut Context<'_>, rtt: Span) -> Option<Sign> {
        self.era.rtts = Some(match self.era.rtts {
            None => EraRtts { max: rtt, min: rtt },
            Some(EraRtts { max, min }) => EraRtts {
                max: max.max(rtt),
                min: min.min(rtt),
            },
        });
        if self.nominal.max_rtt.is_none() {
            self.nominal.start(rtt, &self.params);
            self.resume(cx);
            return None;
        }
        signs::delay(rtt, &self.nominal, &self.params)
    }

    /// Takes a sample of the delivery rate (§3.1): without congestion, it may raise the nominal
    /// rate.
    #[inline]
    fn measure_rate(&mut self, ack: &Ack) {
        let Some(rate) = ack.rate.rate.map(|rate| rate.as_f64() / 8.0) else {
            return;
        };
        self.cycle.max_rate = self.cycle.max_rate.max(rate);
        if !ack.rate.app_limited {
            self.era.is_full = true;
            self.cycle.is_full = true;
        }
        let is_congested = self.state == State::Recovery && self.cycle.is_congested;
        if rate > self.nominal.rate && !is_congested {
            self.nominal.rate = rate;
        }
    }

    /// §4.1: sets window, pacing rate and quantum from the nominal values.
    fn control(&mut self) {
        if let (State::Resuming, Some((cwnd, rate))) = (self.state, self.seed) {
            return self.set(cwnd.as_f64(), rate);
        }
        let rate = self.alpha * self.nominal.rate;
        let max_rtt = self.nominal.max_rtt.unwrap_or_default().as_secs_f64();
        if self.state == State::Initial {
            let cwnd = self.initial.cwnd.as_f64().max(rate * max_rtt);
            self.set(cwnd, (rate > 0.0).then_some(rate.max(MIN_INITIAL_RATE)));
        } else {
            let margin = (max_rtt / 4.0).min(MAX_MARGIN.as_secs_f64());
            self.set(rate * (max_rtt + margin), Some(rate));
        }
    }

    /// Sets the window in bytes, and the pacing rate in bytes per second.
    fn set(&mut self, cwnd: f64, rate: Option<f64>) {
        let least = self.smss * MIN_PACKETS;
        self.cwnd = Bytes::from_f64(cwnd).max(least);
        if let Some(rate) = rate {
            self.pacing_rate = Some(Rate::from_bps_f64(rate * 8.0).max(Rate::from_bps(1)));
            let quantum = (rate * QUANTUM_TIME).min(MAX_QUANTUM);
            self.quantum = Bytes::from_f64(quantum).max(least);
        }
    }
}

impl Controller for C4 {
    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        // §5.3.1.
        if lost.cause == LossCause::Rto {
            return;
        }
        if let Some(sign) = self.signs.on_lost(&self.nominal, &self.params) {
            self.on_sign(cx, sign);
            self.control();
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.probe_window = None;
        let delay = ack.rtt.and_then(|rtt| self.measure_rtt(cx, rtt.raw));
        self.measure_rate(ack);
        self.signs.on_delivered(ack.newly_acked, self.smss);
        let marks = self.signs.on_marks(
            cx.conn.delivered_ce,
            ack.newly_acked,
            &self.nominal,
            &self.params,
        );
        if self.state == State::Initial {
            self.grow(ack);
        }
        for sign in [delay, marks].into_iter().flatten() {
            self.on_sign(cx, sign);
        }
        if self
            .era
            .round
            .on_ack(ack.newest.delivered, cx.conn.delivered)
        {
            self.end_era(cx, ack);
        }
        self.control();
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        match change {
            // A TCP resends one packet per timeout, like QUIC's probes, which need no window.
            Recovery::Timeout { .. } => self.probe_window = Some(loss_window(cx.conn)),
            // Feedback without counts, such as RFC 3168's: a mark calls for the same reaction as a
            // loss.
            Recovery::Enter(RecoveryCause::Ecn) if cx.conn.delivered_ce == Bytes::ZERO => {
                self.signs.has_marks = true;
                let beta = self.params.beta;
                self.on_sign(
                    cx,
                    Sign {
                        kind: signs::Kind::Ecn,
                        beta,
                    },
                );
                self.control();
            }
            // Losses and counted marks are signs by their rates; §5.3.1 excludes timers.
            Recovery::Enter(_) | Recovery::Exit | Recovery::Spurious | Recovery::Persistent => {}
        }
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        match change {
            PathChange::Mtu => {
                self.smss = cx.conn.smss;
                self.probe_window = self.probe_window.map(|_| loss_window(cx.conn));
                self.control();
            }
            PathChange::EcnFailed => self.is_capable = false,
            PathChange::Seed { bdp } => {
                self.seed = Some((bdp, None));
                self.resume(cx);
                self.control();
            }
            PathChange::Threshold { .. } => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision {
            pacing_rate: self.pacing_rate,
            send_quantum: self.quantum,
            // §5.4: compatible with L4S.
            ecn: if self.is_capable {
                EcnCodepoint::Ect1
            } else {
                EcnCodepoint::NotEct
            },
            ..Decision::window(self.probe_window.unwrap_or(self.cwnd), self.ssthresh)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
