//! HyStart (Ha and Rhee 2011) as in Linux's `net/ipv4/tcp_cubic.c`.

use fullpipe_units::{Bytes, Rate, Span, Time};

use super::{SlowStart, Step};
use crate::common::round::RoundCounter;
use crate::common::window::linux_pacing_rate;
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
/// Unlike HyStart++, it goes directly to congestion avoidance. It ends one slow start, and another one
/// only after a timeout.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    round: RoundCounter,
    round_start: Time,
    last_ack: Time,
    /// `delay_min`: of data packets only, because the handshake's small packets have a lower RTT.
    delay_min: Option<Span>,
    /// Whether it has ended slow start.
    found: bool,
    round_min_rtt: Option<Span>,
    samples: u32,
    /// Whether rounds count from the minimum window for detection on, not from the first ACK.
    late_rounds: bool,
}

impl HyStart {
    /// Returns that of Linux 5.16 to 6.13: its first round begins where the window passes the minimum for detection, in
    /// the midst of a flight's ACKs. "tcp_cubic: fix incorrect HyStart round start detection" repaired that in
    /// 6.14, and in the stable kernels of February 2025.
    pub fn with_late_rounds() -> HyStart {
        HyStart {
            late_rounds: true,
            ..HyStart::default()
        }
    }

    fn new_round(&mut self, now: Time) {
        self.round_start = now;
        self.last_ack = now;
        self.round_min_rtt = None;
        self.samples = 0;
    }

    /// Returns whether the ACKs of this round form an unbroken train as long as the pipe.
    /// `rate` returns the pacing rate that Linux keeps even if it does not pace.
    fn train_fills_pipe(
        &mut self,
        now: Time,
        delay_min: Span,
        paced: bool,
        rate: impl FnOnce() -> Option<Rate>,
    ) -> bool {
        if now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        let train = now.since(self.round_start);
        // Half of the RTT is enough for an unpaced train only: a paced packet may have waited in
        // the pacer for the other half.
        let long_as = |span: Span| train > if paced { span } else { span / 2 };
        long_as(delay_min) && long_as(delay_min + ack_delay(rate()))
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
fn ack_delay(rate: Option<Rate>) -> Span {
    rate.map_or(MAX_ACK_DELAY, |rate| {
        rate.time_for(OFFLOAD).min(MAX_ACK_DELAY)
    })
}

/// Returns `sk_pacing_rate`, which Linux computes for flows that it does not pace, too.
fn pacing_rate(conn: &Conn, cwnd: Bytes, ack: &Ack, ssthresh: Bytes) -> Option<Rate> {
    let unpaced = || linux_pacing_rate(cwnd, ack.prior_inflight, ssthresh, conn.srtt);
    conn.pacing().or_else(unpaced)
}

impl SlowStart for HyStart {
    fn on_ack(
        &mut self,
        cx: &mut Context<'_>,
        ack: &Ack,
        counted: Bytes,
        [cwnd, ssthresh]: [Bytes; 2],
    ) -> Step {
        let grow = Step::Grow(counted);
        let Some(rtt) = ack.rtt else { return grow };
        let delay_min = self.delay_min.map_or(rtt.raw, |least| least.min(rtt.raw));
        self.delay_min = Some(delay_min);
        let small = self.found || cwnd < cx.conn.smss * LOW_WINDOW;
        if small && self.late_rounds {
            return grow;
        }
        // Rounds count from the first ACK on, so that they begin where a flight's ACKs begin, at
        // any window size.
        if self.round.on_ack(ack.newest.delivered, cx.conn.delivered) {
            self.new_round(cx.now);
        }
        if small {
            return grow;
        }
        let rate = || pacing_rate(cx.conn, cwnd, ack, ssthresh);
        let train = self.train_fills_pipe(cx.now, delay_min, cx.conn.paced, rate);
        let delayed = self.delay_has_grown(rtt.raw, delay_min);
        self.found = train || delayed;
        if train {
            Step::Exit("ACK train as long as the minimum RTT")
        } else if delayed {
            Step::Exit("RTT above its minimum by an eighth")
        } else {
            grow
        }
    }

    fn on_timeout(&mut self) {
        // Linux: bictcp_reset.
        self.delay_min = None;
        self.found = false;
    }
}
