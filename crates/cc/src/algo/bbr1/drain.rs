//! DRAIN: send less than the bottleneck forwards until no more is in flight than the pipe holds.

use super::Bbr1;
use super::state::State;
use crate::Context;

impl Bbr1 {
    /// `bbr_check_drain`: into DRAIN when the pipe is full, and out of it, perhaps at once, when
    /// the queue is empty.
    #[inline]
    pub(super) fn check_drain(&mut self, cx: &mut Context<'_>) {
        if self.state == State::Startup && self.full_pipe.reached {
            self.enter(
                cx,
                State::Drain,
                "pipe full: three rounds without 25 % more bandwidth",
            );
            self.ssthresh = self.inflight(cx.conn, 1.0);
        }
        if self.state == State::Drain
            && self.in_net_at_edt(cx, cx.conn.inflight) <= self.inflight(cx.conn, 1.0)
        {
            self.enter(cx, State::ProbeBw, "queue drained");
        }
    }
}
