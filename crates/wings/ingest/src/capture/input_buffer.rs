//! A buffer of a file's content, independent of the pieces in which the content is read.

use std::io;

use crate::Input;

/// Bytes that have been read and not passed yet.
#[derive(Debug)]
pub(crate) struct InputBuffer {
    source: Input,
    buffer: Vec<u8>,
    at: usize,
    /// Bytes of the content before `buffer`.
    before: u64,
    ended: Option<io::Error>,
    at_end: bool,
}

impl InputBuffer {
    pub(crate) fn new(source: Input) -> InputBuffer {
        InputBuffer {
            source,
            buffer: Vec::new(),
            at: 0,
            before: 0,
            ended: None,
            at_end: false,
        }
    }

    /// Reads until `bytes` bytes are available; `false` if the content ends before.
    #[inline]
    pub(crate) fn has(&mut self, bytes: usize) -> bool {
        self.buffer.len() - self.at >= bytes || self.more(bytes)
    }

    #[cold]
    fn more(&mut self, bytes: usize) -> bool {
        self.buffer.drain(..self.at);
        self.before += self.at as u64;
        self.at = 0;
        while self.buffer.len() < bytes && !self.at_end {
            match self.source.next_piece() {
                Ok(Some(piece)) if self.buffer.is_empty() => self.buffer = piece,
                Ok(Some(piece)) => self.buffer.extend_from_slice(&piece),
                Ok(None) => self.at_end = true,
                Err(error) => {
                    self.ended = Some(error);
                    self.at_end = true;
                }
            }
        }
        self.buffer.len() >= bytes
    }

    /// Returns the available bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Passes `bytes` bytes.
    #[inline]
    pub(crate) fn pass(&mut self, bytes: usize) {
        self.at += bytes;
        debug_assert!(self.at <= self.buffer.len(), "passed more than there is");
    }

    /// Returns the current offset in the content.
    pub(crate) fn position(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Returns the error that ended the content, if any.
    pub(crate) fn error(&mut self) -> Option<io::Error> {
        self.ended.take()
    }
}
