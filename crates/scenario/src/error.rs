//! The error type of scenarios: it names the file, the place, the key, the bad value and the fix.

use std::fmt;

/// The place where a key was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The file as a whole.
    File,
    /// A line of the file, counted from 1.
    Line(usize),
    /// A line and column of the file, both counted from 1.
    Column(usize, usize),
    /// The command line, with the text of the option.
    Override(String),
    /// The profile of this name.
    Profile(&'static str),
}

/// The reason why a scenario was refused.
///
/// Displayed as two lines: `scenario.toml:7: path.rate = "100": a rate needs a unit, like
/// "100mbit"` and `  fix: …`.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) file: String,
    pub(crate) place: Place,
    /// Description of the scenario among several; empty for a single one.
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
    /// Returns the error as one about the scenario that `which` names among several.
    #[must_use]
    pub fn within(mut self, which: impl Into<String>) -> Error {
        self.0.within = which.into();
        self
    }

    /// Returns the name of the file, as the caller gave it.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// Returns the line, counted from 1; `None` for a missing key or one from the command line or a
    /// profile.
    pub fn line(&self) -> Option<usize> {
        match self.0.place {
            Place::Line(line) | Place::Column(line, _) => Some(line),
            Place::File | Place::Override(_) | Place::Profile(_) => None,
        }
    }

    /// Returns the dotted key (`flow.0.cc`), empty if the text is not TOML.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// Returns the bad value as TOML, empty if the key has no value.
    pub fn value(&self) -> &str {
        &self.0.value
    }

    /// Returns the description of the problem.
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// Returns the proposed fix.
    pub fn fix(&self) -> &str {
        &self.0.fix
    }

    /// Returns the texts of the error by name, for programs.
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
            // No key, or the place already contains it as `--set key=value`.
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

/// Escapes control characters in `text`: a text from the user may contain some that break the line
/// or the terminal.
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

/// The same text as `Display`, so that `unwrap` and the `Result` of a test print it readably.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
