//! Copa: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet",
//! NSDI 2018. Section numbers are the paper's.

mod declared;
mod extreme;

pub use declared::DESCRIPTOR;

use core::cmp::Ordering;

use fullpipe_units::{Bytes, Rate, Span, Time};

use self::declared::{Modes, Params, State};
use self::extreme::{Extreme, Keep};
use crate::common::round::RoundCounter;
use crate::common::window::loss_window;
use crate::{
    Ack, Config, Conn, Context, Controller, Decision, Lost, PathChange, Recovery, Snapshot,
    Transition,
};

/// Minimum window, in packets: `markoviancc.cc`.
const MIN_PACKETS: f64 = 2.0;
/// §2.1: rounds without a change of direction after which the velocity doubles. In steady state the
/// direction changes after 2.5.
const STEADY_ROUNDS: u32 = 3;
/// §2.2: RTTmax is the maximum over the last four round trips.
const SWING_ROUNDS: u64 = 4;
/// §2.2: a queueing delay below this fraction of RTTmax - RTTmin means a nearly empty queue.
const NEARLY_EMPTY: f64 = 0.1;
/// §2.2: if the queue was not nearly empty for this number of round trips, another flow fills the
/// buffer.
const EMPTY_ROUNDS: u64 = 5;

/// The RTTs on which decisions are based.
#[derive(Clone, Copy, Debug)]
struct Rtts {
    /// RTTmin.
    min: Span,
    /// RTTstanding.
    standing: Span,
}

impl Rtts {
    /// dq (§2.1).
    fn queue_delay(self) -> Span {
        self.standing.saturating_sub(self.min)
    }
}

/// Direction in which the window changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// The Copa controller.
#[derive(Debug)]
pub struct Copa {
    params: Params,
    smss: Bytes,
    /// Window, in packets.
    cwnd: f64,
    /// For traces only: the window at the end of slow start.
    ssthresh: Bytes,
    slow_start: bool,
    competitive: bool,
    /// 1/δ.
    per_delta: f64,
    velocity: f64,
    direction: Direction,
    /// Rounds since the direction last changed.
    steady_rounds: u32,
    /// The window at the start of the round.
    round_cwnd: f64,
    round: RoundCounter,
    least: Extreme,
    standing: Extreme,
    greatest: Extreme,
    rtts: Option<Rtts>,
    /// Time at which the queue was last nearly empty.
    empty_at: Time,
    pacing_rate: Option<Rate>,
    /// The window and 1/δ before the last loss, for undo.
    saved: Option<(Option<f64>, f64)>,
}

impl Copa {
    /// Creates a controller for a connection.
    pub fn new(config: &Config) -> Copa {
        let params = Params::read(config);
        let cwnd = config.initial_cwnd.as_f64() / config.smss.as_f64();
        Copa {
            params,
            smss: config.smss,
            cwnd,
            ssthresh: Bytes::MAX,
            slow_start: true,
            competitive: false,
            per_delta: 1.0 / params.delta,
            velocity: 1.0,
            direction: Direction::Up,
            steady_rounds: 0,
            round_cwnd: cwnd,
            round: RoundCounter::default(),
            least: Extreme::new(Keep::Least),
            standing: Extreme::new(Keep::Least),
            greatest: Extreme::new(Keep::Greatest),
            rtts: None,
            empty_at: Time::ZERO,
            pacing_rate: None,
            saved: None,
        }
    }

    fn state(&self) -> State {
        match (self.slow_start, self.competitive) {
            (true, _) => State::SlowStart,
            (_, true) => State::Competitive,
            (_, false) => State::Default,
        }
    }

    fn report(&self, cx: &mut Context<'_>, from: State, reason: &'static str) {
        let (from, to) = (from.name(), self.state().name());
        cx.observer
            .transition(cx.now, Transition { from, to, reason });
    }

    fn bytes(&self) -> Bytes {
        // A small fraction of a byte makes `packets -> bytes -> packets` lossless.
        Bytes::from_f64(self.cwnd * self.smss.as_f64() + 1e-3)
    }

