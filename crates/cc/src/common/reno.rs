//! Reno's window (RFC 5681): slow start, additive increase, and reductions by a configurable
//! policy.

use fullpipe_units::Bytes;

use crate::common::slow_start::{AnySlowStart, SlowStart, SlowStartKind};
use crate::common::window::{
    self, AdditiveIncrease, Classic, Episode, counted, counted_by_linux, state, threshold_after,
};
use crate::{Ack, Config, Conn, Context, Field, Recovery, RecoveryCause};

/// The state of the controller, as a trace field.
pub const STATE: Field = Field::state(
    &["slow_start", "css", "congestion_avoidance", "recovery"],
    "State of the controller",
);

/// Policy for the reduction of the window on congestion.
pub trait WindowPolicy {
    /// Returns the part of `cwnd` that remains, before the lower limit of two segments applies.
    fn left(&mut self, conn: &Conn, cwnd: Bytes, cause: RecoveryCause) -> Bytes;

    /// Returns the part of the acknowledged bytes that counts toward the next additive increase.
    #[inline]
    fn weigh(&mut self, acked: Bytes) -> Bytes {
        acked
    }

    /// Returns whether the window counts ACKs as Linux does.
    fn counts_as_linux(&self) -> bool {
        false
    }
}

/// The window, in bytes.
#[derive(Debug)]
pub struct Reno<L> {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold.
    pub ssthresh: Bytes,
    /// Policy for its reductions.
    pub policy: L,
    slow_start: AnySlowStart,
    increase: AdditiveIncrease,
    episode: Episode,
    /// `cwnd` and `ssthresh` before the last reduction, for undo.
    saved: Option<(Bytes, Bytes)>,
    /// Data that the latest ACK in recovery would have counted.
    in_recovery: Bytes,
}

impl<L: WindowPolicy> Reno<L> {
    /// Creates the window of a connection; `classic` slow start counts at most `abc_limit` segments
    /// per ACK.
    pub fn new(config: &Config, slow_start: SlowStartKind, abc_limit: f64, policy: L) -> Reno<L> {
        Reno {
            cwnd: config.initial_cwnd,
            ssthresh: Bytes::MAX,
            policy,
            slow_start: AnySlowStart::new(slow_start, abc_limit),
            increase: AdditiveIncrease::default(),
            episode: Episode::None,
            saved: None,
            in_recovery: Bytes::ZERO,
        }
    }

    /// Grows the window, outside of recovery.
    #[inline]
    pub fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let linux = self.policy.counts_as_linux();
        let mut counted = if linux {
            counted_by_linux(cx.conn, ack)
        } else {
            counted(cx.conn, ack)
        };
        if cx.conn.in_recovery() {
            self.in_recovery = counted;
            return;
        }
        let before = self.cwnd;
        if self.cwnd < self.ssthresh
            && self
                .slow_start
                .drive(cx, ack, counted, &mut self.cwnd, &mut self.ssthresh)
        {
            if !linux || self.cwnd < self.ssthresh {
                return;
            }
            // Linux: beyond the threshold, the rest of the ACK counts for congestion avoidance.
            counted = counted.saturating_sub(self.cwnd - before);
        }
        self.avoid_congestion(cx.conn, counted);
    }

    #[inline]
    fn avoid_congestion(&mut self, conn: &Conn, counted: Bytes) {
        // RFC 7661 §4.1: a window that was not fully used is not validated.
        if conn.cwnd_limited {
            // RFC 3465 §2.1.
            let counted = self.policy.weigh(counted);
            self.cwnd = self.increase.grow(self.cwnd, counted, conn.smss);
        }
    }

    /// Handles a change of the transport's recovery state.
    pub fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        let counted = core::mem::take(&mut self.in_recovery);
        window::on_recovery(self, cx, change);
        if change == Recovery::Exit && self.policy.counts_as_linux() {
            // Linux: the ACK that ends recovery counts after it (tcp_cong_control).
            self.avoid_congestion(cx.conn, counted);
        }
    }

    /// Lowers a window that was not used.
    pub fn on_unused(&mut self, conn: &Conn, cwnd: Bytes) {
        self.ssthresh = threshold_after(self.cwnd, self.ssthresh, conn.smss);
        self.cwnd = self.cwnd.min(cwnd);
    }

    /// Returns the value of [`STATE`].
    pub fn state_index(&self) -> f64 {
        STATE
            .labels
            .iter()
            .position(|label| *label == self.state())
            .map_or(f64::NAN, |index| index as f64)
    }

    /// Returns the acknowledged bytes counted toward the next segment.
    pub const fn bytes_acked(&self) -> Bytes {
        self.increase.bytes_acked()
    }
}

impl<L: WindowPolicy> Classic for Reno<L> {
    fn episode(&mut self) -> &mut Episode {
        &mut self.episode
    }

    fn state(&self) -> &'static str {
        state(
            self.episode,
            self.cwnd < self.ssthresh,
            self.slow_start.is_css(),
        )
    }

    fn reduce(&mut self, cx: &Context<'_>, cause: RecoveryCause) {
        self.saved = Some((self.cwnd, self.ssthresh));
        // RFC 5681 §3.1, equation 4.
        self.ssthresh = self
            .policy
            .left(cx.conn, self.cwnd, cause)
            .max(cx.conn.smss * 2);
        self.slow_start.on_congestion();
        // RFC 6582 §3.2, step 3, full acknowledgment: the window at which PRR ends.
        self.collapse(self.ssthresh);
    }

    fn collapse(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd;
        self.increase.reset();
    }

    fn on_timeout(&mut self, cx: &Context<'_>, again: bool, cwnd: Bytes) {
        if !again {
            self.reduce(cx, RecoveryCause::Loss);
        }
        self.slow_start.on_timeout();
        self.collapse(cwnd);
    }

    fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.saved.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }
}
