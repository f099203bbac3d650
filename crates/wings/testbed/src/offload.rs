//! Super-packets: a TUN device with offloads hands over up to 64 kB of a flow in one read, with a
//! `struct virtio_net_hdr` in front, as Linux hands it to a NIC. [`Packets`] are those that a NIC
//! would send: the path decides on each of them.
//!
//! The bytes come from a program. With CAP_NET_RAW it can write the headers, too, with any values.

use crate::checksum::{add_up, checksum, pseudo_header};
use crate::device::MTU;

/// Length of `struct virtio_net_hdr` (linux/virtio_net.h). Its numbers have the machine's byte order
/// (tun.c, "legacy").
pub(crate) const HEADER: usize = 10;
/// Largest read: the header and a super-packet (GSO_LEGACY_MAX_SIZE).
pub(crate) const LARGEST: usize = HEADER + 65_536;
/// The header of a packet without offloads, as it is written.
pub(crate) const PLAIN: [u8; HEADER] = [0; HEADER];

pub(crate) const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
pub(crate) const GSO_TCPV4: u8 = 1;
/// UDP datagrams of one size (UDP_SEGMENT).
const GSO_UDP_L4: u8 = 5;
/// A flag of the type: the first segment has CWR.
const GSO_ECN: u8 = 0x80;

pub(crate) const TCP: u8 = 6;
const UDP: u8 = 17;
/// Flags of the last segment only.
const FIN_PSH: u8 = 0x09;
/// Flag of the first segment only (RFC 3168 §6.1.2).
const CWR: u8 = 0x80;

/// The packets of one read, in order, with complete checksums.
#[derive(Debug)]
pub(crate) struct Packets<'a> {
    /// IP and transport header of a super-packet; empty for a single packet.
    headers: &'a [u8],
    /// Payload, or the single packet, that is still to be returned.
    rest: &'a [u8],
    /// Payload of a packet.
    size: usize,
    /// Length of the IP header.
    ip: usize,
    /// Number of packets returned.
    count: usize,
}

impl<'a> Packets<'a> {
    /// Returns a packet without a `struct virtio_net_hdr` as it is.
    pub(crate) fn single(packet: &'a [u8]) -> Packets<'a> {
        Packets {
            headers: &[],
            rest: packet,
            size: packet.len(),
            ip: 0,
            count: 0,
        }
    }

    /// Splits the bytes of a read; `None` if they are malformed, or a packet would exceed the MTU.
    pub(crate) fn of(read: &'a mut [u8]) -> Option<Packets<'a>> {
        let (header, packet) = read.split_at_mut_checked(HEADER)?;
        let number = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        let (flags, kind, size) = (header[0], header[1] & !GSO_ECN, number(4));
        if kind == GSO_NONE {
            if flags & NEEDS_CSUM != 0 {
                complete(packet, number(6), number(8))?;
            }
            return (packet.len() <= MTU).then(|| Packets::single(packet));
        }
        let packet = &*packet;
        let ip = usize::from(packet.first()? & 0x0f) * 4;
        let is_fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff != 0;
        if packet[0] >> 4 != 4 || ip < 20 || is_fragment {
            return None;
        }
        let transport = match (kind, packet.get(9)?) {
            (GSO_TCPV4, &TCP) => usize::from(packet.get(ip + 12)? >> 4) * 4,
            (GSO_UDP_L4, &UDP) => 8,
            _ => return None,
        };
        let (headers, rest) = packet.split_at_checked(ip + transport)?;
        let is_whole = kind != GSO_TCPV4 || transport >= 20;
        let fits = size > 0 && headers.len() + size <= MTU && !rest.is_empty();
        (is_whole && fits).then_some(Packets {
            headers,
            rest,
            size,
            ip,
            count: 0,
        })
    }

    /// Fills in the fields in which the packets differ.
    fn finish(&self, packet: &mut [u8], is_last: bool) {
        let ip = self.ip;
        let length = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&length);
        add(&mut packet[4..6], self.count as u16);
        packet[10..12].fill(0);
        let sum = checksum(add_up(&packet[..ip]));
        packet[10..12].copy_from_slice(&sum);

        let pseudo = pseudo_header(packet, packet.len() - ip);
        let transport = &mut packet[ip..];
        let at = if self.headers[9] == UDP {
            let length = (transport.len() as u16).to_be_bytes();
            transport[4..6].copy_from_slice(&length);
            6
        } else {
            let sequence = [transport[4], transport[5], transport[6], transport[7]];
            let offset = (self.count * self.size) as u32;
            let sequence = u32::from_be_bytes(sequence).wrapping_add(offset);
            transport[4..8].copy_from_slice(&sequence.to_be_bytes());
            transport[13] &= !(if is_last { 0 } else { FIN_PSH });
            transport[13] &= !(if self.count == 0 { 0 } else { CWR });
            16
        };
        transport[at..at + 2].fill(0);
        let sum = checksum(pseudo + add_up(transport));
        transport[at..at + 2].copy_from_slice(&sum);
    }
}

impl Iterator for Packets<'_> {
    type Item = Box<[u8]>;

