//! The catalog: algorithms, queues, impairments, profiles and the keys of a scenario, as plain
//! Python dicts.

mod algorithm;
mod path;

use std::collections::BTreeMap;

use pyo3::prelude::*;

use algorithm::Algorithm;
use path::{Impairment, Profile, Queue};

#[derive(IntoPyObject)]
struct Specification {
    name: &'static str,
    note: &'static str,
}

#[derive(IntoPyObject)]
pub(crate) struct Metric {
    /// Object of the metric: `run`, `flow`, `workload`, `link`.
    of: &'static str,
    name: &'static str,
    /// Type of the metric in Rust.
    kind: &'static str,
    unit: &'static str,
    dimension: &'static str,
    /// `fact`, `one`, `distribution`, `slowdowns` or `shares`.
    form: &'static str,
    statistics: Vec<&'static str>,
    words: &'static str,
    better: i8,
    /// The views that show it by default, each with the statistic.
    shown: Vec<(&'static str, &'static str)>,
    definition: &'static str,
}

#[derive(IntoPyObject)]
pub(crate) struct TraceColumn {
    table: &'static str,
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
}

#[derive(IntoPyObject)]
pub(crate) struct Limit {
    name: &'static str,
    short: &'static str,
    words: &'static str,
    condition: &'static str,
}

#[derive(IntoPyObject)]
pub(crate) struct Key {
    key: String,
    kind: String,
    required: bool,
    default: Option<String>,
    examples: Vec<String>,
    meaning: String,
}

/// Returns the known name that a mistyped one stands for.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a function of Python's")]
pub(crate) fn nearest(name: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    fullpipe_units::nearest(name, &known).map(str::to_owned)
}

/// Returns the congestion-control algorithms, those of loaded libraries included, sorted by name.
#[pyfunction]
pub(crate) fn algorithms() -> Vec<Algorithm> {
    let registry = fullpipe_policy::with_loaded(fullpipe_plugin::registry());
    let windows = registry.receivers().map(Algorithm::from);
    let mut all: Vec<_> = registry
        .iter()
        .map(Algorithm::from)
        .chain(windows)
        .collect();
    all.sort_by_key(|algorithm| algorithm.name);
    all
}

/// Returns the queues that a link may have.
#[pyfunction]
pub(crate) fn queues() -> Vec<Queue> {
    fullpipe_path::QUEUES
        .iter()
        .map(|queue| Queue::from(*queue))
        .collect()
}

/// Returns the impairments of a path.
#[pyfunction]
pub(crate) fn impairments() -> Vec<Impairment> {
    fullpipe_path::IMPAIRMENTS
        .iter()
        .map(|impairment| Impairment::from(*impairment))
        .collect()
}

/// Returns the named paths.
#[pyfunction]
pub(crate) fn profiles() -> Vec<Profile> {
    fullpipe_scenario::profiles()
        .iter()
        .map(Profile::from)
        .collect()
}

/// Returns every key of a scenario, in the order of writing.
#[pyfunction]
pub(crate) fn scenario_keys() -> Vec<Key> {
    let as_dict = |key| {
        let fullpipe_scenario::Key {
            key,
            kind,
            required,
            default,
            examples,
            meaning,
        } = key;
        Key {
            key,
            kind,
            required,
            default,
            examples,
            meaning,
        }
    };
    fullpipe_scenario::explain()
        .into_iter()
        .map(as_dict)
        .collect()
}

/// Returns the metrics of a run, of flows, workloads and links, in the order of `docs/reference/metrics.md`.
#[pyfunction]
pub(crate) fn metrics() -> Vec<Metric> {
    fullpipe_trace::metrics::TABLES
        .iter()
        .flat_map(|(of, table)| table.iter().map(|metric| Metric::from((*of, metric))))
        .collect()
}

/// Returns the columns of a trace's tables, in the order of `docs/reference/metrics.md`.
#[pyfunction]
pub(crate) fn trace_columns() -> Vec<TraceColumn> {
    let columns = fullpipe_trace::COLUMNS.iter();
    columns
        .map(|column| TraceColumn {
            table: column.table,
            name: column.name,
            unit: column.unit,
            meaning: column.says,
        })
        .collect()
}

/// Returns the limits of a flow, in the order in which they are tested.
#[pyfunction]
pub(crate) fn limits() -> Vec<Limit> {
    let limits = fullpipe_tcp::LIMIT_ROWS.iter();
    limits
        .map(|row| Limit {
            name: row.name(),
            short: row.short,
            words: row.words,
            condition: row.condition,
        })
        .collect()
}

/// Returns the level and the least differences of the tests for drift, by name.
#[pyfunction]
pub(crate) fn drift_limits() -> BTreeMap<&'static str, f64> {
    use fullpipe_trace::steadiness::{LEAST_FLOWS, LEAST_LOSS, LEAST_OF_ALL, LEAST_WARM_UP, LEVEL};
    BTreeMap::from([
        ("level", LEVEL),
        ("warm_up", LEAST_WARM_UP),
        ("of_all", LEAST_OF_ALL),
        ("loss", LEAST_LOSS),
        ("flows", LEAST_FLOWS),
    ])
}

/// Returns the probability of a Kendall's tau of twelve batch means that is at least as far from zero.
#[pyfunction]
pub(crate) fn trend_p(tau: f64) -> f64 {
    fullpipe_trace::trend_p(tau)
}

/// Returns the JSON schema of a scenario, as text.
#[pyfunction]
pub(crate) fn schema() -> String {
    fullpipe_scenario::schema()
}

impl From<(&'static str, &'static fullpipe_trace::metrics::Metric)> for Metric {
    fn from((of, metric): (&'static str, &'static fullpipe_trace::metrics::Metric)) -> Metric {
        Metric {
            of,
            name: metric.name,
            kind: metric.kind,
            unit: metric.dimension.unit(),
            dimension: metric.dimension.name(),
            form: metric.form.name(),
            statistics: metric.statistics().to_vec(),
            words: metric.words,
            better: metric.better,
            shown: metric
                .shown
                .iter()
                .map(|shown| (shown.view, shown.statistic))
                .collect(),
            definition: metric.definition.trim(),
        }
    }
}
