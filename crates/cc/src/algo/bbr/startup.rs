//! Startup: grow until the pipe is full, or too much is lost (draft-ietf-ccwg-bbr-06 §5.3.1).

use super::Bbr;
use super::congestion::Sample;
use super::rules::PlateauOf;
use super::state::State;
use crate::{Ack, Context};

impl Bbr {
    /// CheckFullBWReached (§5.3.1.2), `bbr_check_full_bw_reached`.
    #[inline]
    pub(super) fn check_full_bw_reached(&mut self, ack: &Ack) {
        if ack.rate.app_limited {
            return;
        }
        let bw = match self.params.rules.plateau_of {
            PlateauOf::Sample => self.sample_bw,
            PlateauOf::MaxBw if self.full_pipe.reached => return,
            PlateauOf::MaxBw => self.max_bw.max(),
        };
        let params = &self.params;
        let (growth, rounds) = (params.full_bw_growth, params.full_bw_rounds);
        self.full_pipe
            .on_ack(bw, self.round_start, params.rules.growth, growth, rounds);
    }

    /// The bandwidth seen of late proves nothing: `bbr_reset_full_bw`.
    pub(super) fn forget_plateau(&mut self) {
        self.full_pipe.reset();
    }

    /// CheckStartupHighLoss (§5.3.1.3), `bbr_check_loss_too_high_in_startup`: a whole round of
    /// recovery with many holes and a high loss rate.
    #[inline]
    pub(super) fn check_startup_high_loss(&mut self, cx: &Context<'_>, ack: &Ack) {
        if self.full_pipe.reached {
            return;
        }
        if self.params.rules.loss_events_by_ack && ack.newly_lost.get() > 0 {
            self.latest.loss_events += 1;
        }
        if !self.latest.round_start {
            return;
        }
        let enough = self.params.startup_loss_events;
        if enough > 0
            && cx.conn.in_recovery
            && self.latest.loss_events >= enough
            && self.is_inflight_too_high(&Sample::of(ack))
        {
            self.end_startup(cx);
            self.note_startup_ended_by_loss();
        }
        self.latest.loss_events = 0;
    }

    /// Startup is over before a plateau shows: `bbr_handle_queue_too_high_in_startup`.
    pub(super) fn end_startup(&mut self, cx: &Context<'_>) {
        self.full_pipe.reached = true;
        self.inflight_longterm = self.startup_bound(cx.conn);
        if self.params.rules.startup_bound_by_delivery {
            self.inflight_longterm = self.inflight_longterm.max(self.latest.inflight);
        }
    }

    /// CheckStartupDone.
    #[inline]
    pub(super) fn check_startup_done(&mut self, cx: &mut Context<'_>) {
        if self.state == State::Startup && self.full_pipe.reached {
            let reason = if self.full_pipe.now {
                "bandwidth plateau"
            } else {
                "startup met too much congestion"
            };
            self.enter_drain(cx, reason);
        }
    }
}
