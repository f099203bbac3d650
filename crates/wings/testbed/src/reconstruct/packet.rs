//! A TCP packet by its headers.

/// Fields that are used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// Time of CLOCK_MONOTONIC, ns.
    pub(crate) time: u64,
    /// Whether the packet leaves the interface at which it was seen.
    pub(crate) out: bool,
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) id: u16,
    /// Bytes on the wire, from the IP header on.
    pub(crate) size: u32,
    pub(crate) payload: u32,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) syn: bool,
    pub(crate) ce: bool,
    /// TSval and TSecr (RFC 7323).
    pub(crate) stamps: Option<(u32, u32)>,
    /// SACK blocks (RFC 2018), in the packet's order.
    pub(crate) blocks: Vec<(u32, u32)>,
}

const SYN: u8 = 0x02;

impl Packet {
    /// Parses IP and TCP headers; `None` unless they are TCP over IPv4 without IP options.
    pub(crate) fn read(time: u64, out: bool, size: u32, headers: &[u8]) -> Option<Packet> {
        let (ip, tcp) = headers.split_at_checked(20)?;
        if ip[0] != 0x45 || ip[9] != libc::IPPROTO_TCP as u8 {
            return None;
        }
        let options = tcp.get(20..usize::from(tcp.get(12)? >> 4) * 4)?;
        let u16_at = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let mut packet = Packet {
            time,
            out,
            source: u16_at(tcp, 0),
            destination: u16_at(tcp, 2),
            id: u16_at(ip, 4),
            size,
            payload: size.checked_sub(40 + options.len() as u32)?,
            seq: word(tcp, 4),
            ack: word(tcp, 8),
            syn: tcp[13] & SYN != 0,
            ce: ip[1] & 3 == 3,
            stamps: None,
            blocks: Vec::new(),
        };
        packet.read_options(options);
        Some(packet)
    }

    /// Reads the options. RFC 9293 §3.2: kind 0 ends them, 1 is a filler, all others have a length.
    fn read_options(&mut self, mut options: &[u8]) {
        loop {
            let length = match options {
                [1, ..] => 1,
                [kind, length, ..]
                    if *kind > 1 && *length >= 2 && usize::from(*length) <= options.len() =>
                {
                    usize::from(*length)
                }
                _ => return,
            };
            let (option, rest) = options.split_at(length);
            match option {
                [8, 10, ..] => self.stamps = Some((word(option, 2), word(option, 6))),
                [5, _, blocks @ ..] => {
                    self.blocks = blocks
                        .chunks_exact(8)
                        .map(|block| (word(block, 0), word(block, 4)))
                        .collect();
                }
                _ => {}
            }
            options = rest;
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_with_their_options() {
        let mut headers = vec![
            0x45, 0x03, 0, 0, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        headers.extend([
            0x13, 0x88, 0x13, 0x89, 0, 0, 0, 7, 0, 0, 0, 9, 0xd0, 0x10, 0, 0, 0, 0, 0, 0,
        ]);
        headers.extend([1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4, 1, 1, 5, 18]);
        headers.extend([0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 0, 0, 50]);
        let packet = Packet::read(5, true, 72 + 100, &headers).expect("a TCP segment");
        assert_eq!(
            (packet.source, packet.destination, packet.id),
            (5000, 5001, 0x1234)
        );
        assert_eq!(
            (
                packet.seq,
                packet.ack,
                packet.payload,
                packet.ce,
                packet.syn
            ),
            (7, 9, 100, true, false)
        );
        assert_eq!(
            (packet.stamps, &packet.blocks[..]),
            (Some((3, 4)), &[(20, 30), (40, 50)][..])
        );
        assert!(
            Packet::read(5, true, 60, &headers[..50]).is_none(),
            "cut off"
        );
    }
}
