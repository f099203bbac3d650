//! Drain: send less than the bottleneck forwards until no more is in flight than the pipe holds
//! (draft-ietf-ccwg-bbr-06 §5.3.2).

use fullpipe_units::Bytes;

use super::Bbr;
use super::state::State;
use crate::Context;

impl Bbr {
    /// EnterDrain.
    pub(super) fn enter_drain(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        self.enter(cx, State::Drain, reason);
        self.drain_start_round = self.round.count();
        // To be looked at only: the window that ended slow start, so to say (Linux).
        self.ssthresh = Bytes::from_f64(self.drained(cx.conn));
        if self.params.rules.drain_forgets_losses {
            self.reset_congestion_signals();
        }
    }

    /// CheckDrainDone, `bbr_check_drain`.
    #[inline]
    pub(super) fn check_drain_done(&mut self, cx: &mut Context<'_>) {
        if self.state != State::Drain {
            return;
        }
        if self.flight(cx, cx.conn.inflight) <= self.drained(cx.conn) {
            self.start_down(cx, "queue drained");
        } else if self.round.count()
            > self
                .drain_start_round
                .saturating_add(self.params.drain_rounds)
        {
            self.start_down(cx, "drained for long enough");
        }
    }
}
