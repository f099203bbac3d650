//! BBRv1's model of the path, and the window derived from it, which caps the data in flight and is
//! BBR's only reaction to loss.

use fullpipe_units::{Bytes, Span, Time};

use super::states::State;
use super::{Bbr1, MIN_CWND};
use crate::common::window::{Episode, loss_window};
use crate::{Ack, Conn, Context};

impl Bbr1 {
    /// `bbr_max_bw`.
    #[inline]
    pub(super) fn max_bw(&self) -> f64 {
        self.bw.max()
    }

    /// `bbr_bw`: the policer's rate if one was detected.
    #[inline]
    pub(super) fn bw(&self) -> f64 {
        self.policer.bw().unwrap_or(self.bw.max())
    }

    /// Returns the data that the estimated bandwidth delivers in `span`, in bytes.
    #[inline]
    pub(super) fn bytes_in(&self, span: Span) -> f64 {
        self.bw() * (span.as_nanos() as f64 * 1e-9)
    }

    /// `bbr_bdp`: `gain` times the product of `bw` and the minimum RTT, in bytes.
    #[inline]
    fn bdp(&self, conn: &Conn, bw: f64, gain: f64) -> f64 {
        let min_rtt = self.core.min_rtt.rtt;
        if min_rtt == Span::MAX {
            // No RTT sample: all acknowledged data had been retransmitted. The initial window is
            // safe.
            return conn.initial_cwnd.as_f64();
        }
        bw * (min_rtt.as_nanos() as f64 * 1e-9) * gain
    }

    /// `bbr_update_bw`. Returns true if the policer's rate is no longer used.
    #[inline]
    pub(super) fn update_bw(&mut self, cx: &Context<'_>, ack: &Ack) -> bool {
        self.core.round_start = false;
        let Some(rate) = ack.rate.rate else {
            return false;
        };
        let round_start = self
            .core
            .round
            .on_ack(ack.newest.delivered, cx.conn.delivered);
        self.core.round_start = round_start;
        let in_probe_bw = self.core.state == State::ProbeBw;
        let cycle_restarts = self
            .policer
            .on_ack(cx.now, cx.conn, ack, round_start, in_probe_bw);
        let bw = rate.as_f64() * 0.125;
        // An application-limited sample counts only if it is not below the current estimate.
        if !ack.rate.app_limited || bw >= self.bw.max() {
            self.bw.update(self.core.round.count(), bw);
        }
        cycle_restarts
    }

    /// `bbr_ssthresh` on entering TCP_CA_Recovery; the other changes follow with the next ACK.
    pub(super) fn enter_recovery(&mut self) {
        self.core.save_cwnd();
        // A further episode without an Exit between continues the recovery.
        if self.core.window.episode != Episode::Recovery {
            self.core.window.episode = Episode::Recovery;
            self.entering_recovery = true;
        }
    }

    /// Sets the loss window of a timeout; the next ACK raises it to four packets.
    pub(super) fn cut_after_timeout(&mut self, conn: &Conn) {
        self.core.save_cwnd();
        self.core.window.episode = Episode::Timeout;
        self.entering_recovery = false;
        self.core.window.cwnd = loss_window(conn);
    }

    /// Returns`bbr_set_cwnd_to_recover_or_restore`, the first half. Returns true while packets are
    /// conserved.
    #[inline]
    fn recover(&mut self, conn: &Conn, ack: &Ack) -> bool {
        // Packet conservation: the window shrinks by lost data and grows by delivered data, below.
        // An ACK of P packets then releases at most 2 P.
        if ack.newly_lost > Bytes::ZERO {
            self.core.window.cwnd = self
                .core
                .window
                .cwnd
                .saturating_sub(ack.newly_lost)
                .max(conn.smss);
        }
        // Packets sent before the segment size grew may be smaller than a segment.
        let conserved = (conn.inflight + ack.newly_acked).max(conn.smss);
        if self.entering_recovery {
            self.entering_recovery = false;
            self.packet_conservation = true;
            // Cut the unused part of the window.
            self.core.window.cwnd = conserved;
        }
        if self.packet_conservation {
            self.core.window.cwnd = self.core.window.cwnd.max(conserved);
        }
        self.packet_conservation
    }

