//! The congestion-control algorithms with their options.

use fullpipe_cc::{Config, Domain, Marks, ParamValue, RecoveryOwner, Rules, Signals};
use pyo3::prelude::*;

use super::Specification;

#[derive(IntoPyObject)]
pub(crate) struct Algorithm {
    pub(super) name: &'static str,
    purpose: &'static str,
    specifications: Vec<Specification>,
    params: Vec<Param>,
    fields: Vec<Field>,
    recovery: &'static str,
    needs: Vec<&'static str>,
    marks: bool,
    color: Option<u8>,
    ssthresh: bool,
    background: bool,
}

#[derive(IntoPyObject)]
struct Param {
    name: &'static str,
    unit: &'static str,
    default: Value,
    /// Defaults that differ, with the profile that has them; of the profile itself, with the stack.
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

impl<Build> From<&'static fullpipe_cc::Descriptor<Build>> for Algorithm {
    fn from(descriptor: &'static fullpipe_cc::Descriptor<Build>) -> Algorithm {
        let shown = fullpipe_cc::shown(descriptor.name);
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
            marks: (descriptor.marks)(&Config::defaults(descriptor)) == Marks::Answered,
            color: shown.map(|shown| shown.color),
            ssthresh: shown.is_none_or(|shown| shown.ssthresh),
            background: shown.is_some_and(|shown| shown.background),
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
        let [usual, specified] =
            [Rules::Linux, Rules::Specification].map(|rules| descriptor.usual_profile(rules));
        let default = descriptor.default_of(param, usual);
        let others = if param.name == "profile" {
            vec![("stack = \"rfc\"", descriptor.default_of(param, specified))]
        } else {
            let others = descriptor.profiles.iter().map(|profile| profile.name);
            std::iter::once(specified)
                .chain(others)
                .map(|profile| (profile, descriptor.default_of(param, profile)))
                .collect()
        };
        let profiles = others
            .into_iter()
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
