//! Loss: the short-term bounds, the long-term bound, and the undo of spurious losses
//! (draft-ietf-ccwg-bbr-06 §5.5.10, §5.5.11).

use fullpipe_units::Bytes;

use super::Bbr;
use super::rules::Undo;
use super::states::State;
use crate::algo::bbr::greater;
use crate::common::window::Episode;
use crate::{Ack, Conn, Context, Lost};

/// Data delivered in the last round, and whether the round had losses or marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latest {
    /// `bw_latest`, B/s.
    pub bw: f64,
    /// `inflight_latest`.
    pub inflight: Bytes,
    /// `loss_round_delivered`.
    round_end: Bytes,
    /// `loss_round_start`.
    pub round_start: bool,
    /// `is_loss_in_round`; `ecn_in_round` is the same for marks.
    pub loss_in_round: bool,
    pub ecn_in_round: bool,
    /// Since the last start of ProbeBW_DOWN.
    pub loss_in_cycle: bool,
    pub ecn_in_cycle: bool,
    /// Losses in this round of Startup, counted by holes or by ACKs.
    pub loss_events: u32,
}

impl Default for Latest {
    fn default() -> Latest {
        Latest {
            bw: 0.0,
            inflight: Bytes::ZERO,
            // As in Linux, the first round begins with the second flight.
            round_end: Bytes::new(1),
            round_start: false,
            loss_in_round: false,
            ecn_in_round: false,
            loss_in_cycle: false,
            ecn_in_cycle: false,
            loss_events: 0,
        }
    }
}

/// Bounds learned from losses; `None` before the first loss.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// In B/s.
    pub bw_shortterm: Option<f64>,
    pub inflight_shortterm: Option<Bytes>,
    pub inflight_longterm: Option<Bytes>,
}

impl Bounds {
    /// For each bound, takes the looser one.
    fn or(self, other: Bounds) -> Bounds {
        let volume = |a: Option<Bytes>, b: Option<Bytes>| Some(a?.max(b?));
        let bw = |a: Option<f64>, b: Option<f64>| Some(a?.max(b?));
        Bounds {
            bw_shortterm: bw(self.bw_shortterm, other.bw_shortterm),
            inflight_shortterm: volume(self.inflight_shortterm, other.inflight_shortterm),
            inflight_longterm: volume(self.inflight_longterm, other.inflight_longterm),
        }
    }
}

/// Returns`bytes`, limited to `bound` if there is one.
#[inline]
pub(super) fn bounded(bytes: Bytes, bound: Option<Bytes>) -> Bytes {
    bytes.min(bound.unwrap_or(Bytes::MAX))
}

/// The values that are restored when a loss proves spurious: `undo_*`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Saved {
    /// The state that the losses ended.
    state: Option<State>,
    /// Saved by a loss since the last ACK, whose changes must not be saved as the previous values.
    pub by_loss: bool,
    /// `None` before the first loss.
    pub bounds: Option<Bounds>,
}

impl Saved {
    /// Returns the index of the state among the trace's labels.
    pub(super) fn undo_state(&self) -> usize {
        match self.state {
            Some(State::Startup) => 1,
            Some(State::ProbeBwUp) => 2,
            _ => 0,
        }
    }
}

/// Input to the judgment of a loss rate: a rate sample, or a sample made for a lost packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub tx_in_flight: Bytes,
    pub lost: Bytes,
    pub delivered: Bytes,
    pub delivered_ce: Bytes,
    pub app_limited: bool,
}

impl Sample {
    #[inline]
    fn of(ack: &Ack) -> Sample {
        Sample {
            tx_in_flight: ack.newest.inflight,
            lost: ack.rate.lost,
            delivered: ack.rate.delivered,
            delivered_ce: ack.rate.delivered_ce,
            app_limited: ack.rate.app_limited,
        }
    }

    fn of_loss(tx_in_flight: Bytes, lost: Bytes, app_limited: bool) -> Sample {
        Sample {
            tx_in_flight,
            lost,
            delivered: Bytes::ZERO,
            delivered_ce: Bytes::ZERO,
            app_limited,
        }
    }
}