    /// `bbr_set_cwnd`.
    #[inline]
    pub(super) fn set_cwnd(&mut self, cx: &Context<'_>, ack: &Ack) {
        if self.entering_recovery {
            self.core.round.restart(cx.conn.delivered);
        }
        if !self.recover(cx.conn, ack) {
            let target = self.target_cwnd(cx.conn);
            let window = &mut self.core.window;
            if self.core.full_pipe.reached {
                window.cwnd = (window.cwnd + ack.newly_acked).min(target);
            } else if window.cwnd < target || cx.conn.delivered < cx.conn.initial_cwnd {
                window.cwnd += ack.newly_acked;
            }
            window.cwnd = window.cwnd.max(cx.conn.smss * MIN_CWND);
        }
        self.cap_in_probe_rtt(cx.conn);
    }

    /// Ends recovery, regularly or because the loss was spurious:
    /// `bbr_set_cwnd_to_recover_or_restore`, the second half.
    pub(super) fn leave_recovery(&mut self, conn: &Conn) {
        if self.core.window.episode == Episode::None {
            return;
        }
        self.core.window.episode = Episode::None;
        self.entering_recovery = false;
        self.packet_conservation = false;
        self.core.window.restore();
        if self.core.full_pipe.reached {
            self.core.window.cwnd = self
                .core
                .window
                .cwnd
                .min(self.target_cwnd(conn))
                .max(conn.smss * MIN_CWND);
        }
        self.cap_in_probe_rtt(conn);
    }

    #[inline]
    fn cap_in_probe_rtt(&mut self, conn: &Conn) {
        if self.core.state == State::ProbeRtt {
            self.core.window.cwnd = self.core.window.cwnd.min(conn.smss * MIN_CWND);
        }
    }

    /// Returns the window to grow to: BDP times gain, plus the allowances for ACK aggregation and
    /// for bursts held by the hosts.
    #[inline]
    fn target_cwnd(&self, conn: &Conn) -> Bytes {
        let aggregated = if self.core.full_pipe.reached {
            self.extra_acked()
        } else {
            0.0
        };
        self.quantize(
            conn,
            self.bdp(conn, self.bw(), self.core.cwnd_gain) + aggregated,
        )
    }

    /// `bbr_inflight`: `gain` times the BDP, plus the allowance for bursts held by the hosts.
    #[inline]
    pub(super) fn inflight(&self, conn: &Conn, gain: f64) -> Bytes {
        self.quantize(conn, self.bdp(conn, self.max_bw(), gain))
    }

    /// `bbr_quantization_budget`.
    #[inline]
    fn quantize(&self, conn: &Conn, bytes: f64) -> Bytes {
        // One burst each for the sender's queue, the sender's offload engine, and the receiver's.
        let bursts = (self.core.pacing.quantum * conn.offload_factor).as_f64();
        // With an even number of segments, no ACK is delayed.
        let mut window = self.core.segment.round_up_to_even(bytes + bursts);
        if self.core.state == State::ProbeBw && self.cycle.is_probing() {
            // A quarter of a small BDP may be less than a packet.
            window += 2.0 * self.core.segment.bytes;
        }
        Bytes::from_f64(window)
    }

    /// `bbr_packets_in_net_at_edt`: data that will be in the network when the pacer releases the
    /// next packet.
    #[inline]
    pub(super) fn in_net_at_edt(&self, cx: &Context<'_>, inflight: Bytes) -> Bytes {
        let delivered = self.bytes_in(cx.conn.next_departure.since(cx.now));
        // The departing burst counts while probing (gain above 1) but not while draining.
        let departing = if self.core.pacing_gain > 1.0 {
            self.core.pacing.quantum
        } else {
            Bytes::ZERO
        };
        (inflight + departing).saturating_sub(Bytes::from_f64(delivered))
    }
}

/// `bbr_lt_intvl_min_rtts`: minimum rounds of an interval; the maximum is four times as many.
const INTERVAL_ROUNDS: u32 = 4;
/// `bbr_lt_loss_thresh`: lost data per delivered data.
const LOSS_THRESHOLD: f64 = 50.0 / 256.0;
/// `bbr_lt_bw_ratio`: rates with a smaller relative difference count as equal.
const SAME_RATIO: f64 = 1.0 / 8.0;
/// `bbr_lt_bw_diff`: rates with a smaller absolute difference, in B/s, also count as equal.
const SAME_DIFFERENCE: f64 = 500.0;
/// `bbr_lt_bw_max_rtts`: rounds for which the policer's rate is used before a new search.
const USE_ROUNDS: u32 = 48;

