//! `pfifo`: the drop-tail queue of a link whose departures are known.

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Time};

/// What a queue may hold, without the packet being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Packets of whatever size.
    Packets(u64),
    /// Bytes.
    Bytes(Bytes),
}

impl Default for Limit {
    /// Nothing.
    fn default() -> Limit {
        Limit::Packets(0)
    }
}

impl Limit {
    /// Whether a packet of `size` may wait beside so many packets and bytes.
    #[inline]
    pub(crate) fn has_room(self, packets: u64, bytes: Bytes, size: Bytes) -> bool {
        match self {
            Limit::Packets(most) => packets < most,
            Limit::Bytes(most) => bytes + size <= most,
        }
    }

    /// Whether so many packets and bytes are more than it.
    #[inline]
    pub(crate) fn is_passed(self, packets: u64, bytes: Bytes) -> bool {
        match self {
            Limit::Packets(most) => packets > most,
            Limit::Bytes(most) => bytes > most,
        }
    }

    /// What is left of it beside a packet of `size` that waits; all of it beside none.
    pub(crate) fn without(self, size: Bytes) -> Limit {
        match self {
            Limit::Packets(most) => {
                Limit::Packets(most.saturating_sub(u64::from(size > Bytes::ZERO)))
            }
            Limit::Bytes(most) => Limit::Bytes(Bytes::new(most.get().saturating_sub(size.get()))),
        }
    }

    /// The bytes of it, when all packets are of size `packet`.
    pub fn bytes(self, packet: Bytes) -> Bytes {
        match self {
            Limit::Packets(packets) => packet * packets,
            Limit::Bytes(bytes) => bytes,
        }
    }
}

/// The packets that wait, each known by when its transmission will begin.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit: Limit,
    waiting: VecDeque<(Time, u32)>,
    bytes: Bytes,
}

impl DropTail {
    /// An empty queue.
    pub fn new(limit: Limit) -> DropTail {
        DropTail {
            limit,
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }

    /// From now on it may hold so much; what waits already stays.
    pub(crate) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Lets go of the packets whose transmission has begun.
    #[inline]
    pub(crate) fn release(&mut self, now: Time) {
        while let Some(&(start, size)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.bytes -= Bytes::new(u64::from(size));
            self.waiting.pop_front();
        }
    }

    /// Whether one more packet of `size` may wait.
    #[inline]
    pub(crate) fn has_room(&self, size: Bytes) -> bool {
        self.limit
            .has_room(self.waiting.len() as u64, self.bytes, size)
    }

    /// A packet waits until `start`.
    #[inline]
    pub(crate) fn push(&mut self, start: Time, size: Bytes) {
        self.bytes += size;
        self.waiting.push_back((start, size.get() as u32));
    }

    /// Packets and bytes that wait.
    pub(crate) fn backlog(&self) -> (u64, Bytes) {
        (self.waiting.len() as u64, self.bytes)
    }
}
