//! What there is: algorithms, queues, impairments, profiles and the keys of a scenario, as plain
//! Python dicts.

use fullpipe_cc::{Domain, ParamValue, RecoveryOwner, Registry, Signals};
use pyo3::prelude::*;

#[derive(IntoPyObject)]
pub(crate) struct Algorithm {
    name: &'static str,
    purpose: &'static str,
    specifications: Vec<Specification>,
    params: Vec<Param>,
    fields: Vec<Field>,
    recovery: &'static str,
    needs: Vec<&'static str>,
}

#[derive(IntoPyObject)]
struct Specification {
    name: &'static str,
    note: &'static str,
}

#[derive(IntoPyObject)]
struct Param {
    name: &'static str,
    unit: &'static str,
    default: Value,
    /// Other defaults, by the profile that has them.
    profiles: Vec<(&'static str, Value)>,
    range: Option<(f64, f64)>,
    choices: Option<Vec<&'static str>>,
    purpose: &'static str,
    section: &'static str,
}

#[derive(IntoPyObject)]
enum Value {
    #[pyo3(transparent)]
    Number(f64),
    #[pyo3(transparent)]
    Flag(bool),
    #[pyo3(transparent)]
    Word(String),
}

#[derive(IntoPyObject)]
struct Field {
    name: &'static str,
    unit: &'static str,
    purpose: &'static str,
    labels: Vec<&'static str>,
}

#[derive(IntoPyObject)]
pub(crate) struct Queue {
    name: &'static str,
    purpose: &'static str,
    specifications: Vec<Specification>,
    options: Vec<QueueOption>,
    /// tc's default, packets.
    limit: Option<u64>,
    in_bytes: bool,
}

#[derive(IntoPyObject)]
struct QueueOption {
    name: &'static str,
    /// As one writes it; in words where there is no value.
    default: String,
    range: String,
    purpose: &'static str,
    section: &'static str,
}

#[derive(IntoPyObject)]
pub(crate) struct Impairment {
    name: &'static str,
    purpose: &'static str,
    /// As `--set` takes them.
    keys: Vec<String>,
    /// Whether what is written begins with the name.
    named: bool,
    parts: Vec<Part>,
    example: &'static str,
    source: &'static str,
}

#[derive(IntoPyObject)]
struct Part {
    name: &'static str,
    /// Whether the name is written in front of it.
    named: bool,
    unit: &'static str,
    /// None for what must be given.
    default: Option<&'static str>,
    purpose: &'static str,
}

#[derive(IntoPyObject)]
pub(crate) struct Profile {
    name: &'static str,
    purpose: &'static str,
    about: &'static str,
    values: Vec<Given>,
    references: &'static [(String, String)],
    /// What it stands for, as a scenario without its duration.
    toml: String,
}

#[derive(IntoPyObject)]
struct Given {
    key: &'static str,
    /// The key as the scenario's keys have it.
    declared: &'static str,
    value: &'static str,
    source: &'static str,
    why: &'static str,
}

#[derive(IntoPyObject)]
pub(crate) struct Metric {
    /// What it is of: `run`, `flow`, `workload`, `link`.
    of: &'static str,
    name: &'static str,
    /// Its type in Rust.
    kind: &'static str,
    unit: &'static str,
    dimension: &'static str,
    /// `fact`, `one`, `distribution`, `slowdowns` or `shares`.
    form: &'static str,
    statistics: Vec<&'static str>,
    words: &'static str,
    better: i8,
    /// Each view that shows it by default, with the statistic.
    shown: Vec<(&'static str, &'static str)>,
    definition: &'static str,
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

/// The congestion-control algorithms, sorted by name.
#[pyfunction]
pub(crate) fn algorithms() -> Vec<Algorithm> {
    let registry = Registry::default();
    let windows = registry.windows().map(Algorithm::from);
    let mut all: Vec<_> = registry
        .iter()
        .map(Algorithm::from)
        .chain(windows)
        .collect();
    all.sort_by_key(|algorithm| algorithm.name);
    all
}

/// The queues that a link may have.
#[pyfunction]
pub(crate) fn queues() -> Vec<Queue> {
    fullpipe_path::QUEUES
        .iter()
        .map(|queue| Queue::from(*queue))
        .collect()
}

/// What a path may do to packets, besides queueing and carrying them.
#[pyfunction]
pub(crate) fn impairments() -> Vec<Impairment> {
    fullpipe_path::IMPAIRMENTS
        .iter()
        .map(|impairment| Impairment::from(*impairment))
        .collect()
}

/// The paths that have a name.
#[pyfunction]
pub(crate) fn profiles() -> Vec<Profile> {
    fullpipe_scenario::profiles()
        .iter()
        .map(Profile::from)
        .collect()
}

/// Every key of a scenario, in the order in which one writes them.
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

/// The metrics of a run, of flows, workloads and links, in the order of `docs/metrics.md`.
#[pyfunction]
pub(crate) fn metrics() -> Vec<Metric> {
    fullpipe_trace::metrics::TABLES
        .iter()
        .flat_map(|(of, table)| table.iter().map(|metric| Metric::from((*of, metric))))
        .collect()
}

/// The JSON schema of a scenario, as text.
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

impl From<&'static fullpipe_path::Descriptor> for Queue {
    fn from(queue: &'static fullpipe_path::Descriptor) -> Queue {
        let option = |param: &'static fullpipe_path::Param| QueueOption {
            name: param.name,
            default: param
                .domain
                .default()
                .map_or(param.otherwise.to_owned(), |value| value.to_string()),
            range: param.domain.range(),
            purpose: param.purpose,
            section: param.section,
        };
        Queue {
            name: queue.name,
            purpose: queue.purpose,
            specifications: queue
                .specifications
                .iter()
                .map(|(name, note)| Specification { name, note })
                .collect(),
            options: queue.params.iter().map(option).collect(),
            limit: queue.limit,
            in_bytes: queue.in_bytes,
        }
    }
}

