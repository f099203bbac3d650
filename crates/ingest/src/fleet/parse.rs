//! What all readers of text have in common.

use serde::{Deserialize, Serialize};

use crate::fleet::Columns;

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bad {
    /// Its number in its file, from 1.
    pub line: u64,
    /// What is wrong.
    pub why: String,
    /// Its beginning.
    pub text: String,
}

/// What reads one line at a time, and is fed pieces of any size by [`Parse`].
pub trait LineReader {
    /// Cuts pieces into lines.
    fn lines(&mut self) -> &mut Lines;

    /// The lines that could not be read.
    fn bad_lines(&mut self) -> &mut BadLines;

    /// Reads a line, which has this number in its file.
    fn read(&mut self, number: u64, line: &[u8]);

    /// The last line of a file was read.
    fn finish_file(&mut self) {}
}

/// Reads the text of one host, file after file in order of time, and gives rows of tables.
pub trait Parse: LineReader + std::fmt::Debug + Send + Sync {
    /// Another file begins. It is of this time, in microseconds since 1970, until it says another.
    fn begin_file(&mut self, time: i64);

    /// Reads a piece of a file; lines may go on in the next.
    fn feed(&mut self, piece: &[u8]) {
        let mut lines = std::mem::take(self.lines());
        lines.feed(piece, |number, line| self.read(number, line));
        *self.lines() = lines;
    }

    /// The file ends.
    fn end_file(&mut self) {
        let mut lines = std::mem::take(self.lines());
        lines.end_file(|number, line| self.read(number, line));
        *self.lines() = lines;
        self.finish_file();
    }

    /// How many rows can be taken.
    fn rows(&self) -> usize;

    /// Takes the rows that are complete: names of tables, and their columns.
    fn take(&mut self) -> Vec<(&'static str, Columns)>;

    /// Rows of what may go on in a further file, as it is.
    fn open(&self) -> Vec<(&'static str, Columns)> {
        Vec::new()
    }

    /// Takes the bad lines since the last call, of which the first are quoted.
    fn take_bad(&mut self) -> Vec<Bad> {
        self.bad_lines().take()
    }

    /// How many of what have been read, by name.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// What is needed to go on with a further file; nothing can be taken, and no file is open.
    fn state(&self) -> String;

    /// Goes on from a [`Parse::state`]; false when it is of another version.
    fn resume(&mut self, state: &str) -> bool;
}

/// Cuts pieces into lines, each with its number in its file.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Of text, of all files.
    pub(crate) bytes: u64,
    number: u64,
    /// The last line of a piece, that has no end yet.
    tail: Vec<u8>,
}

/// No line is longer: what is, is no text, and memory shall not grow with it.
const LONGEST: usize = 1 << 20;

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

/// Bad lines: all counted, the first quoted.
#[derive(Clone, Debug, Default)]
pub struct BadLines {
    pub(crate) count: u64,
    quoted: Vec<Bad>,
    /// Whether quotes would give away what is to be hidden.
    pub(crate) silent: bool,
}

/// So many of a host are quoted.
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
            // What is wrong may quote a value.
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
