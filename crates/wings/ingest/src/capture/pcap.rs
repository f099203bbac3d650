//! Pcap as tcpdump writes it (draft-ietf-opsawg-pcap): either byte order, microseconds or
//! nanoseconds.

use fullpipe_units::Time;
use pcap_parser::{LegacyPcapBlock, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};

use crate::capture::input_buffer::InputBuffer;
use crate::capture::link::Link;
use crate::capture::reader::{Damage, Frame, LONGEST, Step, link};

/// State of reading a file, mostly from its header.
#[derive(Debug)]
pub(crate) struct Pcap {
    big_endian: bool,
    /// Length of a record's header; 24 in files that tcpdump wrote on some old systems.
    header: usize,
    /// Nanoseconds per unit of a record's fraction of a second.
    unit: u64,
    link: Option<Link>,
    pub(crate) link_names: Vec<String>,
    last: Option<u32>,
    pub(crate) damage: Damage,
}

/// Largest difference between neighboring packets' times when the reader looks for a record.
const NEAR_S: u32 = 86_400;

impl Pcap {
    /// Reads the file's header; `None` if this is not pcap.
    pub(crate) fn open(bytes: &[u8]) -> Result<Option<Pcap>, String> {
        match Pcap::read(bytes) {
            Some(Pcap {
                link: None,
                link_names,
                ..
            }) => Err(format!(
                "has packets of {}, which is not supported\n  fix: capture on an Ethernet, loopback or tunnel interface, or on `any`",
                link_names.concat()
            )),
            pcap => Ok(pcap),
        }
    }

    fn read(bytes: &[u8]) -> Option<Pcap> {
        let (_, header) = parse_pcap_header(bytes).ok()?;
        // The upper half is the length of the frames' checksums, which no IP length includes.
        let (name, link) = link(header.network.0 as u16);
        Some(Pcap {
            big_endian: header.is_bigendian(),
            header: if header.is_modified_format() { 24 } else { 16 },
            unit: if header.is_nanosecond_precision() {
                1
            } else {
                1000
            },
            link,
            link_names: vec![name],
            last: None,
            damage: Damage::default(),
        })
    }

    #[inline]
    pub(crate) fn next(&mut self, window: &mut InputBuffer) -> Step {
        loop {
            if !window.has(self.header) {
                return if window.bytes().is_empty() {
                    Step::End
                } else {
                    Step::Cut
                };
            }
            let captured = self.captured(window.bytes());
            if captured == 0 && self.begin_again(window) {
                continue;
            }
            // A full disk or a power failure may leave zeros.
            let nothing = || window.bytes()[..16] == [0; 16];
            if captured > LONGEST || (captured == 0 && nothing()) {
                if !self.resume(window) {
                    return Step::End;
                }
                continue;
            }
            if !window.has(self.header + captured) {
                return Step::Cut;
            }
            let bytes = window.bytes();
            let parse = if self.big_endian {
                parse_pcap_frame_be
            } else {
                parse_pcap_frame
            };
            let (
                _,
                LegacyPcapBlock {
                    ts_sec,
                    ts_usec,
                    origlen,
                    ..
                },
            ) = parse(bytes).expect("its header and as many bytes as that says are there");
            self.last = Some(ts_sec);
            let ns = u64::from(ts_sec) * 1_000_000_000 + u64::from(ts_usec) * self.unit;
            let end = self.header + captured;
            return Step::Frame(Frame {
                at: Time::from_nanos(ns),
                link: self.link,
                wire: origlen as usize,
                from: self.header,
                to: end,
                pass: end,
            });
        }
    }

    /// Reads the header of another file, where two were joined with `cat`. As a record it would be
    /// empty.
    #[cold]
    fn begin_again(&mut self, window: &mut InputBuffer) -> bool {
        let next = (window.has(24) && is_file(window.bytes())).then(|| Pcap::read(window.bytes()));
        let Some(next) = next.flatten() else {
            return false;
        };
        let mut names = std::mem::take(&mut self.link_names);
        names.extend(
            next.link_names
                .into_iter()
                .filter(|name| !names.contains(name))
                .collect::<Vec<_>>(),
        );
        *self = Pcap {
            link_names: names,
            damage: std::mem::take(&mut self.damage),
            ..next
        };
        window.pass(24);
        true
    }

    #[inline]
    fn captured(&self, record: &[u8]) -> usize {
        self.word(record, 8) as usize
    }

    #[inline]
    fn word(&self, record: &[u8], at: usize) -> u32 {
        let bytes = record[at..at + 4].try_into().expect("four bytes");
        if self.big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    }

    /// Skips to the next place where two records follow each other, a record ends the file, or
    /// another file begins.
    fn resume(&mut self, window: &mut InputBuffer) -> bool {
        let mut damage = std::mem::take(&mut self.damage);
        let found = damage.pass_over(window, |window| {
            if window.has(24) && is_file(window.bytes()) {
                return true;
            }
            window.has(self.header) && self.is_record(window.bytes()) && {
                let next = self.header + self.captured(window.bytes());
                if window.has(next + self.header) {
                    self.is_record(&window.bytes()[next..])
                } else {
                    window.has(next) && window.bytes().len() == next
                }
            }
        });
        self.damage = damage;
        found
    }

    /// Checks all known properties of a record; noise has them once in 2^40 bytes.
    fn is_record(&self, bytes: &[u8]) -> bool {
        let captured = self.captured(bytes);
        let near = self
            .last
            .is_none_or(|last| self.word(bytes, 0).abs_diff(last) <= NEAR_S);
        let fraction = u64::from(self.word(bytes, 4)) * self.unit;
        let wire = self.word(bytes, 12) as usize;
        near && fraction < 1_000_000_000 && captured > 0 && captured <= wire && wire <= LONGEST
    }
}

/// Returns whether a file begins as pcap does, in one of both byte orders.
pub(crate) fn is_magic(bytes: &[u8]) -> bool {
    let magic = bytes.first_chunk().copied().map(u32::from_be_bytes);
    magic.is_some_and(|magic| {
        [magic, magic.swap_bytes()]
            .iter()
            .any(|magic| matches!(magic, 0xa1b2_c3d4 | 0xa1b2_3c4d | 0xa1b2_cd34))
    })
}

/// Returns whether a file's header is here, of the only version and without a time zone, which
/// noise is unlikely to match.
fn is_file(bytes: &[u8]) -> bool {
    match bytes[..4] {
        [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => {
            bytes[4..12] == [2, 0, 4, 0, 0, 0, 0, 0]
        }
        [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => {
            bytes[4..12] == [0, 2, 0, 4, 0, 0, 0, 0]
        }
        _ => false,
    }
}
