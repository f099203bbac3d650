//! Quantities that are constant or drawn at random.

use crate::{Bytes, Rng, Span};

/// A constant quantity, or the distribution that it is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw<T> {
    /// A constant.
    Constant(T),
    /// An exponential distribution.
    Exponential {
        /// Mean.
        mean: T,
    },
    /// A Pareto distribution, in which few values are much larger than all others.
    Pareto {
        /// Mean.
        mean: T,
        /// Exponent of the tail, above 1; the variance is finite above 2.
        shape: f64,
    },
}

/// A quantity that can be drawn, counted in whole units.
pub trait Measure: Copy {
    /// Returns the number of units.
    fn count(self) -> u64;
    /// Returns the quantity of `count` units.
    fn of(count: u64) -> Self;
}

impl Measure for Span {
    fn count(self) -> u64 {
        self.as_nanos()
    }
    fn of(count: u64) -> Span {
        Span::from_nanos(count)
    }
}

impl Measure for Bytes {
    fn count(self) -> u64 {
        self.get()
    }
    fn of(count: u64) -> Bytes {
        Bytes::new(count)
    }
}

/// The largest draw: about 30 years in ns, so that the sum of two still fits.
const MOST: f64 = 1e18;

impl<T: Measure> Draw<T> {
    /// Draws the next value. A random value is at least one unit.
    pub fn next(&self, rng: &mut Rng) -> T {
        // In (0, 1], so that logarithms and powers of it are finite.
        let mut uniform = || 1.0 - rng.unit();
        let drawn = match *self {
            Draw::Constant(value) => return value,
            Draw::Exponential { mean } => -libm::log(uniform()) * mean.count() as f64,
            Draw::Pareto { mean, shape } => {
                let least = mean.count() as f64 * (shape - 1.0) / shape;
                least * libm::pow(uniform(), -1.0 / shape)
            }
        };
        T::of(drawn.clamp(1.0, MOST) as u64)
    }

    /// Returns whether two draws can differ.
    pub fn is_random(&self) -> bool {
        !matches!(self, Draw::Constant(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mean of many draws, and the share of draws above 2 MB, twice their mean.
    fn measure(draw: Draw<Bytes>) -> (f64, f64) {
        let mut rng = Rng::stream(1, "draw", "test");
        let drawn: Vec<f64> = (0..1_000_000)
            .map(|_| draw.next(&mut rng).as_f64())
            .collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        (
            mean,
            drawn.iter().filter(|value| **value > 2e6).count() as f64 / drawn.len() as f64,
        )
    }

    #[test]
    fn means_and_tails_are_those_of_their_laws() {
        let mean = Bytes::new(1_000_000);
        let (measured, above) = measure(Draw::Exponential { mean });
        assert!((measured / 1e6 - 1.0).abs() < 0.005, "{measured}");
        assert!(
            (above - libm::exp(-2.0)).abs() < 0.001,
            "e^-2 of them are above twice the mean: {above}"
        );
        // (least / 2 mean)^shape with least = mean (shape - 1) / shape: (1/3)^3.
        let (measured, above) = measure(Draw::Pareto { mean, shape: 3.0 });
        assert!((measured / 1e6 - 1.0).abs() < 0.005, "{measured}");
        assert!((above - 1.0 / 27.0).abs() < 0.001, "{above}");
        assert_eq!(
            Draw::Constant(mean).next(&mut Rng::stream(1, "a", "b")),
            mean
        );
    }

    #[test]
    fn nothing_that_is_drawn_is_zero_or_without_end() {
        let mut rng = Rng::stream(1, "draw", "test");
        let short = Draw::Exponential {
            mean: Span::from_nanos(1),
        };
        let long = Draw::Pareto {
            mean: Span::from_secs(1_000_000),
            shape: 1.001,
        };
        for _ in 0..100_000 {
            assert!(short.next(&mut rng) > Span::ZERO);
            assert!(long.next(&mut rng).as_nanos() as f64 <= MOST);
        }
    }
}
