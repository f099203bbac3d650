//! The average share of marked packets (§4.2.1.3).

use fullpipe_units::{Span, Time};

use super::declared::Params;

/// Longest interval between two updates of the average.
const INTERVAL: Span = Span::from_millis(10);

/// l4s_alpha and its counters.
#[derive(Debug, Default)]
pub(super) struct MarkedShare {
    pub(super) alpha: f64,
    delivered: u64,
    marked: u64,
    updated: Time,
}

impl MarkedShare {
    /// Counts a delivered packet.
    pub(super) fn on_delivered(&mut self) {
        self.delivered += 1;
    }

    /// Counts the marked packets of a report, and updates the average if it is time.
    pub(super) fn on_report(&mut self, now: Time, marked: u64, srtt: Span, params: &Params) {
        self.marked += marked;
        if now < self.updated + INTERVAL.min(srtt) || self.delivered == 0 {
            return;
        }
        let fraction = self.marked as f64 / self.delivered as f64;
        self.alpha = if fraction >= self.alpha {
            params.l4s_avg_g_up * fraction + (1.0 - params.l4s_avg_g_up) * self.alpha
        } else {
            (1.0 - params.l4s_avg_g_down) * self.alpha
        };
        (self.updated, self.delivered, self.marked) = (now, 0, 0);
    }
}
