//! Where ACKs lie while they wait in a queue that decides: the queue holds their places on the
//! slab.

use fullpipe_tcp::{Ack, Block, MAX_BLOCKS};

use crate::event_queue::FlowKey;

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
}

/// Places for ACKs, used again when they are free.
#[derive(Debug, Default)]
pub(crate) struct Slab {
    places: Vec<Option<WaitingAck>>,
    free: Vec<u32>,
}

impl Slab {
    pub(crate) fn put(&mut self, waiting: WaitingAck) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            u32::try_from(self.places.len() - 1).expect("no queue holds 2^32 ACKs")
        });
        self.places[place as usize] = Some(waiting);
        place
    }

    pub(crate) fn take(&mut self, place: u32) -> WaitingAck {
        self.free.push(place);
        self.places[place as usize]
            .take()
            .expect("an ACK is taken once")
    }

    /// The ACK at a place.
    pub(crate) fn at(&self, place: u32) -> &WaitingAck {
        self.places[place as usize]
            .as_ref()
            .expect("an ACK that waits")
    }

    /// The ACK at a place, if it is of that flow and hop still.
    pub(crate) fn of(&mut self, place: u32, key: FlowKey, hop: usize) -> Option<&mut WaitingAck> {
        let waiting = self.places.get_mut(place as usize)?.as_mut();
        waiting.filter(|waiting| waiting.key == key && waiting.hop == hop)
    }
}
