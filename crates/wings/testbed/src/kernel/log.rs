//! The forwarder's recording: packets at the sender's side, and the fate of each at the links.

use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use fullpipe_emulator::{Direction, DropCause, EmulatedPacket, LinkTransit, PacketKind as Counts};
use fullpipe_units::{Span, Time};

use crate::agent::{AgentError, Header, Reader, Record, RecordKind};
use crate::forward::{Frame, Side, Tap};
use crate::reconstruct::{Arrived, Dropped, Links, Loss, Passed};
use crate::{SandboxError, privileges};

/// Bytes handed to the writer at a time.
const CHUNK: usize = 256 << 10;

/// Longest recorded headers.
const HEADERS: usize = 20 + 60;

/// Collects records; another thread writes them, so that packets do not wait for the disk.
#[derive(Debug)]
pub(super) struct Log {
    zero: u64,
    bytes: Vec<u8>,
    writer: Sender<Vec<u8>>,
    /// Whether a flow is a program, by its index.
    programs: Vec<bool>,
    /// Fingerprint of all packets, where a run can be repeated exactly.
    fingerprint: Option<Fingerprint>,
}

/// A hash of packets: their times, sides and bytes (as FNV-1a, with words of eight bytes).
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint {
    hash: u64,
    packets: u64,
}

impl Fingerprint {
    fn new() -> Fingerprint {
        Fingerprint {
            hash: 0xcbf2_9ce4_8422_2325,
            packets: 0,
        }
    }

    fn word(&mut self, word: u64) {
        self.hash = (self.hash ^ word)
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(29);
    }

    fn add(&mut self, at: Time, side: Side, bytes: &[u8]) {
        self.packets += 1;
        self.word(at.as_nanos());
        self.word(u64::from(side == Side::Near));
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.word(u64::from_le_bytes(word));
        }
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, hash {:016x}", self.packets, self.hash)
    }
}

/// The thread that writes the file.
pub(super) type Written = JoinHandle<std::io::Result<()>>;

impl Log {
    pub(super) fn start(
        path: &Path,
        programs: Vec<bool>,
        fingerprint: bool,
    ) -> Result<(Log, Written), SandboxError> {
        let mut file = std::fs::File::create(path).map_err(|error| {
            SandboxError::new(
                format!("{}: {error}", path.display()),
                "free some space in $TMPDIR",
            )
        })?;
        let header = Header {
            agent: "forwarder".to_owned(),
            epoch: 0,
            kernel: String::new(),
        };
        let mut first = serde_json::to_vec(&header).expect("words and numbers");
        first.push(b'\n');
        let (writer, chunks) = channel::<Vec<u8>>();
        let written = std::thread::spawn(move || {
            let _ = privileges::drop_all();
            file.write_all(&first)?;
            chunks
                .into_iter()
                .try_for_each(|chunk| file.write_all(&chunk))
        });
        Ok((
            Log {
                zero: 0,
                bytes: Vec::with_capacity(CHUNK),
                writer,
                programs,
                fingerprint: fingerprint.then(Fingerprint::new),
            },
            written,
        ))
    }

    /// Sets the start of the run, a time of CLOCK_MONOTONIC.
    pub(super) fn since(self, zero: Span) -> Log {
        Log {
            zero: zero.as_nanos(),
            ..self
        }
    }

