//! Conditions that runs must meet: `"flow.a.goodput >= 90mbit"`. The scenario defines the names and
//! units in them.

mod bound;
mod metric;
mod verdict;

use schemars::{Schema, json_schema};
use serde::Serialize;
use toml::Value as Toml;

use self::metric::Metric;
pub use self::verdict::Verdict;
use crate::error::Error;
use crate::model::Scenario;
use crate::raw_value::{ReadValue, Refusal};
use crate::values::is_decimal;

/// Conditions as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conditions(pub(crate) Vec<String>);

/// A condition on the metrics of every repetition, or on one quantile of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The condition as written.
    pub text: String,
    /// The quantile of the repetitions that must meet the condition: the least value that this
    /// share of them does not exceed. `None` if every repetition must.
    pub quantile: Option<f64>,
    /// Comparison of the metric with the bound.
    pub comparison: Comparison,
    /// Metrics to compare, each with its bound: one, or with `flow.*` one per flow, with
    /// `workload.*` one per workload.
    pub measured: Vec<Measured>,
}

/// The comparison of a metric with its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `<`
    Below,
}

/// A metric of a run, and its bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Index of the flow in [`Scenario::flows`], with workloads numbered after the flows; `None`
    /// for a metric of a link or the run.
    pub flow: Option<usize>,
    /// Its subject, `flow a` or `workload web`, if the condition has several; otherwise empty.
    pub of: String,
    /// Column of a data set of runs: `goodput_bps`, `link.bottleneck.drops`, `jain`.
    pub column: String,
    /// Bound in the metric's unit: bit/s, seconds, packets, or a share.
    pub bound: f64,
    /// Unit to display: `bit/s`, `s`, `packets`, or empty for a share or an index.
    pub unit: &'static str,
}

const COMPARISONS: [(&str, Comparison); 4] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
];
const EXAMPLE: &str = "write it like \"flow.a.goodput >= 90mbit\", \"link.bottleneck.queue_delay.p95 <= 1rtt\" or \"p10 of jain >= 0.8\"";

impl Comparison {
    /// Returns the comparison as written.
    pub fn symbol(self) -> &'static str {
        COMPARISONS
            .iter()
            .find(|(_, known)| *known == self)
            .map_or("", |(symbol, _)| symbol)
    }
}

impl ReadValue for Conditions {
    fn read(value: &Toml) -> Result<Conditions, Refusal> {
        let not_text = || Refusal::new("must be a list of texts", EXAMPLE);
        let texts = match value {
            Toml::Array(items) => items.clone(),
            // `--set` passes a list as text.
            Toml::String(text) => match text.parse() {
                Ok(Toml::Array(items)) => items,
                _ => text
                    .split(',')
                    .map(|part| Toml::String(part.to_owned()))
                    .collect(),
            },
            _ => return Err(not_text()),
        };
        let text = |item: &Toml| {
            item.as_str()
                .map(|text| text.trim().to_owned())
                .ok_or_else(not_text)
        };
        texts
            .iter()
            .map(text)
            .collect::<Result<_, _>>()
            .map(Conditions)
    }

    fn write(&self) -> Toml {
        Toml::Array(self.0.iter().cloned().map(Toml::String).collect())
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "list of conditions",
            "type": "array",
            "items": { "type": "string", "pattern": "^[^<>=]+(<|>|<=|>=)[^<>=]+$" },
            "examples": [["jain >= 0.8"]],
        })
    }
}

impl Scenario {
    /// Returns the conditions that every run must meet.
    ///
    /// # Errors
    /// An invalid condition, or one that names a missing flow, link or workload. A scenario that
    /// was read from text has none.
    pub fn expectations(&self) -> Result<Vec<Expectation>, Error> {
        self.expect
            .iter()
            .enumerate()
            .map(|(number, text)| self.expectation(number, text))
            .collect()
    }

    /// Drops conditions that do not apply to this scenario.
    pub(crate) fn forget_what_is_not_there(&mut self) {
        let kept = self
            .expect
            .iter()
            .filter(|text| self.condition(text).is_ok())
            .cloned()
            .collect();
        self.expect = kept;
    }

    fn expectation(&self, number: usize, text: &str) -> Result<Expectation, Error> {
        let key = format!("expect.{number}");
        self.condition(text)
            .map_err(|Refusal { problem, fix, .. }| {
                self.error(&key, format_args!("{text:?}"), problem, fix)
            })
    }

    fn condition(&self, text: &str) -> Result<Expectation, Refusal> {
        let found = COMPARISONS
            .iter()
            .find_map(|(symbol, comparison)| Some((*comparison, text.split_once(symbol)?)));
        let Some((comparison, (left, bound))) = found else {
            return Err(Refusal::new("a condition needs >=, <=, > or <", EXAMPLE));
        };
        if bound.contains(['<', '>', '=']) {
            return Err(Refusal::new(
                "more than one comparison",
                "write one condition for each comparison",
            ));
        }
        let (quantile, metric) = match left.split_once(" of ") {
            Some((which, metric)) => (Some(quantile(which.trim())?), metric.trim()),
            None => (None, left.trim()),
        };
        let metric = Metric::read(metric, self)?;
        let measured = |flow: Option<usize>, of: &str| {
            let (bound, unit) = bound::read(bound.trim(), metric.dimension, flow, self)?;
            Ok(Measured {
                flow,
                of: of.to_owned(),
                column: metric.column.clone(),
                bound,
                unit,
            })
        };
        let measured = match metric.flows.as_deref() {
            None => vec![measured(None, "")?],
            Some([(flow, _)]) => vec![measured(Some(*flow), "")?],
            Some(several) => several
                .iter()
                .map(|(flow, name)| measured(Some(*flow), name))
                .collect::<Result<_, _>>()?,
        };
        Ok(Expectation {
            text: text.to_owned(),
            quantile,
            comparison,
            measured,
        })
    }
}

/// Reads a quantile of the repetitions: `p95`, `median`.
fn quantile(text: &str) -> Result<f64, Refusal> {
    let percent = match text {
        "median" => Some(50.0),
        _ => text
            .strip_prefix('p')
            .filter(|digits| is_decimal(digits))
            .and_then(|digits| digits.parse().ok()),
    };
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent: f64| percent / 100.0)
        .ok_or_else(|| {
            let fix = "write \"median of …\" or \"p90 of …\", or omit it if every repetition must meet the condition";
            Refusal::new(format!("{text:?} is not a quantile of the repetitions"), fix)
        })
}