    /// §2.1: updates RTTmin over `min_rtt_window` and RTTstanding over half an srtt, and checks
    /// whether the queue is nearly empty (§2.2).
    fn measure(&mut self, cx: &Context<'_>, rtt: Span) -> Rtts {
        let srtt = cx.conn.srtt;
        let rtts = Rtts {
            min: self.least.update(cx.now, rtt, self.params.min_rtt_window),
            standing: self.standing.update(cx.now, rtt, srtt / 2),
        };
        let greatest = self.greatest.update(cx.now, rtt, srtt * SWING_ROUNDS);
        if self.is_nearly_empty(rtts, greatest) {
            self.empty_at = cx.now;
        }
        self.rtts = Some(rtts);
        rtts
    }

    /// Returns whether the queue is nearly empty: by §2.2, or if at most `nearly_empty` packets of
    /// this flow wait, for at most a tenth of RTTmin. Packets that arrive as fast as they leave
    /// wait for their predecessors even without a standing queue.
    fn is_nearly_empty(&self, rtts: Rtts, greatest: Span) -> bool {
        let queue_delay = rtts.queue_delay();
        let own = rtts.standing.mul_f64(self.params.nearly_empty / self.cwnd);
        let least = own.min(rtts.min.mul_f64(NEARLY_EMPTY));
        let swing = greatest.saturating_sub(rtts.min);
        queue_delay <= swing.mul_f64(NEARLY_EMPTY).max(least)
    }

    /// §2.2: default mode applies while the queue has been nearly empty within the last five round
    /// trips.
    fn choose_mode(&mut self, cx: &mut Context<'_>) {
        let is_filled = cx.now.since(self.empty_at) > cx.conn.srtt * EMPTY_ROUNDS;
        let competitive = self.params.modes == Modes::Both && is_filled;
        if competitive == self.competitive {
            return;
        }
        let from = self.state();
        self.competitive = competitive;
        if competitive {
            self.report(cx, from, "no nearly empty queue for five round trips");
        } else {
            self.per_delta = 1.0 / self.params.delta;
            self.report(cx, from, "a nearly empty queue");
        }
    }

    /// §2.1, step 4, at the ACK that begins a round: its newest packet was sent when the previous
    /// round began. In competitive mode 1/δ grows by one per round trip (§2.2).
    fn begin_round(&mut self, conn: &Conn) {
        let direction = match self.cwnd.total_cmp(&self.round_cwnd) {
            Ordering::Greater => Some(Direction::Up),
            Ordering::Less => Some(Direction::Down),
            Ordering::Equal => None,
        };
        self.round_cwnd = self.cwnd;
        if direction == Some(self.direction) {
            self.steady_rounds += 1;
            if self.steady_rounds >= STEADY_ROUNDS {
                self.velocity *= 2.0;
            }
        } else {
            self.turn(direction.unwrap_or(self.direction));
        }
        if self.competitive && !conn.in_recovery() && conn.cwnd_limited {
            self.per_delta += 1.0;
        }
    }

    fn turn(&mut self, direction: Direction) {
        self.direction = direction;
        self.velocity = 1.0;
        self.steady_rounds = 0;
    }

    /// Changes the direction and begins a new round, so that directions last for whole rounds.
    fn turn_within_round(&mut self, direction: Direction, conn: &Conn) {
        self.turn(direction);
        self.round_cwnd = self.cwnd;
        self.round.restart(conn.delivered);
    }

