//! The state of the connection when each packet was sent, by packet number.

use std::collections::VecDeque;

use fullpipe_cc::Snapshot;

/// What is known of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    /// No packet that counts in flight has this number: skipped, or a mere ACK.
    Unused,
    Outstanding(Snapshot),
    Acked,
    Lost,
}

/// Snapshots of the Data space, from the oldest packet outstanding to the newest. Numbers from
/// before it began are unknown to it: those of the handshake's packets, which count from 0 in each
/// of their own spaces.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    base: u64,
    slots: VecDeque<Slot>,
}

impl Ring {
    /// The number behind the newest packet.
    pub(crate) fn next(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    /// The oldest packet outstanding, or the next one.
    pub(crate) fn oldest(&self) -> u64 {
        self.base
    }

    /// Packet `pn` left, with a higher number than any before.
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

    /// Packet `pn` is acknowledged: what it was sent with, if it is outstanding.
    pub(crate) fn acknowledge(&mut self, pn: u64) -> Option<Snapshot> {
        self.settle(pn, Slot::Acked)
    }

    /// Packet `pn` is lost: what it was sent with, if it is outstanding, and whether it begins a
    /// hole.
    pub(crate) fn lose(&mut self, pn: u64) -> Option<(Snapshot, bool)> {
        let snapshot = self.settle(pn, Slot::Lost)?;
        let before = (self.base..pn)
            .rev()
            .map(|pn| self.slot(pn))
            .find(|slot| **slot != Slot::Unused);
        Some((snapshot, before != Some(&Slot::Lost)))
    }

    /// Forgets what is settled, from the oldest on; the latest settled stays, for
    /// [`lose`](Ring::lose) to look at.
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