impl From<&'static fullpipe_path::Impairment> for Impairment {
    fn from(impairment: &'static fullpipe_path::Impairment) -> Impairment {
        let part = |argument: &'static fullpipe_path::Argument| {
            let &fullpipe_path::Argument {
                name,
                named,
                unit,
                default,
                purpose,
            } = argument;
            Part {
                name,
                named,
                unit: unit.name(),
                default,
                purpose,
            }
        };
        let &fullpipe_path::Impairment {
            name,
            keys,
            named,
            purpose,
            arguments,
            example,
            source,
        } = impairment;
        Impairment {
            name,
            purpose,
            keys: keys.iter().map(|key| format!("path.{key}")).collect(),
            named,
            parts: arguments.iter().map(part).collect(),
            example,
            source,
        }
    }
}

impl From<&'static fullpipe_scenario::Profile> for Profile {
    fn from(profile: &'static fullpipe_scenario::Profile) -> Profile {
        let given = |given: &'static fullpipe_scenario::Given| Given {
            key: &given.key,
            declared: &given.declared,
            value: &given.value,
            source: &given.source,
            why: &given.why,
        };
        Profile {
            name: profile.name,
            purpose: &profile.purpose,
            about: &profile.about,
            values: profile.values.iter().map(given).collect(),
            references: &profile.references,
            toml: profile.to_toml(),
        }
    }
}

impl<Build> From<&'static fullpipe_cc::Descriptor<Build>> for Algorithm {
    fn from(descriptor: &'static fullpipe_cc::Descriptor<Build>) -> Algorithm {
        Algorithm {
            name: descriptor.name,
            purpose: descriptor.purpose,
            specifications: descriptor
                .specifications
                .iter()
                .map(|specification| Specification {
                    name: specification.name,
                    note: specification.note,
                })
                .collect(),
            params: descriptor
                .params
                .iter()
                .map(|param| Param::of(descriptor, param))
                .collect(),
            fields: descriptor
                .fields
                .iter()
                .map(|field| Field {
                    name: field.name,
                    unit: field.unit,
                    purpose: field.purpose,
                    labels: field.labels.to_vec(),
                })
                .collect(),
            recovery: match descriptor.recovery {
                RecoveryOwner::Prr => "prr",
                RecoveryOwner::Own => "own",
                RecoveryOwner::Sender => "sender",
            },
            needs: descriptor.needs.missing_from(Signals::NONE),
        }
    }
}

impl Param {
    fn of<Build>(
        descriptor: &'static fullpipe_cc::Descriptor<Build>,
        param: &'static fullpipe_cc::Param,
    ) -> Param {
        let (range, choices) = match param.domain {
            Domain::Number { min, max, .. } => (Some((min, max)), None),
            Domain::Flag { .. } => (None, None),
            Domain::Choice(words) => (None, Some(words.to_vec())),
        };
        let default = descriptor.default_of(param, descriptor.usual_profile());
        let others = descriptor
            .profiles
            .iter()
            .map(|profile| (profile.name, descriptor.default_of(param, profile.name)));
        let profiles = others
            .filter(|(_, other)| *other != default)
            .map(|(name, other)| (name, other.into()))
            .collect();
        let &fullpipe_cc::Param {
            name,
            unit,
            purpose,
            section,
            ..
        } = param;
        Param {
            name,
            unit,
            default: default.into(),
            profiles,
            range,
            choices,
            purpose,
            section,
        }
    }
}

impl From<ParamValue> for Value {
    fn from(value: ParamValue) -> Value {
        match value {
            ParamValue::Number(n) => Value::Number(n),
            ParamValue::Flag(b) => Value::Flag(b),
            ParamValue::Word(word) => Value::Word(word),
        }
    }
}
