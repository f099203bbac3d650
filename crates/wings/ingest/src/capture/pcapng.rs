//! Pcapng as Wireshark writes it (draft-ietf-opsawg-pcapng): sections, interfaces, packets.

use std::collections::BTreeSet;

use fullpipe_units::Time;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    Block, EnhancedPacketBlock, InterfaceDescriptionBlock, OptionCode, SimplePacketBlock,
    parse_block_be, parse_block_le,
};

use crate::capture::input_buffer::InputBuffer;
use crate::capture::link::Link;
use crate::capture::reader::{Damage, Frame, Step, link};

/// State of the section that is being read.
#[derive(Debug, Default)]
pub(crate) struct Pcapng {
    big_endian: bool,
    interfaces: Vec<Interface>,
    pub(crate) link_names: BTreeSet<String>,
    last: Time,
    /// Packets without a time.
    pub(crate) untimed: u64,
    pub(crate) damage: Damage,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Option<Link>,
    resolution: Resolution,
    offset_s: i64,
}

/// Units of a timestamp per second.
#[derive(Clone, Copy, Debug)]
enum Resolution {
    Micro,
    Nano,
    Other(u128),
}

/// Longest block. Secrets and custom blocks may be long, but no block is longer than this.
const LONGEST_BLOCK: usize = 16 << 20;
const SECTION: u32 = 0x0a0d_0d0a;
/// A kind of block that newer files do not contain (draft-ietf-opsawg-pcapng, appendix A).
const OLD_PACKET: u32 = 2;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Result of reading a block.
enum Found {
    Packet {
        at: Time,
        link: Option<Link>,
        wire: usize,
        from: usize,
        captured: usize,
    },
    Nothing,
    Damaged,
}

impl Pcapng {
    pub(crate) fn next(&mut self, window: &mut InputBuffer) -> Step {
        loop {
            if !window.has(12) {
                return if window.bytes().is_empty() {
                    Step::End
                } else {
                    Step::Cut
                };
            }
            let Some(length) = self.block(window) else {
                let (length, _) = self.length(window.bytes()).unwrap_or((0, false));
                if (12..=LONGEST_BLOCK).contains(&length) && length % 4 == 0 && !window.has(length)
                {
                    return Step::Cut;
                }
                let mut damage = std::mem::take(&mut self.damage);
                let found = damage.pass_over(window, |window| self.known(window));
                self.damage = damage;
                if !found {
                    return Step::End;
                }
                continue;
            };
            match self.read(&window.bytes()[..length]) {
                Found::Packet {
                    at,
                    link,
                    wire,
                    from,
                    captured,
                } => {
                    self.last = at;
                    return Step::Frame(Frame {
                        at,
                        link,
                        wire,
                        from,
                        to: from + captured,
                        pass: length,
                    });
                }
                Found::Nothing => {}
                Found::Damaged => {
                    if self.damage.places == 0 {
                        self.damage.first = window.position();
                    }
                    self.damage.places += 1;
                    self.damage.bytes += length as u64;
                }
            }
            window.pass(length);
        }
    }

    /// Returns the length of the next block if it is valid: the same at both ends.
    fn block(&self, window: &mut InputBuffer) -> Option<usize> {
        let (length, big_endian) = self.length(window.bytes())?;
        if !(12..=LONGEST_BLOCK).contains(&length) || length % 4 != 0 || !window.has(length) {
            return None;
        }
        (word(window.bytes(), length - 4, big_endian) as usize == length).then_some(length)
    }

    /// Returns the block's first length, and whether the block is big-endian.
    fn length(&self, bytes: &[u8]) -> Option<(usize, bool)> {
        let big_endian = match word(bytes, 0, false) {
            SECTION if word(bytes, 8, false) == BYTE_ORDER => false,
            SECTION if word(bytes, 8, true) == BYTE_ORDER => true,
            SECTION => return None,
            _ => self.big_endian,
        };
        Some((word(bytes, 4, big_endian) as usize, big_endian))
    }

    /// Returns whether a block of a relevant kind begins here. Noise may look like others, since
    /// their kind may be any number.
    fn known(&self, window: &mut InputBuffer) -> bool {
        window.has(12)
            && (matches!(word(window.bytes(), 0, self.big_endian), 1..=6)
                || word(window.bytes(), 0, false) == SECTION)
            && self.block(window).is_some()
    }

