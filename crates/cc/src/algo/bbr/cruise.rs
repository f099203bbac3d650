//! ProbeBW_CRUISE: send what is delivered (draft-ietf-ccwg-bbr-06 §5.3.3.2).

use fullpipe_units::Bytes;

use super::Bbr;
use super::state::State;
use crate::Context;

impl Bbr {
    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self, cx: &mut Context<'_>, reason: &'static str) {
        if self.params.rules.cruise_meets_longterm && self.inflight_shortterm != Bytes::MAX {
            self.inflight_shortterm = self.inflight_shortterm.min(self.inflight_longterm);
        }
        self.enter(cx, State::ProbeBwCruise, reason);
    }

    #[inline]
    pub(super) fn in_cruise(&mut self, cx: &mut Context<'_>) {
        self.check_time_to_probe(cx);
    }
}
