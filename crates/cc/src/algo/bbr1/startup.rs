//! STARTUP: grow until the pipe is full.

use super::model::Model;
use crate::Ack;

/// `bbr_full_bw_thresh`: growth below this is no growth.
const FULL_BW_THRESH: f64 = 1.25;
/// `bbr_full_bw_cnt`: rounds without growth that show the pipe to be full.
const FULL_BW_COUNT: u32 = 3;

/// Is the pipe full? `bbr_check_full_bw_reached`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Bandwidth at the last real growth, B/s: `full_bw`.
    pub bw: f64,
    /// Rounds since: `full_bw_cnt`.
    pub count: u32,
    /// `full_bw_reached`; stays true.
    pub reached: bool,
}

impl FullPipe {
    /// Three rounds, because the receive window takes one to grow, the sender one to fill it, and the rate one to show.
    #[inline]
    pub(super) fn on_ack(&mut self, model: &Model, ack: &Ack) {
        if self.reached || !model.round_start || ack.rate.app_limited {
            return;
        }
        if model.max_bw() >= self.bw * FULL_BW_THRESH {
            self.bw = model.max_bw();
            self.count = 0;
            return;
        }
        self.count += 1;
        self.reached = self.count >= FULL_BW_COUNT;
    }

    /// A timeout or a loss that was none: the bandwidth seen lately proves nothing.
    pub(super) fn restart(&mut self) {
        self.bw = 0.0;
    }

    /// `bbr_undo_cwnd`.
    pub(super) fn undo(&mut self) {
        self.bw = 0.0;
        self.count = 0;
    }
}
