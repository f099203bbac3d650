//! A link of any kind.

use fullpipe_units::{Bytes, Span, Time};

use crate::{Link, ManagedLink, VaryingLink};

/// A link that can begin to send.
#[derive(Clone, Debug)]
pub enum AnyLink<P> {
    /// Drop-tail at a constant rate.
    Constant(Link),
    /// Drop-tail, with a schedule of changes, a policer, a shaper or a varying rate.
    Varying(Box<VaryingLink>),
    /// Behind an AQM queue, which chooses the next packet.
    Managed(Box<ManagedLink<P>>),
}

impl<P: Copy> AnyLink<P> {
    /// Returns the numbers of packets and bytes waiting at `now`, excluding the packet being sent.
    pub fn backlog(&mut self, now: Time) -> (u64, Bytes) {
        match self {
            AnyLink::Constant(link) => link.backlog(now),
            AnyLink::Varying(link) => link.backlog(now),
            AnyLink::Managed(link) => link.backlog(),
        }
    }

    /// Returns the packets in a drop-tail queue after its latest arrival, each with the time at which it begins
    /// to leave and its size. Empty for an AQM queue.
    pub fn waiting(&self) -> Vec<(Time, Bytes)> {
        match self {
            AnyLink::Constant(link) => link.queue().waiting().collect(),
            AnyLink::Varying(link) => link.queue().waiting().collect(),
            AnyLink::Managed(_) => Vec::new(),
        }
    }

    /// Returns the time from `from` to `to` during which the link could have sent.
    pub fn offered(&self, from: Time, to: Time) -> Span {
        match self {
            AnyLink::Constant(_) => to - from,
            AnyLink::Varying(link) => link.offered(from, to),
            AnyLink::Managed(link) => link.offered(from, to),
        }
    }
}
