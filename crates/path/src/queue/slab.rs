//! First-in-first-out lists in one block of memory, which grows with the packets and not with the
//! lists.

use super::packet::Packet;

const NONE: u32 = u32::MAX;

/// The packets of all lists. The place freed last is reused first, while it is still in the cache.
#[derive(Clone, Debug)]
pub(super) struct Slab<P> {
    places: Vec<(Packet<P>, u32)>,
    free: u32,
}

/// One list: its first and last place.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> List {
        List {
            first: NONE,
            last: NONE,
        }
    }
}

impl<P: Copy> Slab<P> {
    pub(super) fn new() -> Slab<P> {
        Slab {
            places: Vec::new(),
            free: NONE,
        }
    }

    /// Adds a packet at the end of `list`.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, packet: Packet<P>) {
        let place = if self.free == NONE {
            self.places.push((packet, NONE));
            (self.places.len() - 1) as u32
        } else {
            let place = self.free;
            let (taken, next) = &mut self.places[place as usize];
            self.free = *next;
            (*taken, *next) = (packet, NONE);
            place
        };
        if list.first == NONE {
            list.first = place;
        } else {
            self.places[list.last as usize].1 = place;
        }
        list.last = place;
    }

    /// Removes the first packet of `list`.
    #[inline]
    pub(super) fn pop(&mut self, list: &mut List) -> Option<Packet<P>> {
        if list.first == NONE {
            return None;
        }
        let place = list.first;
        let (packet, next) = &mut self.places[place as usize];
        list.first = *next;
        *next = self.free;
        self.free = place;
        Some(*packet)
    }
}
