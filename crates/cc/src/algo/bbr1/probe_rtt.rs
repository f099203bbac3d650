//! PROBE_RTT: four packets in flight for a while, so that all queues run empty and the path's RTT shows.

use units::{Bytes, Time};

use super::state::State;
use super::{Bbr1, MIN_CWND};
use crate::{Ack, Cx};

/// How far the dip has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// `probe_rtt_done_stamp`: set once the flight is small enough.
    done_at: Option<Time>,
    /// `probe_rtt_round_done`: a whole round went by with the small flight.
    round_done: bool,
}

impl Bbr1 {
    /// `bbr_update_min_rtt`.
    #[inline]
    pub(super) fn update_min_rtt(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        let expired = self.model.update_min_rtt(cx.now, cx.conn, ack);
        // An idle flow has seen the empty path anyway.
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.probe_rtt = ProbeRtt::default();
            self.enter(cx, State::ProbeRtt, "minimum RTT not seen for its window");
            self.window.save(self.state);
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
    fn sit_out(&mut self, cx: &mut Cx<'_>) {
        if self.probe_rtt.done_at.is_none() {
            if cx.conn.inflight <= cx.conn.smss * MIN_CWND {
                let done_at = Some(cx.now + self.settings.probe_rtt_duration);
                self.probe_rtt = ProbeRtt { done_at, round_done: false };
                self.model.round.restart(cx.conn.delivered);
            }
            return;
        }
        self.probe_rtt.round_done |= self.model.round_start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done(cx);
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Cx<'_>) {
        if self.probe_rtt.done_at.is_none_or(|done_at| cx.now <= done_at) {
            return;
        }
        self.model.refresh_min_rtt(cx.now);
        self.window.restore();
        let next = if self.full_pipe.reached { State::ProbeBw } else { State::Startup };
        self.enter(cx, next, "minimum RTT probed");
    }
}
