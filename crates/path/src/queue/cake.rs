//! `cake`: the flow isolation, COBALT and shaper of CAKE, for best-effort traffic.

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::cobalt::{Control, Law, Shaper};
use super::descriptor::{Config, Descriptor, Domain, Param, no_check};
use super::packet::Packet;
use super::slab::{List, Slab};
use super::{Discipline, Dropped, PACKET, hash};
use crate::Limit;

/// Number of queues, and of those in a set, among which a flow may find its own.
const QUEUES: usize = 1_024;
const WAYS: usize = 8;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    name: "cake",
    purpose: "CAKE for best-effort traffic: a queue for each flow, controlled by CoDel and BLUE, and a shaper.",
    specifications: &[
        (
            "Linux net/sched/sch_cake.c",
            "besteffort and flows, the subset listed on this queue's page",
        ),
        (
            "Hoeiland-Joergensen et al. 2018",
            "set-associative hash, COBALT, deficit-mode shaper",
        ),
    ],
    limit: Some(10_240),
    in_bytes: true,
    params: &[
        Param {
            name: "bandwidth",
            domain: Domain::Rate(None, Rate::from_bps(64_000), Rate::from_mbps(10_000_000)),
            otherwise: "unlimited",
            purpose: "rate of the shaper",
            section: "tc-cake(8)",
        },
        Param {
            name: "rtt",
            domain: Domain::Time(
                Some(Span::from_millis(100)),
                Span::from_micros(20),
                Span::from_secs(100),
            ),
            otherwise: "",
            purpose: "typical RTT of the traffic; CoDel's interval, and 20 times its target",
            section: "tc-cake(8)",
        },
    ],
    aqm: true,
    random: true,
    check: no_check,
};

/// Scheduling state of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    None,
    /// In the rotation of new flows, or with its first turn used while its queue was empty.
    Sparse,
    Bulk,
    /// Without packets, but its control is not at rest.
    Decaying,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    list: List,
    deficit: i64,
    control: Control,
    set: Set,
    /// Stamp of its latest entry in `decaying`; its other entries there are stale.
    stamp: u32,
}

/// The state of a `cake` queue.
#[derive(Clone, Debug)]
pub(super) struct Cake<P> {
    limit: Limit,
    law: Law,
    shaper: Option<Shaper>,
    quantum: i64,
    salt: u64,
    rng: Rng,
    slab: Slab<P>,
    flows: Box<[Flow]>,
    /// Flow that used each queue last.
    tags: Box<[u32]>,
    backlogs: Box<[u64]>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    decaying: VecDeque<(u32, u32)>,
    packets: u64,
    bytes: Bytes,
}

#[derive(Clone, Copy, Debug)]
enum Rotation {
    New,
    Old,
    Decaying,
}

