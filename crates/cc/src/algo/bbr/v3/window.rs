//! The congestion window (draft-ietf-ccwg-bbr-06 §5.6.4).

use fullpipe_units::Bytes;

use super::Bbr;
use super::congestion::bounded;
use super::declared::Params;
use super::rules::EarlyWindow;
use super::states::State;
use crate::algo::bbr::estimators::{AckAggregation, Acked};
use crate::algo::bbr::{greater, lesser};
use crate::common::window::{Episode, loss_window};
use crate::{Ack, Conn, Context};

impl Bbr {
    /// UpdateACKAggregation (§5.5.9), `bbr_update_ack_aggregation`.
    #[inline]
    pub(super) fn update_ack_aggregation(&mut self, cx: &Context<'_>, ack: &Ack) {
        if !self.is_valid(ack) {
            return;
        }
        let Params {
            extra_acked_window,
            extra_acked_startup_window,
            ..
        } = *self.params;
        let full = self.core.full_pipe.reached;
        let window = if full {
            extra_acked_window
        } else {
            extra_acked_startup_window
        };
        let acked = Acked {
            bytes: ack.newly_acked.as_f64(),
            bw: self.bw(),
            cwnd: self.core.window.cwnd.as_f64(),
            round_start: self.core.round_start && (!full || self.is_time_to_forget_bursts(cx.now)),
            window,
            epoch_max: AckAggregation::EPOCH_SEGMENTS * self.core.segment.bytes,
        };
        self.core.aggregation.on_ack(cx.now, acked);
    }

    /// `BBR.extra_acked`, `bbr_ack_aggregation_cwnd`.
    #[inline]
    pub(super) fn extra_acked(&self) -> f64 {
        let (extra, cap) = (
            self.core.aggregation.extra_acked(),
            self.params.extra_acked_cap,
        );
        match cap {
            Some(cap) => lesser(extra, self.bw() * cap),
            None => extra,
        }
    }

    /// QuantizationBudget (§5.6.4.2), `bbr_quantization_budget`.
    #[inline]
    pub(super) fn quantization_budget(&self, conn: &Conn, inflight_cap: f64) -> f64 {
        let offload_budget = self.core.pacing.quantum * conn.offload_factor;
        let cap = greater(
            inflight_cap,
            offload_budget.max(self.min_pipe_cwnd).as_f64(),
        );
        // A quarter of a small BDP may be less than a packet.
        if self.core.state == State::ProbeBwUp {
            cap + 2.0 * self.core.segment.bytes
        } else {
            cap
        }
    }

    /// UpdateMaxInflight.
    #[inline]
    fn max_inflight(&self, conn: &Conn) -> Bytes {
        let cap = self.bdp(conn, self.bw(), self.core.cwnd_gain) + self.extra_acked();
        Bytes::from_f64(self.quantization_budget(conn, cap))
    }

    /// SetCwnd (§5.6.4.6), `bbr_set_cwnd` and `bbr_bound_cwnd_for_inflight_model`.
    #[inline]
    pub(super) fn set_cwnd(&mut self, conn: &Conn, ack: &Ack) {
        let max_inflight = self.max_inflight(conn);
        let cwnd = self.core.window.cwnd;
        let early = || match self.rules.early_window {
            EarlyWindow::FirstDelivered => conn.delivered < conn.initial_cwnd,
            EarlyWindow::TwoInitialWindows => cwnd < conn.initial_cwnd * 2,
        };
        self.may_take_fast_path = false;
        self.core.window.cwnd = if self.core.full_pipe.reached {
            let grown = cwnd + ack.newly_acked;
            self.may_take_fast_path = grown >= max_inflight;
            grown.min(max_inflight)
        } else if cwnd < max_inflight || early() {
            cwnd + ack.newly_acked
        } else {
            self.may_take_fast_path = true;
            cwnd
        };
        self.core.window.cwnd = self.core.window.cwnd.max(self.min_pipe_cwnd);
        self.bound_cwnd(conn);
    }

    /// BoundCwndForProbeRTT (§5.6.4.5) and BoundCwndForModel (§5.6.4.7).
    #[inline]
    fn bound_cwnd(&mut self, conn: &Conn) {
        let cap = match self.core.state {
            State::ProbeRtt => {
                self.core.window.cwnd = self.core.window.cwnd.min(self.probe_rtt_cwnd(conn));
                self.inflight_with_headroom(conn)
            }
            State::ProbeBwCruise => self.inflight_with_headroom(conn),
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => {
                self.bounds.inflight_longterm
            }
            State::Startup | State::Drain => None,
        };
        let cap = bounded(cap.unwrap_or(Bytes::MAX), self.bounds.inflight_shortterm)
            .max(self.min_pipe_cwnd);
        self.core.window.cwnd = self.core.window.cwnd.min(cap);
    }

    /// OnEnterFastRecovery.
    pub(super) fn enter_fast_recovery(&mut self) {
        // The first loss saved the values before it changed them.
        if !self.saved.by_loss {
            self.save_upon_loss();
        }
        self.core.window.episode = Episode::Recovery;
    }

    /// OnEnterRTO; Linux: `tcp_enter_loss` and `bbr_set_state`.
    pub(super) fn enter_timeout(&mut self, conn: &Conn, again: bool) {
        if !again && !self.saved.by_loss {
            self.save_upon_loss();
        }
        self.core.window.episode = Episode::Timeout;
        self.core.window.cwnd = loss_window(conn);
        self.forget_after_timeout();
    }

    /// RestoreCwnd, at the end of the episode.
    pub(super) fn leave_recovery(&mut self, conn: &Conn) {
        let after_timeout = self.core.window.episode == Episode::Timeout;
        self.core.window.episode = Episode::None;
        if !(after_timeout || self.rules.recovery_restores) {
            return;
        }
        self.core.window.restore();
        self.bound_after_restoring(conn);
    }

    /// Bounds the restored window by the model, within the same ACK.
    pub(super) fn bound_after_restoring(&mut self, conn: &Conn) {
        self.may_take_fast_path = false;
        if self.core.full_pipe.reached {
            self.core.window.cwnd = self.core.window.cwnd.min(self.max_inflight(conn));
        }
        self.core.window.cwnd = self.core.window.cwnd.max(self.min_pipe_cwnd);
        self.bound_cwnd(conn);
    }

    /// Takes the RTT that was known when the connection began.
    #[inline]
    pub(super) fn take_first_rtt(&mut self, cx: &Context<'_>) -> bool {
        let first = self.core.has_first_rtt(cx);
        if first {
            self.core.take_first_rtt(cx, self.first_gain());
            self.probe_rtt_min.seed(cx.now, cx.conn.min_rtt);
        }
        first
    }
}
