//! Super-packets: a TUN device with offloads hands over up to 64 kB of a flow in one read, with a
//! `struct virtio_net_hdr` in front, as Linux hands it to a NIC. [`Packets`] are those that a NIC
//! would send: the path decides on each of them.
//!
//! The bytes come from a program that may send what it likes (with CAP_NET_RAW, also such headers).

use crate::device::MTU;

/// Length of `struct virtio_net_hdr` (linux/virtio_net.h). Its numbers have the machine's byte order
/// (tun.c, "legacy").
pub(crate) const HEADER: usize = 10;
/// Largest read: the header and a super-packet (GSO_LEGACY_MAX_SIZE).
pub(crate) const LARGEST: usize = HEADER + 65_536;
/// The header of a packet without offloads, as it is written.
pub(crate) const PLAIN: [u8; HEADER] = [0; HEADER];

const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
/// UDP datagrams of one size (UDP_SEGMENT).
const GSO_UDP_L4: u8 = 5;
/// A flag of the type: the first segment has CWR.
const GSO_ECN: u8 = 0x80;

const TCP: u8 = 6;
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

    /// Splits what was read; `None` if that is malformed, or a packet would exceed the MTU.
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

        let length = (packet.len() - ip) as u16;
        let pseudo =
            add_up(&packet[12..20]) + add_up(&[0, packet[9]]) + add_up(&length.to_be_bytes());
        let transport = &mut packet[ip..];
        let at = if self.headers[9] == UDP {
            transport[4..6].copy_from_slice(&length.to_be_bytes());
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

/// Returns the sum of all 16-bit words in the machine's byte order, which does not matter
/// (RFC 1071 §2 (B)). All words but the last are whole.
fn add_up(bytes: &[u8]) -> u64 {
    let mut sums = [0_u64; 8];
    let mut blocks = bytes.chunks_exact(32);
    for block in &mut blocks {
        for (sum, word) in sums.iter_mut().zip(block.chunks_exact(4)) {
            *sum += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        }
    }
    let mut words = blocks.remainder().chunks_exact(2);
    let mut sum: u64 = sums.iter().sum();
    for word in &mut words {
        sum += u64::from(u16::from_ne_bytes([word[0], word[1]]));
    }
    match words.remainder() {
        [last] => sum + u64::from(u16::from_ne_bytes([*last, 0])),
        _ => sum,
    }
}

/// Returns the bytes of a checksum. Zero is sent as its other form, as Linux does: UDP's zero is "none".
fn checksum(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => [0xff; 2],
        sum => sum.to_ne_bytes(),
    }
}
