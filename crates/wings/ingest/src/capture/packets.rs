//! The TCP segments and UDP datagrams of one capture, with their headers: for series over time.

use std::collections::BTreeMap;
use std::net::IpAddr;

use smallvec::SmallVec;

use crate::Input;
use crate::capture::fragments::{Found, Fragments};
use crate::capture::frames::Frames;
use crate::capture::link::NotIp;
use crate::capture::report::FileReport;
use crate::capture::segment::{Protocol, Segment, dissect};

/// A TCP segment, a UDP datagram, or a fragment of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Nanoseconds since 1970.
    pub at: u64,
    /// Address and port of the sender.
    pub source: (IpAddr, u16),
    /// Address and port of the receiver.
    pub target: (IpAddr, u16),
    /// Payload by the IP header, even if less was captured; bytes.
    pub size: u32,
    /// The header of its protocol.
    pub header: Header,
}

/// The header of a packet's protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// Of TCP. A later fragment has a sequence number alone.
    Tcp(Tcp),
    /// Of UDP: the first bytes of the payload, at most 5.
    Udp(SmallVec<[u8; 8]>),
}

/// A header of TCP, as far as it was captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number of the first payload byte, or of the SYN.
    pub sequence: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// The flags from FIN on.
    pub flags: u8,
    /// The window field, unscaled.
    pub window: Option<u16>,
    /// Window scale (RFC 7323).
    pub scale: Option<u8>,
    /// Timestamp and echoed timestamp (RFC 7323).
    pub stamps: Option<(u32, u32)>,
    /// Blocks of SACK (RFC 2018): their first number, and the number after the last.
    pub sacks: SmallVec<[(u32, u32); 4]>,
}

/// A report on all packets of a capture.
#[derive(Clone, Debug, Default)]
pub struct PacketsReport {
    /// The report on the file.
    pub file: FileReport,
    /// Packets without a time.
    pub untimed: u64,
    /// Packets that are not IP, by their kind.
    pub not_ip: Vec<(String, u64)>,
}

/// The packets of a capture.
#[derive(Debug)]
pub struct Packets {
    frames: Frames,
    fragments: Fragments,
    not_ip: BTreeMap<NotIp, u64>,
}

/// Largest window scale (RFC 7323, section 2.3).
const MOST_SCALE: u8 = 14;

impl Packets {
    /// Opens a capture; `name` is its name in the report.
    ///
    /// # Errors
    ///
    /// When the content is not a capture; the error describes it, with a fix.
    pub fn open(name: &str, input: Input) -> Result<Packets, String> {
        Ok(Packets {
            frames: Frames::open(name, input)?,
            fragments: Fragments::default(),
            not_ip: BTreeMap::new(),
        })
    }

    /// Returns the number of bytes of the content so far, decompressed.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.frames.position()
    }

    /// Returns the report on the packets so far.
    #[must_use]
    pub fn report(self) -> PacketsReport {
        PacketsReport {
            untimed: self.frames.untimed(),
            not_ip: self
                .not_ip
                .into_iter()
                .map(|(kind, count)| (kind.to_string(), count))
                .collect(),
            file: self.frames.finish(),
        }
    }
}

impl Iterator for Packets {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        loop {
            let (frame, bytes) = self.frames.next()?;
            let Some(link) = frame.link else {
                continue;
            };
            let (packet, wire) = match frame.ip(link, bytes) {
                Ok(packet) => packet,
                Err(kind) => {
                    *self.not_ip.entry(kind).or_default() += 1;
                    continue;
                }
            };
            let found = self
                .fragments
                .segment(dissect(packet, wire, true), frame.at);
            if let Found::Segment(segment, bytes) = found {
                return Some(Packet::of(&segment, bytes, frame.at.as_nanos()));
            }
        }
    }
}

impl Packet {
    fn of(segment: &Segment, bytes: Option<&[u8]>, at: u64) -> Packet {
        let key = &segment.key;
        let end = |end: usize| (key.address(end), key.port(end));
        let header = match key.protocol {
            Protocol::Udp => {
                let payload = bytes.and_then(|bytes| bytes.get(8..)).unwrap_or_default();
                Header::Udp(payload.iter().take(5).copied().collect())
            }
            Protocol::Tcp => Header::Tcp(bytes.map_or_else(
                || Tcp {
                    sequence: segment.sequence,
                    ..Tcp::default()
                },
                |bytes| Tcp::read(segment, bytes),
            )),
        };
        Packet {
            at,
            source: end(segment.sender),
            target: end(1 - segment.sender),
            size: segment.payload,
            header,
        }
    }
}

impl Tcp {
    /// Reads a header; at least 14 bytes of it were captured.
    fn read(segment: &Segment, bytes: &[u8]) -> Tcp {
        let two = |at: usize| {
            bytes
                .get(at..)?
                .first_chunk()
                .copied()
                .map(u16::from_be_bytes)
        };
        let end = usize::from(bytes[12] >> 4) * 4;
        let mut header = Tcp {
            sequence: segment.sequence,
            ack: four(&bytes[8..]).unwrap_or_default(),
            flags: segment.flags.0,
            window: two(14),
            ..Tcp::default()
        };
        header.options(bytes.get(20..end.min(bytes.len())).unwrap_or_default());
        header
    }

    fn options(&mut self, mut options: &[u8]) {
        loop {
            let (kind, length) = match *options {
                [] | [0, ..] => return,
                [1, ..] => {
                    options = &options[1..];
                    continue;
                }
                [kind, length, ..] if (2..=options.len()).contains(&usize::from(length)) => {
                    (kind, usize::from(length))
                }
                _ => return,
            };
            let (value, rest) = (&options[2..length], &options[length..]);
            match (kind, value) {
                (3, [scale]) => self.scale = Some((*scale).min(MOST_SCALE)),
                (5, blocks) => {
                    self.sacks = blocks
                        .chunks_exact(8)
                        .filter_map(|block| Some((four(block)?, four(&block[4..])?)))
                        .collect();
                }
                (8, [_, _, _, _, _, _, _, _]) => {
                    self.stamps = four(value).zip(four(&value[4..]));
                }
                _ => {}
            }
            options = rest;
        }
    }
}

fn four(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_be_bytes)
}
