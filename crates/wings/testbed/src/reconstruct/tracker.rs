//! Tracks one flow by the packets at its sender's side: data sent and retransmitted, and the RTT of
//! each ACK, as `docs/reference/metrics.md` defines them.

use std::collections::VecDeque;

use super::packet::Packet;

/// A range of bytes that was sent.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    end: u64,
    /// First and last transmission: time (ns) and TSval of each.
    first: (u64, u32),
    last: (u64, u32),
    again: bool,
    sacked: bool,
}

/// The sequence space of one flow. The low 32 bits of a position are the header's number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracker {
    segments: VecDeque<Segment>,
    /// Position after the last byte sent; `None` before the first packet.
    next: Option<u64>,
    acked: u64,
}

impl Tracker {
    /// Handles a departing SYN or data packet; returns whether its data was sent before.
    pub(crate) fn on_sent(&mut self, packet: &Packet) -> bool {
        // A SYN takes one sequence number.
        let begin = (1 << 32) | u64::from(packet.seq.wrapping_add(u32::from(packet.syn)));
        let next = *self.next.get_or_insert(begin);
        if packet.payload == 0 {
            return false;
        }
        let start = near(packet.seq, next);
        let end = start + u64::from(packet.payload);
        let sent = (packet.time, packet.stamps.map_or(0, |(value, _)| value));
        let before = start < next;
        if before {
            let from = self
                .segments
                .partition_point(|segment| segment.end <= start);
            for segment in self
                .segments
                .range_mut(from..)
                .take_while(|segment| segment.start < end)
            {
                (segment.last, segment.again) = (sent, true);
            }
        }
        if end > next {
            let start = start.max(next);
            self.segments.push_back(Segment {
                start,
                end,
                first: sent,
                last: sent,
                again: before,
                sacked: false,
            });
            self.next = Some(end);
        }
        before
    }

    /// Handles an arriving ACK; returns its RTT sample in ns, if it gives one.
    pub(crate) fn on_ack(&mut self, packet: &Packet) -> Option<u64> {
        let ack = near(packet.ack, self.next?);
        let moved = ack > self.acked;
        // Latest transmission of data that was sent once and is newly acknowledged.
        let mut newest: Option<u64> = None;
        let mut repaired = Vec::new();
        while let Some(segment) = self
            .segments
            .front()
            .copied()
            .filter(|segment| segment.end <= ack)
        {
            self.segments.pop_front();
            match segment {
                Segment { sacked: true, .. } => {}
                Segment { again: true, .. } => repaired.push(segment),
                _ => newest = newest.max(Some(segment.first.0)),
            }
        }
        for block in &packet.blocks {
            let (start, end) = (near(block.0, ack), near(block.1, ack));
            let from = self
                .segments
                .partition_point(|segment| segment.start < start);
            for segment in self
                .segments
                .range_mut(from..)
                .take_while(|segment| segment.end <= end)
            {
                if !segment.sacked && !segment.again {
                    newest = newest.max(Some(segment.first.0));
                }
                segment.sacked = true;
            }
        }
        self.acked = self.acked.max(ack);
        match newest {
            Some(sent) if repaired.is_empty() => packet.time.checked_sub(sent),
            _ if moved => {
                // RFC 7323 §4: the echo identifies the transmission that is acknowledged.
                let (_, echo) = packet.stamps?;
                let sent = repaired
                    .iter()
                    .flat_map(|segment| [segment.last, segment.first]);
                let sent = sent
                    .filter(|(_, value)| *value == echo)
                    .map(|(time, _)| time)
                    .max();
                sent.or(newest)
                    .and_then(|sent| packet.time.checked_sub(sent))
            }
            _ => None,
        }
    }
}

/// Returns the position nearest to `place` whose low 32 bits are `number`.
fn near(number: u32, place: u64) -> u64 {
    place.wrapping_add_signed(i64::from(number.wrapping_sub(place as u32) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(time: u64) -> Packet {
        Packet {
            time,
            out: true,
            source: 1,
            destination: 2,
            id: 0,
            size: 0,
            payload: 0,
            seq: 0,
            ack: 0,
            syn: false,
            ce: false,
            stamps: None,
            blocks: vec![],
        }
    }

    /// An initial sequence number that wraps around within the first segments.
    const ISN: u32 = u32::MAX - 150;

    fn data(time: u64, place: u32, stamp: u32) -> Packet {
        let seq = ISN.wrapping_add(1 + place);
        Packet {
            seq,
            payload: 100,
            stamps: Some((stamp, 0)),
            ..packet(time)
        }
    }

    fn ack(time: u64, place: u32, blocks: &[(u32, u32)], echo: u32) -> Packet {
        let number = |place: u32| ISN.wrapping_add(1 + place);
        let blocks = blocks
            .iter()
            .map(|(start, end)| (number(*start), number(*end)))
            .collect();
        Packet {
            ack: number(place),
            blocks,
            stamps: Some((0, echo)),
            ..packet(time)
        }
    }

    fn opened() -> Tracker {
        let mut tracker = Tracker::default();
        assert!(!tracker.on_sent(&Packet {
            seq: ISN,
            syn: true,
            ..packet(0)
        }));
        tracker
    }

    #[test]
    fn an_ack_samples_the_newest_that_it_newly_acknowledges() {
        let mut tracker = opened();
        assert_eq!(tracker.on_ack(&ack(5, 0, &[], 0)), None, "of the handshake");
        for place in [0, 100, 200, 300] {
            assert!(!tracker.on_sent(&data(10 + u64::from(place), place, 1)));
        }
        assert_eq!(tracker.on_ack(&ack(500, 200, &[], 1)), Some(500 - 110));
        assert_eq!(
            tracker.on_ack(&ack(510, 200, &[(300, 400)], 1)),
            Some(510 - 310),
            "by SACK"
        );
        assert_eq!(
            tracker.on_ack(&ack(520, 200, &[(300, 400)], 1)),
            None,
            "nothing new"
        );
        assert_eq!(
            tracker.on_ack(&ack(530, 400, &[], 1)),
            Some(530 - 210),
            "the one in between"
        );
    }

    #[test]
    fn what_was_sent_again_is_told_by_its_timestamp() {
        let mut tracker = opened();
        for place in [0, 100, 200] {
            tracker.on_sent(&data(10, place, 1));
        }
        assert!(tracker.on_sent(&data(1_000, 0, 2)), "a retransmission");
        assert_eq!(tracker.on_ack(&ack(1_100, 300, &[], 2)), Some(100));
        tracker.on_sent(&data(2_000, 300, 3));
        tracker.on_sent(&data(3_000, 300, 4));
        assert_eq!(
            tracker.on_ack(&ack(3_001, 400, &[], 3)),
            Some(1_001),
            "the retransmission was not needed"
        );
        assert!(
            tracker.on_sent(&data(4_000, 300, 5)),
            "sent again after its ACK"
        );
    }
}
