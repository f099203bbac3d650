//! RTTs of a QUIC connection as an observer at the server sees them (RFC 9000 §17, RFC 9312 §4.2).

use fullpipe_units::{Span, Time};

/// Bit of the first byte that marks a long header.
const LONG: u8 = 0x80;
/// Bit that is set in the first byte of every packet (RFC 9000 §17).
const FIXED: u8 = 0x40;
/// The latency spin bit of a short header (RFC 9000 §17.4).
const SPIN: u8 = 0x20;
/// Version 2, whose packet types have other numbers (RFC 9369 §3.2).
const VERSION_2: u32 = 0x6b33_43cf;

/// Types of long headers (RFC 9000 §17.2); version 2 counts Initial from 1.
const INITIAL: u8 = 0;
const HANDSHAKE: u8 = 2;

/// Share of the spin bit's edges that may come sooner than the path allows. A stack that does not
/// take part sets the bit at random (RFC 9000 §17.4), with an edge at every second packet.
const TOO_SOON: f64 = 0.1;
/// Edges without which a bit that moved once or twice is not taken for a spin bit.
const LEAST_EDGES: usize = 3;

/// One connection.
#[derive(Debug, Default)]
pub(super) struct Quic {
    /// Departure of the server's first packet of the handshake.
    greeted: Option<Time>,
    answered: bool,
    /// The last spin bit, and the time of its last edge.
    spin: Option<(bool, Option<Time>)>,
    too_soon: usize,
    /// (time, RTT) by the spin bit.
    pub(super) rtts: Vec<(Time, Span)>,
}

impl Quic {
    /// Handles a packet that leaves the server and begins with `bytes`; the path's RTT is at least
    /// `least`.
    pub(super) fn on_sent(&mut self, at: Time, bytes: &[u8], least: Span) {
        let Some(first) = bytes.first() else {
            return;
        };
        if first & LONG != 0 {
            self.greeted.get_or_insert(at);
            return;
        }
        let bit = first & SPIN != 0;
        self.spin = Some(match self.spin {
            None => (bit, None),
            Some((before, edge)) if before == bit => (before, edge),
            Some((_, edge)) => {
                if let Some(edge) = edge {
                    let rtt = at.since(edge);
                    self.too_soon += usize::from(rtt < least);
                    self.rtts.push((at, rtt));
                }
                (bit, Some(at))
            }
        });
    }

    /// Handles a datagram of `size` bytes that reaches the server and begins with `bytes`; returns
    /// the handshake's RTT if it completes that. The path's RTT is at least `least`.
    pub(super) fn on_back(
        &mut self,
        at: Time,
        size: u32,
        bytes: &[u8],
        least: Span,
    ) -> Option<Span> {
        let rtt = at.since(self.greeted.filter(|_| !self.answered)?);
        // A large ClientHello takes two datagrams; the server acknowledges the first before the
        // second comes.
        if rtt < least {
            return None;
        }
        // The client sends more than Initial packets when it has the server's first flight.
        if !answers(size, bytes)? {
            return None;
        }
        self.answered = true;
        Some(rtt)
    }

    /// Returns whether the stack takes part in the spin bit.
    pub(super) fn spins(&self) -> bool {
        self.rtts.len() >= LEAST_EDGES
            && (self.too_soon as f64) <= TOO_SOON * self.rtts.len() as f64
    }
}

