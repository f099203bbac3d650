//! The keys as declared in `raw/`: as a JSON schema for programs, and as a list for `explain`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::Value as Json;

use crate::raw;

/// A key of a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Dotted name as `--set` takes it, with N for the number, from 0, of a `[[flow]]`,
    /// `[[program]]`, `[[workload]]`, `[[link]]` or `[[path.change]]`: `path.rate`, `flow.N.cc`.
    pub key: String,
    /// Kind of value: `duration`, `rate`, `"auto", "on" or "off"`, `table`.
    pub kind: String,
    /// Whether the key is required.
    pub required: bool,
    /// Default as TOML or in words; `None` for a required key.
    pub default: Option<String>,
    /// Valid values as TOML.
    pub examples: Vec<String>,
    /// Meaning of the key, in sentences.
    pub meaning: String,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    // Inline all references: editors show such a schema, and reading the keys from it is simple.
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings
        .into_generator()
        .into_root_schema_for::<raw::Scenario>()
});

static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let root = SCHEMA.as_value();
    let mut keys = Vec::new();
    section(root, "", &mut keys);
    section(&root["properties"]["path"], "path.", &mut keys);
    section(
        &root["properties"]["path"]["properties"]["change"]["items"],
        "path.change.N.",
        &mut keys,
    );
    section(&root["properties"]["host"], "host.", &mut keys);
    section(&root["properties"]["quic"], "quic.", &mut keys);
    section(&root["properties"]["flow"]["items"], "flow.N.", &mut keys);
    section(
        &root["properties"]["program"]["items"],
        "program.N.",
        &mut keys,
    );
    section(
        &root["properties"]["workload"]["items"],
        "workload.N.",
        &mut keys,
    );
    section(&root["properties"]["link"]["items"], "link.N.", &mut keys);
    section(&root["properties"]["sweep"], "sweep.", &mut keys);
    keys
});

/// Returns the JSON schema of scenario files, for editors: pretty-printed and reproducible.
pub fn schema() -> String {
    format!("{:#}\n", SCHEMA.as_value())
}

/// Returns every key that a scenario file can have, in the order in which files list them.
pub fn explain() -> Vec<Key> {
    KEYS.clone()
}

pub(crate) fn keys() -> &'static [Key] {
    &KEYS
}

/// The name of a key inside its table, and whether it is required.
pub(crate) type Name = (&'static str, bool);

/// The names in each table. They come from a copy of the keys' names: making the schema takes eight million
/// instructions, more than a small run, and a valid scenario needs nothing else of it.
static NAMES: LazyLock<BTreeMap<&'static str, Vec<Name>>> = LazyLock::new(|| {
    let mut names: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in include_str!("names.txt").lines() {
        let (key, required) = match line.strip_suffix(REQUIRED) {
            Some(key) => (key, true),
            None => (line, false),
        };
        let (table, name) = key.split_at(key.rfind('.').map_or(0, |dot| dot + 1));
        names.entry(table).or_default().push((name, required));
    }
    names
});

/// Marks a required key in the copy.
const REQUIRED: &str = " required";

/// Returns the names directly inside `table`: `""`, `"path."`, `"path.change.N."`, `"host."`,
/// `"quic."`, `"flow.N."`, `"program.N."`, `"workload.N."` or `"link.N."`.
pub(crate) fn names(table: &str) -> &'static [Name] {
    NAMES.get(table).map_or(&[], Vec::as_slice)
}

/// Adds the keys of one object of the schema.
fn section(object: &Json, prefix: &str, keys: &mut Vec<Key>) {
    let empty = Vec::new();
    let required = object["required"]
        .as_array()
        .or(object["anyOf"][0]["required"].as_array())
        .unwrap_or(&empty);
    for (name, property) in object["properties"].as_object().into_iter().flatten() {
        let in_words = property["x-default"].as_str().map(str::to_owned);
        keys.push(Key {
            key: format!("{prefix}{name}"),
            kind: kind(property),
            required: required.iter().any(|required| required == name),
            default: in_words.or_else(|| property.get("default").map(Json::to_string)),
            examples: property["examples"]
                .as_array()
                .unwrap_or(&empty)
                .iter()
                .map(Json::to_string)
                .collect(),
            meaning: property["description"]
                .as_str()
                .unwrap_or_default()
                .replace('\n', " "),
        });
    }
}

fn kind(property: &Json) -> String {
    match (
        property["enum"].as_array(),
        property["title"].as_str(),
        property["type"].as_str(),
    ) {
        (Some(words), ..) => words
            .iter()
            .map(Json::to_string)
            .collect::<Vec<_>>()
            .join(" or "),
        (None, Some("whole number"), _) => {
            format!(
                "whole number from {} to {}",
                property["minimum"], property["maximum"]
            )
        }
        (None, Some(title), _) => title.to_owned(),
        (None, None, Some("array")) => "tables".to_owned(),
        (None, None, _) => "table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `FULLPIPE_BLESS=1` the copy is written anew.
    #[test]
    fn the_copy_of_the_names_is_that_of_the_keys() {
        let line = |key: &Key| format!("{}{}\n", key.key, if key.required { REQUIRED } else { "" });
        let names: String = keys().iter().map(line).collect();
        if std::env::var_os("FULLPIPE_BLESS").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/names.txt");
            std::fs::write(file, names).expect("the source can be written");
        } else {
            assert_eq!(
                names,
                include_str!("names.txt"),
                "FULLPIPE_BLESS=1 cargo test -p fullpipe-scenario"
            );
        }
    }
}
