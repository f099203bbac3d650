//! Rewards of an interval.

use fullpipe_cc::steered::Interval;
use fullpipe_policy::History;
use fullpipe_scenario::Scenario;

/// The reward for one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reward {
    /// A weighted sum: throughput in packets per second, mean RTT in seconds and loss ratio, the
    /// latter two with positive weights subtracted.
    Linear {
        /// Weight of the throughput.
        throughput: f64,
        /// Weight of the mean RTT.
        latency: f64,
        /// Weight of the loss ratio.
        loss: f64,
    },
    /// The logarithm of power: binary logarithm of throughput over mean RTT, relative to the rate
    /// and the RTT of the empty path at the start. Zero is a full link with an empty queue.
    Power,
}

/// Weights of Aurora's environment, with its scale of a thousandth: 10 for the throughput in packets
/// per second, 1000 for the mean RTT in seconds, 2000 for the loss ratio.
pub(crate) const AURORA: Reward = Reward::Linear {
    throughput: 0.01,
    latency: 1.0,
    loss: 2.0,
};

/// Lowest power: an interval without data, or worse than a thousandth of the ideal.
const LEAST_POWER: f64 = -10.0;

impl Reward {
    /// Returns Aurora's reward.
    pub fn aurora() -> Reward {
        AURORA
    }

    pub(crate) fn of(self, interval: &Interval, history: &History, scenario: &Scenario) -> f64 {
        let mean = interval.mean_rtt();
        match self {
            Reward::Linear {
                throughput,
                latency,
                loss,
            } => {
                throughput * history.packets_per_s(interval)
                    - latency * mean.unwrap_or(0.0)
                    - loss * history.loss(interval)
            }
            Reward::Power => {
                let seconds = interval.length().as_secs_f64();
                let bits = 8.0 * interval.acked.as_f64();
                let (rate, rtt) = (
                    scenario.path.link.rate.as_f64(),
                    scenario.path.rtt.as_secs_f64(),
                );
                match mean {
                    Some(mean) if bits > 0.0 && seconds > 0.0 && rtt > 0.0 => {
                        let power = bits / seconds / rate / (mean / rtt);
                        libm::log2(power).max(LEAST_POWER)
                    }
                    _ => LEAST_POWER,
                }
            }
        }
    }
}
