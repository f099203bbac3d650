//! Derives a link's events from taps in front of it and behind it.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_units::{Bytes, Rate, Time};

use super::packet::Packet;
use super::queue::{Arrived, Dropped, Links, Loss, Passed};

/// Bit of a packet that has just left when the tap behind the link sees the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Departs {
    /// The first bit: a queue that is polled at a rate (htb).
    First,
    /// The last bit: netem's `rate`.
    Last,
}

/// Identity of a packet; a retransmission has another IP identification or timestamp.
type Key = (u32, u32, u16, u32, Option<(u32, u32)>);

fn key(flow: u32, packet: &Packet) -> Key {
    (flow, packet.seq, packet.id, packet.payload, packet.stamps)
}

/// A packet and, before it, the index of its flow.
pub(crate) type Seen = (u32, Packet);

/// Matches packets seen in front with packets seen behind. Returns for each packet in front the
/// index of its match, and whether the packet, if unmatched, may still be under way: no later
/// packet of its flow was seen behind.
fn matched(front: &[Seen], behind: &[Seen]) -> Vec<(Option<usize>, bool)> {
    let mut waiting: BTreeMap<Key, VecDeque<usize>> = BTreeMap::new();
    for (number, (flow, packet)) in behind.iter().enumerate() {
        waiting
            .entry(key(*flow, packet))
            .or_default()
            .push_back(number);
    }
    let mut found: Vec<_> = front
        .iter()
        .map(|(flow, packet)| {
            (
                waiting
                    .get_mut(&key(*flow, packet))
                    .and_then(VecDeque::pop_front),
                false,
            )
        })
        .collect();
    let mut passed_later: BTreeMap<u32, bool> = BTreeMap::new();
    for (number, (flow, _)) in front.iter().enumerate().rev() {
        let later = passed_later.entry(*flow).or_default();
        *later |= found[number].0.is_some();
        found[number].1 = !*later;
    }
    found
}

/// Derives the events between the sender, the front of the bottleneck and the place behind it.
/// Times are CLOCK_MONOTONIC; `at` converts them to the run's.
pub(crate) fn links(
    sent: &[Seen],
    front: &[Seen],
    behind: &[Seen],
    departs: Departs,
    rate: Rate,
    at: impl Fn(u64) -> Time,
) -> Links {
    let mut links = Links::default();
    // Without payload, a forward packet belongs to a handshake or a close, and is not counted.
    let mut drop = |packet: &Packet, flow, why| {
        if packet.payload > 0 {
            links.dropped.push(Dropped {
                link: Some(0),
                flow,
                data: true,
                at: at(packet.time),
                why,
            });
        }
    };
    for ((flow, packet), (passed, under_way)) in sent.iter().zip(matched(sent, front)) {
        if passed.is_none() && !under_way {
            drop(packet, *flow, Loss::Chance);
        }
    }
    for ((flow, packet), (passed, under_way)) in front.iter().zip(matched(front, behind)) {
        let Some(number) = passed else {
            if !under_way {
                drop(packet, *flow, Loss::Queue);
            }
            continue;
        };
        let passed = passage(*flow, packet, &behind[number].1, departs, rate, &at);
        if passed.data {
            links.arrived.push(Arrived {
                flow: *flow,
                at: passed.end,
                waited: passed.start.since(passed.arrived),
            });
        }
        links.passed.push(passed);
    }
    links.dropped.sort_by_key(|packet| packet.at);
    links.arrived.sort_by_key(|packet| packet.at);
    links
}

/// Returns the passage of a packet that was seen behind the bottleneck as `left`.
fn passage(
    flow: u32,
    packet: &Packet,
    left: &Packet,
    departs: Departs,
    rate: Rate,
    at: impl Fn(u64) -> Time,
) -> Passed {
    let (arrived, seen) = (at(packet.time), at(left.time));
    let takes = rate.time_for(Bytes::new(u64::from(packet.size)));
    let (start, end) = match departs {
        Departs::First => (seen, seen + takes),
        Departs::Last => (Time::ZERO + seen.since(Time::ZERO + takes), seen),
    };
    Passed {
        link: 0,
        flow,
        data: packet.payload > 0,
        size: packet.size,
        arrived,
        // Both interfaces use the clock of one kernel, so any difference is rounding.
        start: start.max(arrived),
        end,
        marked: left.ce && !packet.ce,
    }
}

