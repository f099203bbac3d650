//! One TCP segment or UDP datagram of a packet: its sender, its place in the sequence, and its
//! length.

use std::net::IpAddr;

use etherparse::{IpNumber, Ipv6ExtensionSlice, LaxIpv4Slice, LaxIpv6Slice};

/// Identity of a connection: both ends, the lower one first, so that both directions have the same
/// key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    addresses: [u128; 2],
    ports: [u16; 2],
    pub(crate) protocol: Protocol,
    v6: bool,
}

/// Protocol above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp = 6,
    Udp = 17,
}

/// A packet, as seen by its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) key: Key,
    /// Index of the sending end in the key.
    pub(crate) sender: usize,
    pub(crate) flags: Flags,
    /// Sequence number of the first payload byte, or of the SYN.
    pub(crate) sequence: u32,
    /// Length by the IP header, even if less was captured.
    pub(crate) payload: u32,
}

/// TCP's flags that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    pub(crate) fn fin(self) -> bool {
        self.0 & 1 != 0
    }
    pub(crate) fn syn(self) -> bool {
        self.0 & 2 != 0
    }
    pub(crate) fn rst(self) -> bool {
        self.0 & 4 != 0
    }
    pub(crate) fn ack(self) -> bool {
        self.0 & 16 != 0
    }
}

impl Key {
    pub(crate) fn address(&self, end: usize) -> IpAddr {
        if self.v6 {
            IpAddr::V6(self.addresses[end].into())
        } else {
            IpAddr::V4((self.addresses[end] as u32).into())
        }
    }

    pub(crate) fn port(&self, end: usize) -> u16 {
        self.ports[end]
    }

    /// Returns the key as words for a hash.
    pub(crate) fn words(&self) -> ([u128; 2], u64) {
        let small = (u64::from(self.ports[0]) << 32)
            | (u64::from(self.ports[1]) << 16)
            | self.protocol as u64;
        (self.addresses, small)
    }
}

/// Content of a packet, as far as flows are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dissected<'a> {
    /// A complete segment or datagram, and its bytes from the TCP or UDP header on.
    Whole(Segment, &'a [u8]),
    /// The first fragment of a datagram, with the length of the TCP or UDP header, and the bytes from
    /// there on. Later fragments have no ports.
    First(Segment, Datagram, u32, &'a [u8]),
    /// A later fragment: its length, and its offset in the datagram's content.
    Later(Datagram, u32, u32),
    /// Not IP, or not one of the requested protocols.
    Other,
    /// Too little was captured, or a header is invalid.
    Unreadable,
}

/// Common properties of a datagram's fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Datagram {
    source: u128,
    destination: u128,
    identification: u32,
    protocol: u8,
}

/// Content of an IP packet.
struct Within {
    source: u128,
    destination: u128,
    v6: bool,
    protocol: u8,
    /// Offset of the protocol's header in the packet.
    start: usize,
    /// Length of the protocol's header and payload, by the IP header; `None` if that does not give
    /// it.
    length: Option<usize>,
    /// Identification and offset, if this is a fragment.
    fragment: Option<(u32, u32)>,
}

impl Within {
    /// Returns the datagram that this fragment belongs to, and its offset there.
    #[inline]
    fn datagram(&self) -> Option<(Datagram, u32)> {
        let (identification, offset) = self.fragment?;
        let datagram = Datagram {
            source: self.source,
            destination: self.destination,
            identification,
            protocol: self.protocol,
        };
        Some((datagram, offset))
    }

    /// Returns the connection's key, and the index of the sending end.
    #[inline]
    fn key(&self, ports: [u16; 2], protocol: Protocol) -> (Key, usize) {
        let ends = [(self.source, ports[0]), (self.destination, ports[1])];
        let sender = usize::from(ends[0] > ends[1]);
        let (low, high) = (ends[sender], ends[1 - sender]);
        let key = Key {
            addresses: [low.0, high.0],
            ports: [low.1, high.1],
            protocol,
            v6: self.v6,
        };
        (key, sender)
    }
}

