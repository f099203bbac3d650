//! What makes the delay of a line vary from packet to packet.

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

const MEAN: Argument =
    Argument::first("mean", Unit::Time, "How much later packets are on average.");
const SIGMA: Argument = Argument::needed("sigma", Unit::Time, "The standard deviation.");
const CORRELATION: Argument = Argument::optional(
    "correlation",
    Unit::Share,
    "0%",
    "From one packet to the next, of the normal score.",
);
const REORDER: Argument = Argument::flag("reorder", "Packets overtake each other; for data alone.");
static MOMENTS: &[Argument] = &[MEAN, SIGMA, CORRELATION, REORDER];

pub(crate) static UNIFORM: Impairment = Impairment {
    name: "uniform",
    keys: KEYS,
    named: false,
    purpose: "Each packet is up to so much later, uniformly.",
    arguments: &[
        Argument::first("most", Unit::Time, "The longest."),
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
    purpose: "Each packet is later by a time of a normal distribution, or not at all where that is negative.",
    arguments: MOMENTS,
    example: "normal 10ms sigma 2ms",
    source: "tc-netem(8), distribution normal; AS 241",
};

pub(crate) static PARETO: Impairment = Impairment {
    name: "pareto",
    keys: KEYS,
    named: true,
    purpose: "A long tail: a Pareto distribution of exponent 3.",
    arguments: MOMENTS,
    example: "pareto 10ms sigma 2ms",
    source: "tc-netem(8), distribution pareto",
};

pub(crate) static PARETO_NORMAL: Impairment = Impairment {
    name: "paretonormal",
    keys: KEYS,
    named: true,
    purpose: "Between the two: a quarter of the normal and three quarters of the Pareto quantile.",
    arguments: MOMENTS,
    example: "paretonormal 10ms sigma 2ms",
    source: "tc-netem(8), distribution paretonormal; NIST Net",
};

pub(crate) static GAMMA: Impairment = Impairment {
    name: "gamma",
    keys: KEYS,
    named: true,
    purpose: "A gamma distribution: never negative, and the more skewed the larger sigma is beside the mean.",
    arguments: MOMENTS,
    example: "gamma 10ms sigma 5ms",
    source: "Abramowitz and Stegun 6.5, 26.4",
};

pub(crate) static HISTOGRAM: Impairment = Impairment {
    name: "histogram",
    keys: KEYS,
    named: true,
    purpose: "As measured: bins with counts, each packet's delay evenly spread within its bin.",
    arguments: &[
        Argument::first(
            "bins",
            Unit::Bins,
            "Start and count of each bin, or \"file\" and the name of a CSV file of them; count 0 ends the last.",
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
    purpose: "All that comes is held for a time now and then, and released at once.",
    arguments: &[
        Argument::first("for", Unit::Time, "How long."),
        Argument::optional(
            "every",
            Unit::Time,
            "as long as it is held",
            "From one hold to the next.",
        ),
    ],
    example: "hold 20ms every 100ms",
    source: "KIT's slides on BBRv3 at IETF 123 (burst jitter)",
};

/// What makes the delay of a line vary from packet to packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Jitter {
    /// Nothing.
    #[default]
    Off,
    /// Each packet is later by a time drawn.
    Random {
        /// From this.
        of: Distribution,
        /// Of the normal scores from one packet to the next, below 1.
        correlation: f64,
        /// Packets may overtake each other.
        reorder: bool,
    },
    /// At each multiple of `every` the line stalls for `hold`, then lets go of all that came
    /// meanwhile at once. With `hold` = `every` it lets go once in each `every`, as Wi-Fi and cable
    /// modems do with ACKs.
    Hold {
        /// How long it stalls, at most `every`.
        hold: Span,
        /// From one stall to the next.
        every: Span,
    },
}

/// What times are drawn from; never less than zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// From zero to this.
    Uniform(Span),
    /// With what is below zero put at zero, as netem does.
    Normal(Moments),
    /// Of exponent 3, with what is below zero put at zero.
    Pareto(Moments),
    /// A quarter of the normal and three quarters of the Pareto quantile, scaled to sigma.
    ParetoNormal(Moments),
    /// With its shape from mean and sigma.
    Gamma(Moments),
    /// As measured.
    Histogram(Arc<Histogram>),
}

/// Mean and standard deviation, before what is below zero is put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    /// The mean.
    pub mean: Span,
    /// The standard deviation, more than zero.
    pub sigma: Span,
}

impl Jitter {
    /// Uniform up to `most`, without correlation.
    pub fn uniform(most: Span, reorder: bool) -> Jitter {
        Jitter::Random {
            of: Distribution::Uniform(most),
            correlation: 0.0,
            reorder,
        }
    }

    /// Whether it draws.
    pub fn is_random(&self) -> bool {
        matches!(self, Jitter::Random { .. })
    }

    /// How late it makes nearly all packets, at most.
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
    /// A time. `score` is the last one's normal score, for what is correlated.
    pub(crate) fn draw(&self, correlation: f64, rng: &mut Rng, score: &mut Option<f64>) -> Span {
        if let (Distribution::Uniform(most), 0.0) = (self, correlation) {
            return Span::from_nanos(rng.below(most.as_nanos() + 1));
        }
        let mut u = open_unit(rng);
        if correlation > 0.0 {
            // An autoregressive process of order 1 of normal scores, of which every value is
            // normal: what is drawn has its distribution whatever the correlation (a Gaussian
            // copula).
            let fresh = normal::quantile(u);
            let next = score.map_or(fresh, |last| {
                correlation * last + (1.0 - correlation * correlation).sqrt() * fresh
            });
            *score = Some(next);
            u = normal::cdf(next).clamp(LEAST, 1.0 - LEAST);
        }
        Span::from_secs_f64(self.quantile(u))
    }

    /// The time, in seconds, that a share `u` of all is below; less than zero means zero.
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
    /// What is so many sigmas above the mean, in seconds.
    fn at(self, sigmas: f64) -> f64 {
        self.mean.as_secs_f64() + self.sigma.as_secs_f64() * sigmas
    }
}

/// 1 / √(1/16 + 9/16 + 3/8 · ρ), where ρ = 0.678352789549996 is the correlation of both quantiles:
/// ∫ z · pareto(Φ(z)) φ(z) dz.
const PARETO_NORMAL_SCALE: f64 = 1.066_377_912_146_328_4;

/// The quantile of a Pareto distribution of exponent 3, shifted and scaled to mean 0 and variance
/// 1: from 1 on it has mean 3/2 and variance 3/4.
fn pareto(u: f64) -> f64 {
    (1.0 / libm::cbrt(1.0 - u) - 1.5) / 0.75_f64.sqrt()
}

/// The smallest number that is drawn, 2⁻⁵³.
const LEAST: f64 = 1.0 / (1_u64 << 53) as f64;

/// Uniform in (0, 1), 52 bits: neither end comes, where quantiles are infinite.
fn open_unit(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
}
