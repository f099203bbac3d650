//! A link of any kind.

use fullpipe_units::{Bytes, Span, Time};

use crate::{Link, ManagedLink, VaryingLink};

/// A link that can begin to send.
#[derive(Clone, Debug)]
pub enum AnyLink<P> {
    /// Drop-tail at a constant rate.
    Constant(Link),
    /// Drop-tail, of which something changes or is added.
    Varying(Box<VaryingLink>),
    /// Behind a queue that decides.
    Managed(Box<ManagedLink<P>>),
}

impl<P: Copy> AnyLink<P> {
    /// Packets and bytes that wait at `now`, without the one being sent.
    pub fn backlog(&mut self, now: Time) -> (u64, Bytes) {
        match self {
            AnyLink::Constant(link) => link.backlog(now),
            AnyLink::Varying(link) => link.backlog(now),
            AnyLink::Managed(link) => link.backlog(),
        }
    }

    /// For how long it could have sent from `from` to `to`.
    pub fn offered(&self, from: Time, to: Time) -> Span {
        match self {
            AnyLink::Constant(_) => to - from,
            AnyLink::Varying(link) => link.offered(from, to),
            AnyLink::Managed(link) => link.offered(from, to),
        }
    }
}
