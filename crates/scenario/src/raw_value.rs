//! A value of the file before it is read, which still knows what it should be.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::source::{Source, join, show};

/// Why a value is not of its kind.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) problem: String,
    pub(crate) fix: String,
    /// The key inside of the value that is refused, and what was written there; none for the whole
    /// of it.
    pub(crate) inside: Option<(String, String)>,
}

impl Refusal {
    pub(crate) fn new(problem: impl Into<String>, fix: impl Into<String>) -> Refusal {
        Refusal {
            problem: problem.into(),
            fix: fix.into(),
            inside: None,
        }
    }

    /// It is about the key `name` inside of the value.
    pub(crate) fn about(self, name: &str, shown: String) -> Refusal {
        Refusal {
            inside: Some((name.to_owned(), shown)),
            ..self
        }
    }
}

/// What can stand to the right of a key.
pub(crate) trait ReadValue: Sized {
    /// Reads it from TOML.
    fn read(value: &toml::Value) -> Result<Self, Refusal>;
    /// The same for a kind whose values may name files, as seen from `folder`.
    fn read_in(value: &toml::Value, _folder: &Path) -> Result<Self, Refusal> {
        Self::read(value)
    }
    /// Writes it so that [`ReadValue::read`] gives it back.
    fn write(&self) -> toml::Value;
    /// What an editor may know of it.
    fn schema() -> Schema;
}

/// Any TOML value where a `T` is expected.
///
/// serde accepts all of them: it could tell neither the key nor the fix. [`RawValue::get`] does.
#[derive(Debug)]
pub(crate) struct RawValue<T> {
    value: toml::Value,
    kind: PhantomData<T>,
}

impl<T> RawValue<T> {
    /// What was written, as an error shows it.
    pub(crate) fn show(&self) -> String {
        show(&self.value)
    }
}

impl<T: ReadValue> RawValue<T> {
    /// The leaf that reads as `value`.
    pub(crate) fn of(value: &T) -> RawValue<T> {
        RawValue {
            value: value.write(),
            kind: PhantomData,
        }
    }

    /// What was written, or an error that names `key` in `source`.
    pub(crate) fn get(&self, source: &Source, key: &str) -> Result<T, Error> {
        T::read_in(&self.value, source.folder()).map_err(
            |Refusal {
                 problem,
                 fix,
                 inside,
             }| match inside {
                None => source.error(key, self.show(), problem, fix),
                Some((name, shown)) => source.error(&join(key, &name), shown, problem, fix),
            },
        )
    }
}

impl<T> Serialize for RawValue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for RawValue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawValue<T>, D::Error> {
        Ok(RawValue {
            value: toml::Value::deserialize(deserializer)?,
            kind: PhantomData,
        })
    }
}

impl<T: ReadValue> JsonSchema for RawValue<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RawValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}
