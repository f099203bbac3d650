//! Distributions of values: texts with ranges in braces, each with its share.

use crate::sweep::Range;
use crate::{Quantity, quantity};
use fullpipe_units::Rng;

/// Number of draws outside the bounds after which the nearer bound is taken.
const TRIES: u32 = 1000;

/// The distribution of a value: one of several texts, chosen by their shares, with drawn values in
/// the braces.
///
/// `"{5ms..40ms log}"`, `"{lognormal 30ms spread 2 in 2ms..120ms}"`, `"hold {2ms..20ms}"`, `"off"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Vec<(f64, Vec<Piece>)>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Range(Range),
    LogNormal(LogNormal),
}

/// A distribution whose logarithm is normal.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LogNormal {
    median: f64,
    /// exp(σ): two thirds of the draws lie between median / spread and median x spread.
    spread: f64,
    low: f64,
    high: f64,
    unit: &'static str,
}

impl Distribution {
    /// Creates a distribution of these texts, each with its share; the shares add up to one.
    ///
    /// # Errors If a text has a bad range in braces, or the shares do not add up to one: the
    /// problem.
    pub fn read(parts: &[(f64, &str)]) -> Result<Distribution, String> {
        let sum: f64 = parts.iter().map(|(share, _)| share).sum();
        if let Some((share, text)) = parts.iter().find(|(share, _)| !(0.0..=1.0).contains(share)) {
            return Err(format!(
                "the share {share} of {text:?} is not between 0 and 1"
            ));
        }
        if (sum - 1.0).abs() > 1e-9 {
            return Err(format!("the shares add up to {sum}, not to 1"));
        }
        let read = parts
            .iter()
            .map(|(share, text)| Ok((*share, pieces(text)?)));
        read.collect::<Result<_, String>>().map(Distribution)
    }

    /// Draws a value, as written in a scenario.
    pub fn draw(&self, rng: &mut Rng) -> String {
        let at = rng.unit();
        let mut sum = 0.0;
        let chosen = self.0.iter().find(|(share, _)| {
            sum += share;
            at < sum
        });
        // Rounding may leave the sum slightly below one.
        let (_, pieces) = chosen.or(self.0.last()).expect("the shares add up to one");
        pieces.iter().map(|piece| piece.draw(rng)).collect()
    }

    /// Returns each text with the ends of its ranges, for checks.
    pub(crate) fn ends(&self) -> impl Iterator<Item = String> {
        let shared = self.0.iter().filter(|(share, _)| *share > 0.0);
        shared.flat_map(|(_, pieces)| {
            [false, true].map(|high| {
                pieces
                    .iter()
                    .map(|piece| piece.end(high))
                    .collect::<String>()
            })
        })
    }
}

impl Piece {
    fn draw(&self, rng: &mut Rng) -> String {
        match self {
            Piece::Text(text) => text.clone(),
            Piece::Range(range) => range.draw(rng),
            Piece::LogNormal(of) => Quantity {
                value: of.draw(rng),
                unit: of.unit,
            }
            .written(),
        }
    }

    fn end(&self, high: bool) -> String {
        match self {
            Piece::Text(text) => text.clone(),
            Piece::Range(range) => range.end(high),
            Piece::LogNormal(of) => Quantity {
                value: if high { of.high } else { of.low },
                unit: of.unit,
            }
            .written(),
        }
    }
}

impl LogNormal {
    /// Reads `lognormal 30ms spread 2 in 2ms..120ms`, without the first word.
    fn read(text: &str) -> Option<LogNormal> {
        let (median, rest) = text.split_once(" spread ")?;
        let (spread, bounds) = rest.split_once(" in ")?;
        let (low, high) = bounds.split_once("..")?;
        let [median, low, high] = [median, low, high].map(quantity);
        let (median, low, high) = (median?, low?, high?);
        let spread = spread
            .trim()
            .parse()
            .ok()
            .filter(|spread: &f64| *spread > 1.0 && spread.is_finite())?;
        let ordered = 0.0 < low.value && low.value <= median.value && median.value <= high.value;
        let alike = low.unit == median.unit && median.unit == high.unit;
        (ordered && alike).then_some(LogNormal {
            median: median.value,
            spread,
            low: low.value,
            high: high.value,
            unit: median.unit,
        })
    }

