//! Monitor intervals as observations, rules that turn actions into rates and windows, and trained
//! policies as congestion controllers.
//!
//! [`Spaces`] declares what an agent sees and does. The environments of `fullpipe-gym` and a
//! [`Policy`] share it, so a policy has the observations of its training in any runner, and
//! its actions mean the same.
//!
//! - [`Feature`]: a number about one interval.
//! - [`History`]: the observation, the features of the last intervals.
//! - [`Rule`]: from an action to the next rate or window, and the length of the next interval.
//! - [`Network`]: a small neural network.
//! - [`Policy`]: the controller that joins them, read from a file by [`load`].

mod feature;
mod file;
mod history;
mod known;
mod network;
mod policy;
mod rule;

pub use feature::{Feature, Known};
pub use file::{Read, Refused, check_spaces, features};
pub use history::History;
pub use known::{Loaded, load, loaded, registry, with_loaded};
pub use network::{Activation, Layer, Network};
pub use policy::Policy;
pub use rule::{Form, Quantity, Rule};

use fullpipe_units::Span;

/// The observations of an agent, and the effect of its actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Spaces {
    /// The features of an interval, in the order of the observation.
    pub features: Vec<Feature>,
    /// Number of intervals in an observation, the oldest first.
    pub history: usize,
    /// Meaning of an action.
    pub rule: Rule,
    /// Length of an interval in mean RTTs of the interval before it.
    pub interval: f64,
    /// Length of the first interval in RTTs of the handshake.
    pub warm_up: f64,
}

impl Spaces {
    /// Returns the number of values in an observation.
    pub fn observed(&self) -> usize {
        self.features.len() * self.history
    }

    /// Returns the length of the next interval: the factor times the mean RTT of the last one, or
    /// the length of the last one if it had no sample.
    pub fn next_length(&self, mean_rtt: Option<f64>, last: Span) -> Span {
        let next = mean_rtt.map_or(last, |rtt| Span::from_secs_f64(rtt * self.interval));
        next.max(Span::from_micros(1))
    }
}
