//! Headers in front of the IP header: <https://www.tcpdump.org/linktypes.html>.

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

    /// Returns the number of bytes before the IP header; `None` if the packet is not IP, or is too
    /// short.
    #[inline]
    pub(crate) fn before_ip(self, packet: &[u8]) -> Option<usize> {
        match self {
            Link::Ethernet => tagged(packet, 12, 14),
            Link::Cooked => tagged(packet, 14, 16),
            Link::CookedV2 => tagged(packet, 0, 20),
            Link::Null => Some(4),
            Link::Raw => Some(0),
        }
    }
}

/// Skips all VLAN tags and PPPoE; the ethertype is at `at`, its content at `start`.
#[inline]
fn tagged(packet: &[u8], mut at: usize, mut start: usize) -> Option<usize> {
    loop {
        match ether_type(packet, at)? {
            // IEEE 802.1Q, 802.1ad, and the number used for double tags before that.
            0x8100 | 0x88a8 | 0x9100 => (at, start) = (start + 2, start + 4),
            // A session of PPPoE: six bytes, and PPP's protocol (RFC 2516, section 4).
            0x8864 => {
                let ip = matches!(ether_type(packet, start + 6)?, 0x0021 | 0x0057);
                return ip.then_some(start + 8);
            }
            kind => return is_ip(kind).then_some(start),
        }
    }
}

fn is_ip(ether_type: u16) -> bool {
    matches!(ether_type, 0x0800 | 0x86dd)
}

#[inline]
fn ether_type(packet: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]))
}