    fn add(&mut self, kind: RecordKind, flow: u32, time: Time, data: &[&[u8]]) {
        let length: usize = data.iter().map(|part| part.len()).sum();
        let time = self.zero + time.as_nanos();
        self.bytes.extend_from_slice(&(kind as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(flow as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(length as u32).to_le_bytes());
        self.bytes.extend_from_slice(&time.to_le_bytes());
        data.iter()
            .for_each(|part| self.bytes.extend_from_slice(part));
        if self.bytes.len() + 2 * HEADERS > CHUNK {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let chunk = std::mem::replace(&mut self.bytes, Vec::with_capacity(CHUNK));
        // If the writer has failed, `finish` reports it.
        let _ = self.writer.send(chunk);
    }

    /// Waits until all records are written; returns the fingerprint of the packets.
    pub(super) fn finish(mut self, written: Written) -> Result<Option<Fingerprint>, SandboxError> {
        self.add(RecordKind::Done, 0, Time::ZERO, &[]);
        self.hand_over();
        drop(self.writer);
        let result = written
            .join()
            .unwrap_or_else(|_| Err(std::io::Error::other("the writer panicked")));
        let fingerprint = self.fingerprint;
        result.map(|()| fingerprint).map_err(|error| {
            SandboxError::new(
                format!("the forwarder's recording can't be written: {error}"),
                "free some space in $TMPDIR",
            )
        })
    }

    fn packet(&mut self, kind: RecordKind, at: Time, out: bool, packet: &EmulatedPacket<Frame>) {
        let kept = packet.payload.len().min(HEADERS);
        let size = packet.size.get() as u32;
        self.add(
            kind,
            packet.flow,
            at,
            &[
                &[u8::from(out)],
                &size.to_le_bytes(),
                &packet.payload[..kept],
            ],
        );
    }
}

/// Converts the index of a link for a record; a scenario has a hundred links at most.
fn number(link: usize) -> u8 {
    u8::try_from(link).expect("the number of a link is checked with its scenario")
}

impl Tap for Log {
    fn entered(&mut self, at: Time, side: Side, packet: &EmulatedPacket<Frame>) {
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.add(at, side, &packet.payload);
        }
        if side == Side::Near {
            self.packet(RecordKind::Packet, at, true, packet);
        }
    }

    fn dropped(
        &mut self,
        at: Time,
        link: Option<usize>,
        cause: DropCause,
        packet: &EmulatedPacket<Frame>,
    ) {
        let cause = match cause {
            DropCause::Loss => 0,
            DropCause::Queue => 1,
            DropCause::Policer => 2,
        };
        let link = link.map_or(u8::MAX, number);
        let data = match packet.kind {
            Counts::Data => 1,
            Counts::Ack => 0,
            Counts::Other => return,
        };
        self.add(
            RecordKind::Dropped,
            packet.flow,
            at,
            &[&[link, cause, data]],
        );
    }

    fn passed(&mut self, passage: &LinkTransit, packet: &EmulatedPacket<Frame>) {
        let LinkTransit {
            link,
            arrived,
            start,
            end,
            marked,
        } = *passage;
        let (wait, takes, size) = (
            start.since(arrived).as_nanos(),
            end.since(start).as_nanos(),
            packet.size.get() as u32,
        );
        let data = u8::from(packet.kind == Counts::Data);
        let flags = [number(link), data, u8::from(marked)];
        let parts: [&[u8]; 4] = [
            &wait.to_le_bytes(),
            &takes.to_le_bytes(),
            &size.to_le_bytes(),
            &flags,
        ];
        self.add(RecordKind::Passed, packet.flow, arrived, &parts);
    }

    fn delivered(
        &mut self,
        at: Time,
        _due: Time,
        waited: Span,
        side: Side,
        packet: &EmulatedPacket<Frame>,
    ) {
        if side == Side::Near {
            self.packet(RecordKind::Packet, at, false, packet);
            return;
        }
        if self.programs.get(packet.flow as usize) == Some(&true) {
            self.packet(RecordKind::Reached, at, false, packet);
        }
        if packet.direction == Direction::Forward && packet.kind == Counts::Data {
            self.add(
                RecordKind::Arrived,
                packet.flow,
                at,
                &[&waited.as_nanos().to_le_bytes()],
            );
        }
    }
}

/// Reads the links' events, with times relative to the run's start, `zero`.
pub(super) fn read(path: &Path, zero: u64) -> Result<Links, AgentError> {
    let mut links = Links::default();
    for record in Reader::open(path)? {
        let at = Time::from_nanos(record.time.saturating_sub(zero));
        let flow = u32::from(record.flow);
        let byte = |place: usize| record.data.get(place).copied().unwrap_or(0);
        match record.kind {
            RecordKind::Passed => {
                let start = at + Span::from_nanos(record.number(0));
                links.passed.push(Passed {
                    link: byte(20).into(),
                    flow,
                    data: byte(21) == 1,
                    size: size(&record),
                    arrived: at,
                    start,
                    end: start + Span::from_nanos(record.number(1)),
                    marked: byte(22) == 1,
                });
            }
            RecordKind::Dropped => {
                let why = [Loss::Chance, Loss::Queue, Loss::Policer][usize::from(byte(1)).min(2)];
                let link = Some(u32::from(byte(0))).filter(|link| *link != u32::from(u8::MAX));
                links.dropped.push(Dropped {
                    link,
                    flow,
                    data: byte(2) == 1,
                    at,
                    why,
                });
            }
            RecordKind::Arrived => links.arrived.push(Arrived {
                flow,
                at,
                waited: Span::from_nanos(record.number(0)),
            }),
            _ => {}
        }
    }
    Ok(links)
}

fn size(record: &Record) -> u32 {
    record.data.get(16..20).map_or(0, |bytes| {
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    })
}
