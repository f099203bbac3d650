//! Jitter: variation of a line's delay from packet to packet.

mod gamma;
mod histogram;
mod normal;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use fullpipe_units::{Rng, Span};

use crate::impairment::{Argument, Impairment, Unit};

pub use histogram::Histogram;

const KEYS: &[&str] = &["jitter", "reverse_jitter"];

const MEAN: Argument = Argument::first("mean", Unit::Time, "The mean additional delay.");
const SIGMA: Argument = Argument::needed(
    "sigma",
    Unit::Time,
    "The standard deviation of the additional delay.",
);
const CORRELATION: Argument = Argument::optional(
    "correlation",
    Unit::Share,
    "0%",
    "The correlation of the delays of consecutive packets, measured on their normal scores.",
);
const REORDER: Argument = Argument::flag(
    "reorder",
    "Lets packets overtake each other; for data packets only.",
);
static MOMENTS: &[Argument] = &[MEAN, SIGMA, CORRELATION, REORDER];

pub(crate) static UNIFORM: Impairment = Impairment {
    name: "uniform",
    keys: KEYS,
    named: false,
    purpose: "Each packet gets an additional delay, uniformly distributed from zero to a maximum.",
    arguments: &[
        Argument::first("most", Unit::Time, "The maximum additional delay."),
        CORRELATION,
        REORDER,
    ],
    example: "5ms",
    source: "tc-netem(8), delay",
};

pub(crate) static NORMAL: Impairment = Impairment {
    name: "normal",
    keys: KEYS,
    named: true,
    purpose: "Each packet gets a normally distributed additional delay; negative values become zero.",
    arguments: MOMENTS,
    example: "normal 10ms sigma 2ms",
    source: "tc-netem(8), distribution normal; AS 241",
};

pub(crate) static PARETO: Impairment = Impairment {
    name: "pareto",
    keys: KEYS,
    named: true,
    purpose: "Each packet gets an additional delay from a Pareto distribution with exponent 3, which has a long tail.",
    arguments: MOMENTS,
    example: "pareto 10ms sigma 2ms",
    source: "tc-netem(8), distribution pareto",
};

pub(crate) static PARETO_NORMAL: Impairment = Impairment {
    name: "paretonormal",
    keys: KEYS,
    named: true,
    purpose: "Each packet gets an additional delay from a mixed distribution: a quarter of the normal plus three quarters of the Pareto quantile.",
    arguments: MOMENTS,
    example: "paretonormal 10ms sigma 2ms",
    source: "tc-netem(8), distribution paretonormal; NIST Net",
};

pub(crate) static GAMMA: Impairment = Impairment {
    name: "gamma",
    keys: KEYS,
    named: true,
    purpose: "Each packet gets a gamma-distributed additional delay, never negative and the more skewed, the larger sigma is relative to the mean.",
    arguments: MOMENTS,
    example: "gamma 10ms sigma 5ms",
    source: "Abramowitz and Stegun 6.5, 26.4",
};

pub(crate) static HISTOGRAM: Impairment = Impairment {
    name: "histogram",
    keys: KEYS,
    named: true,
    purpose: "Each packet gets an additional delay from a measured histogram, uniformly distributed within a bin.",
    arguments: &[
        Argument::first(
            "bins",
            Unit::Bins,
            "Start and count of each bin, or \"file\" and the name of a CSV file with them; a final start with count 0 ends the last bin.",
        ),
        CORRELATION,
        REORDER,
    ],
    example: "histogram 0ms 60, 2ms 30, 5ms 10, 20ms 0",
    source: "",
};

pub(crate) static HOLD: Impairment = Impairment {
    name: "hold",
    keys: KEYS,
    named: true,
    purpose: "The line periodically holds all packets for a time, then releases them at once.",
    arguments: &[
        Argument::first("for", Unit::Time, "The length of each hold."),
        Argument::optional(
            "every",
            Unit::Time,
            "the length of a hold",
            "The time from the start of one hold to the next.",
        ),
    ],
    example: "hold 20ms every 100ms",
    source: "KIT's slides on BBRv3 at IETF 123 (burst jitter)",
};

/// Variation of a line's delay from packet to packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Jitter {
    /// No jitter.
    #[default]
    Off,
    /// A random additional delay for each packet.
    Random {
        /// Distribution of the additional delay.
        of: Distribution,
        /// Correlation of the normal scores of consecutive packets, below 1.
        correlation: f64,
        /// Whether packets may overtake each other.
        reorder: bool,
    },
    /// At each multiple of `every` the line stalls for `hold`, then releases the packets that
    /// arrived meanwhile at once. With `hold` = `every` it releases once per `every`, as Wi-Fi and
    /// cable modems do with ACKs.
    Hold {
        /// Length of a stall, at most `every`.
        hold: Span,
        /// Time from the start of one stall to the next.
        every: Span,
    },
}