/// Reads an IP packet, which may not be captured completely; `wire` is its full length.
#[inline]
pub(crate) fn dissect(packet: &[u8], wire: usize, udp: bool) -> Dissected<'_> {
    let within = match packet.first().map(|first| first >> 4) {
        Some(4) => v4(packet),
        Some(6) => v6(packet),
        _ => return Dissected::Other,
    };
    let Some(within) = within else {
        return Dissected::Unreadable;
    };
    let protocol = match within.protocol {
        6 => Protocol::Tcp,
        17 if udp => Protocol::Udp,
        _ => return Dissected::Other,
    };
    // The length may be zero: segments that the device will split (TSO) exceed IP's length field.
    // Use the captured length instead.
    let Some(length) = within.length.or_else(|| wire.checked_sub(within.start)) else {
        return Dissected::Unreadable;
    };
    let datagram = within.datagram();
    if let Some((datagram, offset @ 1..)) = datagram {
        return Dissected::Later(datagram, length as u32, offset);
    }
    let bytes = packet.get(within.start..).unwrap_or_default();
    let Some((ports, sequence, flags, header)) = transport(protocol, bytes) else {
        return Dissected::Unreadable;
    };
    let Some(payload) = length.checked_sub(header) else {
        return Dissected::Unreadable;
    };
    let (key, sender) = within.key(ports, protocol);
    let segment = Segment {
        key,
        sender,
        flags,
        sequence,
        payload: payload as u32,
    };
    match datagram {
        Some((datagram, _)) => Dissected::First(segment, datagram, header as u32, bytes),
        None => Dissected::Whole(segment, bytes),
    }
}

#[inline]
fn v4(packet: &[u8]) -> Option<Within> {
    let (ip, None) = LaxIpv4Slice::from_slice(packet).ok()? else {
        return None;
    };
    let header = ip.header();
    let start = header.slice().len() + ip.extensions().auth.map_or(0, |auth| auth.slice().len());
    let fragment = header.is_fragmenting_payload();
    Some(Within {
        source: u32::from(header.source_addr()).into(),
        destination: u32::from(header.destination_addr()).into(),
        v6: false,
        protocol: ip.payload_ip_number().0,
        start,
        length: usize::from(header.total_len()).checked_sub(start),
        fragment: fragment.then(|| {
            (
                header.identification().into(),
                u32::from(header.fragments_offset().byte_offset()),
            )
        }),
    })
}

#[inline]
fn v6(packet: &[u8]) -> Option<Within> {
    let (ip, None) = LaxIpv6Slice::from_slice(packet).ok()? else {
        return None;
    };
    let header = ip.header();
    let extensions = ip.extensions();
    let before = extensions.slice().len();
    let length = usize::from(header.payload_length());
    let mut fragment = None;
    if ip.is_payload_fragmented() {
        fragment = extensions
            .clone()
            .into_iter()
            .find_map(|extension| match extension {
                Ipv6ExtensionSlice::Fragment(part) => Some((
                    part.identification(),
                    u32::from(part.fragment_offset().byte_offset()),
                )),
                _ => None,
            });
    }
    Some(Within {
        source: header.source_addr().into(),
        destination: header.destination_addr().into(),
        v6: true,
        protocol: ip.payload().ip_number.0,
        start: 40 + before,
        // RFC 2675: the header of a jumbogram does not give its length.
        length: if length == 0 {
            None
        } else {
            length.checked_sub(before)
        },
        fragment,
    })
}

/// Returns ports, sequence number, flags and the header's length. The first 14 bytes of TCP's
/// header suffice, so a capture may be cut there.
#[inline]
fn transport(protocol: Protocol, bytes: &[u8]) -> Option<([u16; 2], u32, Flags, usize)> {
    let two = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let ports = [two(0)?, two(2)?];
    match protocol {
        Protocol::Udp => Some((ports, 0, Flags::default(), 8)),
        Protocol::Tcp => {
            let [offset, flags] = *bytes.get(12..14)? else {
                return None;
            };
            let header = usize::from(offset >> 4) * 4;
            let sequence = u32::from_be_bytes(bytes[4..8].try_into().ok()?);
            (header >= 20).then_some((ports, sequence, Flags(flags), header))
        }
    }
}

const _: () =
    assert!(IpNumber::TCP.0 == Protocol::Tcp as u8 && IpNumber::UDP.0 == Protocol::Udp as u8);
