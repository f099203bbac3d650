//! Values that are one word of a list.

use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::model::{EcnFeedback, EcnField, EcnSetting, Pacing, Transport};
use crate::raw_value::{ReadValue, Refusal};
use crate::values::text_of;

/// A switch: `"on"` or `"off"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch(pub(crate) bool);

impl From<bool> for Switch {
    fn from(on: bool) -> Switch {
        Switch(on)
    }
}

impl From<Switch> for bool {
    fn from(Switch(on): Switch) -> bool {
        on
    }
}

/// The kind of a path that does not consist of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// The machine's own loopback: memory.
    Loopback,
}

/// A type each of whose values is written as one word.
pub(crate) trait Word: Copy + PartialEq + 'static {
    /// The words with their values, in the order in which errors and the schema list them.
    const WORDS: &'static [(&'static str, Self)];
}

impl Word for Switch {
    const WORDS: &'static [(&'static str, Switch)] =
        &[("off", Switch(false)), ("on", Switch(true))];
}

impl Word for PathKind {
    const WORDS: &'static [(&'static str, PathKind)] = &[("loopback", PathKind::Loopback)];
}

impl Word for Pacing {
    const WORDS: &'static [(&'static str, Pacing)] = &[
        ("auto", Pacing::Auto),
        ("on", Pacing::On),
        ("off", Pacing::Off),
    ];
}

impl Word for Transport {
    const WORDS: &'static [(&'static str, Transport)] =
        &[("tcp", Transport::Tcp), ("datagram", Transport::Datagram)];
}

impl Word for EcnField {
    const WORDS: &'static [(&'static str, EcnField)] =
        &[("keep", EcnField::Keep), ("strip", EcnField::Strip)];
}

impl Word for EcnSetting {
    const WORDS: &'static [(&'static str, EcnSetting)] = &[
        ("auto", EcnSetting::Auto),
        ("off", EcnSetting::Off),
        ("ect0", EcnSetting::Ect0),
        ("ect1", EcnSetting::Ect1),
    ];
}

impl Word for EcnFeedback {
    const WORDS: &'static [(&'static str, EcnFeedback)] = &[
        ("accurate", EcnFeedback::Accurate),
        ("classic", EcnFeedback::Classic),
        ("dctcp", EcnFeedback::Dctcp),
        ("concealed", EcnFeedback::Concealed),
    ];
}

impl<T: Word> ReadValue for T {
    fn read(value: &Toml) -> Result<T, Refusal> {
        choose(value, T::WORDS)
    }

    fn write(&self) -> Toml {
        let (word, _) = T::WORDS
            .iter()
            .find(|(_, choice)| choice == self)
            .expect("every choice has its word");
        Toml::String((*word).to_owned())
    }

    fn schema() -> Schema {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        json_schema!({ "title": "choice", "type": "string", "enum": words })
    }
}

/// Reads a value that must be one of the words in `choices`.
pub(crate) fn choose<T: Copy>(value: &Toml, choices: &[(&'static str, T)]) -> Result<T, Refusal> {
    let text = text_of(value);
    if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text) {
        return Ok(*choice);
    }
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let fix = match fullpipe_units::nearest(&text, &words) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("write one of these, like \"{}\"", words[0]),
    };
    Err(Refusal::new(
        format!("not one of \"{}\"", words.join("\", \"")),
        fix,
    ))
}
