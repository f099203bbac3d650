//! The congestion window: a cap on what is in flight, and BBR's only answer to loss.

use fullpipe_units::Bytes;

use super::state::State;
use super::{Bbr1, MIN_CWND};
use crate::common::bbr::window::SavedWindow;
use crate::common::window::{Episode, loss_window};
use crate::{Ack, Conn, Context};

/// The window and what recovery does to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BbrWindow {
    pub saved: SavedWindow,
    /// Recovery began and no ACK has come since.
    entering: bool,
    /// In the first round of recovery: send what is delivered.
    pub packet_conservation: bool,
}

impl BbrWindow {
    pub(super) fn new(cwnd: Bytes) -> BbrWindow {
        BbrWindow {
            saved: SavedWindow::new(cwnd),
            entering: false,
            packet_conservation: false,
        }
    }

    /// `bbr_ssthresh` on entering TCP_CA_Recovery; the rest waits for the next ACK.
    pub(super) fn enter_recovery(&mut self, state: State) {
        self.saved.save(state == State::ProbeRtt);
        self.saved.episode = Episode::Recovery;
        self.entering = true;
    }

    /// The timeout's loss window; the next ACK lifts it to four packets.
    pub(super) fn on_timeout(&mut self, conn: &Conn, state: State) {
        self.saved.save(state == State::ProbeRtt);
        self.saved.episode = Episode::Timeout;
        self.entering = false;
        self.saved.cwnd = loss_window(conn);
    }

    /// `bbr_set_cwnd_to_recover_or_restore`, the first half; true while packets are conserved.
    #[inline]
    fn recover(&mut self, conn: &Conn, ack: &Ack) -> bool {
        // An ACK of P packets shall release 2 P at most: here what was lost goes, later what was
        // delivered comes.
        if ack.newly_lost > Bytes::ZERO {
            self.saved.cwnd = self
                .saved
                .cwnd
                .saturating_sub(ack.newly_lost)
                .max(conn.smss);
        }
        // Packets that left before segments grew may be smaller than one.
        let conserved = (conn.inflight + ack.newly_acked).max(conn.smss);
        if self.entering {
            self.entering = false;
            self.packet_conservation = true;
            // Cut what of the window was not used.
            self.saved.cwnd = conserved;
        }
        if self.packet_conservation {
            self.saved.cwnd = self.saved.cwnd.max(conserved);
        }
        self.packet_conservation
    }
}

impl Bbr1 {
    /// `bbr_set_cwnd`.
    #[inline]
    pub(super) fn set_cwnd(&mut self, cx: &Context<'_>, ack: &Ack) {
        if self.window.entering {
            self.model.round.restart(cx.conn.delivered);
        }
        if !self.window.recover(cx.conn, ack) {
            let target = self.target_cwnd(cx.conn);
            let window = &mut self.window.saved;
            if self.full_pipe.reached {
                window.cwnd = (window.cwnd + ack.newly_acked).min(target);
            } else if window.cwnd < target || cx.conn.delivered < cx.conn.initial_cwnd {
                window.cwnd += ack.newly_acked;
            }
            window.cwnd = window.cwnd.max(cx.conn.smss * MIN_CWND);
        }
        self.cap_in_probe_rtt(cx.conn);
    }

    /// Recovery is over or was for nothing: `bbr_set_cwnd_to_recover_or_restore`, the second half.
    pub(super) fn leave_recovery(&mut self, conn: &Conn) {
        if self.window.saved.episode == Episode::None {
            return;
        }
        self.window.saved.episode = Episode::None;
        self.window.entering = false;
        self.window.packet_conservation = false;
        self.window.saved.restore();
        if self.full_pipe.reached {
            self.window.saved.cwnd = self
                .window
                .saved
                .cwnd
                .min(self.target_cwnd(conn))
                .max(conn.smss * MIN_CWND);
        }
        self.cap_in_probe_rtt(conn);
    }

    #[inline]
    fn cap_in_probe_rtt(&mut self, conn: &Conn) {
        if self.state == State::ProbeRtt {
            self.window.saved.cwnd = self.window.saved.cwnd.min(conn.smss * MIN_CWND);
        }
    }

    /// The window to grow to: BDP times gain, what aggregated ACKs hold back, and what the hosts
    /// hold.
    #[inline]
    fn target_cwnd(&self, conn: &Conn) -> Bytes {
        let aggregated = if self.full_pipe.reached {
            self.extra_acked()
        } else {
            0.0
        };
        self.quantize(
            conn,
            self.model.bdp(conn, self.model.bw(), self.cwnd_gain) + aggregated,
        )
    }

    /// `bbr_inflight`: `gain` times the BDP, with what the hosts hold.
    #[inline]
    pub(super) fn inflight(&self, conn: &Conn, gain: f64) -> Bytes {
        self.quantize(conn, self.model.bdp(conn, self.model.max_bw(), gain))
    }

    /// `bbr_quantization_budget`.
    #[inline]
    fn quantize(&self, conn: &Conn, bytes: f64) -> Bytes {
        // One burst each in the sender's queue, its offload engine, and the receiver's.
        let bursts = (self.pacing.quantum * conn.offload_factor).as_f64();
        // An even number of segments needs no delayed ACK.
        let mut window = self.segment.round_up_to_even(bytes + bursts);
        if self.state == State::ProbeBw && self.cycle.is_probing() {
            // A quarter of a small BDP may be less than a packet.
            window += 2.0 * self.segment.bytes;
        }
        Bytes::from_f64(window)
    }

    /// `bbr_packets_in_net_at_edt`: what will be in the network when the pacer lets the next packet
    /// go.
    #[inline]
    pub(super) fn in_net_at_edt(&self, cx: &Context<'_>, inflight: Bytes) -> Bytes {
        let delivered = self.model.bytes_in(cx.conn.next_departure.since(cx.now));
        // On the way up the packet that goes counts; on the way down it doesn't.
        let departing = if self.pacing_gain > 1.0 {
            self.pacing.quantum
        } else {
            Bytes::ZERO
        };
        (inflight + departing).saturating_sub(Bytes::from_f64(delivered))
    }
}
