//! Captures as pcapng, with times in nanoseconds (draft-ietf-opsawg-pcapng). A separate thread
//! writes them, since a disk may stall.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use fullpipe_units::{Span, Time};

use crate::privileges;

/// A capture of one device.
#[derive(Debug)]
pub struct Capture {
    to: Sender<(Time, Box<[u8]>)>,
    thread: JoinHandle<io::Result<()>>,
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// LINKTYPE_RAW: packets begin with the IP header.
const RAW_IP: u16 = 101;

impl Capture {
    /// Creates a file. A packet's date is its time, relative to `zero` of the real-time clock.
    pub fn create(file: &Path, device: &str, zero: Span) -> io::Result<Capture> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create_new(file)?);
        header(&mut file, device)?;
        let (to, from) = channel::<(Time, Box<[u8]>)>();
        let thread = std::thread::Builder::new()
            .name("capture".into())
            .spawn(move || {
                let _ = privileges::drop_all();
                while let Ok((at, packet)) = from.recv() {
                    self::packet(&mut file, zero + Span::from_nanos(at.as_nanos()), &packet)?;
                }
                file.flush()
            })?;
        Ok(Capture { to, thread })
    }

    /// Records a packet that was seen at `at`.
    pub fn see(&self, at: Time, packet: &[u8]) {
        // If the thread has ended on an error, `finish` reports it.
        let _ = self.to.send((at, packet.into()));
    }

    /// Waits until all packets are written.
    pub fn finish(self) -> io::Result<()> {
        drop(self.to);
        self.thread.join().unwrap_or_else(|_| {
            Err(io::Error::other(
                "the thread that writes a capture panicked",
            ))
        })
    }
}

fn header(to: &mut impl Write, device: &str) -> io::Result<()> {
    let version = [1_u16.to_le_bytes(), 0_u16.to_le_bytes()].concat();
    let magic = 0x1a2b_3c4d_u32.to_le_bytes();
    block(to, SECTION, &[&magic, &version, &u64::MAX.to_le_bytes()])?;
    let kind = [RAW_IP.to_le_bytes(), [0; 2]].concat();
    let resolution = option(9, &[9]); // if_tsresol: 10^-9
    block(
        to,
        INTERFACE,
        &[
            &kind,
            &0_u32.to_le_bytes(),
            &option(2, device.as_bytes()),
            &resolution,
            &[0; 4],
        ],
    )
}

fn packet(to: &mut impl Write, date: Span, packet: &[u8]) -> io::Result<()> {
    let ns = date.as_nanos();
    let head = [
        0,
        (ns >> 32) as u32,
        ns as u32,
        packet.len() as u32,
        packet.len() as u32,
    ]
    .map(u32::to_le_bytes)
    .concat();
    block(to, ENHANCED_PACKET, &[&head, packet, padding(packet.len())])
}

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    [
        &code.to_le_bytes(),
        &(value.len() as u16).to_le_bytes(),
        value,
        padding(value.len()),
    ]
    .concat()
}

fn padding(length: usize) -> &'static [u8] {
    &[0; 3][..(4 - length % 4) % 4]
}

fn block(to: &mut impl Write, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
    let length = 12 + parts.iter().map(|part| part.len()).sum::<usize>() as u32;
    to.write_all(&kind.to_le_bytes())?;
    to.write_all(&length.to_le_bytes())?;
    for part in parts {
        to.write_all(part)?;
    }
    to.write_all(&length.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_words_with_their_length_at_both_ends() {
        let mut bytes = Vec::new();
        header(&mut bytes, "near").unwrap();
        for length in 0..9 {
            packet(
                &mut bytes,
                Span::from_nanos(0x1_0000_0002),
                &[7; 8][..length.min(8)],
            )
            .unwrap();
        }
        let mut rest = &bytes[..];
        let mut kinds = Vec::new();
        let word =
            |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        while !rest.is_empty() {
            let length = word(rest, 4) as usize;
            assert_eq!((length % 4, word(rest, length - 4) as usize), (0, length));
            if word(rest, 0) == ENHANCED_PACKET {
                assert_eq!(
                    (word(rest, 12), word(rest, 16)),
                    (1, 2),
                    "the time, upper half first"
                );
                assert!(word(rest, 20) <= 8 && word(rest, 20) == word(rest, 24));
            }
            kinds.push(word(rest, 0));
            rest = &rest[length..];
        }
        assert_eq!(kinds[..2], [SECTION, INTERFACE]);
        assert_eq!(kinds[2..], [ENHANCED_PACKET; 9]);
    }
}
