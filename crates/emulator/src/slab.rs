//! Where packets are kept while they are on their way.

use fullpipe_units::{Span, Time};

use crate::EmulatedPacket;

/// A packet on its way.
#[derive(Debug)]
pub(crate) struct PacketInTransit<P> {
    pub(crate) parcel: EmulatedPacket<P>,
    /// The hop of its route that it is at, or goes to.
    pub(crate) hop: usize,
    /// How long it has waited in queues.
    pub(crate) waited: Span,
    /// When it came to the link that it is at.
    pub(crate) arrived: Time,
}

/// Packets by number; numbers are used again.
#[derive(Debug)]
pub(crate) struct Slab<P> {
    places: Vec<Option<PacketInTransit<P>>>,
    free: Vec<u32>,
}

impl<P> Slab<P> {
    pub(crate) fn new() -> Slab<P> {
        Slab {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn put(&mut self, travelling: PacketInTransit<P>) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(travelling);
                place
            }
            None => {
                self.places.push(Some(travelling));
                self.places.len() as u32 - 1
            }
        }
    }

    pub(crate) fn take(&mut self, place: u32) -> PacketInTransit<P> {
        self.free.push(place);
        self.places[place as usize]
            .take()
            .expect("what is on its way is on the shelf")
    }

    pub(crate) fn at(&mut self, place: u32) -> &mut PacketInTransit<P> {
        self.places[place as usize]
            .as_mut()
            .expect("what is on its way is on the shelf")
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
