//! Data of a TCP connection that has arrived in order.

use std::collections::BTreeMap;

use crate::reconstruct::packet::Packet;

/// The receiver's sequence space. The low 32 bits of a position are the header's number.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordered {
    /// Position after the data in order; `None` before the first packet.
    next: Option<u64>,
    /// Ranges that arrived early: start and end.
    early: BTreeMap<u64, u64>,
}

impl Ordered {
    /// Handles an arriving packet; returns the number of bytes that are now in order.
    pub(super) fn on_packet(&mut self, packet: &Packet) -> u64 {
        let begin = (1 << 32) | u64::from(packet.seq.wrapping_add(u32::from(packet.syn)));
        let before = *self.next.get_or_insert(begin);
        if packet.payload == 0 {
            return 0;
        }
        let from_next = packet.seq.wrapping_sub(before as u32) as i32;
        let start = before.wrapping_add_signed(i64::from(from_next));
        let end = start + u64::from(packet.payload);
        if end > before {
            let known = self.early.entry(start).or_insert(end);
            *known = end.max(*known);
        }
        let mut next = before;
        while let Some((start, end)) = self.early.first_key_value().map(|(a, b)| (*a, *b)) {
            if start > next {
                break;
            }
            next = next.max(end);
            self.early.remove(&start);
        }
        self.next = Some(next);
        next - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(seq: u32, payload: u32) -> Packet {
        Packet {
            time: 0,
            out: true,
            source: 1,
            destination: 2,
            id: 0,
            size: 0,
            payload,
            seq,
            ack: 0,
            syn: payload == 0,
            ce: false,
            stamps: None,
            blocks: vec![],
        }
    }

    #[test]
    fn data_counts_once_and_in_order_over_the_end_of_the_numbers() {
        let start = u32::MAX - 150;
        let at = |place: u32| start.wrapping_add(1 + place);
        let mut received = Ordered::default();
        assert_eq!(received.on_packet(&packet(start, 0)), 0);
        assert_eq!(received.on_packet(&packet(at(0), 100)), 100);
        assert_eq!(received.on_packet(&packet(at(200), 100)), 0, "a hole");
        assert_eq!(received.on_packet(&packet(at(200), 100)), 0, "a duplicate");
        assert_eq!(received.on_packet(&packet(at(50), 150)), 200, "the hole");
        assert_eq!(
            received.on_packet(&packet(at(0), 300)),
            0,
            "all of it again"
        );
    }
}
