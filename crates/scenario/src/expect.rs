//! What runs shall come to: `"flow.a.goodput >= 90mbit"`, read against the scenario that it stands
//! in.

use fullpipe_units::{Bytes, Rate, Span, nearest, percent};
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::error::Error;
use crate::model::{PACKET, Scenario};
use crate::quantities::{Dimension, FLOW, LINK, Metrics, RUN, SLOWDOWN, STATISTICS, WORKLOAD};
use crate::raw_value::{ReadValue, Refusal};
use crate::values::is_decimal;

/// Conditions as they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conditions(pub(crate) Vec<String>);

/// A condition on the metrics of every repetition, or on one quantile of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// As it is written.
    pub text: String,
    /// Which repetitions it is about.
    pub over: Over,
    /// How what is measured stands to the bound.
    pub comparison: Comparison,
    /// What is measured, each with its bound: one thing, or with `flow.*` one a flow, with
    /// `workload.*` one a workload.
    pub measured: Vec<Measured>,
}

/// Which repetitions a condition is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Over {
    /// Each of them.
    Every,
    /// The least value that this share of them does not exceed.
    Quantile(f64),
}

/// How what is measured stands to the bound.
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

/// A number of a run, and the bound to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The flow's number in [`Scenario::flows`], behind which the workloads are numbered; none for
    /// a link's or the run's.
    pub flow: Option<usize>,
    /// The column of a data set of runs: `goodput_bps`, `link.bottleneck.drops`, `jain`.
    pub column: String,
    /// In the metric's unit: bit/s, seconds, packets, or a share.
    pub bound: f64,
    /// The unit to show it in: `bit/s`, `s`, `packets`, or empty for a share or an index.
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
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        COMPARISONS
            .iter()
            .find(|(_, known)| *known == self)
            .map_or("", |(symbol, _)| symbol)
    }
}

impl ReadValue for Conditions {
    fn read(value: &Toml) -> Result<Conditions, Refusal> {
        let not_text = || Refusal::new("conditions are texts in a list", EXAMPLE);
        let texts = match value {
            Toml::Array(items) => items.clone(),
            // As `--set` has it.
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
    /// What its runs shall come to.
    ///
    /// # Errors
    /// None for a scenario that was read: there a condition that is none, or about something that
    /// is not there, was refused.
    pub fn expectations(&self) -> Result<Vec<Expectation>, Error> {
        self.expect
            .iter()
            .enumerate()
            .map(|(number, text)| self.expectation(number, text))
            .collect()
    }

    /// Drops conditions that say nothing about this scenario.
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
            return Err(Refusal::new("no >=, <=, > or < in it", EXAMPLE));
        };
        if bound.contains(['<', '>', '=']) {
            return Err(Refusal::new(
                "more than one comparison",
                "write a condition each",
            ));
        }
        let (over, metric) = match left.split_once(" of ") {
            Some((which, metric)) => (quantile(which.trim())?, metric.trim()),
            None => (Over::Every, left.trim()),
        };
        let (flows, prefix, name, dimension) = self.metric(metric)?;
        let measured = |flow: Option<usize>| {
            let (bound, unit) = self.bound(bound.trim(), dimension, flow)?;
            Ok(Measured {
                flow,
                column: format!("{prefix}{name}"),
                bound,
                unit,
            })
        };
        let measured = match flows {
            Some(flows) => flows
                .into_iter()
                .map(|flow| measured(Some(flow)))
                .collect::<Result<_, _>>()?,
            None => vec![measured(None)?],
        };
        Ok(Expectation {
            text: text.to_owned(),
            over,
            comparison,
            measured,
        })
    }

