//! Online learning: from utilities to the next rate (§4, §5). Rates are in Mbit/s, the unit for
//! which the paper gives its constants.

use super::declared::Params;
use super::interval::Measurement;

/// Bits per second in 1 Mbit/s.
const MEGABIT: f64 = 1e6;

/// Equation 1: u = x^t - b x d(RTT)/dT - c x L.
pub(super) fn utility(params: &Params, measured: &Measurement) -> f64 {
    let rate = measured.rate.as_f64() / MEGABIT;
    // §5.2: a small gradient is noise.
    let gradient = if measured.rtt_gradient.abs() < params.rtt_gradient_threshold {
        0.0
    } else {
        measured.rtt_gradient
    };
    libm::pow(rate, params.throughput_exponent)
        - params.rtt_gradient_coefficient * rate * gradient
        - params.loss_coefficient * rate * measured.loss
}

/// The size of the next step (§5.1).
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// τ: number of consecutive gradients of the same sign, negative for negative ones.
    pub(super) consecutive: i64,
    /// k: number of consecutive changes that the boundary limited, negative for decreases.
    pub(super) limited: i64,
}

impl Steps {
    /// Returns the change of `rate`, in bit/s, for the utility's gradient, in utility per Mbit/s.
    pub(super) fn change(&mut self, params: &Params, rate: f64, gradient: f64) -> f64 {
        let factor = params.conversion_factor * self.confidence(gradient);
        self.bounded(params, rate, factor * gradient * MEGABIT)
    }

    /// The confidence amplifier m(τ): τ up to 3, then 2 τ - 3.
    fn confidence(&mut self, gradient: f64) -> f64 {
        let sign = if gradient > 0.0 {
            1
        } else {
            -i64::from(gradient < 0.0)
        };
        self.consecutive = if self.consecutive * sign < 0 || sign == 0 {
            sign
        } else {
            self.consecutive + sign
        };
        let tau = self.consecutive.abs().max(1);
        (if tau <= 3 { tau } else { 2 * tau - 3 }) as f64
    }

    /// The dynamic change boundary ω = ω0 + k δ, a fraction of the rate.
    fn bounded(&mut self, params: &Params, rate: f64, change: f64) -> f64 {
        let sign = if change > 0.0 { 1 } else { -1 };
        if self.limited * sign < 0 {
            self.limited = 0;
        }
        let boundary = |limited: i64| {
            let omega = params.initial_boundary + limited.abs() as f64 * params.boundary_increment;
            omega * rate
        };
        if change.abs() > boundary(self.limited) {
            let bounded = boundary(self.limited) * sign as f64;
            self.limited += sign;
            return bounded;
        }
        // The smallest boundary that permits this change.
        while self.limited != 0 && change.abs() <= boundary(self.limited - sign) {
            self.limited -= sign;
        }
        change
    }
}
