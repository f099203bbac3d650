//! The acknowledged packets one by one, for a controller that asks for them. Nothing here runs for
//! any other controller.

use fullpipe_cc::{Controller, Observer, Signals, Snapshot};
use fullpipe_units::Time;

use super::Sender;
use crate::sent::State;
use crate::wire::{Ack, Block};

impl<C: Controller> Sender<C> {
    /// Makes the optional calls that a controller with these `needs` asks for.
    #[must_use]
    pub fn with_signals(self, needs: Signals) -> Sender<C> {
        Sender {
            acked: needs.has(Signals::ACKED_EACH).then(Vec::new),
            hosts: needs.has(Signals::HOST_DELAYS).then(Box::default),
            ..self
        }
    }

    /// Collects the snapshots of the packets that `ack` newly acknowledges, before the scoreboard
    /// changes.
    #[cold]
    pub(super) fn collect_acked(&mut self, ack: &Ack, blocks: &[Block]) {
        let mut acked = self.acked.take().unwrap_or_default();
        acked.clear();
        let una = self.una.max(ack.next.min(self.next));
        self.collect(self.una, una, &mut acked);
        let blocks = &blocks[usize::from(ack.dsack)..];
        for (place, block) in blocks.iter().enumerate() {
            let mut seq = block.start.max(una);
            let end = block.end.min(self.next);
            while seq < end {
                // Blocks of one ACK do not overlap, unless the receiver is in error.
                let earlier = blocks[..place]
                    .iter()
                    .find(|earlier| (earlier.start..earlier.end).contains(&seq));
                seq = match earlier {
                    Some(earlier) => earlier.end,
                    None => self.collect(seq, seq + 1, &mut acked),
                };
            }
        }
        self.acked = Some(acked);
    }

    /// Collects the segments from `seq` to `end` that are not SACKed. Returns the end.
    fn collect(&self, mut seq: u64, end: u64, acked: &mut Vec<Snapshot>) -> u64 {
        while seq < end {
            let sent = self.window.get(seq);
            if sent.state == State::Sacked {
                seq += sent.sacked_from_here();
            } else {
                acked.push(self.bursts.snapshot(sent));
                seq += 1;
            }
        }
        seq
    }

    /// Calls the controller once for each collected packet.
    #[cold]
    pub(super) fn tell_acked(&mut self, now: Time, observer: &mut dyn Observer) {
        let mut acked = self.acked.take().unwrap_or_default();
        for packet in acked.drain(..) {
            self.call(now, observer, |controller, cx| {
                controller.on_acked(cx, &packet);
            });
        }
        self.acked = Some(acked);
    }
}
