//! The one error of scenarios: it names the file, the place, the key, the bad value and the fix.

use std::fmt;

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Somewhere in the file.
    File,
    /// On that line, counted from 1.
    Line(usize),
    /// On that line and column, counted from 1.
    Column(usize, usize),
    /// On the command line, as this text.
    Override(String),
    /// In the profile of that name.
    Profile(&'static str),
}

/// Why a scenario was refused.
///
/// Displayed as two lines: `scenario.toml:7: path.rate = "100": a rate needs a unit, like
/// "100mbit"` and `  fix: …`.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) file: String,
    pub(crate) place: Place,
    /// Which of several scenarios it is, in words; empty for the only one.
    pub(crate) within: String,
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl From<Parts> for Error {
    fn from(parts: Parts) -> Error {
        Error(Box::new(parts))
    }
}

impl Error {
    /// The same about one of several scenarios, which `which` names.
    #[must_use]
    pub fn within(mut self, which: impl Into<String>) -> Error {
        self.0.within = which.into();
        self
    }

    /// The file, as the caller named it.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The line, from 1; none for what is missing altogether or came from an override.
    pub fn line(&self) -> Option<usize> {
        match self.0.place {
            Place::Line(line) | Place::Column(line, _) => Some(line),
            Place::File | Place::Override(_) | Place::Profile(_) => None,
        }
    }

    /// The dotted key (`flow.0.cc`), or empty when the text is no TOML at all.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The bad value as TOML, or empty when there is none.
    pub fn value(&self) -> &str {
        &self.0.value
    }

    /// What is wrong.
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// What to do about it.
    pub fn fix(&self) -> &str {
        &self.0.fix
    }

    /// Its texts by name, as programs hand them on.
    pub fn parts(&self) -> [(&'static str, &str); 5] {
        [
            ("file", self.file()),
            ("key", self.key()),
            ("value", self.value()),
            ("problem", self.problem()),
            ("fix", self.fix()),
        ]
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts {
            file,
            place,
            within,
            key,
            value,
            problem,
            fix,
        } = &*self.0;
        let said =
            matches!(place, Place::Override(text) if text.starts_with(&format!("--set {key}=")));
        let place = match place {
            Place::File => file.clone(),
            Place::Line(line) => format!("{file}:{line}"),
            Place::Column(line, column) => format!("{file}:{line}:{column}"),
            Place::Override(text) => format!("{file} with {text}"),
            Place::Profile(name) => format!("{file} with profile {name}"),
        };
        let place = if within.is_empty() {
            place
        } else {
            format!("{place}, {within}")
        };
        let subject = match (key.as_str(), value.as_str()) {
            // There is none, or the override has named it already.
            (key, _) if key.is_empty() || said => String::new(),
            (key, "") => format!("{key}: "),
            (key, value) => format!("{key} = {value}: "),
        };
        write!(
            f,
            "{}\n  fix: {}",
            one_line(&format!("{place}: {subject}{problem}")),
            one_line(fix)
        )
    }
}

/// `text` with what the user put into it escaped, as far as it would break the line or the
/// terminal.
fn one_line(text: &str) -> String {
    let escape = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    text.chars().map(escape).collect()
}

/// As displayed, so that `unwrap` and a test's `Result` read well.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
