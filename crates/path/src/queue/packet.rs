//! What a queue sees of a packet, and the plain FIFO that most of them are built on.

use std::collections::VecDeque;

use fullpipe_units::{Bytes, EcnCodepoint, Time};

/// A packet that waits, with what belongs to who put it there.
#[derive(Clone, Copy, Debug)]
pub struct Packet<P> {
    /// Which flow it is of: stands for the hash of its addresses and ports.
    pub flow: u32,
    /// Bytes on the wire.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: EcnCodepoint,
    /// This queue set [`EcnCodepoint::Ce`].
    pub marked: bool,
    /// The threshold of `dualpi2` does not concern it.
    pub(super) exempt: bool,
    /// When it reached the queue.
    pub arrived: Time,
    /// Carried along.
    pub payload: P,
}

impl<P> Packet<P> {
    /// A packet that reaches a queue at `arrived`.
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

    /// Sets CE; false when the packet is not ECN-capable, so has to be dropped instead.
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

    /// When the packet at the head came.
    #[inline]
    pub(super) fn head(&self) -> Option<Time> {
        self.waiting.front().map(|packet| packet.arrived)
    }
}