impl<P: Copy> Discipline<P> for Cake<P> {
    fn new(config: &Config, limit: Limit, _rate: Rate, mut rng: Rng) -> Cake<P> {
        let bandwidth = config.rate("bandwidth");
        let quantum = bandwidth.map_or(PACKET.get(), |rate| {
            (rate.as_bps() / 8 / 4_096).clamp(300, PACKET.get())
        });
        Cake {
            limit,
            law: Law::new(config.some_time("rtt"), bandwidth),
            shaper: bandwidth.map(Shaper::new),
            quantum: quantum as i64,
            salt: rng.next_u64(),
            rng,
            slab: Slab::new(),
            flows: vec![Flow::default(); QUEUES].into(),
            tags: vec![0; QUEUES].into(),
            backlogs: vec![0; QUEUES].into(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }

    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        let index = self.queue_of(packet.flow);
        if self.packets == 0
            && let Some(shaper) = &mut self.shaper
        {
            shaper.wake(now);
        }
        let flow = &mut self.flows[index];
        self.packets += 1;
        self.bytes += packet.size;
        self.backlogs[index] += packet.size.get();
        self.slab.push(&mut flow.list, packet);
        if matches!(flow.set, Set::None | Set::Decaying) {
            flow.set = Set::Sparse;
            flow.deficit = self.quantum;
            self.new.push_back(index as u32);
        }
        // Drop at most as many bytes as have arrived: when the limit shrinks, queued packets stay.
        let before = self.bytes;
        while self.limit.is_passed(self.packets, self.bytes) && before - self.bytes < packet.size {
            self.drop_from_longest(now, dropped);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        if self.packets == 0 || self.opens_at() > now {
            return None;
        }
        let mut first = true;
        loop {
            let (rotation, index) = self.turn(core::mem::take(&mut first))?;
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                if self.backlogs[index] > 0 {
                    flow.set = Set::Bulk;
                }
                flow.deficit += self.quantum;
                self.leave(rotation);
                self.old.push_back(index as u32);
                continue;
            }
            if let Some(packet) = self.next_of(index, now, dropped) {
                self.flows[index].deficit -= packet.size.get() as i64;
                if let Some(shaper) = &mut self.shaper {
                    shaper.charge(packet.size);
                }
                return Some(packet);
            }
            self.leave(rotation);
            let flow = &mut self.flows[index];
            flow.control.finds_none(&self.law, now);
            if flow.control.is_at_rest(now) {
                flow.set = Set::None;
            } else {
                flow.set = Set::Decaying;
                flow.stamp = flow.stamp.wrapping_add(1);
                self.decaying.push_back((index as u32, flow.stamp));
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

    /// Returns the time at which the shaper lets the next packet pass.
    #[inline]
    fn opens_at(&self) -> Time {
        self.shaper.map_or(Time::ZERO, |shaper| shaper.opens_at())
    }
}

impl<P: Copy> Cake<P> {
    /// Returns a flow's queue: its own, or an empty one in its set. The flow shares a queue only
    /// when the set has no empty one.
    #[inline]
    fn queue_of(&mut self, flow: u32) -> usize {
        let tag = hash(flow, self.salt) as u32;
        let home = tag as usize % QUEUES;
        if self.tags[home] == tag && self.flows[home].set != Set::None {
            return home;
        }
        let ways = || (0..WAYS).map(|way| home / WAYS * WAYS + (home + way) % WAYS);
        let own = ways().find(|queue| self.tags[*queue] == tag);
        let queue = own
            .or_else(|| ways().find(|queue| self.flows[*queue].set == Set::None))
            .unwrap_or(home);
        self.tags[queue] = tag;
        queue
    }

    #[cold]
    fn drop_from_longest(&mut self, now: Time, dropped: &mut impl Dropped<P>) {
        let longest = (0..QUEUES)
            .rev()
            .max_by_key(|queue| self.backlogs[*queue])
            .expect("there is at least one queue");
        let packet = self.pop(longest).expect("the longest queue is not empty");
        self.flows[longest].control.overflows(&self.law, now);
        dropped(packet);
    }

    #[inline]
    fn pop(&mut self, index: usize) -> Option<Packet<P>> {
        let packet = self.slab.pop(&mut self.flows[index].list)?;
        self.packets -= 1;
        self.bytes -= packet.size;
        self.backlogs[index] -= packet.size.get();
        Some(packet)
    }

    /// Returns the queue whose turn it is: first a decaying one, then a new one, then an old one.
    #[inline]
    fn turn(&mut self, decaying_too: bool) -> Option<(Rotation, usize)> {
        while let Some((index, stamp)) = self.decaying.front().copied().filter(|_| decaying_too) {
            let flow = &self.flows[index as usize];
            if flow.set == Set::Decaying && flow.stamp == stamp {
                return Some((Rotation::Decaying, index as usize));
            }
            self.decaying.pop_front();
        }
        let new = self
            .new
            .front()
            .map(|index| (Rotation::New, *index as usize));
        new.or_else(|| {
            self.old
                .front()
                .map(|index| (Rotation::Old, *index as usize))
        })
    }

    fn leave(&mut self, rotation: Rotation) {
        match rotation {
            Rotation::New => drop(self.new.pop_front()),
            Rotation::Old => drop(self.old.pop_front()),
            Rotation::Decaying => drop(self.decaying.pop_front()),
        }
    }

    /// Returns the flow's next packet that is not dropped; the last packet in a queue is never
    /// dropped.
    #[inline]
    fn next_of(
        &mut self,
        index: usize,
        now: Time,
        dropped: &mut impl Dropped<P>,
    ) -> Option<Packet<P>> {
        loop {
            let mut packet = self.pop(index)?;
            let drops = self.flows[index]
                .control
                .drops(&self.law, now, &mut packet, &mut self.rng);
            if !drops || self.backlogs[index] == 0 {
                return Some(packet);
            }
            dropped(packet);
        }
    }
}
