//! Active queue management (AQM): queues that choose the next packet and drop or mark packets.
//!
//! Sans-IO: the caller reports each arrival and asks for each departure, in order of time. Only
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
    check: descriptor::no_check,
};

/// What a queue that decides has to do. The plain ones do not decide: they are a
/// [`Link`](crate::Link)'s.
trait Discipline<P: Copy> {
    /// An empty queue in front of a link of `rate`.
    fn new(config: &Config, limit: Limit, rate: Rate, rng: Rng) -> Self;
    /// A packet arrives.
    fn enqueue(&mut self, now: Time, packet: Packet<P>, dropped: &mut impl Dropped<P>);
    /// The link can send: the packet that goes next. Asked of an empty queue it notes that the link
    /// is idle.
    fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>>;
    /// Packets and bytes that wait.
    fn backlog(&self) -> (u64, Bytes);
    /// How much may wait.
    fn limit(&mut self) -> &mut Limit;
    /// From when on the queue lets something go; only a shaper has it wait.
    #[inline]
    fn opens_at(&self) -> Time {
        Time::ZERO
    }
}

/// The queues that decide, each `module::Type` with the module's `DESCRIPTOR`: the list of what a
/// scenario may name, and one type that is any of them. A `match` and not a trait object, since it
/// is in the way of every packet.
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
    /// Whether it chooses what is sent next, so that departures are not known on arrival.
    pub fn decides(&self) -> bool {
        !core::ptr::eq(self, &PFIFO) && !core::ptr::eq(self, &BFIFO)
    }
}

/// A queue that decides.
#[derive(Clone, Debug)]
pub struct Queue<P>(AnyQueue<P>);

impl<P: Copy> Queue<P> {
    /// An empty queue in front of a link of `rate`; none for one that does not decide.
    pub fn new(config: &Config, limit: Limit, rate: Rate, rng: Rng) -> Option<Queue<P>> {
        AnyQueue::new(config, limit, rate, rng).map(Queue)
    }

    /// A packet arrives.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: Packet<P>, dropped: &mut impl Dropped<P>) {
        each!(&mut self.0, queue => queue.enqueue(now, packet, dropped));
    }

    /// The link can send: the packet that goes next. Asked of an empty queue it notes that the link
    /// is idle.
    #[inline(always)] // a packet is large to hand over through memory
    pub fn dequeue(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<Packet<P>> {
        each!(&mut self.0, queue => queue.dequeue(now, dropped))
    }

    /// From when on the queue lets something go; only a shaper has it wait.
    #[inline]
    pub fn opens_at(&self) -> Time {
        each!(&self.0, queue => queue.opens_at())
    }

    /// From now on it holds so much. What waits already stays.
    pub fn set_limit(&mut self, limit: Limit) {
        *each!(&mut self.0, queue => queue.limit()) = limit;
    }

    /// Packets and bytes that wait.
    #[inline]
    pub fn backlog(&self) -> (u64, Bytes) {
        each!(&self.0, queue => queue.backlog())
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