/// A distribution of times, which are never negative.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform from zero to this.
    Uniform(Span),
    /// Normal, with negative values set to zero, as netem does.
    Normal(Moments),
    /// Pareto with exponent 3, with negative values set to zero.
    Pareto(Moments),
    /// A quarter of the normal and three quarters of the Pareto quantile, scaled to sigma.
    ParetoNormal(Moments),
    /// Gamma, with a shape that follows from mean and sigma.
    Gamma(Moments),
    /// As measured.
    Histogram(Arc<Histogram>),
}

/// Mean and standard deviation, before negative values are set to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    /// The mean.
    pub mean: Span,
    /// The standard deviation, more than zero.
    pub sigma: Span,
}

impl Jitter {
    /// Creates uniform jitter up to `most`, without correlation.
    pub fn uniform(most: Span, reorder: bool) -> Jitter {
        Jitter::Random {
            of: Distribution::Uniform(most),
            correlation: 0.0,
            reorder,
        }
    }

    /// Returns whether it uses random numbers.
    pub fn is_random(&self) -> bool {
        matches!(self, Jitter::Random { .. })
    }

    /// Returns an upper bound of the additional delay of nearly all packets.
    pub fn latest(&self) -> Span {
        match self {
            Jitter::Off => Span::ZERO,
            Jitter::Random {
                of: Distribution::Uniform(most),
                ..
            } => *most,
            Jitter::Random { of, .. } => Span::from_secs_f64(of.quantile(0.9999)),
            Jitter::Hold { hold, .. } => *hold,
        }
    }
}

impl Distribution {
    /// Draws a time. `score` is the normal score drawn last, for correlation.
    pub(crate) fn draw(&self, correlation: f64, rng: &mut Rng, score: &mut Option<f64>) -> Span {
        if let (Distribution::Uniform(most), 0.0) = (self, correlation) {
            return Span::from_nanos(rng.below(most.as_nanos() + 1));
        }
        let mut u = open_unit(rng);
        if correlation > 0.0 {
            // Normal scores form an autoregressive process of order 1 with normal values: the draws
            // keep their distribution at any correlation (a Gaussian copula).
            let fresh = normal::quantile(u);
            let next = score.map_or(fresh, |last| {
                correlation * last + (1.0 - correlation * correlation).sqrt() * fresh
            });
            *score = Some(next);
            u = normal::cdf(next).clamp(LEAST, 1.0 - LEAST);
        }
        Span::from_secs_f64(self.quantile(u))
    }

    /// Returns the time, in seconds, below which a share `u` of all draws lies; values below zero
    /// mean zero.
    fn quantile(&self, u: f64) -> f64 {
        match self {
            Distribution::Uniform(most) => u * most.as_secs_f64(),
            Distribution::Normal(moments) => moments.at(normal::quantile(u)),
            Distribution::Pareto(moments) => moments.at(pareto(u)),
            Distribution::ParetoNormal(moments) => {
                moments.at(PARETO_NORMAL_SCALE * (0.25 * normal::quantile(u) + 0.75 * pareto(u)))
            }
            Distribution::Gamma(Moments { mean, sigma }) => {
                let (mean, sigma) = (mean.as_secs_f64(), sigma.as_secs_f64());
                gamma::quantile(u, mean * mean / (sigma * sigma)) * sigma * sigma / mean
            }
            Distribution::Histogram(histogram) => histogram.quantile(u),
        }
    }
}

impl Moments {
    /// Returns the value `sigmas` standard deviations above the mean, in seconds.
    fn at(self, sigmas: f64) -> f64 {
        self.mean.as_secs_f64() + self.sigma.as_secs_f64() * sigmas
    }
}

/// 1 / √(1/16 + 9/16 + 3/8 · ρ), where ρ = 0.678352789549996 is the correlation of the two
/// quantiles: ∫ z · pareto(Φ(z)) φ(z) dz.
const PARETO_NORMAL_SCALE: f64 = 1.066_377_912_146_328_4;

/// Returns the quantile of a Pareto distribution of exponent 3, shifted and scaled to mean 0 and
/// variance 1: the unscaled distribution, which starts at 1, has mean 3/2 and variance 3/4.
fn pareto(u: f64) -> f64 {
    (1.0 / libm::cbrt(1.0 - u) - 1.5) / 0.75_f64.sqrt()
}

/// The smallest number drawn, 2⁻⁵³.
const LEAST: f64 = 1.0 / (1_u64 << 53) as f64;

/// Draws a uniform number in (0, 1) with 52 bits. Excludes both ends, where quantiles are infinite.
fn open_unit(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
}