/// Returns whether a client's datagram has a packet that is neither Initial nor 0-RTT: it begins
/// with one, or one follows an Initial packet. `None` if it is cut off.
fn answers(size: u32, bytes: &[u8]) -> Option<bool> {
    let (first, rest) = bytes.split_first()?;
    if first & LONG == 0 {
        return Some(true);
    }
    let (version, rest) = rest.split_first_chunk()?;
    let shift = u8::from(u32::from_be_bytes(*version) == VERSION_2);
    match (first >> 4 & 0b11).wrapping_sub(shift) & 0b11 {
        INITIAL => {
            // RFC 9000 §17.2.2: two connection IDs, a token, and the length of the rest.
            let rest = after(rest, u64::from(*rest.first()?), 1)?;
            let rest = after(rest, u64::from(*rest.first()?), 1)?;
            let (token, rest) = varint(rest)?;
            let (length, rest) = varint(after(rest, token, 0)?)?;
            let end = (bytes.len() - rest.len()) as u64 + length;
            // Some stacks pad a datagram with zeros after its last packet.
            let follows = usize::try_from(end).ok().and_then(|end| bytes.get(end));
            Some(end < u64::from(size) && follows.is_none_or(|byte| byte & FIXED != 0))
        }
        HANDSHAKE => Some(true),
        _ => Some(false),
    }
}

/// Returns the bytes after a field of `length` bytes and `before` bytes in front of it.
fn after(bytes: &[u8], length: u64, before: usize) -> Option<&[u8]> {
    bytes.get(before + usize::try_from(length).ok()?..)
}

/// Reads a number of variable length (RFC 9000 §16).
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (more, rest) = rest.split_at_checked((1 << (first >> 6)) - 1)?;
    let start = u64::from(first & 0x3f);
    let value = more
        .iter()
        .fold(start, |sum, byte| sum << 8 | u64::from(*byte));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    const RTT: Span = Span::from_millis(40);

    #[test]
    fn edges_of_the_spin_bit_are_one_rtt_apart() {
        let mut quic = Quic::default();
        for ms in 0..300 {
            let bit = if ms / 50 % 2 == 1 { SPIN } else { 0 };
            quic.on_sent(at(ms), &[0x40 | bit], RTT);
        }
        assert!(quic.spins());
        let rtts: Vec<u64> = quic.rtts.iter().map(|(_, rtt)| rtt.as_nanos()).collect();
        assert_eq!(rtts, [50_000_000; 4]);
    }

    #[test]
    fn a_random_bit_is_no_spin_bit() {
        let mut quic = Quic::default();
        for ms in 0..300 {
            let bit = if (ms * 7919) % 13 > 6 { SPIN } else { 0 };
            quic.on_sent(at(ms), &[0x40 | bit], RTT);
        }
        assert!(!quic.spins());
    }

    #[test]
    fn the_handshake_is_from_the_servers_first_packet_to_the_clients_handshake() {
        let mut quic = Quic::default();
        // A destination ID of two bytes, a source ID of one, no token, 1,190 bytes.
        let padded = [0xc3, 0, 0, 0, 1, 2, 9, 9, 1, 9, 0, 0x44, 0xa6];
        let acknowledges = [0xc3, 0, 0, 0, 1, 2, 9, 9, 1, 9, 0, 0x40, 0x20];
        assert_eq!(quic.on_back(at(0), 1203, &padded, RTT), None);
        quic.on_sent(at(5), &padded, RTT);
        assert_eq!(
            quic.on_back(at(7), 1203, &padded, RTT),
            None,
            "sent again too early"
        );
        assert_eq!(
            quic.on_back(at(46), 45, &acknowledges, RTT),
            None,
            "nothing else"
        );
        let mut zeros = acknowledges.to_vec();
        zeros.resize(60, 0);
        assert_eq!(quic.on_back(at(46), 1200, &zeros, RTT), None, "padded");
        let mut other = Quic::default();
        other.on_sent(at(5), &padded, RTT);
        assert_eq!(
            other.on_back(at(6), 1200, &acknowledges, RTT),
            None,
            "the second part of a ClientHello"
        );
        assert_eq!(other.on_back(at(45), 1200, &acknowledges, RTT), Some(RTT));
        let handshake = [0xe3, 0, 0, 0, 1];
        assert_eq!(
            quic.on_back(at(47), 1200, &handshake, RTT),
            Some(Span::from_millis(42))
        );
        assert_eq!(quic.on_back(at(48), 1200, &handshake, RTT), None, "once");
    }
}
