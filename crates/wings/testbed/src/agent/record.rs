//! Recordings of agents: a header line in JSON, then records, little endian.
//!
//! A record consists of its kind (u16), its flow (u16), the length of its data (u32), the time
//! (u64, CLOCK_MONOTONIC in ns) and its data. The writer does not interpret data: it keeps the
//! kernel's structs as they are.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::AgentError;

/// First line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// `send`, `receive` or `tap`.
    pub agent: String,
    /// Start of the run for `send`, start of the recording for others. CLOCK_MONOTONIC in ns.
    pub epoch: u64,
    /// Release of the kernel (uname -r).
    pub kernel: String,
}

/// Kind of a record; it determines the record's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum RecordKind {
    /// TCP_INFO, as the kernel returned it.
    Info = 1,
    /// TCP_CC_INFO, as the kernel returned it; precedes the [`RecordKind::Info`] of the same time.
    CcInfo = 2,
    /// Bytes that the application has read so far (u64).
    Read = 3,
    /// The sender opens a connection: the SYN leaves.
    Start = 4,
    /// The connection is open.
    Open = 5,
    /// The other side has closed the connection; bytes transferred (u64).
    End = 6,
    /// An answer is complete: the time of its request (u64), its length (u64).
    Answer = 7,
    /// A packet: its direction (u8, 1 for outgoing), its length (u32), its IP and TCP headers.
    Packet = 8,
    /// Number of packets that the tap missed (u64).
    Missed = 9,
    /// An error message.
    Failure = 10,
    /// The recording is complete.
    Done = 11,
    /// A packet that passed a link: its times in the queue and in transmission (u64 each), its size
    /// (u32), the link (u8), whether it has payload and whether it was marked (u8 each). The
    /// record's time is the packet's arrival at the link.
    Passed = 12,
    /// A packet that was dropped: the link (u8, 255 for none), the reason (u8: chance, queue,
    /// policer), whether it has payload (u8).
    Dropped = 13,
    /// A packet with payload that reached its receiver: its queueing delay in all (u64).
    Arrived = 14,
    /// The sender refused a flow that arrived: too many flows were open.
    Refused = 15,
    /// A packet of a program that reached the far end: as [`RecordKind::Packet`].
    Reached = 16,
}

impl RecordKind {
    const ALL: [RecordKind; 16] = [
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
        RecordKind::Reached,
    ];
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Kind of the record.
    pub kind: RecordKind,
    /// Index of its flow; zero if it belongs to none.
    pub flow: u16,
    /// Time of the event.
    pub time: u64,
    /// Data that goes with the kind.
    pub data: Vec<u8>,
}

impl Record {
    /// Returns the number at index `place` of the data; zero if the data is shorter.
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
    /// Creates a file and writes its header.
    ///
    /// # Errors
    /// When the file can't be written.
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
    /// When the record can't be written, most likely because no space is left.
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

    /// Marks the recording as complete, and hands everything to the kernel.
    ///
    /// # Errors
    /// As [`add`](Writer::add).
    pub fn finish(&mut self, time: u64) -> Result<(), AgentError> {
        self.add(RecordKind::Done, 0, time, &[])?;
        self.flush()
    }

    /// Hands all added records to the kernel.
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

/// Reads the records of a [`Writer`] one by one; a truncated file ends early.
#[derive(Debug)]
pub struct Reader {
    /// First line of the recording.
    pub header: Header,
    file: BufReader<File>,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// When the file can't be read, or does not begin with a header.
    pub fn open(path: &Path) -> Result<Reader, AgentError> {
        let wrong = |why: String| AgentError::new(format!("{}: {why}", path.display()));
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut line = Vec::new();
        file.read_until(b'\n', &mut line)
            .map_err(|error| wrong(error.to_string()))?;
        let header = serde_json::from_slice(&line)
            .map_err(|_| wrong("not a recording of an agent".to_owned()))?;
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