    /// The flows that a metric is of, if it is one of flows; else what stands before it in a
    /// column's name.
    #[expect(
        clippy::type_complexity,
        reason = "four parts of one name, taken apart at once"
    )]
    fn metric(
        &self,
        text: &str,
    ) -> Result<(Option<Vec<usize>>, String, String, Dimension), Refusal> {
        let whole = |(name, dimension): (String, Dimension)| (None, String::new(), name, dimension);
        let known = |kind: &str| match kind {
            "flow" => Some((
                FLOW,
                self.flows
                    .iter()
                    .map(|flow| flow.name.as_str())
                    .chain(["*"])
                    .collect(),
            )),
            "workload" => Some((
                WORKLOAD,
                self.workloads
                    .iter()
                    .map(|it| it.flow.name.as_str())
                    .chain(["*"])
                    .collect(),
            )),
            "link" => Some((
                LINK,
                self.links()
                    .map(|link| link.name.as_str())
                    .collect::<Vec<&str>>(),
            )),
            _ => None,
        };
        let found = text
            .split_once('.')
            .and_then(|(kind, rest)| Some((kind, rest, known(kind)?)));
        let Some((kind, rest, (metrics, names))) = found else {
            return find(text, RUN).map(whole).ok_or_else(|| {
                let known = [
                    "flow.NAME.goodput",
                    "link.NAME.utilisation",
                    "workload.NAME.slowdown.p95",
                    "jain",
                    "packets",
                ];
                let fix = match nearest(text, &known) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("write one like {}", known.join(", ")),
                };
                Refusal::new(format!("no metric is called {text:?}"), fix)
            });
        };
        if names == ["*"] {
            let fix = format!("add a [[{kind}]], or expect something of what there is");
            return Err(Refusal::new(format!("the scenario has no {kind}"), fix));
        }
        // Names may have points in them: the longest that fits is meant.
        let fits = |name: &&&str| {
            rest.strip_prefix(**name)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let Some(name) = names
            .iter()
            .filter(fits)
            .max_by_key(|name| name.len())
            .copied()
        else {
            let name = (1..rest.len())
                .rev()
                .filter(|at| rest.as_bytes()[*at] == b'.')
                .filter(|at| find(&rest[at + 1..], metrics).is_some())
                .min()
                .map_or_else(
                    || rest.split('.').next().unwrap_or_default(),
                    |at| &rest[..at],
                );
            return Err(Refusal::new(
                format!("no {kind} is called {name:?}"),
                one_of(name, &names),
            ));
        };
        let metric = &rest[name.len() + 1..];
        let Some((metric, dimension)) = find(metric, metrics) else {
            let known = all_names(metrics);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let fix = match metrics.distributed.iter().find(|known| same(known, metric)) {
                Some(known) => {
                    format!(
                        "say which value of it: {metric}.{}",
                        statistics(known).join(&format!(", {metric}."))
                    )
                }
                None => one_of(metric, &known),
            };
            return Err(Refusal::new(
                format!("a {kind} has no metric {metric:?}"),
                fix,
            ));
        };
        let numbers: Vec<usize> = match kind {
            "flow" => (0..)
                .zip(&self.flows)
                .filter(|(_, it)| name == "*" || it.name == name)
                .map(|(i, _)| i)
                .collect(),
            "workload" => {
                let rows = (self.flows.len()..).zip(&self.workloads);
                rows.filter(|(_, it)| name == "*" || it.flow.name == name)
                    .map(|(i, _)| i)
                    .collect()
            }
            _ => return Ok((None, format!("link.{name}."), metric, dimension)),
        };
        Ok((Some(numbers), String::new(), metric, dimension))
    }

    /// The number behind a bound, in the metric's unit. An `rtt` is that of the path without
    /// queueing, or of the flow with all that it has on top; a `bdp` is that of the path, in
    /// packets.
    fn bound(
        &self,
        text: &str,
        dimension: Dimension,
        flow: Option<usize>,
    ) -> Result<(f64, &'static str), Refusal> {
        let rtt = flow
            .and_then(|flow| self.flows.get(flow))
            .map_or(self.path.rtt, |flow| self.rtt(flow));
        let times = |unit: &str| {
            let number = text.to_lowercase().strip_suffix(unit)?.trim().to_owned();
            is_decimal(&number)
                .then(|| number.parse::<f64>().ok())
                .flatten()
        };
        let refuse = |problem: String, fix: &str| Err(Refusal::new(problem, fix));
        match dimension {
            Dimension::Rate => match text.parse::<Rate>() {
                Ok(rate) => Ok((rate.as_f64(), "bit/s")),
                Err(error) => refuse(error.problem, "write it like \"90mbit\""),
            },
            Dimension::Time => match (times("rtt"), text.parse::<Span>()) {
                (Some(factor), _) => Ok((factor * rtt.as_secs_f64(), "s")),
                (None, Ok(span)) => Ok((span.as_secs_f64(), "s")),
                (None, Err(error)) => refuse(error.problem, "write it like \"20ms\" or \"0.5rtt\""),
            },
            Dimension::Packets => match (times("bdp"), times("packets").or_else(|| times(""))) {
                (Some(factor), _) => {
                    let bdp = self.path.link.rate.as_f64() * self.path.rtt.as_secs_f64()
                        / (8.0 * PACKET.as_f64());
                    Ok((factor * bdp, "packets"))
                }
                (None, Some(count)) => Ok((count, "packets")),
                (None, None) => refuse(
                    format!("{text:?} is not a number of packets"),
                    "write it like \"100\" or \"0.5bdp\"",
                ),
            },
            Dimension::Volume => match text.parse::<Bytes>() {
                Ok(bytes) => Ok((bytes.as_f64(), "B")),
                Err(error) => refuse(error.problem, "write it like \"20MB\""),
            },
            Dimension::Count | Dimension::Factor => match times("") {
                Some(count) => Ok((count, "")),
                None => refuse(format!("{text:?} is not a number"), "write it like \"100\""),
            },
            Dimension::Share => match (times("%"), times("")) {
                (Some(_), _) => {
                    let share = percent(text.trim_end_matches('%'));
                    Ok((share.unwrap_or(f64::NAN), ""))
                }
                (None, Some(share)) => Ok((share, "")),
                (None, None) => refuse(
                    format!("{text:?} is not a share"),
                    "write it like \"0.8\" or \"80%\"",
                ),
            },
        }
    }
}

