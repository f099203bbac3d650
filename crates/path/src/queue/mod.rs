//! Active queue management (AQM): queues that choose the next packet and drop or mark packets.
//!
//! Sans-IO: the caller reports each arrival and requests each departure, in order of time. Only
//! time passes in between, so there are no timers: the next packet catches up on periodic updates,
//! each at its own time. Every packet that enters leaves, is dropped, or waits.
//!
//! Each queue is a variant of an enum, in one file. Its [`Descriptor`] declares the options;
//! scenario keys, schema, errors, `explain` and the tables of `docs/reference/models/` derive from it.
//! `scenario` knows nothing else of the queues.

mod cake;
mod cobalt;
mod codel;
mod descriptor;
mod dualpi2;
mod fq_codel;
mod packet;
mod pie;
mod red;
mod sfq;
mod slab;
mod step_ecn;
#[cfg(test)]
mod tests;

pub use descriptor::{Config, Depth, Descriptor, Domain, OptionValue, Param, Refusal};
pub use fullpipe_units::EcnCodepoint;
pub use packet::Packet;

use fullpipe_units::{Bytes, Rate, Rng, Time};

use crate::Limit;

/// A full IP packet: the unit for limits in packets, and Linux's `psched_mtu`. Linux counts packets
/// and `psched_mtu` with the link-layer header, 1514 bytes on Ethernet; the simulator counts both
/// without it.
const PACKET: Bytes = Bytes::new(1_500);

/// A callback for each packet that is dropped.
pub trait Dropped<P>: FnMut(Packet<P>) {}
impl<P, F: FnMut(Packet<P>)> Dropped<P> for F {}

static PFIFO: Descriptor = Descriptor {
    name: "pfifo",
    purpose: "First in, first out; arrivals beyond the limit are dropped (drop-tail).",
    specifications: &[("tc-pfifo(8)", "the limit, in packets or bytes")],
    limit: None,
    in_bytes: false,
    params: &[],
    aqm: false,
    random: false,
    check: descriptor::no_check,
};

static BFIFO: Descriptor = Descriptor {
    name: "bfifo",
    purpose: "First in, first out, with a limit in bytes: small packets take less room than large packets.",
    specifications: &[("tc-bfifo(8)", "the limit, in bytes")],
    limit: None,
    in_bytes: true,
    params: &[],
    aqm: false,
    random: false,
    check: descriptor::no_check,
};

/// Interface of an AQM queue. The plain queues are not AQMs: a [`Link`](crate::Link) implements
/// them.
trait Discipline<P: Copy> {
    /// Creates an empty queue in front of a link of `rate`.
    fn new(config: &Config, limit: Limit, rate: Rate, rng: Rng) -> Self;
    /// Handles the arrival of a packet.
    fn enqueue(&mut self, now: Time, packet: Packet<P>, dropped: &mut impl Dropped<P>);
    /// Returns the packet to send next, when the link can send. An empty queue notes that the link
    /// is idle.
    fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>>;
    /// Returns the numbers of packets and bytes that wait.
    fn backlog(&self) -> (u64, Bytes);
    /// Returns the capacity of the queue.
    fn limit(&mut self) -> &mut Limit;
    /// Returns the earliest time at which the queue releases a packet; only a shaper delays it.
    #[inline]
    fn opens_at(&self) -> Time {
        Time::ZERO
    }
}

/// The AQM queues, each `module::Type` with the module's `DESCRIPTOR`: generates the list of queues
/// for scenarios, and one enum over all of them. An enum and not a trait object, since every packet
/// passes through it.
macro_rules! queues {
    ($($module:ident::$Type:ident,)*) => {
        /// The queues that a scenario may name.
        pub static QUEUES: &[&Descriptor] = &[&PFIFO, &BFIFO, $(&$module::DESCRIPTOR,)*];

        #[derive(Clone, Debug)]
        enum AnyQueue<P> {
            $($Type($module::$Type<P>),)*
        }

        impl<P: Copy> AnyQueue<P> {
            fn new(config: &Config, limit: Limit, rate: Rate, rng: Rng) -> Option<AnyQueue<P>> {
                let descriptor = config.descriptor();
                $(if core::ptr::eq(descriptor, &$module::DESCRIPTOR) {
                    let queue = Discipline::new(config, limit, rate, rng);
                    return Some(AnyQueue::$Type(queue));
                })*
                None
            }
        }

        /// `each!(any, queue => what it does)`.
        macro_rules! each {
            ($any:expr, $queue:ident => $does:expr) => {
                match $any { $(AnyQueue::$Type($queue) => $does,)* }
            };
        }
    };
}

queues! {
    red::Red,
    codel::Codel,
    fq_codel::FqCodel,
    pie::Pie,
    dualpi2::DualPi2,
    step_ecn::StepEcn,
    cake::Cake,
    sfq::Sfq,
}

impl Descriptor {
    /// Returns whether it chooses the next packet, so that departures are not known on arrival.
    pub fn decides(&self) -> bool {
        !core::ptr::eq(self, &PFIFO) && !core::ptr::eq(self, &BFIFO)
    }
}

/// An AQM queue.
#[derive(Clone, Debug)]
pub struct Queue<P>(AnyQueue<P>);

impl<P: Copy> Queue<P> {
    /// Returns an empty queue in front of a link of `rate`; `None` for the plain queues.
    pub fn new(config: &Config, limit: Limit, rate: Rate, rng: Rng) -> Option<Queue<P>> {
        AnyQueue::new(config, limit, rate, rng).map(Queue)
    }

    /// Handles the arrival of a packet.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        each!(&mut self.0, queue => queue.enqueue(now, packet, dropped));
    }

    /// Returns the packet to send next, when the link can send. An empty queue notes that the link
    /// is idle.
    #[inline(always)] // a packet is large to pass through memory
    pub fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        each!(&mut self.0, queue => queue.dequeue(now, dropped))
    }

    /// Returns the earliest time at which the queue releases a packet; only a shaper delays it.
    #[inline]
    pub fn opens_at(&self) -> Time {
        each!(&self.0, queue => queue.opens_at())
    }

    /// Changes the limit. Packets that already wait stay.
    pub fn set_limit(&mut self, limit: Limit) {
        *each!(&mut self.0, queue => queue.limit()) = limit;
    }

    /// Returns the numbers of packets and bytes that wait.
    #[inline]
    pub fn backlog(&self) -> (u64, Bytes) {
        each!(&self.0, queue => queue.backlog())
    }
}

/// Returns the queue, out of `buckets`, for a flow, by hash. The salt is drawn once, as in the
/// kernel at boot.
#[inline]
fn bucket(flow: u32, salt: u64, buckets: usize) -> usize {
    (((hash(flow, salt) >> 32) * buckets as u64) >> 32) as usize
}

/// SplitMix64's finalizer.
#[inline]
fn hash(flow: u32, salt: u64) -> u64 {
    let mut hash = u64::from(flow) ^ salt;
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
