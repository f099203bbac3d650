//! What agents write down: a header line in JSON, then records, little endian.
//!
//! A record is its kind (u16), its flow (u16), the length of what it holds (u32), the time (u64,
//! CLOCK_MONOTONIC in ns) and what it holds. No record is interpreted where it is written: structs
//! of the kernel are kept as they came.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::AgentError;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// `send`, `receive` or `tap`.
    pub agent: String,
    /// When the run began, of `send`; when recording did, of others. CLOCK_MONOTONIC in ns.
    pub epoch: u64,
    /// The kernel (uname -r).
    pub kernel: String,
}

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum RecordKind {
    /// TCP_INFO, as the kernel returned it.
    Info = 1,
    /// TCP_CC_INFO, likewise; comes before the [`RecordKind::Info`] of its time.
    CcInfo = 2,
    /// The application has read this much so far (u64).
    Read = 3,
    /// A connection was asked for: the SYN leaves.
    Start = 4,
    /// It is open.
    Open = 5,
    /// The other side has closed the connection; how many bytes went over it (u64).
    End = 6,
    /// An answer is there: when it was asked for (u64), its length (u64).
    Answer = 7,
    /// A packet: its direction (u8, 1 is out), its length (u32), its IP and TCP headers.
    Packet = 8,
    /// Packets that the tap missed (u64).
    Missed = 9,
    /// What went wrong, in words.
    Failure = 10,
    /// The recording is complete.
    Done = 11,
    /// A packet that passed a link: how long it waited and how long it was sent (u64 each), its
    /// size (u32), the link (u8), whether it has payload and whether it was marked (u8 each). The
    /// time is that of its arrival.
    Passed = 12,
    /// One that did not: the link (u8, 255 is none), why (u8: chance, queue, policer), whether it
    /// has payload (u8).
    Dropped = 13,
    /// One with payload that is at its receiver: how long it waited in all (u64).
    Arrived = 14,
    /// A flow arrived, and was turned away: too many were under way.
    Refused = 15,
}

impl RecordKind {
    const ALL: [RecordKind; 15] = [
        RecordKind::Info,
        RecordKind::CcInfo,
        RecordKind::Read,
        RecordKind::Start,
        RecordKind::Open,
        RecordKind::End,
        RecordKind::Answer,
        RecordKind::Packet,
        RecordKind::Missed,
        RecordKind::Failure,
        RecordKind::Done,
        RecordKind::Passed,
        RecordKind::Dropped,
        RecordKind::Arrived,
        RecordKind::Refused,
    ];
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it is about.
    pub kind: RecordKind,
    /// Whose it is; zero where it is nobody's.
    pub flow: u16,
    /// When.
    pub time: u64,
    /// What it holds.
    pub data: Vec<u8>,
}

impl Record {
    /// The number at `place`, of those that it holds; zero where it holds none.
    pub fn number(&self, place: usize) -> u64 {
        let bytes = self.data.get(place * 8..place * 8 + 8);
        bytes.map_or(0, |bytes| {
            u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
        })
    }
}

/// Writes records to a file.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Writer {
    /// Begins a file.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn create(path: &Path, header: &Header) -> Result<Writer, AgentError> {
        let file = File::create(path)
            .map_err(|error| AgentError::new(format!("{}: {error}", path.display())))?;
        let mut writer = Writer {
            path: path.to_owned(),
            file: BufWriter::with_capacity(1 << 20, file),
        };
        let line = serde_json::to_string(header).expect("words and numbers");
        writer.put(line.as_bytes())?;
        writer.put(b"\n")?;
        writer.flush()?;
        Ok(writer)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When it can't be written: no room is left, most likely.
    pub fn add(
        &mut self,
        kind: RecordKind,
        flow: usize,
        time: u64,
        data: &[u8],
    ) -> Result<(), AgentError> {
        let mut head = [0; 16];
        head[..2].copy_from_slice(&(kind as u16).to_le_bytes());
        head[2..4].copy_from_slice(&(flow as u16).to_le_bytes());
        head[4..8].copy_from_slice(&(data.len() as u32).to_le_bytes());
        head[8..].copy_from_slice(&time.to_le_bytes());
        self.put(&head)?;
        self.put(data)
    }

    /// Adds a record of one number.
    ///
    /// # Errors
    /// As [`add`](Writer::add).
    pub fn add_number(
        &mut self,
        kind: RecordKind,
        flow: usize,
        time: u64,
        number: u64,
    ) -> Result<(), AgentError> {
        self.add(kind, flow, time, &number.to_le_bytes())
    }

    /// Says that it is complete, and hands everything to the kernel.
    ///
    /// # Errors
    /// As [`add`](Writer::add).
    pub fn finish(&mut self, time: u64) -> Result<(), AgentError> {
        self.add(RecordKind::Done, 0, time, &[])?;
        self.flush()
    }

    /// Hands what was added to the kernel.
    ///
    /// # Errors
    /// As [`add`](Writer::add).
    pub fn flush(&mut self) -> Result<(), AgentError> {
        self.file
            .flush()
            .map_err(|error| AgentError::new(format!("{}: {error}", self.path.display())))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), AgentError> {
        self.file
            .write_all(bytes)
            .map_err(|error| AgentError::new(format!("{}: {error}", self.path.display())))
    }
}

/// Reads what a [`Writer`] wrote, record by record; ends early where the file does.
#[derive(Debug)]
pub struct Reader {
    /// The first line.
    pub header: Header,
    file: BufReader<File>,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// When it is not there, or does not begin as it should.
    pub fn open(path: &Path) -> Result<Reader, AgentError> {
        let wrong = |why: String| AgentError::new(format!("{}: {why}", path.display()));
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut line = Vec::new();
        file.read_until(b'\n', &mut line)
            .map_err(|error| wrong(error.to_string()))?;
        let header = serde_json::from_slice(&line)
            .map_err(|_| wrong("no recording of an agent".to_owned()))?;
        Ok(Reader { header, file })
    }
}

impl Iterator for Reader {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let mut head = [0; 16];
        self.file.read_exact(&mut head).ok()?;
        let word = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let length = u32::from_le_bytes(head[4..8].try_into().expect("four bytes"));
        let kind = RecordKind::ALL
            .into_iter()
            .find(|kind| *kind as u16 == word(0))?;
        let mut data = vec![0; length as usize];
        self.file.read_exact(&mut data).ok()?;
        let time = u64::from_le_bytes(head[8..].try_into().expect("eight bytes"));
        Some(Record {
            kind,
            flow: word(2),
            time,
            data,
        })
    }
}
