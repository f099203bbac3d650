//! Messages of sock_diag: `include/uapi/linux/{netlink,sock_diag,inet_diag}.h`.

use super::filter::Filter;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQ_BYTECODE: u16 = 1;
const HEADER: usize = 16;
/// `struct inet_diag_msg`.
pub(super) const SOCKET: usize = 72;

/// Attributes: INET_DIAG_…
pub(super) const INFO: u16 = 2;
pub(super) const CONG: u16 = 4;
pub(super) const SKMEMINFO: u16 = 7;
pub(super) const DCTCPINFO: u16 = 9;
pub(super) const BBRINFO: u16 = 16;
const VEGASINFO: u16 = 3;

/// Returns a request for a dump of a family's TCP sockets.
pub(super) fn request(family: i32, filter: &Filter, sequence: u32) -> Vec<u8> {
    let program = filter.program();
    let attribute = if program.is_empty() {
        0
    } else {
        4 + program.len()
    };
    let length = u32::try_from(HEADER + 56 + attribute).expect("a filter is short");
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
    let mut request = Vec::new();
    request.extend(length.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(u16::try_from(flags).expect("16 bits").to_ne_bytes());
    request.extend(sequence.to_ne_bytes());
    request.extend([0; 4]);
    // The bit of Vegas requests the information of every algorithm.
    let wanted: u8 = [INFO, VEGASINFO, CONG, SKMEMINFO]
        .iter()
        .map(|attribute| 1u8 << (attribute - 1))
        .sum();
    let family = u8::try_from(family).expect("they are small numbers");
    request.extend([
        family,
        u8::try_from(libc::IPPROTO_TCP).expect("6"),
        wanted,
        0,
    ]);
    request.extend(filter.states.to_ne_bytes());
    request.extend([0; 48]);
    if attribute > 0 {
        request.extend(
            u16::try_from(attribute)
                .expect("a filter is short")
                .to_ne_bytes(),
        );
        request.extend(REQ_BYTECODE.to_ne_bytes());
        request.extend(program);
    }
    request
}

/// A message of the answer.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Socket {
        message: &'a [u8],
        /// Whether the table changed during the dump.
        interrupted: bool,
    },
    Done,
    Error(i32),
}

/// Returns the messages in a piece that answer a request.
pub(super) fn parts(piece: &[u8], sequence: u32) -> impl Iterator<Item = Part<'_>> {
    let mut rest = piece;
    std::iter::from_fn(move || {
        loop {
            let length = word(rest, 0)? as usize;
            let message = rest.get(..length).filter(|_| length >= HEADER)?;
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            if word(message, 8)? != sequence {
                continue;
            }
            let (kind, flags) = (i32::from(half(message, 4)?), i32::from(half(message, 6)?));
            return Some(match kind {
                libc::NLMSG_DONE => Part::Done,
                libc::NLMSG_ERROR => {
                    Part::Error(word(message, HEADER)?.cast_signed().wrapping_neg())
                }
                _ if message.len() < HEADER + SOCKET => continue,
                _ => Part::Socket {
                    message: &message[HEADER..],
                    interrupted: flags & libc::NLM_F_DUMP_INTR != 0,
                },
            });
        }
    })
}

/// Returns the attributes of a socket's message.
pub(super) fn attributes(message: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = message.get(SOCKET..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = usize::from(half(rest, 0)?);
        let kind = half(rest, 2)?;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

pub(super) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
