//! Values of the file before they are read, each with the type that it should have.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::source::{Source, join, show};

/// The reason why a value is not of its kind.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) problem: String,
    pub(crate) fix: String,
    /// The key inside the value that is refused, and its value as errors show it; `None` if the
    /// whole value is refused.
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

    /// Returns the refusal as one of the key `name` inside the value, which errors show as `shown`.
    pub(crate) fn about(self, name: &str, shown: String) -> Refusal {
        Refusal {
            inside: Some((name.to_owned(), shown)),
            ..self
        }
    }
}

/// A type of values that can stand to the right of a key.
pub(crate) trait ReadValue: Sized {
    /// Reads the value from TOML.
    fn read(value: &toml::Value) -> Result<Self, Refusal>;
    /// Reads the value from TOML; file names in it are relative to `folder`.
    fn read_in(value: &toml::Value, _folder: &Path) -> Result<Self, Refusal> {
        Self::read(value)
    }
    /// Writes the value so that [`ReadValue::read`] returns it.
    fn write(&self) -> toml::Value;
    /// Returns the JSON schema of the values, for editors.
    fn schema() -> Schema;
}

/// Any TOML value where a `T` is expected.
///
/// serde accepts all of them, since its errors would contain neither the key nor the fix.
/// [`RawValue::get`] checks the value instead.
#[derive(Debug)]
pub(crate) struct RawValue<T> {
    value: toml::Value,
    kind: PhantomData<T>,
}

impl<T> RawValue<T> {
    /// Returns the value as errors show it.
    pub(crate) fn show(&self) -> String {
        show(&self.value)
    }

    /// Returns the value as text.
    pub(crate) fn text(&self) -> String {
        crate::values::text_of(&self.value)
    }
}

impl<T: ReadValue> RawValue<T> {
    /// Returns the raw value that reads as `value`.
    pub(crate) fn of(value: &T) -> RawValue<T> {
        RawValue {
            value: value.write(),
            kind: PhantomData,
        }
    }

    /// Reads the value.
    ///
    /// # Errors
    /// An error about `key` in `source` if the value is not of its kind.
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
