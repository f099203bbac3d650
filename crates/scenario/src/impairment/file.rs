//! What a value is too long for: `file losses.txt`, beside the scenario.

use std::path::Path;

use crate::raw_value::Refusal;

const FILE: &str = "file ";

/// No list or histogram is meant to be longer, in bytes.
const LONGEST: u64 = 64 << 20;

/// No line of one, in bytes: what is wrong with it is shown.
const LONGEST_LINE: usize = 200;

/// Something that a file holds in lines.
pub(super) struct Lines {
    name: String,
    text: String,
}

impl Lines {
    /// The file that `text` names, if it names one, as seen from `folder`.
    pub(super) fn named(text: &str, folder: &Path) -> Result<Option<Lines>, Refusal> {
        let Some(name) = text.strip_prefix(FILE).map(str::trim) else {
            return Ok(None);
        };
        let path = folder.join(name);
        let refuse = |why: &str| {
            let problem = format!("file {name:?}: {why}");
            Err(Refusal::new(
                problem,
                "give the name of a text file, as seen from the scenario's folder",
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
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => refuse("there is none"),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => refuse("not text"),
            Err(error) => refuse(&error.to_string()),
        }
    }

    /// What `read` makes of each line that is neither empty nor a comment (`#`); what it refuses is
    /// shown with its line.
    pub(super) fn read<T>(
        &self,
        mut read: impl FnMut(&str) -> Result<T, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        let lines = self.text.trim_start_matches('\u{feff}').lines().zip(1..);
        let lines =
            lines.map(|(line, number)| (line.split('#').next().unwrap_or_default().trim(), number));
        let read = |(line, number): (&str, usize)| {
            let value = match line.len() > LONGEST_LINE {
                true => Err(Refusal::new("a line without end", "give one value a line")),
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
