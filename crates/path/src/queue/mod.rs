//! Queues that decide which packet goes next, and which one is dropped or marked; sans-IO.
//!
//! They are told of each arrival and asked for each departure, in order of time. Between the two
//! only time passes, so what is due by the clock (an update of a probability) is caught up on.
//! Every packet that goes in comes out, is dropped, or waits.

mod cake;
mod cobalt;
mod codel;
mod descriptor;
mod dualpi2;
mod fq_codel;
mod packet;
mod pie;
mod red;
mod slab;
mod step_ecn;
#[cfg(test)]
mod tests;

pub use descriptor::{Config, Depth, Descriptor, Domain, OptionValue, Param, Refusal};
pub use fullpipe_units::EcnCodepoint;
pub use packet::Packet;

use fullpipe_units::{Bytes, Rate, Rng, Time};

use crate::Limit;

/// A full packet on Ethernet, as Linux counts it for these queues.
const MTU: Bytes = Bytes::new(1_514);
/// A full IP packet: what limits are counted in.
const PACKET: Bytes = Bytes::new(1_500);

/// Gets each packet that is dropped.
pub trait Dropped<P>: FnMut(Packet<P>) {}
impl<P, F: FnMut(Packet<P>)> Dropped<P> for F {}

static PFIFO: Descriptor = Descriptor {
    name: "pfifo",
    purpose: "First in, first out; an arrival beyond the limit is dropped (drop-tail).",
    specifications: &[("tc-pfifo(8)", "the limit, in packets or bytes")],
    limit: None,
    in_bytes: false,
    params: &[],
    random: false,
    discipline: Discipline::Fifo,
    check: descriptor::no_check,
};

static BFIFO: Descriptor = Descriptor {
    name: "bfifo",
    purpose: "First in, first out, with a limit in bytes: small packets take less room than large ones.",
    specifications: &[("tc-bfifo(8)", "the limit, in bytes")],
    limit: None,
    in_bytes: true,
    params: &[],
    random: false,
    discipline: Discipline::Fifo,
    check: descriptor::no_check,
};

/// The queues that a scenario may name.
pub static QUEUES: &[&Descriptor] = &[
    &PFIFO,
    &BFIFO,
    &red::DESCRIPTOR,
    &codel::DESCRIPTOR,
    &fq_codel::DESCRIPTOR,
    &pie::DESCRIPTOR,
    &dualpi2::DESCRIPTOR,
    &step_ecn::DESCRIPTOR,
    &cake::DESCRIPTOR,
];

/// What a queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discipline {
    Fifo,
    Red,
    Codel,
    FqCodel,
    Pie,
    DualPi2,
    StepEcn,
    Cake,
}

/// A queue that decides. The plain ones do not: they are a [`Link`](crate::Link)'s.
#[derive(Clone, Debug)]
pub struct Queue<P>(AnyQueue<P>);

#[derive(Clone, Debug)]
enum AnyQueue<P> {
    Red(red::Red<P>),
    Codel(codel::Codel<P>),
    FqCodel(fq_codel::FqCodel<P>),
    Pie(pie::Pie<P>),
    DualPi2(dualpi2::DualPi2<P>),
    StepEcn(step_ecn::StepEcn<P>),
    Cake(cake::Cake<P>),
}

impl<P: Copy> Queue<P> {
    /// An empty queue in front of a link of `rate`; none for one that does not decide.
    pub fn new(config: &Config, limit: Limit, rate: Rate, rng: Rng) -> Option<Queue<P>> {
        Some(Queue(match config.descriptor().discipline {
            Discipline::Fifo => return None,
            Discipline::Red => AnyQueue::Red(red::Red::new(config, limit, rate, rng)),
            Discipline::Codel => AnyQueue::Codel(codel::Codel::new(config, limit)),
            Discipline::FqCodel => AnyQueue::FqCodel(fq_codel::FqCodel::new(config, limit, rng)),
            Discipline::Pie => AnyQueue::Pie(pie::Pie::new(config, limit, rng)),
            Discipline::DualPi2 => AnyQueue::DualPi2(dualpi2::DualPi2::new(config, limit, rng)),
            Discipline::StepEcn => AnyQueue::StepEcn(step_ecn::StepEcn::new(config, limit)),
            Discipline::Cake => AnyQueue::Cake(cake::Cake::new(config, limit, rng)),
        }))
    }

