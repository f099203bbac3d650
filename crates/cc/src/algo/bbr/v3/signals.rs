//! Two additional signals, both off by default: CE marks and delay.

use fullpipe_units::{Bytes, Span, Time};

use super::Bbr;
use super::rules::TooHigh;
use super::states::State;
use crate::{Ack, CaState, Conn, Context};

// CE marks: with `ecn`, the response of google/bbr v2alpha and v3 to their share. Otherwise the
// draft requires that a mark counts as congestion, but defines no response: it counts as a loss.

/// State of the reaction to ECN marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnState {
    /// `ecn_alpha`.
    pub alpha: f64,
    /// `ecn_eligible`: whether the flow reacts to marks.
    pub eligible: bool,
    /// Whether the path carries ECN marks.
    pub works: bool,
    delivered: Bytes,
    delivered_ce: Bytes,
    /// `startup_ecn_rounds`.
    startup_rounds: u32,
}

impl EcnState {
    pub(super) fn new(alpha: f64, wanted: bool) -> EcnState {
        let none = Bytes::ZERO;
        EcnState {
            alpha,
            eligible: false,
            works: wanted,
            delivered: none,
            delivered_ce: none,
            startup_rounds: 0,
        }
    }
}

impl Bbr {
    /// `bbr_update_ecn_alpha`, called once per round.
    pub(super) fn update_ecn_alpha(&mut self, cx: &Context<'_>) {
        if self.params.ecn_factor == 0.0 {
            return;
        }
        self.ecn.eligible |= self.ecn.works && self.is_in_ecn_range();
        if !self.ecn.eligible && !self.rules.ecn_alpha_always {
            return;
        }
        let delivered = cx.conn.delivered - self.ecn.delivered;
        if delivered == Bytes::ZERO {
            return;
        }
        let ratio = (cx.conn.delivered_ce - self.ecn.delivered_ce).as_f64() / delivered.as_f64();
        let gain = self.params.ecn_alpha_gain;
        self.ecn.alpha = ((1.0 - gain) * self.ecn.alpha + gain * ratio).min(1.0);
        (self.ecn.delivered, self.ecn.delivered_ce) = (cx.conn.delivered, cx.conn.delivered_ce);
        self.check_startup_marks(cx, ratio);
    }

    /// Returns whether the path is short enough for marks to count.
    fn is_in_ecn_range(&self) -> bool {
        let most = self.params.ecn_max_rtt;
        most.is_none_or(|most| self.core.min_rtt.rtt <= most)
    }

    /// `bbr_check_ecn_too_high_in_startup`.
    fn check_startup_marks(&mut self, cx: &Context<'_>, ratio: f64) {
        let params = &self.params;
        let (Some(rounds), Some(threshold)) = (params.ecn_startup_rounds, params.ecn_threshold)
        else {
            return;
        };
        if self.core.full_pipe.reached || !self.ecn.eligible {
            return;
        }
        self.ecn.startup_rounds = if ratio >= threshold {
            self.ecn.startup_rounds + 1
        } else {
            0
        };
        if self.ecn.startup_rounds >= rounds {
            self.end_startup(cx);
        }
    }

    /// Notes the marks of this ACK for the round.
    #[inline]
    pub(super) fn note_marks(&mut self, ack: &Ack) {
        self.latest.ecn_in_round |= self.ecn.eligible && ack.ece;
    }

    /// Returns whether a mark counts as a loss: if the rules say so, and the flow does not answer the
    /// share of marks instead.
    #[inline]
    pub(super) fn counts_marks_as_losses(&self) -> bool {
        self.rules.marks_are_losses && !self.ecn.eligible
    }

    /// Ends a probe whose packets were marked too often, as HandleLostPacket does for lost ones, if
    /// no rule judges every ACK.
    #[inline]
    pub(super) fn handle_marks(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let answers = self.ecn.eligible || self.rules.marks_are_losses;
        let judges = answers && self.rules.too_high == TooHigh::AtLosses;
        if !(ack.ece && self.probe.is_sample && judges) {
            return;
        }
        let sample = self.sample(ack);
        if self.is_inflight_too_high(&sample) {
            self.handle_inflight_too_high(cx, &sample, "probing was marked too often");
        }
    }

    /// Returns the second half of `bbr_is_inflight_too_high`.
    pub(super) fn has_too_many_marks(&self, delivered: Bytes, delivered_ce: Bytes) -> bool {
        let Some(threshold) = self.params.ecn_threshold else {
            return false;
        };
        if !self.ecn.eligible || delivered == Bytes::ZERO {
            return false;
        }
        let (marked, limit) = (delivered_ce.as_f64(), delivered.as_f64() * threshold);
        marked > limit || (marked == limit && self.rules.ecn_threshold_included)
    }

