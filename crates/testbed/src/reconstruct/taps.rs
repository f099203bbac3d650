//! From taps in front of a link and behind it to what the link did with each packet.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_units::{Bytes, Rate, Time};

use super::packet::Packet;
use super::queue::{Arrived, Dropped, Links, Loss, Passed};

/// Which bit of a packet is out when the tap behind the link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Departs {
    /// The first: a queue that is polled at a rate (htb).
    First,
    /// The last: netem's `rate`.
    Last,
}

/// What a packet is known by; a retransmission has another IP identification or timestamp.
type Key = (u32, u32, u16, u32, Option<(u32, u32)>);

fn key(flow: u32, packet: &Packet) -> Key {
    (flow, packet.seq, packet.id, packet.payload, packet.stamps)
}

/// A packet on its way forward, with its flow.
pub(crate) type Seen = (u32, Packet);

/// Matches what was seen in front with what was seen behind: for each in front, the number of the
/// one behind. Also whether one that has none may be under way still: nothing that came later, of
/// its flow, was seen behind.
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

/// What became of packets between the sender, the front of the bottleneck and the place behind it.
/// Times are CLOCK_MONOTONIC; `at` makes the run's of them.
pub(crate) fn links(
    sent: &[Seen],
    front: &[Seen],
    behind: &[Seen],
    departs: Departs,
    rate: Rate,
    at: impl Fn(u64) -> Time,
) -> Links {
    let mut links = Links::default();
    // What has no payload on its way there is of a handshake, or an end, and in no count.
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

/// How a packet passed the bottleneck that was seen behind it as `left`.
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
        // Clocks of two interfaces of one kernel are one; what is left is rounding.
        start: start.max(arrived),
        end,
        marked: left.ce && !packet.ce,
    }
}

/// ACKs that were seen on their way back and never at the sender.
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
        // A SYN (at 0 ms) and an ACK of the sender's (at 3 ms) are in no count; what came after 2
        // ms may be in the queue.
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
        // A request's byte (at 3 ms) is no ACK, and the last may be under way.
        let short: Vec<_> = lost
            .iter()
            .map(|packet| (packet.at.as_nanos() / 1_000_000, packet.data))
            .collect();
        assert_eq!(short, [(2, false)]);
    }
}
