//! Distributions from which flow sizes are drawn.

use std::sync::Arc;

use fullpipe_units::{Bytes, Rng};

use crate::cdf::Cdf;

/// A distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// A Pareto distribution with both ends cut off.
    BoundedPareto(BoundedPareto),
    /// Lognormal distributions, each with its share of the flows.
    Lognormal(Vec<Lognormal>),
    /// The distribution in a file, piecewise uniform.
    Cdf(Arc<Cdf>),
}

/// `1 - F(x)` falls as `x^-shape` between `min` and `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedPareto {
    /// The exponent of the tail.
    pub shape: f64,
    /// Size of the smallest flow.
    pub min: Bytes,
    /// Size of the largest flow.
    pub max: Bytes,
}

/// The logarithm of the size is normal; the size is cut off above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lognormal {
    /// Share of this distribution in all flows.
    pub share: f64,
    /// Median size, apart from the effect of the cut.
    pub median: Bytes,
    /// The standard deviation of the natural logarithm.
    pub sigma: f64,
    /// Size of the largest flow; larger draws are repeated.
    pub max: Bytes,
}

impl Law {
    /// Draws the next flow's size, at least one byte.
    pub fn draw(&self, rng: &mut Rng) -> Bytes {
        let drawn = match self {
            Law::BoundedPareto(law) => law.draw(rng),
            Law::Lognormal(parts) => part_of(parts, rng.unit()).draw(rng),
            Law::Cdf(cdf) => cdf.at(rng.unit()),
        };
        Bytes::from_f64(drawn.max(1.0))
    }

    /// Returns the mean size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Law::BoundedPareto(law) => law.mean(),
            Law::Lognormal(parts) => parts.iter().map(|part| part.share * part.mean()).sum(),
            Law::Cdf(cdf) => cdf.mean(),
        }
    }
}

impl BoundedPareto {
    /// Inverse of F: `min (1 - u (1 - (min / max)^shape))^(-1 / shape)`.
    fn draw(&self, rng: &mut Rng) -> f64 {
        let (min, max) = (self.min.as_f64(), self.max.as_f64());
        let beyond = 1.0 - rng.unit() * (1.0 - libm::pow(min / max, self.shape));
        (min * libm::pow(beyond, -1.0 / self.shape)).min(max)
    }

    fn mean(&self) -> f64 {
        let (min, max, shape) = (self.min.as_f64(), self.max.as_f64(), self.shape);
        let all = 1.0 - libm::pow(min / max, shape);
        // Integral of x f(x), whose primitive is a logarithm where the exponent is zero.
        if (shape - 1.0).abs() < 1e-9 {
            return min * libm::log(max / min) / all;
        }
        let power = |x: f64| libm::pow(x, 1.0 - shape);
        shape / (1.0 - shape) * libm::pow(min, shape) * (power(max) - power(min)) / all
    }
}

/// Returns the part into which the share `u` of all flows falls.
fn part_of(parts: &[Lognormal], u: f64) -> &Lognormal {
    let mut sum = 0.0;
    let reached = parts.iter().find(|part| {
        sum += part.share;
        u < sum
    });
    reached.unwrap_or(&parts[parts.len() - 1])
}

impl Lognormal {
    fn draw(&self, rng: &mut Rng) -> f64 {
        loop {
            // Box-Muller transform; 1 - u is never zero.
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
            let normal = radius * libm::cos(core::f64::consts::TAU * rng.unit());
            let drawn = self.median.as_f64() * libm::exp(self.sigma * normal);
            if drawn <= self.max.as_f64() {
                return drawn;
            }
        }
    }

    fn mean(&self) -> f64 {
        let cut = libm::log(self.max.as_f64() / self.median.as_f64()) / self.sigma;
        let whole = self.median.as_f64() * libm::exp(self.sigma * self.sigma / 2.0);
        whole * normal_below(cut - self.sigma) / normal_below(cut)
    }
}

/// Returns the share of a standard normal distribution below `x`.
fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
}
