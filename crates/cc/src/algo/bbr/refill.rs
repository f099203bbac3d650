//! ProbeBW_REFILL: a round at the bandwidth, so that the pipe is full when probing begins
//! (draft-ietf-ccwg-bbr-06 §5.3.3.3).

use fullpipe_units::Bytes;

use super::Bbr;
use super::state::{AckPhase, State};
use crate::Context;

impl Bbr {
    /// StartProbeBW_REFILL; the first round of UP will grow by two to the power of `up_rounds`
    /// segments.
    pub(super) fn start_refill(
        &mut self,
        cx: &mut Context<'_>,
        up_rounds: u32,
        reason: &'static str,
    ) {
        self.reset_short_term_model();
        self.probe.up_rounds = up_rounds;
        self.probe.up_acked = Bytes::ZERO;
        self.probe.prev_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.round.restart(cx.conn.delivered);
        if self.state == State::ProbeBwRefill {
            return;
        }
        self.enter(cx, State::ProbeBwRefill, reason);
    }

    #[inline]
    pub(super) fn in_refill(&mut self, cx: &mut Context<'_>) {
        if self.round_start {
            // What is acknowledged from now on was sent in REFILL, and may have been too much.
            self.probe.is_sample = true;
            self.start_up(cx, "pipe refilled for a round");
        }
    }
}
