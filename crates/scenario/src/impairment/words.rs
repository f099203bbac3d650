//! Values that consist of words, like `gilbert-elliott p 1% r 30%`, as an [`Impairment`] declares
//! them.

use std::path::Path;

use fullpipe_path::{Argument, IMPAIRMENTS, Impairment, Unit};
use fullpipe_units::Span;
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use super::{OFF, file};
use crate::raw_value::{ReadValue, Refusal};
use crate::values::{Delay, Percent, is_decimal};

/// An impairment, and the text of each of its arguments that is given.
#[derive(Debug)]
pub(super) struct Words<'a> {
    of: &'static Impairment,
    given: Vec<Option<String>>,
    /// Folder to which file names are relative.
    folder: &'a Path,
}

impl<'a> Words<'a> {
    /// Splits the value of `key` into the impairment and its arguments.
    pub(super) fn read(key: &str, text: &str, folder: &'a Path) -> Result<Words<'a>, Refusal> {
        let mut words = text.split_whitespace().peekable();
        let of = choose(key, text, words.peek().copied().unwrap_or_default())?;
        if of.named {
            words.next();
        }
        let mut given: Vec<Option<String>> = vec![None; of.arguments.len()];
        let mut at = of.arguments.iter().position(|argument| !argument.named);
        for word in words {
            if let Some(named) = of
                .arguments
                .iter()
                .position(|argument| argument.named && argument.name == word)
            {
                if given[named].replace(String::new()).is_some() {
                    return Err(Refusal::new(
                        format!("{word} occurs twice"),
                        "keep one of the two",
                    ));
                }
                at = (of.arguments[named].unit != Unit::Flag).then_some(named);
                continue;
            }
            let Some(at) = at else {
                return Err(unknown(of, word));
            };
            let text = given[at].get_or_insert_default();
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        Ok(Words { of, given, folder })
    }

    /// Returns the name of the impairment.
    pub(super) fn name(&self) -> &'static str {
        self.of.name
    }

    /// Returns whether the argument is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.text(name).1.is_some()
    }

    /// Returns the value of a required argument.
    pub(super) fn get<T: Part>(&self, name: &str) -> Result<T, Refusal> {
        self.optional(name)?.ok_or_else(|| {
            let example = self.of.example;
            let is_empty = self.given.iter().all(Option::is_none);
            match self.text(name).0.named && !is_empty {
                true => Refusal::new(
                    format!("{} needs {name}", self.of.name),
                    format!("give {name}, like \"{example}\""),
                ),
                false => Refusal::new(
                    format!("no value after \"{}\"", self.of.name),
                    format!("write it like \"{example}\""),
                ),
            }
        })
    }

    /// Returns the value of an argument, or `None` if it is not given.
    pub(super) fn optional<T: Part>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let (argument, text) = self.text(name);
        let Some(text) = text else { return Ok(None) };
        T::read_in(text, self.folder)
            .map(Some)
            .map_err(|refusal| match argument.named {
                true => Refusal {
                    problem: format!("{name}: {}", refusal.problem),
                    ..refusal
                },
                false => refusal,
            })
    }

    fn text(&self, name: &str) -> (&'static Argument, Option<&str>) {
        let place = self
            .of
            .arguments
            .iter()
            .position(|argument| argument.name == name);
        let place = place.unwrap_or_else(|| panic!("{} declares no {name}", self.of.name));
        (&self.of.arguments[place], self.given[place].as_deref())
    }
}

fn of_key(key: &str) -> impl Iterator<Item = &'static Impairment> {
    IMPAIRMENTS
        .iter()
        .copied()
        .filter(move |impairment| impairment.keys.contains(&key))
}

/// Returns the values of a key that a text may stand for: one that lacks its name before a file, or a value of another key.
pub(crate) fn meant(key: &str, text: &str) -> Vec<String> {
    let first = text.split_whitespace().next().unwrap_or_default();
    if of_key(key).any(|impairment| impairment.named && impairment.name == first) {
        return vec![text.to_owned()];
    }
    let Some(file) = file::meant(text) else {
        return Vec::new();
    };
    of_key(key)
        .filter(|impairment| impairment.arguments.iter().any(|one| one.unit.takes_file()))
        .map(|impairment| match impairment.named {
            true => format!("{} file {file}", impairment.name),
            false => format!("file {file}"),
        })
        .collect()
}

fn choose(key: &str, text: &str, first: &str) -> Result<&'static Impairment, Refusal> {
    if let Some(named) = of_key(key).find(|impairment| impairment.named && impairment.name == first)
    {
        return Ok(named);
    }
    let names: Vec<&str> = of_key(key)
        .filter(|impairment| impairment.named)
        .map(|named| named.name)
        .collect();
    let unnamed = of_key(key).find(|impairment| !impairment.named);
    let is_word = first.starts_with(char::is_alphabetic);
    match unnamed {
        Some(unnamed) if !is_word || names.is_empty() => Ok(unnamed),
        _ => {
            let files = meant(key, text);
            let fix = match fullpipe_units::nearest(first, &names) {
                _ if !files.is_empty() => {
                    format!(
                        "name the kind of its values: \"{}\"",
                        files.join("\" or \"")
                    )
                }
                Some(near) => format!("did you mean \"{near}\"?"),
                None => {
                    let examples: Vec<String> = of_key(key)
                        .map(|one| format!("\"{}\"", one.example))
                        .collect();
                    format!("write it like {}", examples.join(" or "))
                }
            };
            Err(Refusal::new(
                format!("\"{first}\" is not one of {}", names.join(", ")),
                fix,
            ))
        }
    }
}

