//! Values that are read from a file: `file losses.txt`.

use std::path::Path;

use crate::raw_value::Refusal;

const FILE: &str = "file ";

/// Largest size of a file, in bytes.
const LONGEST: u64 = 64 << 20;

/// Largest length of a line, in bytes, since errors may show it.
const LONGEST_LINE: usize = 200;

/// Returns the name of the file that a text seems to mean: after `file`, or a word with a suffix that is no number.
pub(super) fn meant(text: &str) -> Option<&str> {
    let is_name = |text: &str| {
        let suffix = text.rsplit_once('.').map(|(_, suffix)| suffix);
        suffix.is_some_and(|suffix| suffix.starts_with(char::is_alphabetic))
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && !text.contains(char::is_whitespace)
    };
    match text.strip_prefix(FILE) {
        Some(name) => Some(name.trim()),
        None => Some(text).filter(|text| is_name(text)),
    }
}

/// A file with one value per line.
pub(super) struct Lines {
    name: String,
    text: String,
}

impl Lines {
    /// Reads the file that `text` names relative to `folder`; returns `None` if it names none.
    pub(super) fn named(text: &str, folder: &Path) -> Result<Option<Lines>, Refusal> {
        let Some(name) = text.strip_prefix(FILE).map(str::trim) else {
            return Ok(None);
        };
        let path = folder.join(name);
        let refuse = |why: &str| {
            let problem = format!("file {name:?}: {why}");
            Err(Refusal::new(
                problem,
                "give the name of a text file, relative to the scenario's folder",
            ))
        };
        match std::fs::metadata(&path) {
            Ok(file) if !file.is_file() => return refuse("not a file"),
            Ok(file) if file.len() > LONGEST => return refuse("more than 64 MiB"),
            _ => {}
        }
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Lines {
                name: name.to_owned(),
                text,
            })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => refuse("no such file"),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => refuse("not text"),
            Err(error) => refuse(&error.to_string()),
        }
    }

    /// Applies `read` to each line that is neither empty nor a comment (`#`). A refusal names the
    /// file and the line.
    pub(super) fn read<T>(
        &self,
        mut read: impl FnMut(&str) -> Result<T, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        let lines = self.text.trim_start_matches('\u{feff}').lines().zip(1..);
        let lines =
            lines.map(|(line, number)| (line.split('#').next().unwrap_or_default().trim(), number));
        let read = |(line, number): (&str, usize)| {
            let value = match line.len() > LONGEST_LINE {
                true => Err(Refusal::new(
                    "the line is too long",
                    "give one value per line",
                )),
                false => read(line),
            };
            value.map_err(|refusal| Refusal {
                problem: format!("file {:?}, line {number}: {}", self.name, refusal.problem),
                ..refusal
            })
        };
        lines
            .filter(|(line, _)| !line.is_empty())
            .map(read)
            .collect()
    }
}
