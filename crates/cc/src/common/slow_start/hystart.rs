//! HyStart (Ha and Rhee 2011) as in Linux's `net/ipv4/tcp_cubic.c`.

use fullpipe_units::{Bytes, Span, Time};

use super::{SlowStart, Step};
use crate::common::round::RoundCounter;
use crate::{Ack, Conn, Context};

/// Minimum window for detection, in segments: `hystart_low_window`.
const LOW_WINDOW: u64 = 16;
/// Maximum gap between ACKs of one train: `hystart_ack_delta_us`.
const ACK_DELTA: Span = Span::from_millis(2);
/// RTT samples of a round before its delay is judged: `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// Bounds of the delay threshold: `HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`.
const DELAY_MIN: Span = Span::from_millis(4);
const DELAY_MAX: Span = Span::from_millis(16);
/// Data that offload may hold back: four times the largest GSO burst.
const OFFLOAD: Bytes = Bytes::new(4 * 65_536);
/// Maximum delay of an ACK by offload.
const MAX_ACK_DELAY: Span = Span::from_millis(1);

/// Ends slow start when the ACKs of a round span the path's RTT, or when the RTT has grown by an
/// eighth.
///
/// Unlike HyStart++, it goes directly to congestion avoidance, and applies to every slow start,
/// also after a timeout.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    round: RoundCounter,
    round_start: Time,
    last_ack: Time,
    /// `delay_min`: of data packets only, because the handshake's small packets have a lower RTT.
    delay_min: Option<Span>,
    round_min_rtt: Option<Span>,
    samples: u32,
}

impl HyStart {
    fn new_round(&mut self, now: Time) {
        self.round_start = now;
        self.last_ack = now;
        self.round_min_rtt = None;
        self.samples = 0;
    }

    /// Returns whether the ACKs of this round form an unbroken train as long as the pipe.
    fn train_fills_pipe(&mut self, now: Time, delay_min: Span, conn: &Conn) -> bool {
        if now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        // Half of the RTT is enough for an unpaced train only: a paced packet may have waited in
        // the pacer for the other half.
        let threshold = delay_min + ack_delay(conn);
        now.since(self.round_start) > if conn.paced { threshold } else { threshold / 2 }
    }

    /// Returns whether the minimum RTT of this round's first samples is well above the path's.
    fn delay_has_grown(&mut self, rtt: Span, delay_min: Span) -> bool {
        let least = self.round_min_rtt.map_or(rtt, |least| least.min(rtt));
        self.round_min_rtt = Some(least);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        least > delay_min + (delay_min / 8).clamp(DELAY_MIN, DELAY_MAX)
    }
}

/// Returns the delay that segmentation and receive offload may add to the spacing of ACKs:
/// `hystart_ack_delay`.
fn ack_delay(conn: &Conn) -> Span {
    conn.pacing_rate.map_or(MAX_ACK_DELAY, |rate| {
        rate.time_for(OFFLOAD).min(MAX_ACK_DELAY)
    })
}

impl SlowStart for HyStart {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack, cwnd: Bytes) -> Step {
        let grow = Step::Grow(ack.newly_acked);
        let Some(rtt) = ack.rtt else { return grow };
        let delay_min = self.delay_min.map_or(rtt.raw, |least| least.min(rtt.raw));
        self.delay_min = Some(delay_min);
        // Rounds count from the first ACK on, so that they begin where a flight's ACKs begin, at
        // any window size.
        if self.round.on_ack(ack.newest.delivered, cx.conn.delivered) {
            self.new_round(cx.now);
        }
        if cwnd < cx.conn.smss * LOW_WINDOW {
            return grow;
        }
        if self.train_fills_pipe(cx.now, delay_min, cx.conn) {
            Step::Exit("ACK train as long as the minimum RTT")
        } else if self.delay_has_grown(rtt.raw, delay_min) {
            Step::Exit("RTT above its minimum by an eighth")
        } else {
            grow
        }
    }

    fn on_congestion(&mut self) {
        self.delay_min = None;
    }
}