    #[inline]
    fn read(&mut self, block: &[u8]) -> Found {
        if word(block, 0, false) == SECTION {
            self.big_endian = word(block, 8, true) == BYTE_ORDER;
            self.interfaces.clear();
            return Found::Nothing;
        }
        let parse = if self.big_endian {
            parse_block_be
        } else {
            parse_block_le
        };
        match parse(block) {
            Ok((_, Block::EnhancedPacket(packet))) => {
                self.enhanced(&packet).unwrap_or(Found::Damaged)
            }
            Ok((_, Block::SimplePacket(packet))) => self.simple(&packet).unwrap_or(Found::Damaged),
            Ok((_, Block::InterfaceDescription(described))) => {
                self.interface(&described);
                Found::Nothing
            }
            Ok((_, Block::Unknown(_))) if word(block, 0, self.big_endian) == OLD_PACKET => {
                self.old(block).unwrap_or(Found::Damaged)
            }
            Ok(_) => Found::Nothing,
            Err(_) => Found::Damaged,
        }
    }

    #[inline]
    fn enhanced(&self, packet: &EnhancedPacketBlock<'_>) -> Option<Found> {
        let interface = self.interfaces.get(packet.if_id as usize)?;
        let at = interface.time((u64::from(packet.ts_high) << 32) | u64::from(packet.ts_low))?;
        Some(Found::Packet {
            at,
            link: interface.link,
            wire: packet.origlen as usize,
            from: 28,
            captured: packet.packet_data().len(),
        })
    }

    /// A simple packet has no time, so it gets that of the packet before.
    fn simple(&mut self, packet: &SimplePacketBlock<'_>) -> Option<Found> {
        let interface = self.interfaces.first()?;
        let wire = packet.origlen as usize;
        self.untimed += 1;
        Some(Found::Packet {
            at: self.last,
            link: interface.link,
            wire,
            from: 12,
            captured: packet.data.len().min(wire),
        })
    }

    /// Adds the interface of later packets.
    fn interface(&mut self, described: &InterfaceDescriptionBlock<'_>) {
        let (name, link) = link(described.linktype.0 as u16);
        self.link_names.insert(name);
        let offset = described
            .options
            .iter()
            .find(|option| option.code == OptionCode::IfTsoffset);
        let offset = offset.and_then(|option| option.value.get(..8)?.try_into().ok());
        let order = if self.big_endian {
            i64::from_be_bytes
        } else {
            i64::from_le_bytes
        };
        let resolution = match described.if_tsresol {
            6 => Resolution::Micro,
            9 => Resolution::Nano,
            tens @ 0..=127 => Resolution::Other(10_u128.saturating_pow(tens.into())),
            twos => Resolution::Other(1 << (twos & 0x7f)),
        };
        self.interfaces.push(Interface {
            link,
            resolution,
            offset_s: offset.map_or(0, order),
        });
    }

    /// Reads a packet of files from before 2009, with 16 bits each for the interface's number and
    /// for the number of drops.
    fn old(&self, block: &[u8]) -> Option<Found> {
        let bytes: [u8; 2] = block.get(8..10)?.try_into().ok()?;
        let number = if self.big_endian {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        };
        let interface = self.interfaces.get(usize::from(number))?;
        let room = block.len().checked_sub(32)?;
        let [high, low, captured, wire] =
            [12, 16, 20, 24].map(|at| word(block, at, self.big_endian));
        let at = interface.time((u64::from(high) << 32) | u64::from(low))?;
        let captured = captured as usize;
        (captured <= room).then_some(Found::Packet {
            at,
            link: interface.link,
            wire: wire as usize,
            from: 28,
            captured,
        })
    }
}

impl Interface {
    /// Converts a timestamp to nanoseconds since the epoch; `None` if it lies before the epoch, or
    /// after 2262.
    #[inline]
    fn time(&self, units: u64) -> Option<Time> {
        let units = i128::from(units);
        let ns = match self.resolution {
            Resolution::Micro => units * 1000,
            Resolution::Nano => units,
            Resolution::Other(second) => units * 1_000_000_000 / second as i128,
        };
        let ns = ns + i128::from(self.offset_s) * 1_000_000_000;
        i64::try_from(ns)
            .ok()
            .and_then(|ns| u64::try_from(ns).ok())
            .map(Time::from_nanos)
    }
}

#[inline]
fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = bytes[at..at + 4].try_into().expect("four bytes");
    if big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}
