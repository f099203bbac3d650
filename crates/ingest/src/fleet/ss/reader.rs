//! Reads the lines of one host, in order of time, as rows.

use serde::{Deserialize, Serialize};

use super::info::{self, Sample};
use super::join::{Joiner, Live};
use super::kept::{FORMAT, KeptLive};
use super::line::{self, Line, Socket};
use super::names::{KINDS, Names};
use super::rows::{Connections, Samples};
use crate::fleet::address::Privacy;
use crate::fleet::parse::{BadLines, LineReader, Lines, Parse};
use crate::fleet::{Columns, time};

/// Options of reading lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Name of the machine in rows.
    pub host: String,
    /// Whether each sample also becomes a row.
    pub samples: bool,
    /// Treatment of addresses. With a key, unknown fields are only counted, and bad lines are not
    /// quoted.
    pub privacy: Privacy,
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

/// Reads the lines of one host.
#[derive(Clone, Debug)]
pub struct Reader {
    options: Options,
    pub(super) counts: Counts,
    bad: BadLines,
    pub(super) joiner: Joiner,
    pub(super) names: Names,
    connections: Connections,
    samples: Samples,
    ended: Vec<Live>,
    lines: Lines,
    time: i64,
    timed: bool,
    sample: Sample,
    ends: Vec<u8>,
    /// Number of the socket's line.
    begun_at: u64,
    sample_time: i64,
    state: State,
    last_time: i64,
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

impl Reader {
    /// Creates a reader.
    #[must_use]
    pub fn new(options: Options) -> Reader {
        let joiner = Joiner::new(&options.host);
        Reader {
            counts: Counts::default(),
            bad: BadLines::new(options.privacy.is_keyed()),
            joiner,
            names: Names::default(),
            connections: Connections::default(),
            samples: Samples::default(),
            ended: Vec::new(),
            lines: Lines::default(),
            time: 0,
            timed: false,
            sample: Sample::default(),
            ends: Vec::new(),
            begun_at: 0,
            sample_time: 0,
            state: State::Outside,
            last_time: i64::MIN,
            options,
        }
    }

    fn emit(&mut self) {
        for live in self.ended.drain(..) {
            self.connections.add(&live, &self.options.privacy);
        }
    }

    /// Handles the line of a socket at `time`; further fields may follow on the next line.
    #[inline]
    fn begin_socket(&mut self, number: u64, socket: &Socket<'_>, time: i64) -> Result<(), String> {
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
        self.sample.fill();
        if let Some(why) = self.sample.contradiction() {
            self.bad.add(self.begun_at, &self.ends, why);
            return;
        }
        self.counts.samples += 1;
        self.counts.untimed += u64::from(!self.timed);
        self.counts.backwards += u64::from(self.sample_time < self.last_time);
        self.last_time = self.sample_time;
        let sample = &self.sample;
        let words = [&sample.state, &sample.timer, &sample.cc, &sample.cgroup];
        let names = &mut self.names;
        let mut numbers = [u32::MAX; KINDS];
        for (kind, word) in words
            .into_iter()
            .enumerate()
            .filter(|(_, word)| !word.is_empty())
        {
            numbers[kind] = names.number(kind, word);
        }
        let connection = self.joiner.add(
            &self.ends,
            self.sample_time,
            sample,
            numbers,
            &mut self.ended,
        );
        if self.options.samples {
            self.samples.add(
                connection,
                self.sample_time,
                sample,
                numbers,
                &self.options.privacy,
            );
        }
    }

    fn bad(&mut self, number: u64, line: &[u8], why: String) {
        self.state = State::Skipping;
        self.bad.add(number, line, why);
    }
}

/// State of a reader that is stored between two files.
#[derive(Serialize, Deserialize)]
struct Kept {
    format: u32,
    bytes: u64,
    counts: Counts,
    bad: u64,
    last_time: i64,
    listing: u64,
    serial: u64,
    names: Vec<String>,
    live: Vec<KeptLive>,
}

impl LineReader for Reader {
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
                    (self.time, self.timed) = (found, true);
                    self.joiner.at(found, &mut self.ended);
                    self.emit();
                    return;
                }
                if *first == b'#' {
                    return;
                }
                if let Some(stamped) = time::prefix(line) {
                    (time, line) = (stamped.time, stamped.rest);
                    (self.time, self.timed) = (time, true);
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
        self.emit();
    }
}

impl Parse for Reader {
    fn begin_file(&mut self, time: i64) {
        self.lines.begin_file();
        self.time = time;
        self.timed = false;
        self.joiner.at(time, &mut self.ended);
        self.emit();
    }

    fn rows(&self) -> usize {
        self.connections.rows().max(self.samples.rows())
    }

    fn take(&mut self) -> Vec<(&'static str, Columns)> {
        self.emit();
        let connections = std::mem::take(&mut self.connections).columns(&self.names);
        let samples = std::mem::take(&mut self.samples).columns(&self.names);
        vec![("connections", connections), ("samples", samples)]
    }

    fn open(&self) -> Vec<(&'static str, Columns)> {
        let mut rows = Connections::default();
        for live in &self.joiner.live {
            rows.add(live, &self.options.privacy);
        }
        vec![("connections", rows.columns(&self.names))]
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Counts {
            lines,
            samples,
            listening,
            without_info,
            foreign,
            untimed,
            backwards,
        } = self.counts;
        vec![
            ("bytes", self.lines.bytes),
            ("lines", lines),
            ("samples", samples),
            ("connections", self.joiner.serial),
            ("listening", listening),
            ("without_info", without_info),
            ("foreign", foreign),
            ("untimed", untimed),
            ("backwards", backwards),
            ("bad", self.bad.count),
        ]
    }

    fn state(&self) -> String {
        let kept = Kept {
            format: FORMAT,
            bytes: self.lines.bytes,
            counts: self.counts,
            bad: self.bad.count,
            last_time: self.last_time,
            listing: self.joiner.listing,
            serial: self.joiner.serial,
            names: self.names.words().to_vec(),
            live: self
                .joiner
                .live
                .iter()
                .zip(&self.joiner.seen_in)
                .map(|(live, at)| KeptLive::of(live, *at))
                .collect(),
        };
        serde_json::to_string(&kept).expect("numbers and texts can always be written")
    }

    fn resume(&mut self, state: &str) -> bool {
        let Ok(kept) = serde_json::from_str::<Kept>(state) else {
            return false;
        };
        if kept.format != FORMAT {
            return false;
        }
        self.lines.bytes = kept.bytes;
        (self.counts, self.bad.count, self.last_time) = (kept.counts, kept.bad, kept.last_time);
        self.names = Names::default();
        for name in &kept.names {
            self.names.number(0, name.as_bytes());
        }
        let (live, seen_in) = kept.live.into_iter().map(KeptLive::live).unzip();
        self.joiner = Joiner::with(&self.options.host, live, seen_in, kept.listing, kept.serial);
        true
    }
}
