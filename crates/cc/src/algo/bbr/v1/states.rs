//! The state machine: transitions, DRAIN, the cycle of PROBE_BW, and PROBE_RTT.

use fullpipe_units::{Bytes, Rng, Time};

use super::{Bbr1, MIN_CWND};
use crate::algo::bbr::States;
use crate::algo::bbr::estimators::{DwellStep, ProbeRttDwell};
use crate::{Ack, Context};

/// `enum bbr_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Grows quickly until the pipe is full.
    Startup,
    /// Drains the queue that Startup built.
    Drain,
    /// Uses the bandwidth, and probes now and then for more.
    ProbeBw,
    /// Drains the queue to measure the path's RTT.
    ProbeRtt,
}

impl State {
    /// Names in transitions and traces, by discriminant.
    pub(super) const NAMES: &[&str] = &["startup", "drain", "probe_bw", "probe_rtt"];
}

impl States for State {
    const STARTUP: State = State::Startup;
    const PROBE_RTT: State = State::ProbeRtt;

    fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the diagram at the top of Linux's `tcp_bbr.c`.
    fn may_become(self, next: State) -> bool {
        use State::{Drain, ProbeBw, ProbeRtt, Startup};
        matches!(
            (self, next),
            (Startup, Drain)
                | (Drain, ProbeBw)
                | (Startup | Drain | ProbeBw, ProbeRtt)
                | (ProbeRtt, Startup | ProbeBw)
        )
    }
}

impl Bbr1 {
    /// `bbr_check_drain`: enters DRAIN when the pipe is full, and leaves it, possibly at once, when
    /// the queue is empty.
    #[inline]
    pub(super) fn check_drain(&mut self, cx: &mut Context<'_>) {
        if self.core.state == State::Startup && self.core.full_pipe.reached {
            self.enter(
                cx,
                State::Drain,
                "pipe full: three rounds without bandwidth growth of 25 %",
            );
            self.core.ssthresh = self.inflight(cx.conn, 1.0);
        }
        if self.core.state == State::Drain
            && self.in_net_at_edt(cx, cx.conn.inflight) <= self.inflight(cx.conn, 1.0)
        {
            self.enter(cx, State::ProbeBw, "queue drained");
        }
    }
}

/// `CYCLE_LEN`.
const CYCLE_LEN: usize = 8;
/// `bbr_cycle_rand`: number of phases with which a cycle may begin.
const CYCLE_RAND: u64 = 7;
/// `bbr_pacing_gain`.
const PACING_GAIN: [f64; CYCLE_LEN] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Position in the gain cycle of PROBE_BW.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// `cycle_idx`.
    pub index: usize,
    /// `cycle_mstamp`.
    started: Time,
}

impl Cycle {
    /// `bbr_reset_probe_bw_mode`: begins with any phase but the second, which drains: there is no
    /// queue.
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

    /// Returns the pacing gain of the current phase.
    #[inline]
    pub(super) fn pacing_gain(&self) -> f64 {
        PACING_GAIN[self.index]
    }

    /// Returns whether the current phase probes for bandwidth: `cycle_idx == 0`.
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
        let is_full_length = cx.now.since(self.cycle.started) > self.core.min_rtt.rtt;
        if self.core.pacing_gain == 1.0 {
            return is_full_length;
        }
        let in_net = || self.in_net_at_edt(cx, ack.prior_inflight);
        if self.core.pacing_gain > 1.0 {
            // Probe until the additional data is in flight, but stop when packets are lost: it may
            // not fit.
            is_full_length
                && (ack.newly_lost.get() > 0
                    || in_net() >= self.inflight(cx.conn, self.core.pacing_gain))
        } else {
            // Drain no longer than needed: inflight below the BDP wastes capacity.
            is_full_length || in_net() <= self.inflight(cx.conn, 1.0)
        }
    }
}

impl Bbr1 {
    /// `bbr_update_min_rtt`.
    #[inline]
    pub(super) fn update_min_rtt(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let expired = self.core.min_rtt.update(cx.now, cx.conn, ack, true);
        // An idle flow has seen the empty path anyway.
        if expired && !self.core.idle_restart && self.core.state != State::ProbeRtt {
            self.core.dwell = ProbeRttDwell::default();
            self.enter(
                cx,
                State::ProbeRtt,
                "no RTT as low as the minimum seen within its window",
            );
            self.core.window.save(true);
        }
        if self.core.state == State::ProbeRtt {
            self.sit_out(cx);
        }
        // As in Linux, the restart after idle ends when the first data is acknowledged.
        if ack.newly_acked > Bytes::ZERO {
            self.core.idle_restart = false;
        }
    }

    /// Stays at four packets for at least the configured time and one round.
    fn sit_out(&mut self, cx: &mut Context<'_>) {
        let small_enough = cx.conn.inflight <= cx.conn.smss * MIN_CWND;
        match self.core.dwell.on_ack(
            cx.now,
            small_enough,
            self.core.round_start,
            self.params.probe_rtt_duration,
        ) {
            DwellStep::Wait => {}
            DwellStep::Bottom => self.core.round.restart(cx.conn.delivered),
            DwellStep::RoundDone => self.check_probe_rtt_done(cx),
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Context<'_>) {
        if !self.core.dwell.is_over(cx.now) {
            return;
        }
        self.core.min_rtt.renew(cx.now);
        self.core.window.restore();
        let next = if self.core.full_pipe.reached {
            State::ProbeBw
        } else {
            State::Startup
        };
        self.enter(cx, next, "minimum RTT probed");
    }
}

#[cfg(test)]
mod tests {
    use super::State::{Drain, ProbeBw, ProbeRtt, Startup};
    use super::*;

    #[test]
    fn no_state_leads_back_to_itself_and_startup_never_to_probe_bw() {
        for state in [Startup, Drain, ProbeBw, ProbeRtt] {
            assert!(!state.may_become(state));
        }
        assert!(!Startup.may_become(ProbeBw));
        assert!(
            !Drain.may_become(Startup)
                && !ProbeBw.may_become(Startup)
                && !ProbeBw.may_become(Drain)
        );
    }

    #[test]
    fn every_state_has_its_name() {
        let names = [Startup, Drain, ProbeBw, ProbeRtt].map(State::name);
        assert_eq!(names, State::NAMES);
    }

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
