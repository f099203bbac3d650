//! PROBE_RTT: four packets in flight for a while, so that all queues run empty and the path's RTT
//! shows.

use fullpipe_units::Bytes;

use super::state::State;
use super::{Bbr1, MIN_CWND};
use crate::common::bbr::min_rtt::{DipStep, ProbeRttDwell};
use crate::{Ack, Context};

impl Bbr1 {
    /// `bbr_update_min_rtt`.
    #[inline]
    pub(super) fn update_min_rtt(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let expired = self.model.min_rtt.update(cx.now, cx.conn, ack, true);
        // An idle flow has seen the empty path anyway.
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.dip = ProbeRttDwell::default();
            self.enter(cx, State::ProbeRtt, "minimum RTT not seen for its window");
            self.window.saved.save(true);
        }
        if self.state == State::ProbeRtt {
            self.sit_out(cx);
        }
        // Linux: restart after idle ends with the first data acknowledged.
        if ack.newly_acked > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    /// At least the set time and one round at four packets.
    fn sit_out(&mut self, cx: &mut Context<'_>) {
        let small_enough = cx.conn.inflight <= cx.conn.smss * MIN_CWND;
        match self.dip.on_ack(
            cx.now,
            small_enough,
            self.model.round_start,
            self.settings.probe_rtt_duration,
        ) {
            DipStep::Wait => {}
            DipStep::Bottom => self.model.round.restart(cx.conn.delivered),
            DipStep::RoundDone => self.check_probe_rtt_done(cx),
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Context<'_>) {
        if !self.dip.is_over(cx.now) {
            return;
        }
        self.model.min_rtt.renew(cx.now);
        self.window.saved.restore();
        let next = if self.full_pipe.reached {
            State::ProbeBw
        } else {
            State::Startup
        };
        self.enter(cx, next, "minimum RTT probed");
    }
}
