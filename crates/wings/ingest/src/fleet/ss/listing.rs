//! Reads the lines of listings, in order of time, as samples of sockets.

use serde::{Deserialize, Serialize};

use super::info::{self, Sample};
use super::line::{self, Line, Socket};
use crate::fleet::parse::{BadLines, LineReader, Lines};
use crate::fleet::time::{self, Moment};

/// A use of samples, in which readers differ.
pub(super) trait Take {
    /// Takes the time of the samples that follow, in microseconds since 1970.
    fn at(&mut self, _time: i64) {}

    /// Takes a sample of the socket with these ends, `local remote`; `began` is the first time in the
    /// file, `None` without one before it. An error describes counters that no kernel reports
    /// together.
    fn sample(
        &mut self,
        ends: &[u8],
        at: Moment,
        began: Option<Moment>,
        sample: &mut Sample,
    ) -> Result<(), String>;

    /// Called after the last line of a file.
    fn finish_file(&mut self) {}
}

/// Numbers of items read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Lines.
    pub lines: u64,
    /// Samples of connections.
    pub samples: u64,
    /// Sockets that listen or are not connected.
    pub listening: u64,
    /// Sockets without information about their TCP, such as those in TIME-WAIT.
    pub without_info: u64,
    /// Lines of other protocols.
    pub foreign: u64,
    /// Samples without a time in the file.
    pub untimed: u64,
    /// Samples that are earlier than the previous one.
    pub backwards: u64,
}

/// Reads the lines of listings; `to` takes their samples.
#[derive(Clone, Debug)]
pub(super) struct Listing<T> {
    pub(super) to: T,
    pub(super) counts: Counts,
    pub(super) bad: BadLines,
    pub(super) lines: Lines,
    pub(super) last_time: i64,
    time: Moment,
    /// The first time in the file.
    began: Option<Moment>,
    sample: Sample,
    ends: Vec<u8>,
    /// Number of the socket's line.
    begun_at: u64,
    sample_time: Moment,
    state: State,
}

/// State after the previous line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No socket precedes to which fields could belong.
    Outside,
    /// A socket precedes.
    Inside,
    /// The socket above is not a connection, or was unreadable: the reader skips its fields.
    Skipping,
}

/// Lines among which one of a listing is a socket's.
const BEGIN: usize = 50;

/// Returns whether a text that begins so is of `ss`: one of its first lines is a socket's, and a
/// state, a header, or a window shows that the numbers and addresses are not those of a log.
#[must_use]
pub fn is_listing(head: &[u8]) -> bool {
    let has_window = |fields: &[u8]| memchr::memmem::find(fields, b" cwnd:").is_some();
    let (mut socket, mut sure) = (false, false);
    for line in head.split(|byte| *byte == b'\n').take(BEGIN) {
        let line = time::prefix(line).map_or(line, |stamped| stamped.rest);
        match line::classify(line) {
            Ok(Line::Socket(found)) => {
                socket = true;
                sure |= !found.state.is_empty() || has_window(found.rest);
            }
            Ok(Line::Continued(fields)) => sure |= has_window(fields),
            Ok(Line::Header) => sure = true,
            _ => {}
        }
    }
    socket && sure
}

impl<T: Take> Listing<T> {
    pub(super) fn new(to: T, silent: bool) -> Listing<T> {
        Listing {
            to,
            counts: Counts::default(),
            bad: BadLines::new(silent),
            lines: Lines::default(),
            last_time: i64::MIN,
            time: Moment::default(),
            began: None,
            sample: Sample::default(),
            ends: Vec::new(),
            begun_at: 0,
            sample_time: Moment::default(),
            state: State::Outside,
        }
    }

    /// Begins another file; its lines are of this time until the file gives another.
    pub(super) fn begin_file(&mut self, time: i64) {
        self.lines.begin_file();
        self.time = Moment::of_micros(time);
        self.began = None;
        self.to.at(time);
    }

    /// Handles the line of a socket at `time`; further fields may follow on the next line.
    #[inline]
    fn begin_socket(
        &mut self,
        number: u64,
        socket: &Socket<'_>,
        time: Moment,
    ) -> Result<(), String> {
        if !socket.is_connection() {
            self.counts.listening += 1;
            self.state = State::Skipping;
            return Ok(());
        }
        socket.begin(&mut self.sample)?;
        self.ends.clear();
        self.ends.extend_from_slice(socket.local);
        self.ends.push(b' ');
        self.ends.extend_from_slice(socket.remote);
        (self.begun_at, self.sample_time) = (number, time);
        self.state = State::Inside;
        Ok(())
    }

    /// Completes the current socket.
    fn finish_socket(&mut self) {
        let state = std::mem::replace(&mut self.state, State::Outside);
        if state != State::Inside {
            return;
        }
        if !self.sample.has_info {
            self.counts.without_info += 1;
            return;
        }
        let at = self.sample_time;
        let taken = self.to.sample(&self.ends, at, self.began, &mut self.sample);
        if let Err(why) = taken {
            self.bad.add(self.begun_at, &self.ends, why);
            return;
        }
        self.counts.samples += 1;
        self.counts.untimed += u64::from(self.began.is_none());
        self.counts.backwards += u64::from(at.micros < self.last_time);
        self.last_time = at.micros;
    }

    fn bad(&mut self, number: u64, line: &[u8], why: String) {
        self.state = State::Skipping;
        self.bad.add(number, line, why);
    }
}

impl<T: Take> LineReader for Listing<T> {
    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    fn bad_lines(&mut self) -> &mut BadLines {
        &mut self.bad
    }

    fn read(&mut self, number: u64, line: &[u8]) {
        self.counts.lines += 1;
        let (mut time, mut line) = (self.time, line);
        // Most lines of sockets begin with one of these bytes. A line that is a time, or begins
        // with a time, does not.
        match line.first() {
            None => return,
            Some(b' ' | b'\t' | b'E' | b'C' | b'L') => {}
            Some(first) => {
                if let Some(found) = time::line(line) {
                    self.finish_socket();
                    self.time = found;
                    self.began.get_or_insert(found);
                    self.to.at(found.micros);
                    return;
                }
                if *first == b'#' {
                    return;
                }
                if let Some(stamped) = time::prefix(line) {
                    (time, line) = (stamped.time, stamped.rest);
                    self.time = time;
                    self.began.get_or_insert(time);
                }
            }
        }
        match line::classify(line) {
            Ok(Line::Empty) => {}
            Ok(Line::Header) => self.finish_socket(),
            Ok(Line::Continued(fields)) => match self.state {
                State::Inside => {
                    if let Err(why) = info::read(fields, &mut self.sample) {
                        self.bad(number, line, why);
                    }
                }
                State::Skipping => {}
                State::Outside => self.bad(number, line, "no socket precedes it".into()),
            },
            Ok(Line::Foreign) => {
                self.finish_socket();
                self.counts.foreign += 1;
                self.state = State::Skipping;
            }
            Ok(Line::Socket(socket)) => {
                self.finish_socket();
                if let Err(why) = self.begin_socket(number, &socket, time) {
                    self.bad(number, line, why);
                }
            }
            Err(why) => {
                self.finish_socket();
                self.bad(number, line, why);
            }
        }
    }

    fn finish_file(&mut self) {
        self.finish_socket();
        self.to.finish_file();
    }
}
