//! The metric of a condition, by its name: a metric of the run, a link, a flow or a workload.

use fullpipe_trace::metrics::{self, Dimension, Form};
use fullpipe_units::nearest;

use crate::model::Scenario;
use crate::quantities::{FLOW, LINK, Metrics, RUN, WORKLOAD};
use crate::raw_value::Refusal;

/// A metric of a scenario's runs.
pub(super) struct Metric {
    /// Numbers and names of the flows that the metric belongs to, with workloads numbered after the
    /// flows; `None` for a metric of a link or the run.
    pub(super) flows: Option<Vec<(usize, String)>>,
    /// Name of the metric in results.
    pub(super) column: String,
    pub(super) dimension: Dimension,
}

impl Metric {
    pub(super) fn read(text: &str, scenario: &Scenario) -> Result<Metric, Refusal> {
        let found = text
            .split_once('.')
            .and_then(|(kind, rest)| Some((kind, rest, known(kind, scenario)?)));
        let Some((kind, rest, (metrics, names))) = found else {
            return of_the_run(text);
        };
        if names == ["*"] {
            let fix = format!("add a [[{kind}]], or remove the condition");
            return Err(Refusal::new(format!("the scenario has no {kind}"), fix));
        }
        let name = owner(kind, rest, metrics, &names)?;
        let (metric, dimension) = of_one(kind, &rest[name.len() + 1..], metrics)?;
        let is_meant = |it: &str| name == "*" || it == name;
        let flows = match kind {
            "flow" => (0..)
                .zip(&scenario.flows)
                .filter(|(_, it)| is_meant(&it.name))
                .map(|(i, it)| (i, format!("flow {}", it.name)))
                .collect(),
            "workload" => (scenario.flows.len()..)
                .zip(&scenario.workloads)
                .filter(|(_, it)| is_meant(&it.flow.name))
                .map(|(i, it)| (i, format!("workload {}", it.flow.name)))
                .collect(),
            _ => {
                return Ok(Metric {
                    flows: None,
                    column: format!("link.{name}.{metric}"),
                    dimension,
                });
            }
        };
        Ok(Metric {
            flows: Some(flows),
            column: metric,
            dimension,
        })
    }
}

/// Returns the metrics of flows, workloads or links, and the names of all flows, workloads or
/// links.
fn known<'a>(kind: &str, scenario: &'a Scenario) -> Option<(Metrics, Vec<&'a str>)> {
    let flows = scenario.flows.iter().map(|flow| flow.name.as_str());
    let workloads = scenario.workloads.iter().map(|it| it.flow.name.as_str());
    let links = scenario.links().map(|link| link.name.as_str());
    match kind {
        "flow" => Some((FLOW, flows.chain(["*"]).collect())),
        "workload" => Some((WORKLOAD, workloads.chain(["*"]).collect())),
        "link" => Some((LINK, links.collect())),
        _ => None,
    }
}

fn of_the_run(text: &str) -> Result<Metric, Refusal> {
    if let Some((column, dimension)) = find(text, RUN) {
        return Ok(Metric {
            flows: None,
            column,
            dimension,
        });
    }
    let known = [
        "flow.NAME.goodput",
        "link.NAME.utilization",
        "workload.NAME.slowdown.p95",
        "jain",
        "packets",
    ];
    let fix = match nearest(text, &known) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("write a metric like {}", known.join(", ")),
    };
    Err(Refusal::new(format!("there is no metric {text:?}"), fix))
}

/// Returns the name of the flow, workload or link at the beginning of `rest`. Names may contain
/// points; the longest matching name is meant.
fn owner<'a>(
    kind: &str,
    rest: &str,
    metrics: Metrics,
    names: &[&'a str],
) -> Result<&'a str, Refusal> {
    let fits = |name: &&&str| {
        rest.strip_prefix(**name)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    if let Some(name) = names.iter().filter(fits).max_by_key(|name| name.len()) {
        return Ok(name);
    }
    let name = (1..rest.len())
        .rev()
        .filter(|at| rest.as_bytes()[*at] == b'.')
        .filter(|at| find(&rest[at + 1..], metrics).is_some())
        .min()
        .map_or_else(
            || rest.split('.').next().unwrap_or_default(),
            |at| &rest[..at],
        );
    Err(Refusal::new(
        format!("there is no {kind} {name:?}"),
        one_of(name, names),
    ))
}

/// Returns the column and dimension of a metric of one flow, workload or link.
fn of_one(kind: &str, metric: &str, metrics: Metrics) -> Result<(String, Dimension), Refusal> {
    find(metric, metrics).ok_or_else(|| {
        let known = all_names(metrics);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let distributed = metrics
            .all()
            .find(|known| !known.statistics().is_empty() && same(known.name, metric));
        let fix = match distributed {
            Some(known) => {
                let all = known.statistics().join(&format!(", {metric}."));
                format!("name a statistic: {metric}.{all}")
            }
            None => one_of(metric, &known),
        };
        Refusal::new(format!("a {kind} has no metric {metric:?}"), fix)
    })
}

/// Returns the column and dimension of a metric, named as in `metrics.json` or without the unit at
/// the end of that name.
fn find(text: &str, metrics: Metrics) -> Option<(String, Dimension)> {
    let Some((base, statistic)) = text.split_once('.') else {
        let one = |known: &&metrics::Metric| known.form == Form::One && same(known.name, text);
        let metric = metrics.all().find(one)?;
        return Some((metric.name.to_owned(), metric.dimension));
    };
    if base == "limited_by" && metrics.limits().contains(&statistic) {
        return Some((text.to_owned(), Dimension::Share));
    }
    let metric = metrics
        .all()
        .find(|known| known.statistics().contains(&statistic) && same(known.name, base))?;
    // Results also contain slowdowns by size, and those of the ideal servers.
    let whose = match metric.form {
        Form::Slowdowns => ".all.flows",
        _ => "",
    };
    Some((
        format!("{}{whose}.{statistic}", metric.name),
        metric.dimension,
    ))
}

fn same(known: &str, given: &str) -> bool {
    known == given || bare(known) == given
}

/// Returns the name of a metric without its unit, which the bound contains.
fn bare(metric: &str) -> &str {
    ["_bps", "_s", "_fraction"]
        .iter()
        .find_map(|unit| metric.strip_suffix(unit))
        .unwrap_or(metric)
}

fn all_names(metrics: Metrics) -> Vec<String> {
    let names = metrics.all().flat_map(|metric| {
        let name = bare(metric.name);
        match metric.statistics() {
            [] => vec![name.to_owned()],
            several => several.iter().map(|of| format!("{name}.{of}")).collect(),
        }
    });
    names
        .chain(
            metrics
                .limits()
                .iter()
                .map(|limit| format!("limited_by.{limit}")),
        )
        .collect()
}

const MOST_LISTED: usize = 24;

fn one_of(name: &str, known: &[&str]) -> String {
    let near = nearest(name, known);
    // One statistic or limit of a metric stands for all of them.
    let known: Vec<&str> = known
        .iter()
        .copied()
        .filter(|known| !known.contains('.') || known.ends_with("p95") || known.ends_with("cwnd"))
        .collect();
    match near {
        Some(near) => format!("did you mean {near:?}?"),
        None if known.len() <= MOST_LISTED => format!("use one of {}", known.join(", ")),
        None => format!("use one of {} and so on", known[..MOST_LISTED].join(", ")),
    }
}