    /// A packet arrives.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        match &mut self.0 {
            AnyQueue::Red(queue) => queue.enqueue(now, packet, dropped),
            AnyQueue::Codel(queue) => queue.enqueue(packet, dropped),
            AnyQueue::FqCodel(queue) => queue.enqueue(packet, dropped),
            AnyQueue::Pie(queue) => queue.enqueue(now, packet, dropped),
            AnyQueue::DualPi2(queue) => queue.enqueue(now, packet, dropped),
            AnyQueue::StepEcn(queue) => queue.enqueue(packet, dropped),
            AnyQueue::Cake(queue) => queue.enqueue(now, packet, dropped),
        }
    }

    /// The link can send: the packet that goes next. Asked of an empty queue it notes that the link
    /// is idle.
    #[inline(always)] // a packet is large to hand over through memory
    pub fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        match &mut self.0 {
            AnyQueue::Red(queue) => queue.dequeue(now),
            AnyQueue::Codel(queue) => queue.dequeue(now, dropped),
            AnyQueue::FqCodel(queue) => queue.dequeue(now, dropped),
            AnyQueue::Pie(queue) => queue.dequeue(now),
            AnyQueue::DualPi2(queue) => queue.dequeue(now, dropped),
            AnyQueue::StepEcn(queue) => queue.dequeue(now, dropped),
            AnyQueue::Cake(queue) => queue.dequeue(now, dropped),
        }
    }

    /// From when on the queue lets something go; only a shaper has it wait.
    #[inline]
    pub fn opens_at(&self) -> Time {
        match &self.0 {
            AnyQueue::Cake(queue) => queue.ready_at(),
            _ => Time::ZERO,
        }
    }

    /// From now on it holds so much. What waits already stays.
    pub fn set_limit(&mut self, limit: Limit) {
        *match &mut self.0 {
            AnyQueue::Red(queue) => &mut queue.limit,
            AnyQueue::Codel(queue) => &mut queue.limit,
            AnyQueue::FqCodel(queue) => &mut queue.limit,
            AnyQueue::Pie(queue) => &mut queue.limit,
            AnyQueue::DualPi2(queue) => &mut queue.limit,
            AnyQueue::StepEcn(queue) => &mut queue.limit,
            AnyQueue::Cake(queue) => &mut queue.limit,
        } = limit;
    }

    /// Packets and bytes that wait.
    #[inline]
    pub fn backlog(&self) -> (u64, Bytes) {
        let fifo = match &self.0 {
            AnyQueue::Red(queue) => &queue.fifo,
            AnyQueue::Codel(queue) => &queue.fifo,
            AnyQueue::Pie(queue) => &queue.fifo,
            AnyQueue::StepEcn(queue) => &queue.fifo,
            AnyQueue::FqCodel(queue) => return queue.backlog(),
            AnyQueue::DualPi2(queue) => return queue.backlog(),
            AnyQueue::Cake(queue) => return queue.backlog(),
        };
        (fifo.packets(), fifo.bytes())
    }
}

/// The queue of so many that a flow is hashed to; the salt is drawn once, as the kernel's at boot.
#[inline]
fn bucket(flow: u32, salt: u64, buckets: usize) -> usize {
    (((hash(flow, salt) >> 32) * buckets as u64) >> 32) as usize
}

/// SplitMix64's finaliser.
#[inline]
fn hash(flow: u32, salt: u64) -> u64 {
    let mut hash = u64::from(flow) ^ salt;
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
