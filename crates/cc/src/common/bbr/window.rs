//! The congestion window and the one to go back to.

use fullpipe_units::Bytes;

use crate::common::window::Episode;

/// The window, and what it was before loss or ProbeRTT cut it: draft-ietf-ccwg-bbr-06 §5.6.4.4.
#[derive(Clone, Copy, Debug)]
pub struct SavedWindow {
    /// The window in force.
    pub cwnd: Bytes,
    /// The last that was known to be good: `prior_cwnd`.
    pub prior_cwnd: Bytes,
    /// The loss episode that is under way.
    pub episode: Episode,
}

impl SavedWindow {
    /// With the initial window.
    pub fn new(cwnd: Bytes) -> SavedWindow {
        SavedWindow {
            cwnd,
            prior_cwnd: Bytes::ZERO,
            episode: Episode::None,
        }
    }

    /// `bbr_save_cwnd`: remembers the window, unless recovery or ProbeRTT has cut it already: then
    /// only a larger one.
    pub fn save(&mut self, in_probe_rtt: bool) {
        let is_cut = in_probe_rtt || self.episode != Episode::None;
        self.prior_cwnd = if is_cut {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// The window that was saved, if it is larger.
    pub fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
