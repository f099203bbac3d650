//! A packet in a queue, and the plain FIFO on which most queues are built.

use std::collections::VecDeque;

use fullpipe_units::{Bytes, EcnCodepoint, Time};

/// A waiting packet, with a payload of the caller.
#[derive(Clone, Copy, Debug)]
pub struct Packet<P> {
    /// Flow of the packet, which stands for the hash of its addresses and ports.
    pub flow: u32,
    /// Bytes on the wire.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: EcnCodepoint,
    /// Whether this queue set [`EcnCodepoint::Ce`].
    pub marked: bool,
    /// Whether the step threshold of `dualpi2` does not apply to it.
    pub(super) exempt: bool,
    /// Time of arrival at the queue.
    pub arrived: Time,
    /// The caller's data, passed through unchanged.
    pub payload: P,
}

impl<P> Packet<P> {
    /// Creates a packet that reaches a queue at `arrived`.
    #[inline]
    pub fn new(flow: u32, size: Bytes, ecn: EcnCodepoint, arrived: Time, payload: P) -> Packet<P> {
        Packet {
            flow,
            size,
            ecn,
            marked: false,
            exempt: false,
            arrived,
            payload,
        }
    }

    /// Sets CE; returns false if the packet is not ECN-capable and must be dropped instead.
    #[inline]
    pub(super) fn mark(&mut self) -> bool {
        match self.ecn {
            EcnCodepoint::NotEct => false,
            EcnCodepoint::Ce => true,
            EcnCodepoint::Ect0 | EcnCodepoint::Ect1 => {
                (self.ecn, self.marked) = (EcnCodepoint::Ce, true);
                true
            }
        }
    }
}

/// First in, first out.
#[derive(Clone, Debug)]
pub(super) struct Fifo<P> {
    waiting: VecDeque<Packet<P>>,
    bytes: Bytes,
}

impl<P> Default for Fifo<P> {
    fn default() -> Fifo<P> {
        Fifo {
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }
}

impl<P> Fifo<P> {
    #[inline]
    pub(super) fn push(&mut self, packet: Packet<P>) {
        self.bytes += packet.size;
        self.waiting.push_back(packet);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet<P>> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= packet.size;
        Some(packet)
    }

    #[inline]
    pub(super) fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    #[inline]
    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Returns the arrival time of the packet at the head of the queue.
    #[inline]
    pub(super) fn head(&self) -> Option<Time> {
        self.waiting.front().map(|packet| packet.arrived)
    }
}
