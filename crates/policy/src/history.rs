//! The observation: features of the last intervals.

use fullpipe_cc::steered::{Interval, Steered};
use fullpipe_units::{Bytes, Rate};

use crate::Spaces;
use crate::feature::{Seen, loss_ratio};

/// The features of the last intervals, the oldest first.
#[derive(Clone, Debug)]
pub struct History {
    values: Vec<f32>,
    least_rtt: Option<f64>,
    smss: Bytes,
}

impl History {
    /// Creates the history of a connection whose full packets have `smss` bytes of payload.
    pub fn new(spaces: &Spaces, smss: Bytes) -> History {
        let neutral = spaces
            .features
            .iter()
            .map(|feature| feature.neutral() as f32);
        History {
            values: neutral.cycle().take(spaces.observed()).collect(),
            least_rtt: None,
            smss,
        }
    }

    /// Adds the interval that a controller closed last. Returns its mean RTT in seconds, if it had
    /// a sample.
    pub fn add(&mut self, spaces: &Spaces, steered: &Steered) -> Option<f64> {
        self.push(spaces, steered.closed(), steered.window())
    }

    fn push(
        &mut self,
        spaces: &Spaces,
        interval: &Interval,
        in_force: (Bytes, Option<Rate>),
    ) -> Option<f64> {
        let mean = interval.mean_rtt();
        self.least_rtt = match (self.least_rtt, mean) {
            (Some(least), Some(mean)) => Some(least.min(mean)),
            (least, mean) => least.or(mean),
        };
        let seen = Seen {
            interval,
            smss: self.smss,
            least_rtt: self.least_rtt,
            in_force,
        };
        let width = spaces.features.len();
        let kept = self.values.len() - width;
        self.values.copy_within(width.., 0);
        for (value, feature) in self.values[kept..].iter_mut().zip(&spaces.features) {
            *value = feature.of(&seen) as f32;
        }
        mean
    }

    /// Returns the observation.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns the packets per second that an interval delivered, less one packet as Aurora counts
    /// them.
    pub fn packets_per_s(&self, interval: &Interval) -> f64 {
        let seconds = interval.length().as_secs_f64();
        if seconds > 0.0 {
            (interval.acked.as_f64() / self.smss.as_f64() - 1.0) / seconds
        } else {
            0.0
        }
    }

    /// Returns the share of lost data in the data whose fate became known in an interval.
    pub fn loss(&self, interval: &Interval) -> f64 {
        loss_ratio(interval)
    }
}