    fn draw(&self, rng: &mut Rng) -> f64 {
        let mut value = self.median;
        for _ in 0..TRIES {
            // Box-Muller transform; the logarithm of (0, 1] is finite.
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
            let normal = radius * libm::cos(core::f64::consts::TAU * rng.unit());
            value = self.median * libm::exp(normal * libm::log(self.spread));
            if (self.low..=self.high).contains(&value) {
                return value;
            }
        }
        value.clamp(self.low, self.high)
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((before, behind)) = rest.split_once('{') {
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        let Some((hole, behind)) = behind.split_once('}') else {
            return Err(format!("{text:?} has an unclosed {{"));
        };
        pieces.push(read_hole(hole.trim())?);
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

fn read_hole(hole: &str) -> Result<Piece, String> {
    if let Some(of) = hole.strip_prefix("lognormal ") {
        let bad = || {
            format!(
                "{{{hole}}} is not a log-normal distribution, like {{lognormal 30ms spread 2 in 2ms..120ms}}"
            )
        };
        return LogNormal::read(of).map(Piece::LogNormal).ok_or_else(bad);
    }
    match Range::read(hole) {
        Some(range) => range
            .map(Piece::Range)
            .map_err(|problem| format!("{{{hole}}}: {problem}")),
        None => Err(format!("{{{hole}}} is not a range, like {{1ms..1s log}}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Distribution {
        Distribution::read(&[(1.0, text)]).expect(text)
    }

    #[test]
    fn holes_are_filled_and_the_rest_stays() {
        let mut rng = Rng::stream(1, "path 0", "path.policer");
        let text = one("{1mbit..2mbit} burst {10kB..20kB log}").draw(&mut rng);
        let (rate, burst) = text.split_once(" burst ").expect(&text);
        assert!(
            (1e6..=2e6).contains(&quantity(rate).unwrap().value),
            "{text}"
        );
        assert!(
            (1e4..=2e4).contains(&quantity(burst).unwrap().value),
            "{text}"
        );
        assert_eq!(one("off").draw(&mut rng), "off");
    }

    #[test]
    fn shares_are_kept() {
        let either = Distribution::read(&[(0.25, "off"), (0.75, "hold {1ms..2ms}")]).unwrap();
        let mut rng = Rng::stream(1, "path 0", "path.reverse_jitter");
        let off = (0..4000).filter(|_| either.draw(&mut rng) == "off").count();
        assert!(
            (930..1070).contains(&off),
            "{off}: 1000 +- 2.5 standard deviations"
        );
    }

    #[test]
    fn half_of_a_log_normal_lies_below_its_median_and_two_thirds_within_its_spread() {
        let rtt = one("{lognormal 30ms spread 2 in 1ms..1s}");
        let mut rng = Rng::stream(1, "path 0", "path.rtt");
        let drawn: Vec<f64> = (0..4000)
            .map(|_| quantity(&rtt.draw(&mut rng)).unwrap().value)
            .collect();
        let below = drawn.iter().filter(|value| **value < 0.03).count();
        let within = drawn
            .iter()
            .filter(|value| (0.015..0.06).contains(*value))
            .count();
        assert!((1920..2080).contains(&below), "{below}");
        assert!(
            (2657..2805).contains(&within),
            "{within}: 68.3 % +- 2.5 standard deviations"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let problem = |parts: &[(f64, &str)]| Distribution::read(parts).expect_err("bad");
        assert_eq!(
            problem(&[(0.5, "off"), (0.4, "1ms")]),
            "the shares add up to 0.9, not to 1"
        );
        assert_eq!(
            problem(&[(1.0, "{1ms..2mbit}")]),
            "{1ms..2mbit}: 1ms and 2mbit have different units"
        );
        assert_eq!(
            problem(&[(1.0, "{10ms}")]),
            "{10ms} is not a range, like {1ms..1s log}"
        );
        assert_eq!(
            problem(&[(1.0, "hold {1ms..2ms")]),
            "\"hold {1ms..2ms\" has an unclosed {"
        );
        assert_eq!(
            problem(&[(1.0, "{lognormal 30ms spread 0.5 in 1ms..1s}")]),
            "{lognormal 30ms spread 0.5 in 1ms..1s} is not a log-normal distribution, like {lognormal 30ms spread 2 in 2ms..120ms}"
        );
    }

    #[test]
    fn ends_are_those_of_every_part() {
        let rtt = Distribution::read(&[
            (0.5, "{1ms..2ms}"),
            (0.5, "{lognormal 30ms spread 2 in 3ms..1s}"),
        ])
        .unwrap();
        assert_eq!(rtt.ends().collect::<Vec<_>>(), ["1ms", "2ms", "3ms", "1s"]);
    }
}
