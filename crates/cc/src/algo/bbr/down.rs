//! ProbeBW_DOWN: drain what probing queued, and leave some room (draft-ietf-ccwg-bbr-06 §5.3.3.1).

use fullpipe_units::Bytes;

use super::Bbr;
use super::state::{AckPhase, State};
use crate::{Ack, Conn, Context};

impl Bbr {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        self.reset_congestion_signals();
        self.probe.acked_per_inc = Bytes::MAX;
        self.pick_probe_wait(cx.rng);
        self.probe.cycle_stamp = cx.now;
        self.forget_rtt_excess();
        self.ack_phase = AckPhase::ProbeStopping;
        self.round.restart(cx.conn.delivered);
        self.enter(cx, State::ProbeBwDown, reason);
    }

    #[inline]
    pub(super) fn in_down(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if self.check_time_to_probe(cx) {
            return;
        }
        // IsTimeToCruise.
        let flight = self.flight(cx, ack.prior_inflight);
        if flight <= self.inflight_with_headroom(cx.conn).as_f64()
            && flight <= self.inflight(cx.conn, self.max_bw.max(), 1.0)
        {
            self.start_cruise(cx, "queue drained, and room left");
        }
    }

    /// InflightWithHeadroom.
    #[inline]
    pub(super) fn inflight_with_headroom(&self, conn: &Conn) -> Bytes {
        let longterm = self.inflight_longterm;
        if longterm == Bytes::MAX {
            return longterm;
        }
        let mut headroom = self.params.headroom * longterm.as_f64();
        if self.params.rules.whole_segments {
            headroom = self.segment.round_down(headroom);
        }
        let headroom = Bytes::from_f64(headroom).max(conn.smss);
        longterm.saturating_sub(headroom).max(self.min_pipe_cwnd)
    }
}
