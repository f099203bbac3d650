//! Packets and ACKs that wait in an AQM queue.

use fullpipe_network::{Counted, PacketKind};
use fullpipe_tcp::{ACK_SIZE, Ack, AckKind, Block, MAX_BLOCKS, Segment};
use fullpipe_units::Bytes;

use crate::event_queue::FlowKey;
use crate::flow::PacketInTransit;

/// An item of an AQM queue: a packet or an ACK of a flow, with the account in which it counts, and
/// its place on the flow's route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) load: Load,
    pub(crate) account: u32,
    pub(crate) hop: HopOfSlot,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    Data(PacketInTransit),
    /// An ACK, by its index in the slab.
    Ack {
        place: u32,
        kind: PacketKind,
    },
}

/// The slot of a flow and a hop of its route, in four bytes since queues move their items. The
/// packet holds the flow's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopOfSlot(u32);

/// A waiting ACK, with its SACK blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingAck {
    /// Its flow, and the account in which it counts.
    pub(crate) key: FlowKey,
    pub(crate) account: u32,
    /// Index of the hop on its flow's reverse path.
    pub(crate) hop: usize,
    pub(crate) ack: Ack,
    blocks: [Block; MAX_BLOCKS],
}

impl HopOfSlot {
    pub(crate) fn new(key: FlowKey, hop: usize) -> HopOfSlot {
        HopOfSlot((key.slot() as u32) << 8 | u32::from(hop as u8))
    }

    pub(crate) fn slot(self) -> usize {
        (self.0 >> 8) as usize
    }

    pub(crate) fn hop(self) -> usize {
        usize::from(self.0 as u8)
    }
}

impl Load {
    /// Returns the kind of packet for the counters.
    #[inline]
    pub(crate) fn kind(&self) -> PacketKind {
        match self {
            Load::Data(packet) => packet.kind(),
            Load::Ack { kind, .. } => *kind,
        }
    }

    /// Returns its size on the link.
    pub(crate) fn size(&self) -> Bytes {
        match self {
            Load::Data(packet) => packet.segment.wire_size(),
            Load::Ack { .. } => ACK_SIZE,
        }
    }
}

impl Counted for Waiting {
    fn kind(&self) -> PacketKind {
        self.load.kind()
    }
}

impl PacketInTransit {
    /// Returns the kind of packet for the counters.
    #[inline]
    pub(crate) fn kind(&self) -> PacketKind {
        kind(&self.segment)
    }
}

/// Returns the kind of a segment for the counters: a SYN is not data.
#[inline]
pub(crate) fn kind(segment: &Segment) -> PacketKind {
    if segment.syn {
        PacketKind::Other
    } else {
        PacketKind::Data
    }
}

impl WaitingAck {
    pub(crate) fn new(
        key: FlowKey,
        account: u32,
        hop: usize,
        ack: Ack,
        blocks: &[Block],
    ) -> WaitingAck {
        let mut kept = [Block::default(); MAX_BLOCKS];
        kept[..blocks.len()].copy_from_slice(blocks);
        WaitingAck {
            key,
            account,
            hop,
            ack,
            blocks: kept,
        }
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks[..self.ack.count()]
    }

    /// Returns the kind of packet for the counters: the answer to a SYN is not an ACK.
    pub(crate) fn kind(&self) -> PacketKind {
        match self.ack.kind {
            AckKind::Syn => PacketKind::Other,
            _ => PacketKind::Ack,
        }
    }
}
