//! The low-latency options: leave Startup and ProbeBW_UP when delay rises, as picoquic's `bbr.c`
//! does (draft-huitema-ccwg-bbr-realtime). Off in both of BBRv3's own profiles.

use fullpipe_units::{Span, Time};

use super::Bbr;
use super::state::State;
use crate::{Ack, Context};

/// `BBRRTTJitterBufferLen`.
const SAMPLES: usize = 7;
/// They are this far apart.
const SPACING: Span = Span::from_millis(1);

/// What can be set of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayRules {
    pub ends_startup: bool,
    pub ends_up: bool,
    /// Below this minimum RTT delays are the host's, not the path's.
    pub guard: Span,
    pub margin: Span,
    pub growth: f64,
    /// ACKs of raised delay that end Startup are more than these.
    pub count: u32,
}

impl DelayRules {
    pub(super) fn is_on(&self) -> bool {
        self.ends_startup || self.ends_up
    }
}

/// The least of the last RTTs, and for how long it has been high.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    samples: [Span; SAMPLES],
    next: u8,
    last: Time,
    /// `nb_rtt_excess`.
    excess: u32,
}

impl Default for Delay {
    fn default() -> Delay {
        Delay {
            samples: [Span::MAX; SAMPLES],
            next: 0,
            last: Time::ZERO,
            excess: 0,
        }
    }
}

impl Delay {
    /// `BBRUpdateRTTJitterBuffer`.
    fn take(&mut self, now: Time, rtt: Span) {
        if now.since(self.last) > SPACING {
            self.samples[usize::from(self.next)] = rtt;
            self.next = (self.next + 1) % SAMPLES as u8;
            self.last = now;
        }
    }
}

impl Bbr {
    /// The last lines of picoquic's `BBRUpdateMinRTT`: counts ACKs, and forgets the count only when
    /// the minimum shows again.
    #[inline]
    pub(super) fn note_delay(&mut self, cx: &Context<'_>, ack: &Ack) {
        let Some(delay) = &mut self.delay else { return };
        if let Some(rtt) = ack.rtt {
            delay.take(cx.now, rtt.raw);
        }
        let rules = &self.params.delay;
        let least = delay.samples.iter().copied().min().unwrap_or(Span::MAX);
        let min_rtt = self.min_rtt.rtt;
        if least == Span::MAX || least <= min_rtt || min_rtt <= rules.guard {
            delay.excess = 0;
        } else if least > min_rtt + rules.margin + min_rtt.mul_f64(rules.growth) {
            delay.excess += 1;
        }
    }

    /// ACKs with a high RTT; none without the options.
    #[inline]
    fn rtt_excess(&self) -> u32 {
        self.delay.as_ref().map_or(0, |delay| delay.excess)
    }

    /// A cycle begins, or its probe does.
    pub(super) fn forget_rtt_excess(&mut self) {
        if let Some(delay) = &mut self.delay {
            delay.excess = 0;
        }
    }

    /// `IsRTTTooHigh` in `BBRCheckStartupDone`: the pipe counts as full.
    #[inline]
    pub(super) fn check_startup_delay(&mut self, cx: &mut Context<'_>) {
        let rules = &self.params.delay;
        if self.state == State::Startup && rules.ends_startup && self.rtt_excess() > rules.count {
            self.full_pipe.reached = true;
            self.enter_drain(cx, "delay rose");
        }
    }

    /// What ends ProbeBW_UP besides its own rule: a minimum RTT in it, and delay or so much in
    /// flight that there must be some.
    #[inline]
    pub(super) fn why_leave_up_for_delay(
        &self,
        cx: &Context<'_>,
        flight: f64,
    ) -> Option<&'static str> {
        let rules = &self.params.delay;
        let long_enough = cx.now.since(self.probe.cycle_stamp) > self.min_rtt.rtt;
        if !rules.ends_up || self.min_rtt.rtt <= rules.guard || !long_enough {
            None
        } else if self.rtt_excess() > 0 {
            Some("delay rose")
        } else {
            let queued = flight > self.inflight(cx.conn, self.max_bw.max(), 1.0 + rules.growth);
            queued.then_some("a queue has built up")
        }
    }
}
