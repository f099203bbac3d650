//! The packets and ACKs of a window of time, for the trace.

use std::collections::BTreeMap;

use fullpipe_network::DropCause;
use fullpipe_tcp::{Ack, AckKind, Block};
use fullpipe_trace::{AckRow, PacketRow};
use fullpipe_units::{Bytes, Span, Time};

use crate::flow::PacketInTransit;

/// Largest numbers of packets and of rows of ACKs that a log keeps.
pub(crate) const MOST_ROWS: usize = 2_000_000;

const UNDER_WAY: &str = "under way";

/// The packets that flows sent from `from` until before `to`, and the ACKs that senders got then.
#[derive(Debug)]
pub(crate) struct PacketLog {
    from: Time,
    to: Time,
    /// Payload of a full segment of each flow.
    smss: Vec<Bytes>,
    rows: Vec<PacketRow>,
    /// The rows of packets under way, by flow, sequence number and time of sending.
    under_way: BTreeMap<(u32, u64, Time), usize>,
    acks: Vec<AckRow>,
    full: bool,
}

impl PacketLog {
    pub(crate) fn new(from: Time, to: Time, smss: Vec<Bytes>) -> PacketLog {
        PacketLog {
            from,
            to,
            smss,
            rows: Vec::new(),
            under_way: BTreeMap::new(),
            acks: Vec::new(),
            full: false,
        }
    }

    /// Notes that a packet reached the first link of its route, or did not until the end.
    pub(crate) fn enters(&mut self, now: Option<Time>, flow: u32, packet: &PacketInTransit) {
        let segment = &packet.segment;
        let key = (flow, segment.seq, segment.sent);
        let Some(smss) = self.smss.get(flow as usize) else {
            return; // a workload's
        };
        if segment.syn || !(self.from..self.to).contains(&segment.sent) {
            return;
        }
        if self.rows.len() == MOST_ROWS {
            self.full = true;
            return;
        }
        self.under_way.entry(key).or_insert_with(|| {
            self.rows.push(PacketRow {
                time: segment.sent,
                flow,
                sequence: *smss * segment.seq,
                bytes: Bytes::new(u64::from(segment.size)),
                kind: if segment.retransmit {
                    "retransmission"
                } else {
                    "new"
                },
                fate: UNDER_WAY,
                link: None,
                access: now.map(|now| now - segment.sent),
                queue: None,
                path: None,
            });
            self.rows.len() - 1
        });
    }

    /// Notes the end of a packet in front of a link.
    pub(crate) fn ends(
        &mut self,
        flow: u32,
        packet: &PacketInTransit,
        link: usize,
        why: DropCause,
    ) {
        if let Some(row) = self.row(flow, packet).filter(|row| row.queue.is_none()) {
            row.link = Some(link as u32);
            row.fate = match why {
                DropCause::Loss => "lost",
                DropCause::Queue => "dropped",
                DropCause::Policer => "policed",
            };
        }
    }

    /// Notes the arrival of a packet at the receiver.
    pub(crate) fn arrives(&mut self, at: Time, flow: u32, packet: &PacketInTransit) {
        if let Some(row) = self.row(flow, packet) {
            if row.queue.is_some() {
                return; // its duplicate arrived before
            }
            row.fate = if packet.segment.ce {
                "marked"
            } else {
                "arrived"
            };
            (row.queue, row.link) = (Some(packet.waited), None);
            let delay: Span = at - row.time;
            row.path = row.access.map(|access| delay - access - packet.waited);
        }
    }

    fn row(&mut self, flow: u32, packet: &PacketInTransit) -> Option<&mut PacketRow> {
        let key = (flow, packet.segment.seq, packet.segment.sent);
        let place = self.under_way.get(&key)?;
        self.rows.get_mut(*place)
    }

    /// Notes an ACK that arrives at the sender: a row for each of its SACK blocks, or one without.
    pub(crate) fn acked(&mut self, now: Time, flow: u32, ack: &Ack, blocks: &[Block]) {
        let Some(smss) = self.smss.get(flow as usize).copied() else {
            return;
        };
        if !(self.from..self.to).contains(&now) || ack.kind == AckKind::Syn {
            return;
        }
        if self.acks.len() + blocks.len() + 1 > MOST_ROWS {
            self.full = true;
            return;
        }
        let row = |sack: Option<(Bytes, Bytes)>| AckRow {
            time: now,
            flow,
            acked: smss * ack.next,
            sack,
        };
        match ack.split(blocks).0 {
            [] => self.acks.push(row(None)),
            blocks => self.acks.extend(
                blocks
                    .iter()
                    .map(|block| row(Some((smss * block.start, smss * block.end)))),
            ),
        }
    }

    /// Returns the rows of packets and of ACKs until `end`, and whether there were more of them than it keeps.
    pub(crate) fn finish(mut self, end: Time) -> (Vec<PacketRow>, Vec<AckRow>, bool) {
        // The simulator knows some arrivals ahead of time.
        for row in &mut self.rows {
            if let (Some(access), Some(queue), Some(path)) = (row.access, row.queue, row.path)
                && row.time + access + queue + path > end
            {
                (row.fate, row.queue, row.path) = (UNDER_WAY, None, None);
            }
        }
        self.rows
            .sort_by_key(|row| (row.time, row.flow, row.sequence));
        (self.rows, self.acks, self.full)
    }
}
