//! `fq_codel`: flow queues in deficit round robin, each controlled by CoDel (RFC 8290).

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Rate, Rng, Time};

use super::codel::{CE_THRESHOLD, Control, INTERVAL, Law, TARGET, ecn};
use super::descriptor::{Config, Descriptor, Domain, Param, no_check};
use super::packet::Packet;
use super::slab::{List, Slab};
use super::{Discipline, Dropped, PACKET, bucket};
use crate::Limit;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    name: "fq_codel",
    purpose: "A queue for each flow, served in turn, with new and sparse flows first; CoDel controls each queue.",
    specifications: &[
        (
            "RFC 8290",
            "scheduler, priority of sparse flows, drops from the longest queue",
        ),
        (
            "Linux net/sched/sch_fq_codel.c",
            "options, defaults, drops in batches, CoDel that considers the whole backlog",
        ),
    ],
    limit: Some(10_240),
    in_bytes: false,
    params: &[
        Param {
            name: "flows",
            domain: Domain::Count(Some(1_024), 1, 65_536),
            otherwise: "",
            purpose: "number of queues to which flows are hashed",
            section: "RFC 8290 §5.2.5",
        },
        TARGET,
        INTERVAL,
        Param {
            name: "quantum",
            domain: Domain::Size(Some(PACKET), Bytes::new(256), Bytes::new(1_000_000)),
            otherwise: "",
            purpose: "bytes that a queue may send per turn",
            section: "RFC 8290 §5.2.4",
        },
        ecn(true),
        CE_THRESHOLD,
        Param {
            name: "memory_limit",
            domain: Domain::Size(
                Some(Bytes::new(32 << 20)),
                Bytes::new(1_500),
                Bytes::new(2_000_000_000),
            ),
            otherwise: "",
            purpose: "limit in bytes, in addition to path.buffer",
            section: "tc-fq_codel(8)",
        },
        Param {
            name: "drop_batch",
            domain: Domain::Count(Some(64), 1, 1_000_000),
            otherwise: "",
            purpose: "maximum number of packets dropped at once from the longest queue when the limit is exceeded",
            section: "RFC 8290 §4.1, tc-fq_codel(8)",
        },
    ],
    aqm: true,
    random: true,
    check: no_check,
};

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    list: List,
    /// Bytes that the flow may still send in its turn.
    deficit: i64,
    control: Control,
    /// Whether the flow is in one of the lists of new and old flows.
    listed: bool,
}

/// The state of an `fq_codel` queue.
#[derive(Clone, Debug)]
pub(super) struct FqCodel<P> {
    limit: Limit,
    memory_limit: Bytes,
    batch: u64,
    quantum: i64,
    law: Law,
    salt: u64,
    slab: Slab<P>,
    flows: Box<[Flow]>,
    /// Bytes of each flow, contiguous for the search for the largest.
    backlogs: Box<[u64]>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u64,
    bytes: Bytes,
}

impl<P: Copy> Discipline<P> for FqCodel<P> {
    fn new(config: &Config, limit: Limit, _rate: Rate, mut rng: Rng) -> FqCodel<P> {
        let flows = config.some_count("flows") as usize;
        FqCodel {
            limit,
            memory_limit: config.some_size("memory_limit"),
            batch: config.some_count("drop_batch"),
            quantum: config.some_size("quantum").get() as i64,
            law: Law::new(config),
            salt: rng.next_u64(),
            slab: Slab::new(),
            flows: vec![Flow::default(); flows].into(),
            backlogs: vec![0; flows].into(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }

    #[inline]
    fn enqueue(&mut self, _now: Time, packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        // RFC 8290 §4.1.
        let index = bucket(packet.flow, self.salt, self.flows.len());
        let flow = &mut self.flows[index];
        self.packets += 1;
        self.bytes += packet.size;
        self.backlogs[index] += packet.size.get();
        self.slab.push(&mut flow.list, packet);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(index as u32);
        }
        if self.limit.is_passed(self.packets, self.bytes) || self.bytes > self.memory_limit {
            self.drop_from_longest(dropped);
        }
    }

    /// RFC 8290 §4.2.
    #[inline]
    fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        loop {
            let (is_new, index) = match (self.new.front(), self.old.front()) {
                (Some(index), _) => (true, *index),
                (None, Some(index)) => (false, *index),
                (None, None) => return None,
            };
            let flow = &mut self.flows[index as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.pop_listed(is_new);
                self.old.push_back(index);
                continue;
            }
            let FqCodel {
                slab,
                law,
                backlogs,
                packets,
                bytes,
                ..
            } = self;
            let Flow { list, control, .. } = flow;
            let pop = || {
                let packet = slab.pop(list)?;
                *packets -= 1;
                *bytes -= packet.size;
                backlogs[index as usize] -= packet.size.get();
                // As in Linux, the backlog of all flows counts in the check for more than one
                // packet.
                Some((packet, *bytes))
            };
            if let Some(packet) = control.dequeue(law, now, pop, dropped) {
                flow.deficit -= packet.size.get() as i64;
                return Some(packet);
            }
            self.pop_listed(is_new);
            // One pass through the old flows, so that a flow cannot stay new forever.
            if is_new && !self.old.is_empty() {
                self.old.push_back(index);
            } else {
                self.flows[index as usize].listed = false;
            }
        }
    }

    #[inline]
    fn backlog(&self) -> (u64, Bytes) {
        (self.packets, self.bytes)
    }

    fn limit(&mut self) -> &mut Limit {
        &mut self.limit
    }
}

impl<P: Copy> FqCodel<P> {
    /// RFC 8290 §4.1: drops at the head of the queue with the most bytes, at most half of it.
    #[cold]
    fn drop_from_longest(&mut self, dropped: &mut impl Dropped<P>) {
        let mut longest = 0;
        for (index, bytes) in self.backlogs.iter().enumerate() {
            if *bytes > self.backlogs[longest] {
                longest = index;
            }
        }
        let flow = &mut self.flows[longest];
        let enough = self.backlogs[longest] / 2;
        let (mut packets, mut bytes) = (0, 0);
        while let Some(packet) = self.slab.pop(&mut flow.list) {
            packets += 1;
            bytes += packet.size.get();
            dropped(packet);
            if packets >= self.batch || bytes >= enough {
                break;
            }
        }
        // Linux adds the drops to CoDel's count.
        flow.control.count = flow.control.count.wrapping_add(packets as u32);
        self.backlogs[longest] -= bytes;
        self.packets -= packets;
        self.bytes -= Bytes::new(bytes);
    }

    #[inline]
    fn pop_listed(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front();
        } else {
            self.old.pop_front();
        }
    }
}