    /// `bbr_ecn_lower_bounds`: the short-term bound after a round with marks; `None` without marks.
    pub(super) fn inflight_after_marks(&mut self) -> Option<Bytes> {
        if !self.latest.ecn_in_round || self.params.ecn_factor == 0.0 {
            return None;
        }
        let left = 1.0 - self.ecn.alpha * self.params.ecn_factor;
        Some(self.shortterm_or_window().mul_f64(left))
    }

    /// Returns the first lines of `bbr_check_time_to_probe_bw`: if the cycle had marks but no loss,
    /// and no episode is open now (TCP_CA_Open), returns the number of rounds of UP to skip. While
    /// marks continue, each ACK with a mark begins the next episode.
    #[inline]
    pub(super) fn ecn_reprobe(&self, conn: &Conn) -> Option<u32> {
        let gain = self.params.ecn_reprobe_gain?;
        let open = conn.state == CaState::Open;
        let quiet = self.latest.ecn_in_cycle && !self.latest.loss_in_cycle && open;
        if !self.ecn.eligible || !quiet {
            return None;
        }
        let longterm = self.bounds.inflight_longterm;
        let bound = longterm.unwrap_or(self.core.window.cwnd);
        let growth = (bound.as_f64() * gain * self.core.segment.per_byte) as u64;
        Some(growth.max(1).ilog2())
    }

    /// Updates the signals of the cycle, for the next ACK.
    #[inline]
    pub(super) fn note_cycle(&mut self, ack: &Ack) {
        self.latest.loss_in_cycle |= ack.rate.lost > Bytes::ZERO;
        self.latest.ecn_in_cycle |= ack.rate.delivered_ce > Bytes::ZERO;
    }
}

// Delay: leave Startup and ProbeBW_UP when the RTT rises, as picoquic's `bbr.c` does
// (draft-huitema-ccwg-bbr-realtime). Off in the profiles of the draft and of Linux.

/// `BBRRTTJitterBufferLen`.
const SAMPLES: usize = 7;
/// Minimum time between two samples.
const SPACING: Span = Span::from_millis(1);

/// The minimum of the last RTTs, and the number of ACKs for which it has been high.
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
    /// The last lines of picoquic's `BBRUpdateMinRTT`: counts ACKs with a high RTT, and resets the
    /// count only when the minimum RTT is seen again.
    #[inline]
    pub(super) fn note_delay(&mut self, cx: &Context<'_>, ack: &Ack) {
        let Some(delay) = &mut self.delay else { return };
        if let Some(rtt) = ack.rtt {
            delay.take(cx.now, rtt.raw);
        }
        let params = &self.params;
        let least = delay.samples.iter().copied().min().unwrap_or(Span::MAX);
        let min_rtt = self.core.min_rtt.rtt;
        if least == Span::MAX || least <= min_rtt || min_rtt <= params.delay_guard {
            delay.excess = 0;
        } else if least > min_rtt + params.delay_margin + min_rtt.mul_f64(params.delay_growth) {
            delay.excess += 1;
        }
    }

    /// Returns the number of ACKs with a high RTT; 0 without an exit on delay.
    #[inline]
    fn rtt_excess(&self) -> u32 {
        self.delay.as_ref().map_or(0, |delay| delay.excess)
    }

    /// Resets the count when a cycle or its probe begins.
    pub(super) fn forget_rtt_excess(&mut self) {
        if let Some(delay) = &mut self.delay {
            delay.excess = 0;
        }
    }

    /// `IsRTTTooHigh` in `BBRCheckStartupDone`: the pipe counts as full.
    #[inline]
    pub(super) fn check_startup_delay(&mut self, cx: &mut Context<'_>) {
        let params = &self.params;
        if self.core.state == State::Startup
            && params.startup_exit_on_delay
            && self.rtt_excess() > params.delay_count
        {
            self.core.full_pipe.reached = true;
            self.enter_drain(cx, "delay rose");
        }
    }

    /// Conditions that end ProbeBW_UP in addition to its own rule: a minimum RTT has passed in it,
    /// and either the RTT is high or inflight implies a queue.
    #[inline]
    pub(super) fn why_leave_up_for_delay(
        &self,
        cx: &Context<'_>,
        flight: f64,
    ) -> Option<&'static str> {
        let params = &self.params;
        let long_enough = cx.now.since(self.probe.cycle_stamp) > self.core.min_rtt.rtt;
        if !params.up_exit_on_delay || self.core.min_rtt.rtt <= params.delay_guard || !long_enough {
            None
        } else if self.rtt_excess() > 0 {
            Some("delay rose")
        } else {
            let queued =
                flight > self.inflight(cx.conn, self.max_bw.max(), 1.0 + params.delay_growth);
            queued.then_some("a queue has built up")
        }
    }
}