/// `p95`, `median`.
fn quantile(text: &str) -> Result<Over, Refusal> {
    let percent = match text {
        "median" => Some(50.0),
        _ => text
            .strip_prefix('p')
            .filter(|digits| is_decimal(digits))
            .and_then(|digits| digits.parse().ok()),
    };
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent: f64| Over::Quantile(percent / 100.0))
        .ok_or_else(|| {
            let fix = "write \"median of …\", \"p90 of …\", or nothing: then every repetition has to meet it";
            Refusal::new(format!("{text:?} is no quantile of the repetitions"), fix)
        })
}

/// A metric by its name in `metrics.json`, or by that without the unit at its end: its column, and
/// what it is measured in.
fn find(text: &str, metrics: Metrics) -> Option<(String, Dimension)> {
    let Metrics {
        all,
        distributed,
        limits,
    } = metrics;
    let Some((base, statistic)) = text.split_once('.') else {
        let (name, dimension) = all
            .iter()
            .find(|(known, _)| same(known, text) && !distributed.contains(known))
            .copied()?;
        return Some((name.to_owned(), dimension));
    };
    if base == "limited_by" && limits.contains(&statistic) {
        return Some((text.to_owned(), Dimension::Share));
    }
    let (name, dimension) = all
        .iter()
        .find(|(known, _)| same(known, base) && distributed.contains(known))
        .copied()?;
    // Slowdowns have others by size, and of servers.
    let whose = if name == "slowdown" { ".all.flows" } else { "" };
    statistics(name)
        .contains(&statistic)
        .then(|| (format!("{name}{whose}.{statistic}"), dimension))
}

/// The values of a distribution.
fn statistics(metric: &str) -> &'static [&'static str] {
    if metric == "slowdown" {
        SLOWDOWN
    } else {
        STATISTICS
    }
}

fn same(known: &str, given: &str) -> bool {
    known == given || bare(known) == given
}

/// Without the unit, which the bound has.
fn bare(metric: &str) -> &str {
    ["_bps", "_s", "_fraction"]
        .iter()
        .find_map(|unit| metric.strip_suffix(unit))
        .unwrap_or(metric)
}

fn all_names(metrics: Metrics) -> Vec<String> {
    let names = metrics.all.iter().flat_map(|(name, _)| {
        let of = |statistic: &&str| format!("{}.{statistic}", bare(name));
        match metrics.distributed.contains(name) {
            true => statistics(name).iter().map(of).collect(),
            false => vec![bare(name).to_owned()],
        }
    });
    names
        .chain(
            metrics
                .limits
                .iter()
                .map(|limit| format!("limited_by.{limit}")),
        )
        .collect()
}

const MOST_LISTED: usize = 24;

fn one_of(name: &str, known: &[&str]) -> String {
    let near = nearest(name, known);
    // Of what has a value for each statistic or limit, one stands for all.
    let known: Vec<&str> = known
        .iter()
        .copied()
        .filter(|known| !known.contains('.') || known.ends_with("p95") || known.ends_with("cwnd"))
        .collect();
    match near {
        Some(near) => format!("did you mean {near:?}?"),
        None if known.len() <= MOST_LISTED => format!("there are {}", known.join(", ")),
        None => format!("there are {} and so on", known[..MOST_LISTED].join(", ")),
    }
}
