//! The fields of an IPv4 packet that a forwarder reads and writes.

use fullpipe_emulator::PacketKind;
use fullpipe_path::EcnCodepoint;

/// A packet's header, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The ECN field.
    pub ecn: EcnCodepoint,
    /// Kind of packet. A TCP segment without data is an ACK, but a SYN, or a FIN or RST without
    /// data, counts as another packet. Everything else is data.
    pub kind: PacketKind,
    /// A hash of addresses, protocol and ports.
    pub key: u32,
    /// Source and destination port of TCP and UDP; zero for other protocols.
    pub ports: (u16, u16),
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 0x02;
const FIN_RST: u8 = 0x05;

impl Header {
    /// Parses a packet; `None` unless it begins with a complete IPv4 header.
    pub fn read(packet: &[u8]) -> Option<Header> {
        let first = *packet.first()?;
        let length = usize::from(first & 0x0f) * 4;
        if first >> 4 != 4 || length < 20 || packet.len() < length {
            return None;
        }
        let (protocol, payload) = (packet[9], &packet[length..]);
        let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff;
        let has_ports = fragment == 0 && (protocol == TCP || protocol == UDP) && payload.len() >= 4;
        let ports = match has_ports {
            true => (
                u16::from_be_bytes([payload[0], payload[1]]),
                u16::from_be_bytes([payload[2], payload[3]]),
            ),
            false => (0, 0),
        };
        let kind = match (protocol, fragment, payload.get(12..14)) {
            (TCP, 0, Some(&[offset, flags])) => {
                let has_data = payload.len() > usize::from(offset >> 4) * 4;
                match (flags & SYN != 0, has_data, flags & FIN_RST != 0) {
                    (true, ..) | (_, false, true) => PacketKind::Other,
                    (false, true, _) => PacketKind::Data,
                    (false, false, false) => PacketKind::Ack,
                }
            }
            _ => PacketKind::Data,
        };
        Some(Header {
            ecn: ecn(packet[1]),
            kind,
            key: key(packet, protocol, ports),
            ports,
        })
    }
}

fn ecn(tos: u8) -> EcnCodepoint {
    match tos & 0b11 {
        0b00 => EcnCodepoint::NotEct,
        0b10 => EcnCodepoint::Ect0,
        0b01 => EcnCodepoint::Ect1,
        _ => EcnCodepoint::Ce,
    }
}

/// Replaces the ECN field of an IPv4 packet, and updates the checksum.
pub fn set_ecn(packet: &mut [u8], ecn: EcnCodepoint) {
    let bits = match ecn {
        EcnCodepoint::NotEct => 0b00,
        EcnCodepoint::Ect0 => 0b10,
        EcnCodepoint::Ect1 => 0b01,
        EcnCodepoint::Ce => 0b11,
    };
    let old = u16::from_be_bytes([packet[0], packet[1]]);
    let new = old & !0b11 | bits;
    if new == old {
        return;
    }
    packet[1] = new as u8;
    // RFC 1624, equation 3.
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// FNV-1a; queues mix the hash with a salt of their own.
fn key(packet: &[u8], protocol: u8, (source, destination): (u16, u16)) -> u32 {
    let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    let bytes = packet[12..20]
        .iter()
        .chain(&ports)
        .chain(std::slice::from_ref(&protocol));
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(tos: u8, flags: u8, data: usize) -> Vec<u8> {
        let mut packet = vec![0; 40 + data];
        packet[..2].copy_from_slice(&[0x45, tos]);
        packet[2..4].copy_from_slice(&((40 + data) as u16).to_be_bytes());
        packet[8..10].copy_from_slice(&[64, TCP]);
        packet[12..20].copy_from_slice(&[100, 64, 0, 1, 100, 64, 0, 2]);
        packet[20..24].copy_from_slice(&[0x14, 0x51, 0x80, 0x01]);
        packet[32..34].copy_from_slice(&[0x50, flags]);
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&(!sum).to_be_bytes());
        packet
    }

    /// Returns the one's complement sum of the header, which is 0xffff if its checksum is right.
    fn checksum(packet: &[u8]) -> u16 {
        let mut sum: u32 = packet[..20]
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn data_acks_and_handshakes_are_told_apart() {
        let kind = |flags, data| Header::read(&packet(0, flags, data)).map(|header| header.kind);
        assert_eq!(kind(0x10, 1_000), Some(PacketKind::Data));
        assert_eq!(kind(0x10, 0), Some(PacketKind::Ack));
        assert_eq!(
            (kind(0x11, 0), kind(0x14, 0)),
            (Some(PacketKind::Other), Some(PacketKind::Other)),
            "FIN and RST alone"
        );
        assert_eq!(kind(0x19, 9), Some(PacketKind::Data), "a FIN with data");
        assert_eq!(kind(0x12, 0), Some(PacketKind::Other));
        assert_eq!(
            Header::read(&packet(0, 0x10, 0)).map(|header| header.ports),
            Some((5_201, 32_769))
        );
    }

    #[test]
    fn what_is_cut_or_not_ipv4_is_none() {
        let whole = packet(0, 0x10, 100);
        for length in 0..20 {
            assert_eq!(Header::read(&whole[..length]), None);
        }
        for length in 20..whole.len() {
            assert!(
                Header::read(&whole[..length]).is_some(),
                "a truncated payload does not matter"
            );
        }
        assert_eq!(Header::read(&[0x60; 60]), None);
    }

    #[test]
    fn a_new_ecn_field_keeps_the_checksum_right() {
        for from in 0..=255 {
            for ecn in [
                EcnCodepoint::NotEct,
                EcnCodepoint::Ect0,
                EcnCodepoint::Ect1,
                EcnCodepoint::Ce,
            ] {
                let mut packet = packet(from, 0x10, 10);
                assert_eq!(checksum(&packet), 0xffff);
                set_ecn(&mut packet, ecn);
                assert_eq!(checksum(&packet), 0xffff);
                assert_eq!(Header::read(&packet).map(|header| header.ecn), Some(ecn));
                assert_eq!(packet[1] >> 2, from >> 2, "the DSCP stays");
            }
        }
    }

    #[test]
    fn queues_tell_connections_and_directions_apart() {
        let (there, mut back) = (packet(0, 0x10, 0), packet(0, 0x10, 0));
        back[12..20].rotate_left(4);
        back[20..24].rotate_left(2);
        let key = |packet: &[u8]| Header::read(packet).map(|header| header.key);
        assert_ne!(key(&there), key(&back));
        assert_eq!(key(&there), key(&packet(3, 0x18, 900)));
    }
}
