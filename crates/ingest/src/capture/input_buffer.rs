//! The part of a file's content that is looked at, whatever pieces it comes in.

use std::io;

use crate::Input;

/// Bytes that have come and are not passed yet.
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

    /// Waits until so many bytes are there, or the content ends. `false`: it ends before.
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

    /// What is there.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Passes so many bytes.
    #[inline]
    pub(crate) fn pass(&mut self, bytes: usize) {
        self.at += bytes;
        debug_assert!(self.at <= self.buffer.len(), "passed more than there is");
    }

    /// Where in the content this is.
    pub(crate) fn position(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Why the content ended, if not because it was all.
    pub(crate) fn error(&mut self) -> Option<io::Error> {
        self.ended.take()
    }
}
