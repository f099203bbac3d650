//! The reverse path: ACKs on their lines and links.

use fullpipe_network::{Departure, Outcome, PacketKind};
use fullpipe_path::Losses;
use fullpipe_tcp::{ACK_SIZE, Ack, AckKind, Block};
use fullpipe_trace::FlowMeter;
use fullpipe_units::Time;

use crate::event_queue::{EventKind, FlowKey};
use crate::flow::Network;
use crate::flow_path::FlowPath;
use crate::forward_path::ForwardPath;
use crate::waiting::WaitingAck;

/// A link on the reverse path.
#[derive(Debug)]
pub(crate) struct ReverseHop {
    pub(crate) link: usize,
    pub(crate) loss: Option<Losses>,
    /// The flow's last ACK at this link.
    pub(crate) last: LastAck,
}

/// The place of a waiting ACK that a later one may replace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LastAck {
    /// At a link with known departures: waits until its transmission starts at this time, as the
    /// last item in the next hop's FIFO of packets in flight.
    Until(Time),
    /// In an AQM queue: at this place in the link's slab, unless it has left.
    Queued(u32),
}

impl ReverseHop {
    pub(crate) fn new(link: usize, loss: Option<Losses>) -> ReverseHop {
        ReverseHop {
            link,
            loss,
            last: LastAck::Until(Time::ZERO),
        }
    }
}

/// Returns whether `new` carries all the information of `old`, and more. The old ACK must not be
/// the only one with some SACKed data, a report of a duplicate, another count of marks, the answer
/// to a SYN, or a request. (The `ack-filter` of tc-cake(8) has the same rule.)
fn supersedes(new: &WaitingAck, old: &Ack, old_blocks: &[Block]) -> bool {
    let ack = &new.ack;
    // Later feedback replaces earlier feedback.
    let (new_blocks, _) = ack.split(new.blocks());
    let (old_blocks, _) = old.split(old_blocks);
    let known = |block: &Block| {
        block.end <= ack.next
            || new_blocks
                .iter()
                .any(|ours| ours.start <= block.start && block.end <= ours.end)
    };
    let more = ack.next > old.next || ack.next == old.next && new_blocks != old_blocks;
    let plain = old.kind == AckKind::Plain && ack.kind == AckKind::Plain;
    more && old_blocks.iter().all(known) && ack.ecn == old.ecn && !old.dsack && !ack.dsack && plain
}

impl FlowPath {
    /// Sends an ACK from the receiver at `at`.
    #[inline(always)] // once for each ACK
    pub(crate) fn acknowledge(
        &mut self,
        network: &mut Network,
        meter: &mut FlowMeter,
        key: FlowKey,
        at: Time,
        ack: Ack,
        blocks: &[Block],
    ) {
        if let Some(impairments) = &mut self.reverse_impairments {
            let data = ack.kind != AckKind::Syn;
            match impairments.draw(0, at, data) {
                Outcome::Passes => {}
                Outcome::Lost if data => return meter.on_ack_dropped(at),
                Outcome::Lost => return,
                Outcome::Duplicated => self.ack_hop(network, key, 0, at, ack, blocks),
            }
        }
        self.ack_hop_inlined(network, key, 0, at, ack, blocks);
    }

    /// Sends an ACK to hop `hop` of the reverse path, or to the sender behind the last one.
    pub(crate) fn ack_hop(
        &mut self,
        network: &mut Network,
        key: FlowKey,
        hop: usize,
        at: Time,
        ack: Ack,
        blocks: &[Block],
    ) {
        self.ack_hop_inlined(network, key, hop, at, ack, blocks);
    }

    #[inline(always)] // once for each ACK
    fn ack_hop_inlined(
        &mut self,
        network: &mut Network,
        key: FlowKey,
        hop: usize,
        at: Time,
        ack: Ack,
        blocks: &[Block],
    ) {
        let at = if hop == self.reverse_route.len() {
            self.reverse_line.arrival(at).0
        } else {
            at
        };
        if !blocks.is_empty() {
            self.blocks[hop].extend(blocks);
        }
        if self.acks_in_flight[hop].push(at, ack) {
            network.event_queue.push(at, EventKind::Ack, key, hop as u8);
        }
    }
}

impl ForwardPath<'_> {
    /// Handles the arrival of an ACK at a link on the reverse path.
    #[inline(never)] // a function of its own: in the common case ACKs pass no link
    pub(crate) fn ack_at_link(
        &mut self,
        network: &mut Network,
        now: Time,
        hop: usize,
        ack: Ack,
        blocks: &[Block],
    ) {
        let waiting = WaitingAck::new(self.key, self.path.account, hop, ack, blocks);
        let kind = waiting.kind();
        let ReverseHop {
            link: index, loss, ..
        } = &mut self.path.reverse_route[hop];
        let (index, link) = (*index, &mut network.links[*index]);
        if loss
            .as_mut()
            .is_some_and(|loss| loss.takes(now, kind == PacketKind::Ack))
        {
            link.lose(now, kind);
            return self.dropped(now, kind);
        }
        if link.ack_filter && self.path.replace(network, now, &waiting) {
            return network.links[index].filter_ack(now);
        }
        let link = &mut network.links[index];
        if link.is_managed() {
            let (place, admission) = link.offer_ack(now, waiting);
            self.path.reverse_route[hop].last = LastAck::Queued(place);
            return self.admitted(network, index, now, kind, admission);
        }
        let outcome = link.arrive(now, ACK_SIZE, kind);
        link.record(now, self.path.account, ACK_SIZE, kind, outcome);
        match outcome {
            Err(_) => self.dropped(now, kind),
            Ok(Departure { waited, at }) => {
                self.path.reverse_route[hop].last = LastAck::Until(now + waited);
                self.path
                    .ack_hop(network, self.key, hop + 1, at, ack, blocks);
            }
        }
    }
}

impl FlowPath {
    /// Replaces the flow's last ACK at this hop by a new one, if the last one still waits and the
    /// new one supersedes it.
    fn replace(&mut self, network: &mut Network, now: Time, new: &WaitingAck) -> bool {
        let ReverseHop { link, last, .. } = &self.reverse_route[new.hop];
        match *last {
            LastAck::Until(start) if start > now => {
                let behind = new.hop + 1;
                let old = self.acks_in_flight[behind]
                    .last_mut()
                    .expect("an ACK that waits for its transmission has not arrived");
                let blocks = &mut self.blocks[behind];
                let first = blocks.len() - old.count();
                let replaces = supersedes(new, old, &blocks.make_contiguous()[first..]);
                if replaces {
                    *old = new.ack;
                    blocks.truncate(first);
                    blocks.extend(new.blocks());
                }
                replaces
            }
            LastAck::Until(_) => false,
            LastAck::Queued(place) => {
                match network.links[*link].waiting_ack(place, new.key, new.hop) {
                    Some(old) if supersedes(new, &old.ack, old.blocks()) => {
                        *old = *new;
                        true
                    }
                    _ => false,
                }
            }
        }
    }
}
