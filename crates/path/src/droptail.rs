//! `pfifo`: the drop-tail queue of a link whose departures are known.

use fullpipe_units::{Bytes, Ring, Time};

/// Capacity of a queue, excluding the packet being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of packets of any size.
    Packets(u64),
    /// Bytes.
    Bytes(Bytes),
}

impl Default for Limit {
    /// Creates a limit that no packet fits.
    fn default() -> Limit {
        Limit::Packets(0)
    }
}

impl Limit {
    /// Returns whether a packet of `size` may wait in addition to `packets` and `bytes`.
    #[inline]
    pub(crate) fn has_room(self, packets: u64, bytes: Bytes, size: Bytes) -> bool {
        match self {
            Limit::Packets(most) => packets < most,
            Limit::Bytes(most) => bytes + size <= most,
        }
    }

    /// Returns whether `packets` or `bytes` exceed the limit.
    #[inline]
    pub(crate) fn is_passed(self, packets: u64, bytes: Bytes) -> bool {
        match self {
            Limit::Packets(most) => packets > most,
            Limit::Bytes(most) => bytes > most,
        }
    }

    /// Returns the limit less a packet of `size` that waits outside the queue; unchanged for size
    /// zero.
    pub(crate) fn without(self, size: Bytes) -> Limit {
        match self {
            Limit::Packets(most) => {
                Limit::Packets(most.saturating_sub(u64::from(size > Bytes::ZERO)))
            }
            Limit::Bytes(most) => Limit::Bytes(Bytes::new(most.get().saturating_sub(size.get()))),
        }
    }

    /// Returns the limit in bytes, if all packets have the size `packet`.
    pub fn bytes(self, packet: Bytes) -> Bytes {
        match self {
            Limit::Packets(packets) => packet * packets,
            Limit::Bytes(bytes) => bytes,
        }
    }
}

/// The waiting packets, each known by the time at which its transmission begins.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit: Limit,
    waiting: Ring<(Time, u32)>,
    bytes: Bytes,
}

impl DropTail {
    /// Creates an empty queue.
    pub fn new(limit: Limit) -> DropTail {
        DropTail {
            limit,
            waiting: Ring::default(),
            bytes: Bytes::ZERO,
        }
    }

    /// Changes the limit; packets that already wait stay.
    pub(crate) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Removes the packets whose transmission has begun by `now`.
    #[inline]
    pub(crate) fn release(&mut self, now: Time) {
        while let Some(&(start, size)) = self.waiting.first() {
            if start > now {
                break;
            }
            self.bytes -= Bytes::new(u64::from(size));
            self.waiting.pop();
        }
    }

    /// Returns whether one more packet of `size` may wait.
    #[inline]
    pub(crate) fn has_room(&self, size: Bytes) -> bool {
        self.limit
            .has_room(self.waiting.len() as u64, self.bytes, size)
    }

    /// Adds a packet that waits until `start`.
    #[inline]
    pub(crate) fn push(&mut self, start: Time, size: Bytes) {
        self.bytes += size;
        self.waiting.push((start, size.get() as u32));
    }

    /// Returns the waiting packets: the time at which each begins to leave, and its size.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Time, Bytes)> + '_ {
        let number = |index| self.waiting.get(index).copied();
        let packet = |(start, size)| (start, Bytes::new(u64::from(size)));
        (0..self.waiting.len()).filter_map(number).map(packet)
    }

    /// Returns the numbers of packets and bytes that wait.
    pub(crate) fn backlog(&self) -> (u64, Bytes) {
        (self.waiting.len() as u64, self.bytes)
    }
}
