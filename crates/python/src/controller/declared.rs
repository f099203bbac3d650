//! Descriptors of users' classes.

use std::sync::{Mutex, PoisonError};

use fullpipe_cc::{
    Config, Descriptor, Domain, Field, Marks, Param, RecoveryOwner, Registry, Signals,
};
use pyo3::prelude::*;

use super::build;

/// (name, class, description) of each class that a scenario uses as an algorithm.
pub(crate) type Given = Vec<(String, Py<PyAny>, About)>;

/// Purpose, parameters, fields, whether the algorithm sets the window during recovery itself, and
/// whether it uses random numbers.
type About = (String, Vec<ParamAbout>, Vec<FieldAbout>, bool, bool);
/// Name, unit, purpose, default (a number, a flag or a word), minimum, maximum, and the permitted
/// words.
type ParamAbout = (String, String, String, Value, f64, f64, Vec<String>);
/// Name, unit, purpose, labels.
type FieldAbout = (String, String, String, Vec<String>);

/// The value of a parameter.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum Value {
    /// Tried before a number, since a Python bool is also a number.
    #[pyo3(transparent)]
    Flag(bool),
    #[pyo3(transparent)]
    Number(f64),
    #[pyo3(transparent)]
    Word(String),
}

/// A class that was registered as an algorithm.
struct Known {
    class: Py<PyAny>,
    descriptor: &'static Descriptor,
}

/// The classes registered in this process; their descriptors live as long as the process.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Returns the built-in algorithms, those of loaded libraries, and the given ones, which replace
/// others of the same name.
pub(crate) fn registry(py: Python<'_>, given: Given) -> Registry {
    given.into_iter().fold(
        fullpipe_policy::with_loaded(fullpipe_plugin::registry()),
        |registry, (name, class, about)| registry.with(descriptor(py, &name, class, about)),
    )
}

fn descriptor(py: Python<'_>, name: &str, class: Py<PyAny>, about: About) -> &'static Descriptor {
    let same =
        |known: &&Known| known.descriptor.name == name && known.class.bind(py).is(class.bind(py));
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(same) {
        return known.descriptor;
    }
    let (purpose, params, fields, own, random) = about;
    let param = |(name, unit, purpose, default, min, max, words): ParamAbout| Param {
        name: leaked(name),
        unit: leaked(unit),
        domain: match default {
            Value::Flag(default) => Domain::Flag { default },
            Value::Number(default) => Domain::Number { default, min, max },
            Value::Word(_) => Domain::Choice(labels(words)),
        },
        purpose: leaked(purpose),
        section: "",
    };
    let field = |(name, unit, purpose, words): FieldAbout| Field {
        name: leaked(name),
        unit: leaked(unit),
        purpose: leaked(purpose),
        labels: labels(words),
    };
    let class_has = |name: &str| {
        class
            .bind(py)
            .getattr(name)
            .is_ok_and(|it| it.is_truthy().unwrap_or(false))
    };
    let asks = |name: &str, signal: Signals| {
        if class_has(name) {
            signal
        } else {
            Signals::NONE
        }
    };
    let needs =
        asks("on_acked", Signals::ACKED_EACH).and(asks("host_delays", Signals::HOST_DELAYS));
    let descriptor: Descriptor = Descriptor {
        name: leaked(name.to_owned()),
        purpose: leaked(purpose),
        specifications: &[],
        params: params.into_iter().map(param).collect::<Vec<_>>().leak(),
        profiles: &[],
        preset_of: None,
        fields: fields.into_iter().map(field).collect::<Vec<_>>().leak(),
        recovery: if own {
            RecoveryOwner::Own
        } else {
            RecoveryOwner::Prr
        },
        needs,
        marks: |_| Marks::Answered,
        random,
        build,
    };
    let descriptor: &'static Descriptor = Box::leak(Box::new(descriptor));
    all.push(Known { class, descriptor });
    descriptor
}

/// Returns the class of a descriptor that was registered here, and whether the transport owns its window in recovery.
pub(super) fn class_of(py: Python<'_>, config: &Config) -> (Py<PyAny>, bool) {
    // Compared by address: the same name may have belonged to another class before.
    let all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all
        .iter()
        .find(|known| std::ptr::eq(known.descriptor.name, config.algorithm));
    let Known { class, descriptor } = known.expect("only a descriptor of this list builds one");
    (
        class.clone_ref(py),
        descriptor.recovery == RecoveryOwner::Prr,
    )
}

pub(super) fn leaked(text: String) -> &'static str {
    text.leak()
}

fn labels(words: Vec<String>) -> &'static [&'static str] {
    words.into_iter().map(leaked).collect::<Vec<_>>().leak()
}
