//! The places where the keys of a scenario were written, for error messages.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Parts, Place};

/// The file's name and the place of each key in it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: String,
    places: BTreeMap<String, Place>,
}

impl Source {
    /// Reads TOML and records the place of each key.
    pub(crate) fn read(text: &str, file: &str) -> Result<(Source, toml::Table), Error> {
        let lines = Lines::new(text);
        let refuse = |error: &toml::de::Error, problem: String, fix: &str| {
            let (line, column) = lines.position(error.span().map_or(0, |span| span.start));
            Error::from(Parts {
                file: file.to_owned(),
                place: Place::Column(line, column),
                within: String::new(),
                key: String::new(),
                value: String::new(),
                problem,
                fix: fix.to_owned(),
            })
        };
        let syntax = |error: toml::de::Error| {
            let (problem, fix) = match error.message() {
                message if message.contains("must be quoted") => {
                    ("text without quotes", "put quotes around it")
                }
                message if message.contains("duplicate key") => {
                    ("this key or table is defined twice", "keep one of the two")
                }
                message => (message, "correct this line; toml.io describes the format"),
            };
            refuse(
                &error,
                format!("this is not TOML: {}", problem.replace('\n', ", ")),
                fix,
            )
        };
        // Of valid TOML, only numbers out of range cannot become a table.
        let too_large = |error| {
            refuse(
                &error,
                "TOML has no number this large".to_owned(),
                "give a smaller one",
            )
        };
        let spanned = DeTable::parse(text).map_err(syntax)?;
        let mut places = BTreeMap::new();
        note_table(spanned.get_ref(), "", &lines, &mut places);
        let table =
            toml::Table::deserialize(toml::Deserializer::from(spanned)).map_err(too_large)?;
        Ok((
            Source {
                file: file.to_owned(),
                places,
            },
            table,
        ))
    }

    /// Returns the folder of the file, to which file names in it are relative.
    pub(crate) fn folder(&self) -> &Path {
        Path::new(&self.file).parent().unwrap_or(Path::new(""))
    }

    /// Returns whether `key` has a value from the file, the command line or a profile.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Returns the line of `key` in the file, or zero if the file does not contain it.
    pub(crate) fn line(&self, key: &str) -> usize {
        match self.places.get(key) {
            Some(Place::Line(line) | Place::Column(line, _)) => *line,
            _ => 0,
        }
    }

    /// Records that `key` has its value from the command-line option `text`.
    pub(crate) fn note_override(&mut self, key: &str, text: String) {
        self.places.insert(key.to_owned(), Place::Override(text));
    }

    /// Records that `key` has its value from the profile `name`.
    pub(crate) fn note_profile(&mut self, key: &str, name: &'static str) {
        self.places.insert(key.to_owned(), Place::Profile(name));
    }

    /// Returns whether `key` has its value from a profile.
    pub(crate) fn is_of_profile(&self, key: &str) -> bool {
        matches!(self.places.get(key), Some(Place::Profile(_)))
    }

    /// Removes the places in the file of `table` and its keys, whose values no longer are from the
    /// file.
    pub(crate) fn forget(&mut self, table: &str) {
        let inside = format!("{table}.");
        self.places
            .retain(|key, _| key != table && !key.starts_with(&inside));
    }

    /// Returns an error about `key`, at its place or at that of the nearest table around it.
    pub(crate) fn error(
        &self,
        key: &str,
        value: impl Display,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Error {
        let mut around = Some(key);
        let place = loop {
            match around {
                None => break Place::File,
                Some(at) => match self.places.get(at) {
                    Some(place) => break place.clone(),
                    None => around = at.rsplit_once('.').map(|(table, _)| table),
                },
            }
        };
        Error::from(Parts {
            file: self.file.clone(),
            place,
            within: String::new(),
            key: key.to_owned(),
            value: value.to_string(),
            problem: problem.into(),
            fix: fix.into(),
        })
    }
}

/// Returns `table.name`, or `name` at the top level.
pub(crate) fn join(table: &str, name: &str) -> String {
    if table.is_empty() {
        name.to_owned()
    } else {
        format!("{table}.{name}")
    }
}

/// Returns a value as errors show it: on one line, text in quotes.
pub(crate) fn show(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => format!("{text:?}"),
        toml::Value::Array(_) => "[…]".to_owned(),
        toml::Value::Table(_) => "{…}".to_owned(),
        other => other.to_string(),
    }
}

fn note_table(table: &DeTable<'_>, at: &str, lines: &Lines, places: &mut BTreeMap<String, Place>) {
    for (name, value) in table {
        let key = join(at, name.get_ref());
        places.insert(
            key.clone(),
            Place::Line(lines.position(name.span().start).0),
        );
        note_value(value, &key, lines, places);
    }
}

fn note_value(
    value: &Spanned<DeValue<'_>>,
    at: &str,
    lines: &Lines,
    places: &mut BTreeMap<String, Place>,
) {
    match value.get_ref() {
        DeValue::Table(table) => note_table(table, at, lines, places),
        DeValue::Array(array) => {
            for (i, element) in array.iter().enumerate() {
                let key = join(at, &i.to_string());
                places.insert(
                    key.clone(),
                    Place::Line(lines.position(element.span().start).0),
                );
                note_value(element, &key, lines, places);
            }
        }
        _ => {}
    }
}

/// A text and its line starts, to convert byte offsets into lines and columns.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl Lines<'_> {
    fn new(text: &str) -> Lines<'_> {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Lines {
            text,
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// Returns line and column, both counted from 1; the column counts characters.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let before = self
            .text
            .get(self.starts[line - 1]..offset)
            .unwrap_or_default();
        (line, before.chars().count() + 1)
    }
}
