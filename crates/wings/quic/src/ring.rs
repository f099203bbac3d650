//! The state of the connection when each packet was sent, by packet number.

use std::collections::VecDeque;

use fullpipe_cc::Snapshot;

/// State of a packet number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    /// No packet that counts in flight has this number: it was skipped, or the packet contained
    /// only ACKs.
    Unused,
    Outstanding(Snapshot),
    Acked,
    Lost,
}

/// Snapshots of the Data space, from the oldest outstanding packet to the newest. Earlier numbers
/// are unknown, in particular those of the handshake's packets, which count from 0 in their own
/// packet number spaces.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    base: u64,
    slots: VecDeque<Slot>,
}

impl Ring {
    /// Returns one past the number of the newest packet.
    pub(crate) fn next(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    /// Returns the number of the oldest outstanding packet, or of the next packet.
    pub(crate) fn oldest(&self) -> u64 {
        self.base
    }

    /// Records that packet `pn` left; its number is higher than all earlier ones.
    pub(crate) fn push(&mut self, pn: u64, snapshot: Snapshot) {
        if self.slots.is_empty() {
            self.base = pn;
        }
        assert!(pn >= self.next(), "packet numbers rise");
        while self.next() < pn {
            self.slots.push_back(Slot::Unused);
        }
        self.slots.push_back(Slot::Outstanding(snapshot));
    }

    /// Marks packet `pn` as acknowledged. Returns its snapshot if it was outstanding.
    pub(crate) fn acknowledge(&mut self, pn: u64) -> Option<Snapshot> {
        self.settle(pn, Slot::Acked)
    }

    /// Marks packet `pn` as lost. If it was outstanding, returns its snapshot, and whether it
    /// begins a new range of lost packets.
    pub(crate) fn lose(&mut self, pn: u64) -> Option<(Snapshot, bool)> {
        let snapshot = self.settle(pn, Slot::Lost)?;
        let before = (self.base..pn)
            .rev()
            .map(|pn| self.slot(pn))
            .find(|slot| **slot != Slot::Unused);
        Some((snapshot, before != Some(&Slot::Lost)))
    }

    /// Removes the oldest packets that are acknowledged or lost. Keeps the latest lost one, which
    /// [`lose`](Ring::lose) needs.
    pub(crate) fn trim(&mut self) {
        while self.slots.len() > 1 && !matches!(self.slots[0], Slot::Outstanding(_)) {
            if matches!(self.slots[1], Slot::Outstanding(_)) && self.slots[0] == Slot::Lost {
                break;
            }
            self.slots.pop_front();
            self.base += 1;
        }
    }

    fn slot(&self, pn: u64) -> &Slot {
        &self.slots[(pn - self.base) as usize]
    }

    fn settle(&mut self, pn: u64, as_: Slot) -> Option<Snapshot> {
        let slot = self
            .slots
            .get_mut(usize::try_from(pn.checked_sub(self.base)?).ok()?)?;
        match *slot {
            Slot::Outstanding(snapshot) => {
                *slot = as_;
                Some(snapshot)
            }
            _ => None,
        }
    }
}
