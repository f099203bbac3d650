//! PROBE_BW: a cycle of eight phases, of which the first looks for more bandwidth and the second
//! pays for it.

use fullpipe_units::{Rng, Time};

use super::Bbr1;
use crate::{Ack, Context};

/// `CYCLE_LEN`.
const CYCLE_LEN: usize = 8;
/// `bbr_cycle_rand`: the phases that a cycle may begin with.
const CYCLE_RAND: u64 = 7;
/// `bbr_pacing_gain`.
const PACING_GAIN: [f64; CYCLE_LEN] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Where in the cycle we are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// `cycle_idx`.
    pub index: usize,
    /// `cycle_mstamp`.
    started: Time,
}

impl Cycle {
    /// `bbr_reset_probe_bw_mode`: any phase but the second, since there is no queue to drain.
    pub(super) fn begin(&mut self, rng: &mut Rng, delivered_at: Time) {
        self.index = CYCLE_LEN - 1 - rng.below(CYCLE_RAND) as usize;
        self.advance(delivered_at);
    }

    /// `bbr_advance_cycle_phase`.
    #[inline]
    fn advance(&mut self, delivered_at: Time) {
        self.index = (self.index + 1) % CYCLE_LEN;
        self.started = delivered_at;
    }

    /// The gain of this phase.
    #[inline]
    pub(super) fn pacing_gain(&self) -> f64 {
        PACING_GAIN[self.index]
    }

    /// Looking for more: `cycle_idx == 0`.
    #[inline]
    pub(super) fn is_probing(&self) -> bool {
        self.index == 0
    }
}

impl Bbr1 {
    /// `bbr_update_cycle_phase`.
    #[inline]
    pub(super) fn update_cycle_phase(&mut self, cx: &Context<'_>, ack: &Ack) {
        if self.is_next_cycle_phase(cx, ack) {
            self.cycle.advance(cx.now);
        }
    }

    /// `bbr_is_next_cycle_phase`.
    #[inline]
    fn is_next_cycle_phase(&self, cx: &Context<'_>, ack: &Ack) -> bool {
        let is_full_length = cx.now.since(self.cycle.started) > self.model.min_rtt.rtt;
        if self.pacing_gain == 1.0 {
            return is_full_length;
        }
        let in_net = || self.in_net_at_edt(cx, ack.prior_inflight);
        if self.pacing_gain > 1.0 {
            // Probe until the extra data is in flight; but not on when packets are lost: it may not
            // fit.
            is_full_length
                && (ack.newly_lost.get() > 0
                    || in_net() >= self.inflight(cx.conn, self.pacing_gain))
        } else {
            // Drain no longer than needed: what is below the BDP is wasted.
            is_full_length || in_net() <= self.inflight(cx.conn, 1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_begins_with_any_phase_but_the_second() {
        let mut rng = Rng::stream(1, "flow", "cc");
        let mut seen = [0; CYCLE_LEN];
        for _ in 0..7_000 {
            let mut cycle = Cycle::default();
            cycle.begin(&mut rng, Time::ZERO);
            seen[cycle.index] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!(
            seen.iter()
                .enumerate()
                .all(|(phase, n)| phase == 1 || (800..1_200).contains(n)),
            "{seen:?}"
        );
    }
}