/// Returns the ACKs that were seen on their way back and never at the sender.
pub(crate) fn lost_acks(left: &[Seen], came: &[Seen], at: impl Fn(u64) -> Time) -> Vec<Dropped> {
    let mut dropped: Vec<Dropped> = left
        .iter()
        .zip(matched(left, came))
        .filter(|((_, packet), (came, under_way))| {
            came.is_none() && !under_way && packet.payload == 0 && !packet.syn
        })
        .map(|((flow, packet), _)| Dropped {
            link: None,
            flow: *flow,
            data: false,
            at: at(packet.time),
            why: Loss::Chance,
        })
        .collect();
    dropped.sort_by_key(|packet| packet.at);
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(ms: u64, id: u16, payload: u32) -> Seen {
        let packet = Packet {
            time: ms * 1_000_000,
            out: true,
            source: 1,
            destination: 2,
            id,
            size: 52 + payload,
            payload,
            seq: u32::from(id) * 1448,
            ack: 0,
            syn: false,
            ce: false,
            stamps: Some((ms as u32, 0)),
            blocks: vec![],
        };
        (0, packet)
    }

    #[test]
    fn what_was_seen_in_front_and_never_behind_was_dropped_unless_it_may_be_under_way() {
        let front = [
            packet(0, 0, 0),
            packet(1, 1, 1448),
            packet(2, 2, 1448),
            packet(3, 3, 0),
            packet(4, 4, 1448),
        ];
        let sent = [&front[..], &[packet(3, 9, 1448), packet(5, 5, 1448)]].concat();
        let sent: Vec<Seen> = {
            let mut sent = sent;
            sent.sort_by_key(|(_, packet)| packet.time);
            sent
        };
        let behind = [packet(9, 2, 1448)].map(|(flow, seen)| {
            (
                flow,
                Packet {
                    stamps: Some((2, 0)),
                    ..seen
                },
            )
        });
        let links = links(
            &sent,
            &front,
            &behind,
            Departs::Last,
            Rate::from_mbps(12),
            Time::from_nanos,
        );
        let dropped: Vec<_> = links
            .dropped
            .iter()
            .map(|packet| (packet.at.as_nanos() / 1_000_000, packet.why))
            .collect();
        // The SYN (at 0 ms) and the sender's ACK (at 3 ms) are not counted. Packets after 2 ms may
        // still be in the queue.
        assert_eq!(dropped, [(1, Loss::Queue), (3, Loss::Chance)]);
        let (passed, arrived) = (links.passed[0], links.arrived[0]);
        assert_eq!(
            (passed.arrived, passed.start, passed.end),
            (
                Time::from_nanos(2_000_000),
                Time::from_nanos(8_000_000),
                Time::from_nanos(9_000_000)
            )
        );
        assert_eq!(
            (arrived.at, arrived.waited.as_nanos()),
            (passed.end, 6_000_000)
        );
    }

    #[test]
    fn an_ack_that_left_and_never_came_was_lost_but_not_a_handshakes() {
        let syn = (
            0,
            Packet {
                syn: true,
                ..packet(0, 0, 0).1
            },
        );
        let left = [
            syn,
            packet(1, 1, 0),
            packet(2, 2, 0),
            packet(3, 3, 1),
            packet(4, 4, 0),
            packet(5, 5, 0),
        ];
        let lost = lost_acks(&left, &[packet(1, 1, 0), packet(4, 4, 0)], Time::from_nanos);
        // A request's byte (at 3 ms) is not an ACK, and the last ACK may be under way.
        let short: Vec<_> = lost
            .iter()
            .map(|packet| (packet.at.as_nanos() / 1_000_000, packet.data))
            .collect();
        assert_eq!(short, [(2, false)]);
    }
}
