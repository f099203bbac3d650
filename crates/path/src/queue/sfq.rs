//! `sfq`: queues to which flows are hashed, served in turn; beyond the limit, the longest queue
//! drops (McKenney 1990, Linux sch_sfq).

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::descriptor::{Config, Descriptor, Domain, Param, Refusal};
use super::packet::Packet;
use super::{Discipline, Dropped, PACKET, bucket};
use crate::Limit;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    name: "sfq",
    purpose: "Flows are hashed to queues, which are served in turn; beyond the limit the longest queue loses a packet.",
    specifications: &[
        (
            "McKenney 1990",
            "queues by hash, periodic rehashing, drops from the longest queue",
        ),
        (
            "Linux net/sched/sch_sfq.c",
            "options, defaults, deficit round robin, choice among equally long queues",
        ),
    ],
    limit: Some(127),
    in_bytes: false,
    params: &[
        Param {
            name: "flows",
            domain: Domain::Count(Some(128), 1, 65_408),
            otherwise: "",
            purpose: "maximum number of queues with packets; packets of further flows are dropped",
            section: "tc-sfq(8)",
        },
        Param {
            name: "depth",
            domain: Domain::Count(Some(127), 1, 127),
            otherwise: "",
            purpose: "maximum number of packets in one queue",
            section: "tc-sfq(8)",
        },
        Param {
            name: "divisor",
            domain: Domain::Count(Some(1_024), 1, 65_536),
            otherwise: "",
            purpose: "number of hash values, a power of two; flows with equal values share a queue",
            section: "tc-sfq(8)",
        },
        Param {
            name: "quantum",
            domain: Domain::Size(Some(PACKET), Bytes::new(256), Bytes::new(1_000_000)),
            otherwise: "",
            purpose: "bytes that a queue may send per turn",
            section: "tc-sfq(8)",
        },
        Param {
            name: "perturb",
            domain: Domain::Time(Some(Span::ZERO), Span::ZERO, Span::from_secs(100)),
            otherwise: "",
            purpose: "time between changes of the hash function, in whole seconds, so that no two flows share a queue for long; 0s for never",
            section: "McKenney 1990, tc-sfq(8)",
        },
        Param {
            name: "headdrop",
            domain: Domain::Flag(false),
            otherwise: "",
            purpose: "drop the oldest packet of a queue instead of the newest",
            section: "tc-sfq(8)",
        },
    ],
    aqm: false,
    random: true,
    check,
};

fn check(config: &Config, _: Bytes) -> Result<(), Refusal> {
    let refuse = |name, problem: &str, fix: &str| {
        Err(Refusal {
            name,
            problem: problem.to_owned(),
            fix: fix.to_owned(),
        })
    };
    if !config.some_count("divisor").is_power_of_two() {
        return refuse(
            "divisor",
            "not a power of two",
            "give a power of two, like 1024",
        );
    }
    let perturb = config.some_time("perturb").as_nanos();
    if !perturb.is_multiple_of(Span::from_secs(1).as_nanos()) {
        let fix = "give whole seconds, like \"10s\"";
        return refuse("perturb", "Linux counts whole seconds", fix);
    }
    Ok(())
}

/// Marks a hash without a slot.
const EMPTY: u32 = u32::MAX;

/// The queue of the flows with one hash.
#[derive(Clone, Debug)]
struct Slot<P> {
    packets: VecDeque<Packet<P>>,
    hash: u32,
    /// Bytes that the slot may still send in its turn.
    allot: i64,
    /// Value of `changes` when its length last changed.
    changed: u64,
}

/// The state of an `sfq` queue.
#[derive(Clone, Debug)]
pub(super) struct Sfq<P> {
    limit: Limit,
    depth: usize,
    quantum: i64,
    perturb: Span,
    headdrop: bool,
    next_perturbation: Time,
    salt: u64,
    rng: Rng,
    /// Slot of each hash.
    table: Box<[u32]>,
    slots: Box<[Slot<P>]>,
    free: Vec<u32>,
    /// The slots with packets, in the order of their turns.
    round: VecDeque<u32>,
    changes: u64,
    packets: u64,
    bytes: Bytes,
}

impl<P: Copy> Discipline<P> for Sfq<P> {
    fn new(config: &Config, limit: Limit, _rate: Rate, mut rng: Rng) -> Sfq<P> {
        let flows = config.some_count("flows") as u32;
        let perturb = config.some_time("perturb");
        let slot = Slot {
            packets: VecDeque::new(),
            hash: 0,
            allot: 0,
            changed: 0,
        };
        Sfq {
            limit,
            depth: config.some_count("depth") as usize,
            quantum: config.some_size("quantum").get() as i64,
            perturb,
            headdrop: config.flag("headdrop"),
            next_perturbation: match perturb {
                Span::ZERO => Time::MAX,
                perturb => Time::ZERO + perturb,
            },
            salt: rng.next_u64(),
            rng,
            table: vec![EMPTY; config.some_count("divisor") as usize].into(),
            slots: vec![slot; flows as usize].into(),
            free: (0..flows).collect(),
            round: VecDeque::new(),
            changes: 0,
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }

    /// Linux `sfq_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        self.catch_up(now, dropped);
        let before = self.bytes;
        let Some(index) = self.slot_of(packet.flow) else {
            return dropped(packet);
        };
        if self.slots[index].packets.len() < self.depth {
            self.add(index, packet);
        } else if self.headdrop {
            self.replace(index, packet, dropped);
        } else {
            return dropped(packet);
        }
        // Drop at most as many bytes as have arrived: when the limit shrinks, queued packets stay.
        let all = before + packet.size;
        while self.limit.is_passed(self.packets, self.bytes) && all - self.bytes < packet.size {
            self.drop_from_longest(dropped);
        }
    }