/// Detector of a token-bucket policer, which passes bursts and then drops packets above its rate.
/// Two consecutive intervals with high loss and the same rate indicate one: `bbr_lt_bw_sampling`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policer {
    enabled: bool,
    /// `lt_bw`, in B/s: the rate of the last interval, or the policer's.
    bw: Option<f64>,
    /// `lt_use_bw`.
    pub is_policed: bool,
    /// `lt_is_sampling`.
    is_sampling: bool,
    /// `lt_rtt_cnt`.
    rounds: u32,
    since: Time,
    delivered: Bytes,
    lost: Bytes,
}

impl Policer {
    pub(super) fn new(enabled: bool) -> Policer {
        Policer {
            enabled,
            bw: None,
            is_policed: false,
            is_sampling: false,
            rounds: 0,
            since: Time::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
        }
    }

    /// Returns the policer's rate, if one was detected.
    #[inline]
    pub(super) fn bw(&self) -> Option<f64> {
        self.bw.filter(|_| self.is_policed)
    }

    /// Processes an ACK. Returns true if the policer's rate has been used for long enough, so that
    /// the gain cycle restarts.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        conn: &Conn,
        ack: &Ack,
        round_start: bool,
        in_probe_bw: bool,
    ) -> bool {
        if self.is_policed {
            self.rounds += u32::from(in_probe_bw && round_start);
            let over = self.rounds >= USE_ROUNDS;
            if over {
                self.reset(now, conn);
            }
            return over;
        }
        let has_lost = ack.newly_lost > Bytes::ZERO;
        if self.enabled && (self.is_sampling || has_lost) {
            self.sample(now, conn, has_lost, ack.rate.app_limited, round_start);
        }
        false
    }

    /// Processes a timeout, which counts as a loss.
    pub(super) fn on_timeout(&mut self, now: Time, conn: &Conn) {
        if self.enabled && !self.is_policed {
            self.sample(now, conn, true, false, true);
        }
    }

    fn sample(
        &mut self,
        now: Time,
        conn: &Conn,
        has_lost: bool,
        app_limited: bool,
        round_start: bool,
    ) {
        if !self.is_sampling {
            // The first loss shows that the policer's tokens are used up.
            self.begin(now, conn);
            self.is_sampling = true;
        }
        self.rounds += u32::from(round_start);
        // An application-limited interval underestimates the rate, and an interval that is too long
        // shows no policer.
        if app_limited || self.rounds > 4 * INTERVAL_ROUNDS {
            return self.reset(now, conn);
        }
        let delivered = (conn.delivered - self.delivered).as_f64();
        let lost = (conn.lost - self.lost).as_f64();
        // An interval ends as it begins, with a loss.
        if self.rounds < INTERVAL_ROUNDS
            || !has_lost
            || delivered == 0.0
            || lost < LOSS_THRESHOLD * delivered
        {
            return;
        }
        let length = now.since(self.since);
        if length >= Span::from_millis(1) {
            self.end(now, conn, delivered / length.as_secs_f64());
        }
    }

    /// `bbr_lt_bw_interval_done`.
    fn end(&mut self, now: Time, conn: &Conn, bw: f64) {
        let is_same = |last: &f64| {
            let difference = (bw - last).abs();
            difference <= SAME_RATIO * last || difference <= SAME_DIFFERENCE
        };
        if let Some(last) = self.bw.filter(is_same) {
            self.bw = Some(0.5 * (last + bw));
            self.is_policed = true;
            self.rounds = 0;
        } else {
            self.bw = Some(bw);
            self.begin(now, conn);
        }
    }

    /// `bbr_reset_lt_bw_sampling_interval`.
    fn begin(&mut self, now: Time, conn: &Conn) {
        (self.since, self.delivered, self.lost, self.rounds) = (now, conn.delivered, conn.lost, 0);
    }

    /// `bbr_reset_lt_bw_sampling`.
    pub(super) fn reset(&mut self, now: Time, conn: &Conn) {
        (self.bw, self.is_policed, self.is_sampling) = (None, false, false);
        self.begin(now, conn);
    }
}