    fn next(&mut self) -> Option<Box<[u8]>> {
        if self.rest.is_empty() {
            return None;
        }
        let (payload, rest) = self.rest.split_at(self.size.min(self.rest.len()));
        self.rest = rest;
        if self.headers.is_empty() {
            return Some(payload.into());
        }
        let mut packet = Vec::with_capacity(self.headers.len() + payload.len());
        packet.extend_from_slice(self.headers);
        packet.extend_from_slice(payload);
        let mut packet = packet.into_boxed_slice();
        self.finish(&mut packet, rest.is_empty());
        self.count += 1;
        Some(packet)
    }
}

/// Completes a checksum from `start` on; its field, `offset` bytes behind, has the sum of the
/// pseudo-header.
fn complete(packet: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let covered = packet.get_mut(start..)?;
    let sum = checksum(add_up(covered));
    covered.get_mut(offset..offset + 2)?.copy_from_slice(&sum);
    Some(())
}

fn add(field: &mut [u8], more: u16) {
    let sum = u16::from_be_bytes([field[0], field[1]]).wrapping_add(more);
    field.copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checksum::fold;
    use crate::packet::Header;

    const SEQUENCE: u32 = u32::MAX - 5_000;

    /// Returns a packet without checksums: protocol 6 with 12 bytes of options, or 17.
    pub(crate) fn packet(protocol: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let headers = if protocol == TCP { 52 } else { 28 };
        let mut packet = vec![0; headers];
        packet[..9].copy_from_slice(&[0x45, 0x02, 0, 0, 0xff, 0xfe, 0x40, 0, 64]);
        packet[9] = protocol;
        packet[12..20].copy_from_slice(&[100, 64, 0, 1, 100, 64, 0, 2]);
        packet[20..24].copy_from_slice(&[0x14, 0x51, 0x80, 0x01]);
        if protocol == TCP {
            packet[24..28].copy_from_slice(&SEQUENCE.to_be_bytes());
            packet[28..34].copy_from_slice(&[1, 2, 3, 4, 0x80, flags]);
            packet[40..52].copy_from_slice(&[1, 1, 8, 10, 5, 6, 7, 8, 9, 10, 11, 12]);
        }
        packet.extend_from_slice(payload);
        packet
    }

    fn read(kind: u8, size: u16, packet: &[u8]) -> Vec<u8> {
        let mut read = vec![NEEDS_CSUM, kind];
        let offset = if packet[9] == TCP { 16 } else { 6 };
        for number in [packet.len() as u16, size, 20, offset] {
            read.extend(number.to_ne_bytes());
        }
        read.extend(packet);
        read
    }

    /// Asserts that the checksums are right, and the length is; computed word by word.
    pub(crate) fn assert_right(packet: &[u8]) {
        let plain = |bytes: &[u8]| {
            let mut sum = 0_u32;
            for word in bytes.chunks(2) {
                sum += u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0));
            }
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            sum
        };
        assert_eq!(plain(&packet[..20]), 0xffff, "IP");
        assert_eq!(packet[2..4], (packet.len() as u16).to_be_bytes());
        let length = (packet.len() as u16 - 20).to_be_bytes();
        let pseudo = [&packet[12..20], &[0, packet[9]], &length, &packet[20..]].concat();
        assert_eq!(plain(&pseudo), 0xffff, "TCP or UDP");
    }

    /// Returns what follows the headers of each packet.
    fn joined(packets: &[Box<[u8]>], headers: usize) -> Vec<u8> {
        let payloads = packets.iter().map(|packet| &packet[headers..]);
        payloads.collect::<Vec<_>>().concat()
    }

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|i| (i * 7 % 251) as u8).collect()
    }

    #[test]
    fn a_tcp_super_packet_becomes_the_segments_of_a_nic() {
        let payload = bytes(3 * 1_448 + 100);
        // ACK, PSH, FIN and CWR.
        let mut read = read(GSO_TCPV4 | GSO_ECN, 1_448, &packet(TCP, 0x99, &payload));
        let packets: Vec<_> = Packets::of(&mut read).unwrap().collect();
        assert_eq!(
            packets
                .iter()
                .map(|packet| packet.len())
                .collect::<Vec<_>>(),
            [1_500, 1_500, 1_500, 152]
        );
        let mut sequence = SEQUENCE;
        for (i, packet) in packets.iter().enumerate() {
            assert_right(packet);
            assert_eq!(
                packet[24..28],
                sequence.to_be_bytes(),
                "past the largest number"
            );
            sequence = sequence.wrapping_add(packet.len() as u32 - 52);
            assert_eq!(
                packet[4..6],
                0xfffe_u16.wrapping_add(i as u16).to_be_bytes()
            );
            assert_eq!(
                packet[33],
                [0x90, 0x10, 0x10, 0x19][i],
                "CWR is first, PSH and FIN are last"
            );
            assert_eq!(packet[40..52], read[HEADER + 40..HEADER + 52], "options");
        }
        assert_eq!(joined(&packets, 52), payload);
    }

    #[test]
    fn udp_datagrams_have_their_own_lengths() {
        let payload = bytes(2 * 1_200 + 1);
        let mut read = read(GSO_UDP_L4, 1_200, &packet(UDP, 0, &payload));
        let packets: Vec<_> = Packets::of(&mut read).unwrap().collect();
        for (packet, size) in packets.iter().zip([1_200_u16, 1_200, 1]) {
            assert_right(packet);
            assert_eq!(packet[24..26], (8 + size).to_be_bytes());
        }
        assert_eq!(joined(&packets, 28), payload);
    }

    #[test]
    fn a_single_packet_gets_its_checksum_and_no_other_change() {
        for (protocol, at) in [(TCP, 36), (UDP, 26)] {
            let mut one = packet(protocol, 0x10, &bytes(333));
            let length = (one.len() as u16).to_be_bytes();
            one[2..4].copy_from_slice(&length);
            let sum = checksum(add_up(&one[..20]));
            one[10..12].copy_from_slice(&sum);
            let partial = fold(pseudo_header(&one, one.len() - 20)).to_ne_bytes();
            one[at..at + 2].copy_from_slice(&partial);
            let mut read = read(GSO_NONE, 0, &one);
            let packets: Vec<_> = Packets::of(&mut read).unwrap().collect();
            assert_eq!(packets.len(), 1);
            assert_right(&packets[0]);
            one[at..at + 2].copy_from_slice(&packets[0][at..at + 2]);
            assert_eq!(*packets[0], *one);
            read[0] = 0;
            read[HEADER + at] ^= 1;
            let untouched = read[HEADER..].to_vec();
            let packets: Vec<_> = Packets::of(&mut read).unwrap().collect();
            assert_eq!(*packets[0], *untouched, "without the flag it stays wrong");
        }
    }

    #[test]
    fn what_no_kernel_sends_is_malformed() {
        let whole = packet(TCP, 0x10, &bytes(3_000));
        let is_refused = |read: &mut Vec<u8>| Packets::of(read).is_none();
        assert!(is_refused(&mut vec![0; HEADER - 1]));
        assert!(is_refused(&mut read(GSO_TCPV4, 0, &whole)), "no size");
        assert!(
            is_refused(&mut read(GSO_TCPV4, 1_449, &whole)),
            "larger than the MTU"
        );
        assert!(is_refused(&mut read(GSO_UDP_L4, 1_000, &whole)), "TCP");
        assert!(is_refused(&mut read(4, 1_000, &whole)), "TCP over IPv6");
        assert!(
            is_refused(&mut read(GSO_NONE, 0, &whole)),
            "larger than the MTU"
        );
        assert!(
            is_refused(&mut read(GSO_TCPV4, 1_448, &whole[..52])),
            "no payload"
        );
        for (at, value) in [(0, 0x65), (0, 0x44), (6, 0x20), (7, 1), (32, 0x40)] {
            let mut wrong = whole.clone();
            wrong[at] = value;
            assert!(is_refused(&mut read(GSO_TCPV4, 1_000, &wrong)), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_packet_beyond_the_mtu(
            flags: u8,
            kind in prop_oneof![Just(0_u8), Just(1), Just(5), Just(0x81), any::<u8>()],
            numbers in prop::array::uniform4(prop_oneof![0_u16..2_000, any::<u16>()]),
            begins in 0_usize..4,
            length in 0_usize..5_000,
            noise in prop::collection::vec((0_usize..64, any::<u8>()), 0..6),
        ) {
            let mut bytes = packet([TCP, UDP][begins % 2], 0x18, &bytes(length));
            for (at, value) in noise {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            if begins > 1 {
                bytes.truncate(length % 80);
            }
            let mut read = vec![flags, kind];
            numbers.iter().for_each(|number| read.extend(number.to_ne_bytes()));
            read.extend(&bytes);
            let mut total = 0;
            for packet in Packets::of(&mut read).into_iter().flatten() {
                prop_assert!(packet.len() <= MTU);
                let _ = Header::read(&packet);
                total += packet.len();
            }
            // The smallest segment has a byte of payload, and headers again.
            prop_assert!(total <= bytes.len() * 121);
        }

        #[test]
        fn segments_tile_the_payload(
            length in 1_usize..20_000,
            size in 1_u16..1_448,
            flags: u8,
            is_tcp: bool,
        ) {
            let (protocol, kind) = if is_tcp { (TCP, GSO_TCPV4) } else { (UDP, GSO_UDP_L4) };
            let payload = bytes(length);
            let whole = packet(protocol, flags, &payload);
            let headers = whole.len() - length;
            let mut read = read(kind, size, &whole);
            let packets: Vec<_> = Packets::of(&mut read).unwrap().collect();
            prop_assert_eq!(packets.len(), length.div_ceil(usize::from(size)));
            packets.iter().for_each(|packet| assert_right(packet));
            prop_assert_eq!(joined(&packets, headers), payload);
        }
    }
}
