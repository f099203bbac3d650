//! Headers in front of the IP header: <https://www.tcpdump.org/linktypes.html>.

use std::fmt;

/// Beginning of an interface's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    /// The IP header comes first.
    Raw,
    /// BSD's loopback: a four-byte address family, whose numbers and byte order differ between
    /// systems.
    Null,
    Cooked,
    CookedV2,
}

/// A packet that is not IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NotIp {
    EtherType(u16),
    /// A protocol within PPPoE.
    Ppp(u16),
    /// Too little was captured.
    Short,
}

impl fmt::Display for NotIp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotIp::EtherType(number) => write!(out, "EtherType 0x{number:04x}"),
            NotIp::Ppp(number) => write!(out, "PPP protocol 0x{number:04x}"),
            NotIp::Short => write!(out, "packets that end before IP"),
        }
    }
}

/// Link types: number, name, and beginning of the packets.
const LINKS: [(u16, &str, Link); 10] = [
    (0, "null", Link::Null),
    (1, "Ethernet", Link::Ethernet),
    // Raw IP, as some systems number it in old files.
    (12, "raw IP", Link::Raw),
    (14, "raw IP", Link::Raw),
    (101, "raw IP", Link::Raw),
    (108, "loop", Link::Null),
    (113, "Linux cooked", Link::Cooked),
    (228, "raw IPv4", Link::Raw),
    (229, "raw IPv6", Link::Raw),
    (276, "Linux cooked v2", Link::CookedV2),
];

impl Link {
    /// Returns the link type with this number in a file.
    pub(crate) fn numbered(number: u16) -> Option<(&'static str, Link)> {
        LINKS
            .iter()
            .find(|link| link.0 == number)
            .map(|link| (link.1, link.2))
    }

    /// Returns the number of bytes before the IP header, or the other kind of packet.
    #[inline]
    pub(crate) fn before_ip(self, packet: &[u8]) -> Result<usize, NotIp> {
        match self {
            Link::Ethernet => tagged(packet, 12, 14),
            Link::Cooked => tagged(packet, 14, 16),
            Link::CookedV2 => tagged(packet, 0, 20),
            Link::Null => Ok(4),
            Link::Raw => Ok(0),
        }
    }
}

/// Skips all VLAN tags and PPPoE; the ethertype is at `at`, its content at `start`.
#[inline]
fn tagged(packet: &[u8], mut at: usize, mut start: usize) -> Result<usize, NotIp> {
    loop {
        match ether_type(packet, at)? {
            // IEEE 802.1Q, 802.1ad, and the number used for double tags before that.
            0x8100 | 0x88a8 | 0x9100 => (at, start) = (start + 2, start + 4),
            // A session of PPPoE: six bytes, and PPP's protocol (RFC 2516, section 4).
            0x8864 => {
                return match ether_type(packet, start + 6)? {
                    0x0021 | 0x0057 => Ok(start + 8),
                    kind => Err(NotIp::Ppp(kind)),
                };
            }
            0x0800 | 0x86dd => return Ok(start),
            kind => return Err(NotIp::EtherType(kind)),
        }
    }
}

#[inline]
fn ether_type(packet: &[u8], at: usize) -> Result<u16, NotIp> {
    let bytes = packet.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(Err(NotIp::Short), |bytes| Ok(u16::from_be_bytes(*bytes)))
}
