//! Bursts: packets of a flow that leave the path late, together, are written as one super-packet.
//!
//! A packet never waits for another. If the forwarder is on time, each packet is written alone, also
//! where several are due at one time; if it is late, a burst costs little more than a packet, so that
//! the forwarder can catch up.

use std::io::IoSlice;
use std::sync::Arc;

use crate::checksum::{add_up, checksum, fold, pseudo_header};
use crate::device::Tun;
use crate::forward::Frame;
use crate::offload::{GSO_TCPV4, HEADER, NEEDS_CSUM, PLAIN, TCP};

/// The way out of the path, to one end.
#[derive(Debug)]
pub(crate) struct Outlet {
    pub(crate) tun: Arc<Tun>,
    burst: Burst,
}

impl Outlet {
    pub(crate) fn new(tun: &Arc<Tun>) -> Outlet {
        Outlet {
            tun: Arc::clone(tun),
            burst: Burst::default(),
        }
    }

    /// Delivers a packet at once, or if it is late, at the latest when [`flush`](Outlet::flush) is
    /// called.
    pub(crate) fn deliver(&mut self, packet: Frame, is_late: bool) {
        if !self.tun.has_offloads() {
            // If an end accepts no more packets, its host drops and counts them.
            let _ = self.tun.write(&[IoSlice::new(&packet)]);
            return;
        }
        if let Err(packet) = self.burst.push(packet) {
            self.flush();
            let first = self.burst.push(packet);
            first.unwrap_or_else(|_| unreachable!("an empty burst takes every packet"));
        }
        if !is_late {
            self.flush();
        }
    }

    /// Writes the late packets that were delivered together.
    pub(crate) fn flush(&mut self) {
        self.burst.flush(|parts| self.tun.write(parts).is_ok());
    }
}

/// Packets that leave the path at one time, and continue each other: a NIC would hand them over
/// together (GRO).
#[derive(Debug, Default)]
struct Burst {
    packets: Vec<Frame>,
    /// Header of the first packet, and the payload in all.
    first: Option<Segment>,
    payload: usize,
    /// Whether no packet may follow: the last one is shorter than the first, or has PSH.
    is_closed: bool,
}

/// Fields of a TCP segment.
#[derive(Clone, Copy, Debug)]
struct Segment {
    headers: usize,
    sequence: u32,
    has_psh: bool,
}

const IP: usize = 20;
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const CE: u8 = 0b11;

impl Segment {
    /// Reads a segment that may be part of a burst: data, with no flags but ACK and PSH, without IP
    /// options. CE marks stay apart: a receiver may count them by packet.
    fn read(packet: &[u8]) -> Option<Segment> {
        let &[0x45, tos, high, low, _, _, fragment, offset, _, TCP, ..] = packet else {
            return None;
        };
        let tcp = packet.get(IP..)?;
        let headers = IP + usize::from(tcp.get(12)? >> 4) * 4;
        let flags = *tcp.get(13)?;
        let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let is_plain = tos & CE != CE && fragment & 0x3f == 0 && offset == 0;
        let is_whole = headers >= IP + 20
            && packet.len() > headers
            && packet.len() == usize::from(u16::from_be_bytes([high, low]));
        (is_plain && is_whole && flags & !PSH == ACK).then_some(Segment {
            headers,
            sequence,
            has_psh: flags & PSH != 0,
        })
    }
}

impl Burst {
    /// Adds a packet that continues the burst; gives others back.
    fn push(&mut self, packet: Frame) -> Result<(), Frame> {
        let segment = Segment::read(&packet);
        let Some(before) = self.packets.first() else {
            self.first = segment;
            self.payload = packet.len() - segment.map_or(0, |segment| segment.headers);
            self.is_closed = segment.is_none_or(|segment| segment.has_psh);
            self.packets.push(packet);
            return Ok(());
        };
        let (Some(first), Some(next), false) = (self.first, segment, self.is_closed) else {
            return Err(packet);
        };
        let (size, more) = (before.len() - first.headers, packet.len() - next.headers);
        let continues = next.sequence == first.sequence.wrapping_add(self.payload as u32)
            && first.headers == next.headers
            && more <= size
            && first.headers + self.payload + more <= 0xffff
            && is_alike(&before[..first.headers], &packet[..next.headers])
            && (self.packets.len() > 1 || is_right(before))
            && is_right(&packet);
        if !continues {
            return Err(packet);
        }
        self.payload += more;
        self.is_closed = more < size || next.has_psh;
        self.packets.push(packet);
        Ok(())
    }

