//! Where each key of a scenario was written, for error messages.

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
    /// Reads TOML, and notes where each key stands.
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
                    ("this is here a second time", "keep one of the two")
                }
                message => (message, "correct this line; toml.io describes the format"),
            };
            refuse(
                &error,
                format!("this is not TOML: {}", problem.replace('\n', ", ")),
                fix,
            )
        };
        // Whatever is TOML is a table of it, but for numbers that don't fit.
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

    /// The folder that the file is in: files that it names are seen from there.
    pub(crate) fn folder(&self) -> &Path {
        Path::new(&self.file).parent().unwrap_or(Path::new(""))
    }

    /// Whether `key` was written, in the file or on the command line.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// The line of the file that `key` is on; zero where it is on none.
    pub(crate) fn line(&self, key: &str) -> usize {
        match self.places.get(key) {
            Some(Place::Line(line) | Place::Column(line, _)) => *line,
            _ => 0,
        }
    }

    /// From now on `key` was written on the command line, as `text`.
    pub(crate) fn note_override(&mut self, key: &str, text: String) {
        self.places.insert(key.to_owned(), Place::Override(text));
    }

    /// `key` has its value from a profile.
    pub(crate) fn note_profile(&mut self, key: &str, name: &'static str) {
        self.places.insert(key.to_owned(), Place::Profile(name));
    }

    /// Whether `key` has its value from a profile.
    pub(crate) fn is_of_profile(&self, key: &str) -> bool {
        matches!(self.places.get(key), Some(Place::Profile(_)))
    }

    /// The table `key` is no longer what stood in the file.
    pub(crate) fn forget(&mut self, table: &str) {
        let inside = format!("{table}.");
        self.places
            .retain(|key, _| key != table && !key.starts_with(&inside));
    }

    /// An error about `key`, at the place of it or of the nearest table around it.
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

/// `table.name`, or `name` at the top level.
pub(crate) fn join(table: &str, name: &str) -> String {
    if table.is_empty() {
        name.to_owned()
    } else {
        format!("{table}.{name}")
    }
}

/// A value as an error shows it: on one line, text in quotes.
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

/// Turns byte offsets into lines and columns.
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

    /// Line and column, both from 1; the column counts characters.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let before = self
            .text
            .get(self.starts[line - 1]..offset)
            .unwrap_or_default();
        (line, before.chars().count() + 1)
    }
}
