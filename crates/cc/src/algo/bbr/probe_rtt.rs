//! ProbeRTT: half a BDP in flight for a while, so that the queue runs empty and the path's RTT
//! shows (draft-ietf-ccwg-bbr-06 §5.3.4).

use fullpipe_units::Bytes;

use super::Bbr;
use super::state::{AckPhase, State};
use crate::common::bbr::min_rtt::{DipStep, ProbeRttDwell};
use crate::{Ack, Conn, Context};

impl Bbr {
    /// UpdateMinRTT and CheckProbeRTT, `bbr_update_min_rtt`.
    #[inline]
    pub(super) fn update_min_rtt(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let rules = &self.params.rules;
        let expired = self
            .probe_rtt_min
            .update(cx.now, cx.conn, ack, rules.beware_of_delayed_acks);
        if self
            .min_rtt
            .follow(cx.now, &self.probe_rtt_min, rules.min_rtt_follows_equal)
        {
            self.pacing.follow_rtt(self.segment, self.min_rtt.rtt);
            self.may_take_fast_path = false;
        }
        self.note_delay(cx, ack);
        // An idle flow has seen the empty path anyway.
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.dip = ProbeRttDwell::default();
            self.ack_phase = AckPhase::ProbeStopping;
            self.round.restart(cx.conn.delivered);
            self.enter(cx, State::ProbeRtt, "no lower RTT seen for the interval");
            self.window.save(true);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(cx);
        }
        if ack.newly_acked > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT.
    fn handle_probe_rtt(&mut self, cx: &mut Context<'_>) {
        let small_enough = cx.conn.inflight <= self.probe_rtt_cwnd(cx.conn);
        match self.dip.on_ack(
            cx.now,
            small_enough,
            self.round_start,
            self.params.probe_rtt_duration,
        ) {
            DipStep::Wait => {}
            DipStep::Bottom => self.round.restart(cx.conn.delivered),
            DipStep::RoundDone => self.check_probe_rtt_done(cx),
        }
    }

    /// ProbeRTTCwnd (§5.6.4.5).
    #[inline]
    pub(super) fn probe_rtt_cwnd(&self, conn: &Conn) -> Bytes {
        Bytes::from_f64(self.bdp(conn, self.bw(), self.params.probe_rtt_cwnd_gain))
            .max(self.min_pipe_cwnd)
    }

    /// CheckProbeRTTDone.
    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Context<'_>) {
        if self.dip.is_over(cx.now) {
            self.probe_rtt_min.renew(cx.now);
            self.window.restore();
            self.exit_probe_rtt(cx);
        }
    }

    /// ExitProbeRTT (§5.3.4.4): the clock of probing starts anew, and since the flight is small
    /// there is nothing to drain.
    fn exit_probe_rtt(&mut self, cx: &mut Context<'_>) {
        const REASON: &str = "minimum RTT probed";
        self.reset_short_term_model();
        if self.full_pipe.reached {
            self.start_down(cx, REASON);
            self.start_cruise(cx, "nothing to drain");
        } else {
            self.enter(cx, State::Startup, REASON);
        }
    }
}
