//! Common parts of all readers of text.

use serde::{Deserialize, Serialize};

use crate::fleet::Columns;
use crate::text::LONGEST;

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bad {
    /// Number of the line in its file, from 1.
    pub line: u64,
    /// Problem with the line.
    pub why: String,
    /// Beginning of the line.
    pub text: String,
}

/// A reader of single lines, which [`Parse`] feeds with pieces of any size.
pub trait LineReader {
    /// Returns the state of cutting pieces into lines.
    fn lines(&mut self) -> &mut Lines;

    /// Returns the lines that could not be read.
    fn bad_lines(&mut self) -> &mut BadLines;

    /// Reads a line; `number` is its number in its file.
    fn read(&mut self, number: u64, line: &[u8]);

    /// Called after the last line of a file.
    fn finish_file(&mut self) {}
}

/// Reads the text of one host, file after file in order of time, and gives rows of tables.
pub trait Parse: LineReader + std::fmt::Debug + Send + Sync {
    /// Begins another file. Its lines are of this time, in microseconds since 1970, until the file
    /// gives another.
    fn begin_file(&mut self, time: i64);

    /// Reads a piece of a file; its last line may continue in the next piece.
    fn feed(&mut self, piece: &[u8]) {
        let mut lines = std::mem::take(self.lines());
        lines.feed(piece, |number, line| self.read(number, line));
        *self.lines() = lines;
    }

    /// Ends the file.
    fn end_file(&mut self) {
        let mut lines = std::mem::take(self.lines());
        lines.end_file(|number, line| self.read(number, line));
        *self.lines() = lines;
        self.finish_file();
    }

    /// Returns the number of rows that can be taken.
    fn rows(&self) -> usize;

    /// Takes the complete rows: names of tables, and their columns.
    fn take(&mut self) -> Vec<(&'static str, Columns)>;

    /// Returns the incomplete rows in their present state; they may continue in a later file.
    fn open(&self) -> Vec<(&'static str, Columns)> {
        Vec::new()
    }

    /// Takes the bad lines since the last call; only the first ones are quoted.
    fn take_bad(&mut self) -> Vec<Bad> {
        self.bad_lines().take()
    }

    /// Returns the numbers of items read, by name.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// Returns the state for continuing with a later file. Call it after taking all rows and ending
    /// the file.
    fn state(&self) -> String;

    /// Continues from a [`Parse::state`]; false if that is of another version.
    fn resume(&mut self, state: &str) -> bool;
}

/// Cuts pieces into lines, which are numbered within their file.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Bytes of text in all files.
    pub(crate) bytes: u64,
    number: u64,
    /// Last line of a piece, if it has no end yet.
    tail: Vec<u8>,
}

impl Lines {
    pub(crate) fn begin_file(&mut self) {
        self.number = 0;
    }

    pub(crate) fn feed(&mut self, mut piece: &[u8], mut read: impl FnMut(u64, &[u8])) {
        self.bytes += piece.len() as u64;
        if !self.tail.is_empty() {
            let Some(end) = memchr::memchr(b'\n', piece) else {
                return self.keep(piece);
            };
            self.keep(&piece[..end]);
            self.number += 1;
            read(self.number, &self.tail);
            self.tail.clear();
            piece = &piece[end + 1..];
        }
        while let Some(end) = memchr::memchr(b'\n', piece) {
            self.number += 1;
            read(self.number, &piece[..end]);
            piece = &piece[end + 1..];
        }
        self.keep(piece);
    }

    pub(crate) fn end_file(&mut self, mut read: impl FnMut(u64, &[u8])) {
        if !self.tail.is_empty() {
            self.number += 1;
            read(self.number, &self.tail);
            self.tail.clear();
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = LONGEST.saturating_sub(self.tail.len());
        self.tail.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

/// Bad lines: all are counted, the first ones quoted.
#[derive(Clone, Debug, Default)]
pub struct BadLines {
    pub(crate) count: u64,
    quoted: Vec<Bad>,
    /// Whether quotes could reveal values that are to be hidden.
    pub(crate) silent: bool,
}

/// Number of bad lines quoted per host.
const QUOTED: usize = 100;

impl BadLines {
    pub(crate) fn new(silent: bool) -> BadLines {
        BadLines {
            silent,
            ..BadLines::default()
        }
    }

    #[cold]
    pub(crate) fn add(&mut self, number: u64, line: &[u8], why: String) {
        self.count += 1;
        if self.quoted.len() < QUOTED {
            let text = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
            // The reason may quote a value.
            let (why, text) = if self.silent {
                ("it can't be read".into(), String::new())
            } else {
                (why, text)
            };
            self.quoted.push(Bad {
                line: number,
                why,
                text,
            });
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Bad> {
        std::mem::take(&mut self.quoted)
    }
}