fn unknown(of: &Impairment, word: &str) -> Refusal {
    let known: Vec<&str> = of
        .arguments
        .iter()
        .filter(|argument| argument.named)
        .map(|one| one.name)
        .collect();
    let fix = match fullpipe_units::nearest(word, &known) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("write it like \"{}\"", of.example),
    };
    Refusal::new(format!("\"{word}\" is not a part of {}", of.name), fix)
}

/// A type that an argument can be read as.
pub(super) trait Part: Sized {
    fn read(text: &str) -> Result<Self, Refusal>;
    /// Reads an argument that may name a file, relative to `folder`.
    fn read_in(text: &str, _folder: &Path) -> Result<Self, Refusal> {
        Self::read(text)
    }
}

/// A duration of at most 100 s.
impl Part for Span {
    fn read(text: &str) -> Result<Span, Refusal> {
        Delay::read(&toml(text)).map(|Delay(span)| span)
    }
}

impl Part for fullpipe_units::Rate {
    fn read(text: &str) -> Result<fullpipe_units::Rate, Refusal> {
        ReadValue::read(&toml(text))
    }
}

/// A probability of up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(pub(super) f64);

impl Part for Share {
    fn read(text: &str) -> Result<Share, Refusal> {
        match text.strip_suffix('%').map(str::trim_end) {
            Some(number) if is_decimal(number) && number.parse() == Ok(100.0) => Ok(Share(1.0)),
            _ => match Percent::read(&toml(text)) {
                Err(refusal) if refusal.problem == Percent::TOO_MUCH => Err(Refusal::new(
                    "must be at most 100%",
                    "give at most \"100%\"",
                )),
                share => share.map(|Percent(share)| Share(share)),
            },
        }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 == 1.0 {
            f.write_str("100%")
        } else {
            Percent(self.0).fmt(f)
        }
    }
}

/// A whole number of at least 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Count(pub(super) u64);

impl Part for Count {
    fn read(text: &str) -> Result<Count, Refusal> {
        match text.parse() {
            Ok(count) if count > 0 => Ok(Count(count)),
            _ => Err(Refusal::new(
                format!("\"{text}\" is not a whole number of at least 1"),
                "write a number like \"100\"",
            )),
        }
    }
}

pub(super) fn toml(text: &str) -> Toml {
    Toml::String(text.trim().to_owned())
}

/// Returns the JSON schema of the values of `key`. The schema contains the words, but does not
/// state which of them are required.
pub(super) fn schema(key: &str, can_be_off: bool) -> Schema {
    let off = can_be_off.then(|| OFF.to_owned());
    let patterns: Vec<String> = off
        .iter()
        .cloned()
        .chain(of_key(key).map(pattern))
        .collect();
    let examples: Vec<&str> = of_key(key)
        .map(|one| one.example)
        .chain(can_be_off.then_some(OFF))
        .collect();
    let unnamed = of_key(key).find(|one| !one.named).map(first_words);
    let quoted = off.iter().map(|off| format!("\"{off}\""));
    let named = of_key(key)
        .filter(|one| one.named)
        .map(|one| one.name.to_owned());
    let titles: Vec<String> = quoted.chain(unnamed).chain(named).collect();
    json_schema!({
        "title": titles.join(", "),
        "type": "string",
        "pattern": format!("^({})$", patterns.join("|")),
        "examples": examples,
    })
}

/// Returns the required arguments of an impairment, like `rate "burst" size`.
fn first_words(of: &Impairment) -> String {
    let parts = of
        .arguments
        .iter()
        .filter(|argument| argument.default.is_none());
    let parts = parts.map(|argument| match argument.named {
        true => format!("\"{}\" {}", argument.name, argument.unit.described().short),
        false => argument.unit.described().short.to_owned(),
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn pattern(of: &'static Impairment) -> String {
    let (first, named): (Vec<&Argument>, Vec<&Argument>) =
        of.arguments.iter().partition(|argument| !argument.named);
    let name = of.named.then(|| of.name.to_owned());
    let first = first
        .iter()
        .map(|argument| argument.unit.described().pattern);
    let mut parts: Vec<String> = name.into_iter().chain(first).collect();
    let named: Vec<String> = named
        .iter()
        .map(|argument| match argument.unit {
            Unit::Flag => argument.name.to_owned(),
            unit => format!("{} +{}", argument.name, unit.described().pattern),
        })
        .collect();
    let more = named.join("|");
    match (parts.is_empty(), named.is_empty()) {
        (_, true) => parts.join(" +"),
        (true, false) => format!("({more})( +({more}))*"),
        (false, false) => {
            let head = parts.join(" +");
            parts.clear();
            format!("{head}( +({more}))*")
        }
    }
}
