//! How much more than expected is acknowledged at once: `bbr_update_ack_aggregation`.

use units::{Bytes, Span, Time};

use super::model::Model;
use crate::{Ack, Conn};

/// `bbr_extra_acked_win_rtts`: rounds in each of the two halves of the window.
const WINDOW_ROUNDS: u32 = 5;
/// `bbr_ack_epoch_acked_reset_thresh`: segments after which an epoch is too long to mean anything.
const EPOCH_RESET: u64 = 1 << 20;
/// `bbr_extra_acked_max_us`: the window grows by what the bandwidth delivers in this time at most.
const EXTRA_ACKED_MAX: Span = Span::from_millis(100);

/// The most data acknowledged beyond bandwidth times time, over the last five to ten rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
    epoch_start: Time,
    /// Bytes acknowledged in the epoch.
    epoch_acked: f64,
    /// Maxima of this half of the window and of the one before.
    extra_acked: [f64; 2],
    rounds: u32,
}

impl AckAggregation {
    /// Starts from idle: no ACKs were due.
    pub(super) fn restart(&mut self, now: Time) {
        self.epoch_start = now;
        self.epoch_acked = 0.0;
    }

    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, conn: &Conn, ack: &Ack, model: &Model, cwnd: Bytes) {
        if ack.rate.rate.is_none() {
            return;
        }
        if model.round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.extra_acked = [0.0, self.extra_acked[0]];
            }
        }
        let acked = ack.newly_acked.as_f64();
        let mut expected = model.bytes_in(now.since(self.epoch_start));
        // ACKs that come no faster than expected end an epoch: nothing has been held back.
        if self.epoch_acked <= expected || self.epoch_acked + acked >= (conn.smss * EPOCH_RESET).as_f64() {
            self.restart(now);
            expected = 0.0;
        }
        self.epoch_acked += acked;
        let extra = (self.epoch_acked - expected).min(cwnd.as_f64());
        self.extra_acked[0] = self.extra_acked[0].max(extra);
    }

    /// What to add to the window: `bbr_ack_aggregation_cwnd`.
    #[inline]
    pub(super) fn extra(&self, model: &Model) -> f64 {
        self.extra_acked[0].max(self.extra_acked[1]).min(model.bytes_in(EXTRA_ACKED_MAX))
    }
}