    /// §2.1, steps 2 and 3: moves the window toward the target rate of 1/(δ dq).
    fn adjust(&mut self, cx: &mut Context<'_>, rtts: Rtts, acked: f64) {
        // cwnd / RTTstanding <= 1 / (δ dq), without a division.
        let queue_delay = rtts.queue_delay().as_secs_f64();
        let below = self.cwnd * queue_delay <= self.per_delta * rtts.standing.as_secs_f64();
        if self.slow_start {
            if below {
                if cx.conn.cwnd_limited {
                    self.cwnd += acked;
                }
                return;
            }
            self.slow_start = false;
            self.ssthresh = self.bytes();
            self.turn_within_round(Direction::Down, cx.conn);
            self.report(cx, State::SlowStart, "rate above its target");
        }
        let direction = if below {
            Direction::Up
        } else {
            Direction::Down
        };
        if direction != self.direction && self.velocity > 1.0 {
            self.turn_within_round(direction, cx.conn);
        }
        // The window changes by at most itself in a round trip.
        self.velocity = self.velocity.min(self.cwnd / self.per_delta).max(1.0);
        let step = self.velocity * self.per_delta * acked / self.cwnd;
        if !below {
            self.cwnd = (self.cwnd - step).max(MIN_PACKETS);
        } else if cx.conn.cwnd_limited {
            self.cwnd += step;
        }
    }

    /// §2.1: paces at twice the window per RTTstanding, which limits bursts.
    #[inline(never)] // the dispatch of `on_sent` stays small
    fn pace(&mut self, conn: &Conn) {
        let rtt = self.rtts.map_or(conn.srtt, |rtts| rtts.standing);
        if rtt > Span::ZERO {
            let bits = self.params.pacing_gain * self.cwnd * self.smss.as_f64() * 8.0;
            let rate = Rate::from_bps_f64(bits / rtt.as_secs_f64());
            self.pacing_rate = Some(rate.max(Rate::from_bps(1)));
        }
    }

    /// §2.2: halves 1/δ, but not below its value in default mode. In default mode losses have no
    /// effect.
    fn on_congestion(&mut self) {
        self.saved = Some((None, self.per_delta));
        if self.competitive {
            self.per_delta = (self.per_delta / 2.0).max(1.0 / self.params.delta);
        }
    }

    fn on_timeout(&mut self, conn: &Conn, again: bool) {
        if !again {
            let cwnd = self.cwnd;
            self.on_congestion();
            self.saved = self.saved.map(|(_, per_delta)| (Some(cwnd), per_delta));
        }
        self.cwnd = (loss_window(conn).as_f64() / self.smss.as_f64()).max(MIN_PACKETS);
        self.turn_within_round(Direction::Up, conn);
    }
}

impl Controller for Copa {
    fn on_sent(&mut self, cx: &mut Context<'_>, _: &Snapshot) -> bool {
        let first = self.pacing_rate.is_none();
        if first {
            self.pace(cx.conn);
        }
        first
    }

    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.measure(cx, rtt.raw);
        }
        let Some(rtts) = self.rtts else { return };
        if !self.slow_start {
            self.choose_mode(cx);
        }
        if self.round.on_ack(ack.newest.delivered, cx.conn.delivered) && !self.slow_start {
            self.begin_round(cx.conn);
        }
        let acked = ack.newly_acked.as_f64() / self.smss.as_f64();
        self.adjust(cx, rtts, acked);
        self.pace(cx.conn);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        match change {
            Recovery::Enter(_) => self.on_congestion(),
            Recovery::Exit => {}
            Recovery::Spurious => {
                if let Some((cwnd, per_delta)) = self.saved.take() {
                    self.cwnd = cwnd.map_or(self.cwnd, |cwnd| self.cwnd.max(cwnd));
                    self.per_delta = if self.competitive {
                        self.per_delta.max(per_delta)
                    } else {
                        self.per_delta
                    };
                }
            }
            Recovery::Timeout { again } => self.on_timeout(cx.conn, again),
            Recovery::Persistent => {
                self.on_timeout(cx.conn, true);
                self.cwnd = MIN_PACKETS;
            }
        }
        self.pace(cx.conn);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        if change == PathChange::Mtu {
            let scale = self.smss.as_f64() / cx.conn.smss.as_f64();
            self.smss = cx.conn.smss;
            self.cwnd = (self.cwnd * scale).max(MIN_PACKETS);
            self.round_cwnd *= scale;
            self.saved = None;
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision {
            pacing_rate: self.pacing_rate,
            send_quantum: self.smss,
            ..Decision::window(self.bytes(), self.ssthresh)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
