//! ProbeBW_UP: look for more bandwidth (draft-ietf-ccwg-bbr-06 §5.3.3.4 to §5.3.3.7).

use fullpipe_units::Bytes;

use super::Bbr;
use super::rules::{Flight, UpEnds};
use super::state::{AckPhase, State};
use crate::{Ack, Conn, Context};

/// `bw_probe_up_rounds` goes no further.
const MAX_UP_ROUNDS: u32 = 30;

impl Bbr {
    /// StartProbeBW_UP.
    pub(super) fn start_up(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.round.restart(cx.conn.delivered);
        self.probe.cycle_stamp = cx.now;
        if self.params.rules.up_ends == UpEnds::AtPlateau {
            self.full_pipe.reset_to(self.sample_bw);
        }
        self.forget_rtt_excess();
        self.enter(cx, State::ProbeBwUp, reason);
        self.raise_longterm_slope(cx.conn);
    }

    #[inline]
    pub(super) fn in_up(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(reason) = self.why_go_down(cx, ack) {
            // So far nothing speaks against what was probed.
            self.probe.prev_too_high = false;
            self.start_down(cx, reason);
        }
    }

    /// IsTimeToGoDown (§5.3.3.9).
    #[inline]
    fn why_go_down(&mut self, cx: &Context<'_>, ack: &Ack) -> Option<&'static str> {
        let flight = self.flight(cx, ack.prior_inflight);
        // The window keeps the flight below the bound, so this ACK has just taken it away from
        // there.
        let reached = match self.params.rules.flight {
            Flight::Now => ack.prior_inflight.as_f64(),
            Flight::AtNextDeparture => flight,
        };
        // As much as fits below the bound: that may be a fraction of a segment, which the flight
        // never is.
        if self.probe.prev_too_high
            && reached + self.segment.bytes > self.inflight_longterm.as_f64()
        {
            self.probe.prev_precautionary = true;
            return Some("as much in flight as was too much the last time");
        }
        if let Some(reason) = self.why_leave_up_for_delay(cx, flight) {
            return Some(reason);
        }
        match self.params.rules.up_ends {
            UpEnds::AtPlateau => {
                if self.is_limited_by_longterm(cx.conn) {
                    // What can't grow may look like a plateau.
                    self.full_pipe.reset_to(self.sample_bw);
                    return None;
                }
                self.full_pipe.now.then_some("bandwidth plateau")
            }
            UpEnds::AtQueue => {
                let long_enough = cx.now.since(self.probe.cycle_stamp) > self.min_rtt.rtt;
                let queued = || {
                    flight >= self.inflight(cx.conn, self.max_bw.max(), self.params.up_queue_gain)
                };
                (long_enough && queued()).then_some("a queue has built up")
            }
        }
    }

    #[inline]
    fn is_limited_by_longterm(&self, conn: &Conn) -> bool {
        conn.cwnd_limited && self.window.cwnd >= self.inflight_longterm
    }

    /// RaiseInflightLongtermSlope: twice as much each round.
    fn raise_longterm_slope(&mut self, conn: &Conn) {
        let growth_this_round = 1_u64 << self.probe.up_rounds.min(MAX_UP_ROUNDS);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.probe.acked_per_inc = (self.window.cwnd / growth_this_round).max(conn.smss);
    }

    /// ProbeInflightLongtermUpward.
    pub(super) fn probe_longterm_upward(&mut self, conn: &Conn, ack: &Ack) {
        if !self.is_limited_by_longterm(conn) {
            if self.params.rules.credit_is_lost {
                self.probe.up_acked = Bytes::ZERO;
            }
            return;
        }
        self.probe.up_acked += ack.newly_acked;
        if self.probe.up_acked >= self.probe.acked_per_inc {
            let increments = self.probe.up_acked.get() / self.probe.acked_per_inc.get();
            self.probe.up_acked -= self.probe.acked_per_inc * increments;
            self.inflight_longterm += conn.smss * increments;
            self.may_take_fast_path = false;
        }
        if self.round_start {
            self.raise_longterm_slope(conn);
        }
    }
}
