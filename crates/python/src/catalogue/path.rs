//! The parts of a path: queues, impairments, and named paths.

use pyo3::prelude::*;

use super::Specification;

#[derive(IntoPyObject)]
pub(crate) struct Queue {
    name: &'static str,
    purpose: &'static str,
    specifications: Vec<Specification>,
    options: Vec<QueueOption>,
    /// Default limit of tc, in packets.
    limit: Option<u64>,
    in_bytes: bool,
    aqm: bool,
}

#[derive(IntoPyObject)]
struct QueueOption {
    name: &'static str,
    /// As written in a scenario; a description if there is no value.
    default: String,
    range: String,
    purpose: &'static str,
    section: &'static str,
}

#[derive(IntoPyObject)]
pub(crate) struct Impairment {
    name: &'static str,
    purpose: &'static str,
    /// Keys as `--set` takes them.
    keys: Vec<String>,
    /// Whether the value begins with the impairment's name.
    named: bool,
    parts: Vec<Part>,
    example: &'static str,
    source: &'static str,
}

#[derive(IntoPyObject)]
struct Part {
    name: &'static str,
    /// Whether the part's name is written before it.
    named: bool,
    unit: &'static str,
    /// `None` for a required part.
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
    /// The profile written out as a scenario without its duration.
    toml: String,
}

#[derive(IntoPyObject)]
struct Given {
    key: &'static str,
    /// The key as listed among the scenario's keys.
    declared: &'static str,
    value: &'static str,
    source: &'static str,
    why: &'static str,
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
            aqm: queue.aqm,
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
