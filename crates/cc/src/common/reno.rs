//! Reno's window (RFC 5681): slow start, additive increase, and reductions by a configurable
//! policy.

use fullpipe_units::Bytes;

use crate::common::slow_start::{AnySlowStart, SlowStart, SlowStartKind};
use crate::common::window::{AdditiveIncrease, Classic, Episode, state};
use crate::{Ack, Config, Conn, Context, Field, RecoveryCause};

/// The state of the controller, as a trace field.
pub const STATE: Field = Field::state(
    &["slow_start", "css", "congestion_avoidance", "recovery"],
    "State of the controller",
);

/// Policy for the reduction of the window on congestion.
pub trait WindowPolicy {
    /// Returns the part of `cwnd` that remains, before the lower limit of two segments applies.
    fn left(&mut self, conn: &Conn, cwnd: Bytes, cause: RecoveryCause) -> Bytes;
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
        }
    }

    /// Grows the window, outside of recovery.
    #[inline]
    pub fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if cx.conn.in_recovery {
            return;
        }
        if self.cwnd < self.ssthresh
            && self
                .slow_start
                .drive(cx, ack, &mut self.cwnd, &mut self.ssthresh)
        {
            return;
        }
        // RFC 7661 §4.1: a window that was not fully used is not validated.
        if cx.conn.cwnd_limited {
            // RFC 3465 §2.1.
            self.cwnd = self.increase.grow(self.cwnd, ack.newly_acked, cx.conn.smss);
        }
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

    fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.saved.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }
}
