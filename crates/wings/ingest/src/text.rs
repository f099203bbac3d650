//! Text of a file in pieces of whole lines: the memory that they take is bounded, whatever the
//! file decompresses to.

use std::io;
use std::path::Path;

use crate::Input;

/// Longest line: a longer one is not text, and must not take up memory.
pub(crate) const LONGEST: usize = 1 << 20;
/// Size of a piece, unless the file ends before.
const PIECE: usize = 8 << 20;

/// Whole lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The lines, each with its line break.
    pub text: Vec<u8>,
    /// Number of the first line in the file, from 1.
    pub first: u64,
    /// Numbers of the lines that were left out because they are too long.
    pub too_long: Vec<u64>,
}

/// The text of a file, plain or compressed.
#[derive(Debug)]
pub struct Text {
    input: Input,
    quotes: Option<Quotes>,
    /// Start of a line that the next piece of input continues.
    rest: Vec<u8>,
    /// Whether the line is too long, so that `rest` lacks its end.
    cut: bool,
    line: u64,
    ended: bool,
    failed: Option<io::Error>,
}

impl Text {
    /// Opens a file.
    ///
    /// With a `separator` of fields, a line break between double quotes belongs to its line (RFC
    /// 4180).
    ///
    /// # Errors
    ///
    /// When it can't be read.
    pub fn open(path: &Path, separator: Option<u8>) -> io::Result<Text> {
        Ok(Text::of(Input::open(path)?, separator))
    }

    /// Takes the text of an input; see [`Text::open`].
    #[must_use]
    pub fn of(input: Input, separator: Option<u8>) -> Text {
        Text {
            input,
            quotes: separator.map(Quotes::new),
            rest: Vec::new(),
            cut: false,
            line: 1,
            ended: false,
            failed: None,
        }
    }

    /// Returns the next lines, about 8 MB of them; `None` at the end.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or ends within compressed data. The complete lines before have
    /// been returned.
    pub fn next_piece(&mut self) -> io::Result<Option<Piece>> {
        let mut piece = Piece {
            first: self.line,
            ..Piece::default()
        };
        while !self.ended && piece.text.len() < PIECE {
            match self.input.next_piece() {
                Ok(Some(bytes)) => self.add(&bytes, &mut piece),
                Ok(None) => {
                    self.ended = true;
                    if !self.rest.is_empty() {
                        self.end_line(&mut piece);
                    }
                }
                Err(error) => (self.ended, self.failed) = (true, Some(error)),
            }
        }
        if piece.first < self.line {
            return Ok(Some(piece));
        }
        self.failed.take().map_or(Ok(None), Err)
    }

    /// Returns the number of bytes read from the file, before decompression.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.input.position()
    }

    fn add(&mut self, mut bytes: &[u8], piece: &mut Piece) {
        while let Some(end) = self.line_break(bytes) {
            self.keep(&bytes[..=end]);
            self.end_line(piece);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn line_break(&mut self, bytes: &[u8]) -> Option<usize> {
        match &mut self.quotes {
            None => memchr::memchr(b'\n', bytes),
            Some(quotes) => quotes.line_break(bytes),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.cut |= self.rest.len() + bytes.len() > LONGEST;
        if !self.cut {
            self.rest.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, piece: &mut Piece) {
        if self.cut {
            piece.too_long.push(self.line);
        } else {
            piece.text.extend_from_slice(&self.rest);
        }
        self.rest.clear();
        self.cut = false;
        self.line += 1;
    }
}

/// Finds the line breaks that are not between quotes.
#[derive(Debug)]
struct Quotes {
    separator: u8,
    inside: bool,
    /// The byte before.
    before: u8,
    /// Whether the byte before ended a quotation.
    closed: bool,
}

impl Quotes {
    fn new(separator: u8) -> Quotes {
        Quotes {
            separator,
            inside: false,
            before: b'\n',
            closed: false,
        }
    }

    fn line_break(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut next = 0;
        for at in memchr::memchr2_iter(b'\n', b'"', bytes) {
            if at > next {
                (self.before, self.closed) = (bytes[at - 1], false);
            }
            next = at + 1;
            let quote = bytes[at] == b'"';
            let opens = !self.inside
                && (self.closed || self.before == self.separator || self.before == b'\n');
            self.closed = quote && self.inside;
            self.inside = quote && opens || !quote && self.inside;
            self.before = bytes[at];
            if !quote && !self.inside {
                return Some(at);
            }
        }
        if next < bytes.len() {
            (self.before, self.closed) = (bytes[bytes.len() - 1], false);
        }
        None
    }
}
