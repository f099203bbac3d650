//! What the server has to send: as many bytes as were asked for, at the application's pace.

use bytes::Bytes as Data;
use fullpipe_units::{Rate, Span, Time};
use noq_proto::{Connection, Dir, StreamId, WriteError};

use crate::endpoint_metrics::STREAM;

/// What is sent: zeros, never copied.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// The rest of an answer.
#[derive(Debug)]
pub(crate) struct Output {
    /// Asked for and not written yet.
    left: u64,
    written: u64,
    /// The application writes at this rate, since then.
    pace: Option<(Rate, Time)>,
    /// The stream that is being written, and how much more it takes.
    stream: Option<(StreamId, u64)>,
    /// The priority of the next stream. An earlier one goes first, so that what was lost of it is
    /// not sent again behind all that is written already.
    priority: i32,
}

/// Why no more was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// There is no more, or not yet.
    Application,
    /// The peer takes no more.
    ReceiveWindow,
}

/// What there is at least before the application writes it.
const LEAST: u64 = 1_200;

impl Output {
    /// An answer of `bytes`; `u64::MAX` has no end.
    pub(crate) fn new(bytes: u64, rate: Option<Rate>, now: Time) -> Output {
        Output {
            left: bytes,
            written: 0,
            pace: rate.map(|rate| (rate, now)),
            stream: None,
            priority: 0,
        }
    }

    /// Writes what it may.
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
                // The connection is about to end.
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    return Stopped::Application;
                }
            };
            self.written += written;
            self.left -= if self.left == u64::MAX { 0 } else { written };
            self.stream = (room > written).then_some((id, room - written));
            if self.stream.is_none() || self.left == 0 {
                // It can fail only when the stream was stopped.
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

    /// What the application has for us by now: whole packets, but for the last.
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

    /// When the application has more, if it is what is waited for.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let (rate, since) = self.pace.filter(|_| self.left > 0)?;
        let next = fullpipe_units::Bytes::new(self.written + LEAST.min(self.left));
        Some(since + rate.time_for(next) + Span::from_nanos(1))
    }
}
