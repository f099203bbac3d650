//! What waits in a queue that decides.

use fullpipe_network::{Counted, PacketKind};
use fullpipe_tcp::{Ack, AckKind, Block, MAX_BLOCKS};

use crate::event_queue::FlowKey;
use crate::flow::PacketInTransit;

/// What a queue that decides holds: a packet or an ACK of a flow, in whose counts it is, and where
/// on its route this is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) load: Load,
    pub(crate) account: u32,
    pub(crate) hop: HopOfSlot,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    Data(PacketInTransit),
    /// An ACK, by its place on the slab.
    Ack {
        place: u32,
        kind: PacketKind,
    },
}

/// The slot of a flow and a hop of its route: in four bytes, since queues move what they hold. The
/// flow's number is the packet's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopOfSlot(u32);

/// An ACK that waits, with its SACK blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingAck {
    /// Its flow, and whose counts it is in.
    pub(crate) key: FlowKey,
    pub(crate) account: u32,
    /// Which hop of its flow's way back this is.
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

impl Counted for Waiting {
    fn kind(&self) -> PacketKind {
        match &self.load {
            Load::Data(packet) => packet.kind(),
            Load::Ack { kind, .. } => *kind,
        }
    }
}

impl PacketInTransit {
    /// What it counts as: a SYN is no data.
    #[inline]
    pub(crate) fn kind(&self) -> PacketKind {
        if self.segment.syn {
            PacketKind::Other
        } else {
            PacketKind::Data
        }
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
        &self.blocks[..usize::from(self.ack.blocks)]
    }

    /// What it counts as: the answer to a SYN is no ACK.
    pub(crate) fn kind(&self) -> PacketKind {
        match self.ack.kind {
            AckKind::Syn => PacketKind::Other,
            _ => PacketKind::Ack,
        }
    }
}