    /// Passes the parts of the frame to be written to `write`, and empties the burst. If a
    /// super-packet can't be written, each of its packets is.
    fn flush(&mut self, mut write: impl FnMut(&[IoSlice<'_>]) -> bool) {
        let single = |packet: &Frame, write: &mut dyn FnMut(&[IoSlice<'_>]) -> bool| {
            // If an end accepts no more packets, its host drops and counts them.
            let _ = write(&[IoSlice::new(&PLAIN), IoSlice::new(packet)]);
        };
        match (&self.packets[..], self.first) {
            ([], _) => return,
            ([packet], _) => single(packet, &mut write),
            ([before, .., last], Some(first)) => {
                let header = self.header(before, last, first.headers);
                let mut parts = vec![IoSlice::new(&header)];
                let payloads = self.packets.iter().map(|packet| &packet[first.headers..]);
                parts.extend(payloads.map(IoSlice::new));
                if !write(&parts) {
                    self.packets
                        .iter()
                        .for_each(|packet| single(packet, &mut write));
                }
            }
            (_, None) => unreachable!("only segments are joined"),
        }
        self.packets.clear();
    }

    /// Returns the headers of a super-packet. Its TCP checksum is partial, which the kernel takes for
    /// right, as between its own namespaces: those of the packets were checked.
    fn header(&self, first: &[u8], last: &[u8], headers: usize) -> Vec<u8> {
        let length = headers + self.payload;
        let size = first.len() - headers;
        let mut header = vec![NEEDS_CSUM, GSO_TCPV4];
        for number in [headers, size, IP, 16] {
            header.extend((number as u16).to_ne_bytes());
        }
        header.extend(&first[..headers]);
        let packet = &mut header[HEADER..];
        packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packet[10..12].fill(0);
        let sum = checksum(add_up(&packet[..IP]));
        packet[10..12].copy_from_slice(&sum);
        packet[IP + 13] |= last[IP + 13] & PSH;
        let sum = fold(pseudo_header(packet, length - IP)).to_ne_bytes();
        packet[IP + 16..IP + 18].copy_from_slice(&sum);
        header
    }
}

/// Returns whether two headers differ only in length, ID, checksums, sequence number and PSH.
fn is_alike(one: &[u8], other: &[u8]) -> bool {
    let same = |range: std::ops::Range<usize>| one[range.clone()] == other[range];
    same(0..2) && same(6..10) && same(12..24) && same(28..33) && same(34..36) && same(38..one.len())
}

/// Returns whether the checksums of a segment are right. A program with CAP_NET_RAW may send wrong
/// ones, which the receiver has to see.
fn is_right(packet: &[u8]) -> bool {
    let tcp = pseudo_header(packet, packet.len() - IP) + add_up(&packet[IP..]);
    fold(tcp) == 0xffff && fold(add_up(&packet[..IP])) == 0xffff
}

#[cfg(test)]
mod tests {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    use proptest::prelude::*;

    use super::*;
    use crate::offload::Packets;
    use crate::offload::tests::{assert_right, packet};

    /// Returns segments of 1000 bytes, the last one shorter.
    fn segments(flags: u8, payload: &[u8]) -> Vec<Frame> {
        let mut read = vec![NEEDS_CSUM, GSO_TCPV4];
        for number in [52_u16, 1_000, 20, 16] {
            read.extend(number.to_ne_bytes());
        }
        read.extend(packet(TCP, flags, payload));
        Packets::of(&mut read).unwrap().collect()
    }

    fn burst_of(segments: &[Frame]) -> Burst {
        let mut burst = Burst::default();
        for segment in segments {
            burst.push(segment.clone()).unwrap();
        }
        burst
    }

    fn written(burst: &mut Burst) -> Vec<u8> {
        let mut bytes = Vec::new();
        burst.flush(|parts| {
            parts.iter().for_each(|part| bytes.extend_from_slice(part));
            true
        });
        bytes
    }

    fn payload() -> Vec<u8> {
        (0..3_500).map(|i| (i % 241) as u8).collect()
    }

    #[test]
    fn a_burst_is_split_into_the_same_packets() {
        let segments = segments(0x18, &payload());
        let mut burst = burst_of(&segments);
        assert!(burst.push(segments[0].clone()).is_err(), "PSH ends a burst");
        let mut frame = written(&mut burst);
        assert_eq!(frame.len(), HEADER + 52 + 3_500);
        let again: Vec<_> = Packets::of(&mut frame).unwrap().collect();
        assert_eq!(again, segments);
        assert!(written(&mut burst).is_empty());
    }

    #[test]
    fn a_burst_that_is_refused_is_written_packet_by_packet() {
        let segments = segments(0x18, &payload());
        let mut burst = burst_of(&segments);
        let mut frames: Vec<Vec<u8>> = Vec::new();
        burst.flush(|parts| {
            let whole: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
            let is_single = whole.len() <= HEADER + 1_500;
            is_single.then(|| frames.push(whole)).is_some()
        });
        let expected: Vec<_> = segments
            .iter()
            .map(|packet| [&PLAIN[..], packet].concat())
            .collect();
        assert_eq!(frames, expected);
    }

    #[test]
    fn a_single_packet_is_written_as_it_came() {
        let mut wrong = segments(0x18, &payload())[0].clone();
        wrong[36] ^= 1;
        for packet in [wrong, [1, 2, 3].into(), [0; 1_500].into()] {
            let mut burst = Burst::default();
            burst.push(packet.clone()).unwrap();
            assert!(burst.push(packet.clone()).is_err());
            assert_eq!(written(&mut burst), [&PLAIN, &*packet].concat());
        }
    }

    #[test]
    fn packets_that_a_receiver_has_to_see_apart_stay_apart() {
        let segments = segments(0x10, &payload());
        let follows = |change: &dyn Fn(&mut Frame)| {
            let (mut burst, mut next) = (Burst::default(), segments[1].clone());
            change(&mut next);
            burst.push(segments[0].clone()).unwrap();
            burst.push(next).is_ok()
        };
        let with = |at: usize, value: u8| {
            follows(&|packet: &mut Frame| {
                packet[at] = value;
                packet[10..12].fill(0);
                let sum = checksum(add_up(&packet[..20]));
                packet[10..12].copy_from_slice(&sum);
                packet[36..38].fill(0);
                let sum =
                    checksum(pseudo_header(packet, packet.len() - 20) + add_up(&packet[20..]));
                packet[36..38].copy_from_slice(&sum);
                assert_right(packet);
            })
        };
        assert!(follows(&|_| {}) && with(4, 9) && with(60, 1));
        assert!(!with(1, 0x03), "CE");
        assert!(!with(1, 0x00), "another ECN field");
        assert!(!with(8, 63), "another TTL");
        assert!(!with(12, 101) && !with(23, 9), "another flow");
        assert!(!with(27, 0), "a gap");
        assert!(!with(31, 0), "another ACK");
        assert!(
            !with(32, 0x81) && !with(33, 0x90) && !with(33, 0x11),
            "flags"
        );
        assert!(!with(34, 1), "another window");
        assert!(!with(48, 1), "another option");
        assert!(!follows(&|packet| packet[36] ^= 1) && !follows(&|packet| packet[10] ^= 1));
        let (mut burst, mut longer) = (Burst::default(), segments[3].clone());
        burst.push(longer.clone()).unwrap();
        longer.clone_from(&segments[0]);
        assert!(burst.push(longer).is_err(), "a shorter one is the last");
    }

    #[test]
    fn only_late_packets_are_written_together() {
        let (near, far) = socketpair(
            AddressFamily::Unix,
            SockType::SeqPacket,
            None,
            SockFlag::SOCK_NONBLOCK,
        )
        .unwrap();
        let mut outlet = Outlet::new(&Arc::new(Tun::on(near)));
        let lengths = || {
            let mut buffer = [0; 4_096];
            std::iter::from_fn(|| nix::unistd::read(&far, &mut buffer).ok()).collect::<Vec<_>>()
        };
        let segments = segments(0x10, &payload());
        let deliver = |outlet: &mut Outlet, is_late: bool| {
            for segment in &segments {
                outlet.deliver(segment.clone(), is_late);
            }
        };
        let alone = [1_062, 1_062, 1_062, 562];
        deliver(&mut outlet, false);
        assert_eq!(lengths(), alone, "due at one time, and on time");
        deliver(&mut outlet, true);
        assert!(lengths().is_empty(), "until the flush");
        outlet.flush();
        assert_eq!(lengths(), [HEADER + 52 + 3_500]);
        outlet.deliver(segments[0].clone(), true);
        outlet.deliver(segments[1].clone(), false);
        assert_eq!(
            lengths(),
            [HEADER + 52 + 2_000],
            "no packet waits for another"
        );
    }

    proptest! {
        #[test]
        fn what_is_pushed_is_what_is_written(
            changes in prop::collection::vec((0_usize..4, 0_usize..80, any::<u8>(), any::<bool>()), 1..30),
        ) {
            let segments = segments(0x18, &payload());
            let (mut burst, mut pushed, mut split) = (Burst::default(), Vec::new(), Vec::new());
            let split_up = |frame: Vec<u8>, split: &mut Vec<Frame>| {
                let mut frame = frame;
                split.extend(Packets::of(&mut frame).unwrap());
            };
            for (index, at, value, is_changed) in changes {
                let mut packet = segments[index].clone();
                if is_changed {
                    packet[at] = value;
                }
                pushed.push(packet.clone());
                if let Err(packet) = burst.push(packet) {
                    split_up(written(&mut burst), &mut split);
                    burst.push(packet).unwrap();
                }
            }
            split_up(written(&mut burst), &mut split);
            // IDs of a burst count up from its first packet's.
            for packet in pushed.iter_mut().chain(&mut split) {
                packet[4..6].fill(0);
                packet[10..12].fill(0);
            }
            prop_assert_eq!(split, pushed);
        }
    }
}
