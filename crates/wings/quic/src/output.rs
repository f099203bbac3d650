//! Data to send: the requested number of bytes, at the application's rate.

use bytes::Bytes as Data;
use fullpipe_units::{Rate, Span, Time};
use noq_proto::{Connection, Dir, StreamId, WriteError};

use crate::endpoint_metrics::STREAM;

/// Source of the data: zeros, never copied.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// The remaining part of an answer.
#[derive(Debug)]
pub(crate) struct Output {
    /// Bytes requested and not yet written.
    left: u64,
    written: u64,
    /// Write rate of the application, and the time at which it began.
    pace: Option<(Rate, Time)>,
    /// The current stream, and the bytes that it still takes.
    stream: Option<(StreamId, u64)>,
    /// Priority of the next stream. Earlier streams have precedence, so that their lost data is
    /// sent again before all data that is already written.
    priority: i32,
}

/// Reason why writing stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// No data, or none yet.
    Application,
    /// The peer's window is full.
    ReceiveWindow,
}

/// Minimum number of bytes that the application writes at once.
const LEAST: u64 = 1_200;

impl Output {
    /// Creates an answer of `bytes`; `u64::MAX` for an unlimited one.
    pub(crate) fn new(bytes: u64, rate: Option<Rate>, now: Time) -> Output {
        Output {
            left: bytes,
            written: 0,
            pace: rate.map(|rate| (rate, now)),
            stream: None,
            priority: 0,
        }
    }

    /// Writes as much as possible. Returns the reason why it stopped.
    pub(crate) fn fill(&mut self, now: Time, conn: &mut Connection) -> Stopped {
        loop {
            let due = self.due(now);
            if due == 0 {
                return Stopped::Application;
            }
            let Some((id, room)) = self.stream.or_else(|| self.open(conn)) else {
                return Stopped::ReceiveWindow;
            };
            let length = due.min(room).min(ZEROS.len() as u64);
            let mut data = [Data::from_static(&ZEROS[..length as usize])];
            let written = match conn.send_stream(id).write_chunks(&mut &mut data[..]) {
                Ok(written) => written as u64,
                Err(WriteError::Blocked) => return Stopped::ReceiveWindow,
                // The connection is about to close.
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    return Stopped::Application;
                }
            };
            self.written += written;
            self.left -= if self.left == u64::MAX { 0 } else { written };
            self.stream = (room > written).then_some((id, room - written));
            if self.stream.is_none() || self.left == 0 {
                // The call fails only if the peer stopped the stream.
                let _ = conn.send_stream(id).finish();
            }
        }
    }

    fn open(&mut self, conn: &mut Connection) -> Option<(StreamId, u64)> {
        let id = conn.streams().open(Dir::Uni)?;
        let _ = conn.send_stream(id).set_priority(self.priority);
        self.priority = self.priority.saturating_sub(1);
        self.stream = Some((id, STREAM));
        self.stream
    }

    /// Returns the bytes that the application has ready: whole packets, except for the last.
    fn due(&self, now: Time) -> u64 {
        let Some((rate, since)) = self.pace else {
            return self.left;
        };
        let due = rate
            .bytes_in(now.since(since))
            .get()
            .saturating_sub(self.written)
            .min(self.left);
        if due < LEAST.min(self.left) { 0 } else { due }
    }

    /// Returns the time at which the application has more data, if it writes at a rate.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let (rate, since) = self.pace.filter(|_| self.left > 0)?;
        let next = fullpipe_units::Bytes::new(self.written + LEAST.min(self.left));
        Some(since + rate.time_for(next) + Span::from_nanos(1))
    }
}