impl Bbr {
    /// UpdateLatestDeliverySignals.
    #[inline]
    pub(super) fn update_latest_delivery_signals(&mut self, conn: &Conn, ack: &Ack) {
        let valid = self.is_valid(ack);
        let latest = &mut self.latest;
        latest.round_start = false;
        if !valid {
            return;
        }
        latest.bw = greater(latest.bw, self.sample_bw);
        latest.inflight = latest.inflight.max(ack.rate.delivered);
        if ack.newest.delivered >= latest.round_end {
            latest.round_end = conn.delivered;
            latest.round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals. As in Linux, the values from before a loss that a loss probe
    /// repaired are kept.
    #[inline]
    pub(super) fn advance_latest_delivery_signals(&mut self, ack: &Ack) {
        if self.latest.round_start && !ack.tlp_repair {
            self.latest.bw = self.sample_bw;
            self.latest.inflight = ack.rate.delivered;
        }
    }

    /// Returns the sample of an ACK, in which marked packets may count as lost.
    #[inline]
    pub(super) fn sample(&self, ack: &Ack) -> Sample {
        let mut sample = Sample::of(ack);
        if self.counts_marks_as_losses() {
            sample.lost += ack.rate.delivered_ce;
        }
        sample
    }

    /// UpdateCongestionSignals.
    #[inline]
    pub(super) fn update_congestion_signals(&mut self, ack: &Ack) {
        if !self.is_valid(ack) {
            return;
        }
        self.update_max_bw(ack);
        self.latest.loss_in_round |= self.rules.acks_show_losses && ack.newly_lost > Bytes::ZERO;
        if self.latest.round_start {
            self.adapt_lower_bounds();
            self.latest.loss_in_round = false;
            self.latest.ecn_in_round = false;
        }
    }

    /// AdaptLowerBoundsFromCongestion: applies once per round with loss, and not while probing.
    fn adapt_lower_bounds(&mut self) {
        if self.core.state.is_probing() {
            return;
        }
        let by_marks = self.inflight_after_marks();
        if self.latest.loss_in_round {
            let beta = self.params.beta;
            let bw = self.bounds.bw_shortterm.unwrap_or(self.max_bw.max());
            self.bounds.bw_shortterm = Some(self.latest.bw.max(beta * bw));
            let inflight = self.shortterm_or_window();
            self.bounds.inflight_shortterm = Some(self.latest.inflight.max(inflight.mul_f64(beta)));
        }
        if let Some(shortterm) = &mut self.bounds.inflight_shortterm {
            *shortterm = bounded(*shortterm, by_marks);
        }
    }

    /// InitLowerBounds, for the volume.
    pub(super) fn shortterm_or_window(&mut self) -> Bytes {
        let window = self.core.window.cwnd;
        *self.bounds.inflight_shortterm.get_or_insert(window)
    }

    /// ResetShortTermModel.
    pub(super) fn reset_short_term_model(&mut self) {
        self.bounds.bw_shortterm = None;
        self.bounds.inflight_shortterm = None;
    }

    /// ResetCongestionSignals.
    pub(super) fn reset_congestion_signals(&mut self) {
        let Latest {
            round_end,
            round_start,
            loss_events,
            ..
        } = self.latest;
        self.latest = Latest {
            round_end,
            round_start,
            loss_events,
            ..Latest::default()
        };
    }

    /// NoteLoss: the loss round begins with its first loss, so that it covers the deliveries of a
    /// whole round.
    pub(super) fn note_loss(&mut self, conn: &Conn) {
        if !self.latest.loss_in_round {
            self.latest.round_end = conn.delivered;
            // §5.5.11.1: save when an episode begins. Later losses of the episode see values that
            // the first losses have changed.
            let begins = self.core.window.episode == Episode::None && !self.saved.by_loss;
            if self.rules.undo == Undo::BoundsAndState && begins {
                self.save_upon_loss();
                self.saved.by_loss = true;
            }
        }
        self.latest.loss_in_round = true;
        self.latest.loss_in_cycle = true;
    }

    /// HandleLostPacket (§5.5.10.2), `bbr_skb_marked_lost`.
    pub(super) fn handle_lost_packet(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        self.note_loss(cx.conn);
        if lost.new_range && !self.rules.loss_events_by_ack {
            self.latest.loss_events += 1;
        }
        if !self.probe.is_sample {
            return;
        }
        let packet = &lost.packet;
        let mut sample = Sample::of_loss(packet.inflight, lost.lost_since_sent, packet.app_limited);
        if self.is_inflight_too_high(&sample) {
            sample.tx_in_flight = self.inflight_at_loss(&sample, f64::from(packet.size));
            self.handle_inflight_too_high(cx, &sample, "probing lost too much");
        }
    }

    /// Handles a loss at the tail that a loss probe repaired: one segment was lost
    /// (`bbr_run_loss_probe_recovery`).
    pub(super) fn handle_repaired_loss(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if !self.params.loss_probe_counts {
            return;
        }
        self.note_loss(cx.conn);
        let smss = cx.conn.smss;
        let sample = Sample::of_loss(self.latest.inflight + smss, smss, ack.newest.app_limited);
        if self.probe.is_sample && self.is_inflight_too_high(&sample) {
            self.handle_inflight_too_high(cx, &sample, "probing lost too much");
        }
    }

    /// IsInflightTooHigh, `bbr_is_inflight_too_high`. Linux rounds the tolerated loss down to whole
    /// packets, but loses only whole packets; the result is the same.
    #[inline]
    pub(super) fn is_inflight_too_high(&self, sample: &Sample) -> bool {
        let lost = sample.lost > Bytes::ZERO
            && sample.lost.as_f64() > sample.tx_in_flight.as_f64() * self.params.loss_threshold
            && sample.lost.as_f64() > self.params.loss_floor * self.core.segment.bytes;
        lost || (sample.delivered_ce > Bytes::ZERO
            && self.has_too_many_marks(sample.delivered, sample.delivered_ce))
    }

    /// InflightAtLoss, `bbr_inflight_hi_from_lost_skb`: the data in flight when losses exceeded the
    /// threshold.
    fn inflight_at_loss(&self, sample: &Sample, size: f64) -> Bytes {
        let threshold = self.params.loss_threshold;
        let inflight_prev = sample.tx_in_flight.as_f64() - size;
        let lost_prev = sample.lost.as_f64() - size;
        let budget = threshold * inflight_prev;
        let lost_prefix = if self.rules.whole_segments {
            let budget = self.core.segment.round_up(budget);
            self.core
                .segment
                .round_down((budget - lost_prev).max(0.0) / (1.0 - threshold))
        } else {
            (budget - lost_prev) / (1.0 - threshold)
        };
        Bytes::from_f64((inflight_prev + lost_prefix).max(0.0))
    }

    /// HandleInflightTooHigh: takes effect once per probe.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        cx: &mut Context<'_>,
        sample: &Sample,
        reason: &'static str,
    ) {
        self.probe.prev_too_high = true;
        self.probe.is_sample = false;
        if !sample.app_limited {
            let target = Bytes::from_f64(self.target_inflight(cx.conn) * self.params.beta);
            self.bounds.inflight_longterm = Some(sample.tx_in_flight.max(target));
        }
        if self.core.state == State::ProbeBwUp {
            self.saved.state = Some(State::ProbeBwUp);
            self.start_down(cx, reason);
        }
    }

    /// SaveStateUponLoss, `bbr_ssthresh`.
    pub(super) fn save_upon_loss(&mut self) {
        self.core.save_cwnd();
        self.saved = Saved {
            state: None,
            by_loss: false,
            bounds: Some(self.bounds),
        };
    }

    /// Notes that losses have ended Startup, which may be undone.
    pub(super) fn note_startup_ended_by_loss(&mut self) {
        self.saved.state = Some(State::Startup);
    }

    /// HandleSpuriousLossDetection (§5.5.11.2), `bbr_undo_cwnd`.
    pub(super) fn handle_spurious_loss(&mut self, cx: &mut Context<'_>) {
        self.latest.loss_in_round = false;
        self.forget_plateau();
        if !self.params.undo {
            return;
        }
        self.core.window.restore();
        let Saved { state, bounds, .. } = self.saved;
        if let Some(bounds) = bounds {
            self.bounds = self.bounds.or(bounds);
        }
        self.may_take_fast_path = false;
        if self.rules.undo == Undo::BoundsAndState {
            self.saved.state = None;
            self.return_to(cx, state);
        }
    }

    /// Returns to the state in which the flow was probing.
    fn return_to(&mut self, cx: &mut Context<'_>, state: Option<State>) {
        const REASON: &str = "the loss that ended probing was spurious";
        match state {
            Some(State::Startup) if self.core.state != State::Startup => {
                self.core.full_pipe.reached = false;
                if self.core.state != State::ProbeRtt {
                    self.enter(cx, State::Startup, REASON);
                }
            }
            Some(State::ProbeBwUp)
                if !matches!(self.core.state, State::ProbeBwUp | State::ProbeRtt) =>
            {
                self.start_refill(cx, 0, REASON);
                // The transport reports a spurious loss before it delivers the current ACK; data
                // already in flight must not begin a round.
                self.core.round.restart(cx.conn.delivered + Bytes::new(1));
            }
            _ => {}
        }
    }
}