    /// Linux `sfq_dequeue`.
    #[inline]
    fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        self.catch_up(now, dropped);
        loop {
            let index = *self.round.front()? as usize;
            let slot = &mut self.slots[index];
            if slot.allot <= 0 {
                slot.allot += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            let packet = self.take(index, true);
            self.slots[index].allot -= packet.size.get() as i64;
            if self.slots[index].packets.is_empty() {
                self.round.pop_front();
                self.release(index);
            }
            return Some(packet);
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

impl<P: Copy> Sfq<P> {
    /// Returns the slot of a flow: that of its hash, or a free one; `None` if all are in use.
    #[inline]
    fn slot_of(&mut self, flow: u32) -> Option<usize> {
        let hash = bucket(flow, self.salt, self.table.len());
        if self.table[hash] == EMPTY {
            self.table[hash] = self.free.pop()?;
            self.slots[self.table[hash] as usize].hash = hash as u32;
        }
        Some(self.table[hash] as usize)
    }

    /// Adds a packet at the end of a slot; a slot that was empty has its turn after all others.
    #[inline]
    fn add(&mut self, index: usize, packet: Packet<P>) {
        self.packets += 1;
        self.bytes += packet.size;
        self.changes += 1;
        let slot = &mut self.slots[index];
        slot.changed = self.changes;
        if slot.packets.is_empty() {
            slot.allot = self.quantum;
            self.round.push_back(index as u32);
        }
        slot.packets.push_back(packet);
    }

    /// Removes the oldest or the newest packet of a slot that has one.
    #[inline]
    fn take(&mut self, index: usize, oldest: bool) -> Packet<P> {
        let slot = &mut self.slots[index];
        let packet = match oldest {
            true => slot.packets.pop_front(),
            false => slot.packets.pop_back(),
        };
        let packet = packet.expect("a slot with packets");
        self.changes += 1;
        slot.changed = self.changes;
        self.packets -= 1;
        self.bytes -= packet.size;
        packet
    }

    /// Replaces the oldest packet of a full slot with the one that arrives; the slot keeps its
    /// turn.
    fn replace(&mut self, index: usize, packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        let packets = &mut self.slots[index].packets;
        packets.push_back(packet);
        self.bytes += packet.size;
        if let Some(oldest) = packets.pop_front() {
            self.bytes -= oldest.size;
            dropped(oldest);
        }
    }

    /// Frees a slot that has become empty and left the round.
    #[inline]
    fn release(&mut self, index: usize) {
        self.table[self.slots[index].hash as usize] = EMPTY;
        self.free.push(index as u32);
    }

    /// Linux `sfq_drop`: drops from the slot with the most packets; of several, from the one that
    /// reached that length last. If all have one packet, drops from the one whose turn it is.
    #[cold]
    fn drop_from_longest(&mut self, dropped: &mut impl Dropped<P>) {
        let rank = |index: &u32| {
            let slot = &self.slots[*index as usize];
            (slot.packets.len(), slot.changed)
        };
        let longest = self.round.iter().copied().max_by_key(rank);
        let longest = longest.expect("something is beyond the limit") as usize;
        if self.slots[longest].packets.len() > 1 {
            return dropped(self.take(longest, self.headdrop));
        }
        let first = self.round.pop_front().expect("it is not empty") as usize;
        dropped(self.take(first, self.headdrop));
        self.release(first);
    }

    /// The perturbations that were due.
    #[inline]
    fn catch_up(&mut self, now: Time, dropped: &mut impl Dropped<P>) {
        if self.next_perturbation <= now {
            self.perturb(now, dropped);
        }
    }

    /// Linux `sfq_perturbation`.
    #[cold]
    fn perturb(&mut self, now: Time, dropped: &mut impl Dropped<P>) {
        while self.next_perturbation <= now {
            self.salt = self.rng.next_u64();
            self.rehash(dropped);
            self.next_perturbation += self.perturb;
            if self.packets == 0 && self.next_perturbation <= now {
                let late = now - self.next_perturbation;
                self.next_perturbation +=
                    self.perturb * (late.as_nanos() / self.perturb.as_nanos());
            }
        }
    }

    /// Linux `sfq_rehash`: moves the waiting packets to their new slots, so that flows keep their
    /// order; drops packets that find no place.
    fn rehash(&mut self, dropped: &mut impl Dropped<P>) {
        let mut waiting = Vec::with_capacity(self.packets as usize);
        for index in 0..self.slots.len() {
            if !self.slots[index].packets.is_empty() {
                waiting.extend(self.slots[index].packets.drain(..));
                self.release(index);
            }
        }
        self.round.clear();
        (self.packets, self.bytes) = (0, Bytes::ZERO);
        for packet in waiting {
            match self.slot_of(packet.flow) {
                Some(index) if self.slots[index].packets.len() < self.depth => {
                    self.add(index, packet);
                }
                _ => dropped(packet),
            }
        }
    }
}
