//! Verdicts on conditions: whether the repetitions of a scenario meet them, and the measured values.

use serde::Serialize;
use serde_json::Value as Json;

use super::{Comparison, Expectation, Measured};

/// The verdict of a condition on one of its metrics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict<'a> {
    /// The condition with its subject.
    pub name: String,
    /// The condition as written.
    pub condition: &'a str,
    /// The quantile of the repetitions that must meet it; `None` if every repetition must.
    pub quantile: Option<f64>,
    /// The metric and its bound.
    #[serde(flatten)]
    pub of: &'a Measured,
    /// Value of the worst repetition, or the quantile; `None` if it is missing.
    pub measured: Option<f64>,
    /// Least value of a repetition.
    pub least: Option<f64>,
    /// Greatest value of a repetition.
    pub most: Option<f64>,
    /// Number of repetitions.
    pub repetitions: usize,
    /// Whether the condition is met.
    pub met: bool,
    /// Seeds of the repetitions that miss the bound, the worst first.
    pub failed_seeds: Vec<u64>,
    /// The range of the repetitions, or the quantile, in words.
    pub shown: String,
}

impl Expectation {
    /// Judges repetitions by one of the metrics of the condition. `values` are the metric's, each
    /// with the seed of its run; a missing one meets no bound.
    pub fn judge<'a>(&'a self, of: &'a Measured, values: &[(u64, Option<f64>)]) -> Verdict<'a> {
        let wants_more = matches!(self.comparison, Comparison::AtLeast | Comparison::Above);
        let goodness = |value: Option<f64>| match value {
            None => f64::NEG_INFINITY,
            Some(value) if wants_more => value,
            Some(value) => -value,
        };
        let mut worst_first = values.to_vec();
        // Among equal values the seeds decide, so that the order of the runs does not.
        worst_first.sort_by(|(seed, value), (other_seed, other)| {
            let by_value = goodness(*value).total_cmp(&goodness(*other));
            by_value.then(seed.cmp(other_seed))
        });
        let place = self.quantile.map_or(0, |share| {
            // Rounded, since 0.07 * 100 is more than 7.
            let rank = (share * values.len() as f64 * 1e9).round() / 1e9;
            let rank = (rank.ceil() as usize).max(1);
            if wants_more {
                rank - 1
            } else {
                values.len().saturating_sub(rank)
            }
        });
        let measured = worst_first.get(place).and_then(|(_, value)| *value);
        let there = || values.iter().filter_map(|(_, value)| *value);
        let (least, most) = (there().reduce(f64::min), there().reduce(f64::max));
        let misses = |value| !self.comparison.holds(value, of.bound);
        let failed = worst_first.iter().filter(|(_, value)| misses(*value));
        Verdict {
            name: match of.of.as_str() {
                "" => self.text.clone(),
                subject => format!("{} ({subject})", self.text),
            },
            condition: &self.text,
            quantile: self.quantile,
            of,
            measured,
            least,
            most,
            repetitions: values.len(),
            met: !misses(measured),
            failed_seeds: failed.map(|(seed, _)| *seed).collect(),
            shown: self.shown(of, measured, least.zip(most)),
        }
    }

    fn shown(&self, of: &Measured, measured: Option<f64>, range: Option<(f64, f64)>) -> String {
        let largest = of.bound.max(range.map_or(0.0, |(_, most)| most));
        let (scale, unit) = match of.unit {
            "bit/s" if largest >= 1e9 => (1.0 / 1e9, " Gbit/s"),
            "bit/s" if largest >= 1e6 => (1.0 / 1e6, " Mbit/s"),
            "bit/s" if largest >= 1e3 => (1.0 / 1e3, " kbit/s"),
            "bit/s" => (1.0, " bit/s"),
            "s" if largest >= 10.0 => (1.0, " s"),
            "s" => (1e3, " ms"),
            "packets" => (1.0, " packets"),
            "B" => (1e-6, " MB"),
            _ if self.text.contains('%') => (100.0, " %"),
            _ => (1.0, ""),
        };
        let number = |value: f64| digits(value * scale);
        let numbers = match self.quantile {
            Some(_) => measured.map(number),
            None => range.map(|(least, most)| match (number(least), number(most)) {
                (low, high) if low == high => low,
                (low, high) => format!("{low} – {high}"),
            }),
        };
        let value = numbers.map_or_else(|| "–".to_owned(), |numbers| numbers + unit);
        match self.quantile {
            None => value,
            Some(share) => format!("{} {value}", quantile_name(share)),
        }
    }
}

impl Comparison {
    fn holds(self, value: Option<f64>, bound: f64) -> bool {
        value.is_some_and(|value| match self {
            Comparison::AtLeast => value >= bound,
            Comparison::AtMost => value <= bound,
            Comparison::Above => value > bound,
            Comparison::Below => value < bound,
        })
    }
}

impl Measured {
    /// Returns the value of the column in a run's serialized metrics; `None` without one.
    pub fn value(&self, metrics: &Json) -> Option<f64> {
        let list = |name: &str| metrics[name].as_array().into_iter().flatten();
        if let Some(column) = self.column.strip_prefix("link.") {
            return list("links").find_map(|link| {
                let metric = column.strip_prefix(link["name"].as_str()?)?;
                number_at(link, metric.strip_prefix('.')?)
            });
        }
        let whose = match self.flow {
            None => metrics,
            Some(flow) => list("flows").chain(list("workloads")).nth(flow)?,
        };
        number_at(whose, &self.column)
    }
}

fn number_at(value: &Json, path: &str) -> Option<f64> {
    let found = path.split('.').try_fold(value, |at, name| at.get(name))?;
    found.as_f64()
}

/// Formats a number with three significant digits, or all before the decimal point.
fn digits(value: f64) -> String {
    let places = match value {
        0.0 => return "0".to_owned(),
        _ if value >= 1000.0 => 0,
        _ if value >= 100.0 => 1,
        _ if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

fn quantile_name(share: f64) -> String {
    if share == 0.5 {
        return "median".to_owned();
    }
    // Six digits, without the errors of the multiplication.
    let percent = format!("{:.5e}", share * 100.0);
    format!("p{}", percent.parse().unwrap_or(share * 100.0))
}
