//! Trains: segments that coalescing (GRO) merges into one before Linux's rules for ACKs see them
//! (`tcp_gro_receive`).

use fullpipe_cc::EcnCodepoint;
use fullpipe_units::{Bytes, Span, Time};

use super::Receiver;
use super::heuristics::Heuristics;
use super::place::Place;
use crate::wire::{Ack, Block, Segment};

/// A segment as TCP receives it: one packet, or several that were merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// Where its first packet belongs.
    pub(super) place: Place,
    /// Whether it filled the last hole.
    pub(super) filled: bool,
    /// Whether it is shorter than a full packet, and whether it has PSH.
    pub(super) short: bool,
    pub(super) push: bool,
    /// Whether it asks for quick ACKs.
    pub(super) marks: bool,
    /// Whether the advertised window can grow with it.
    pub(super) grows: bool,
}

/// A train that has not reached TCP yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    received: Received,
    /// Number of packets, and one past the last of them.
    packets: u32,
    end: u64,
    /// The ECN field of all packets.
    ecn: (EcnCodepoint, bool),
    /// Time at which it reaches TCP if nothing ends it before.
    until: Time,
}

impl Train {
    fn new(segment: &Segment, received: Received, until: Time) -> Train {
        Train {
            received,
            packets: 1,
            end: segment.seq + 1,
            ecn: (segment.ecn, segment.ce),
            until,
        }
    }

    fn add(&mut self, more: Received) {
        self.packets += 1;
        self.end += 1;
        let Received {
            filled,
            push,
            marks,
            grows,
            ..
        } = &mut self.received;
        *filled |= more.filled;
        *push |= more.push;
        *marks |= more.marks;
        *grows |= more.grows;
    }
}

impl Receiver {
    /// Passes on the train that is held, if `segment` does not continue it. Call it before the
    /// segment changes the receiver's state.
    pub(super) fn end_train_before(
        &mut self,
        now: Time,
        segment: &Segment,
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) {
        let Some(train) = self.heuristics.as_ref().and_then(|it| it.train) else {
            return;
        };
        let continues = segment.seq == train.end
            && self.place_of(segment.seq) == train.received.place
            && (segment.ecn, segment.ce) == train.ecn
            && !segment.cwr;
        if !continues {
            self.end_train(now, emit);
        }
    }

    /// Passes the train that is held on to TCP. Returns whether a train was held.
    #[cold]
    pub(super) fn end_train(
        &mut self,
        now: Time,
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) -> bool {
        let train = self.heuristics.as_mut().and_then(|it| it.train.take());
        let Some(train) = train else { return false };
        self.due = self.due_in_tcp();
        self.receive_as_linux(now, train.received, emit);
        true
    }

    /// Merges a segment that [continues](Receiver::end_train_before) the train, or begins one.
    /// Returns what reaches TCP now: the train if the segment ends it, or a segment that is not
    /// merged.
    pub(super) fn merge(
        &mut self,
        now: Time,
        segment: &Segment,
        received: Received,
    ) -> Option<Received> {
        let (coalesce, most) = (self.policy.coalesce, self.most_coalesced);
        let is_new = matches!(received.place, Place::Next | Place::Early);
        if coalesce == Span::ZERO || !is_new {
            return Some(received);
        }
        let train = &mut self.heuristics.as_mut()?.train;
        match train {
            Some(train) => train.add(received),
            None => *train = Some(Train::new(segment, received, now + coalesce)),
        }
        let is_short = Bytes::new(segment.size.into()) < self.smss;
        let until = train.as_ref()?.until;
        if segment.push || is_short || train.as_ref()?.packets >= most {
            let whole = train.take()?;
            self.due = self.due_in_tcp();
            return Some(whole.received);
        }
        self.due = Some(self.due.map_or(until, |due| due.min(until)));
        None
    }

    /// Returns the time at which TCP has something to send.
    fn due_in_tcp(&self) -> Option<Time> {
        let acks = self.heuristics.as_ref().and_then(|it| it.due());
        [acks, self.ask_at].into_iter().flatten().min()
    }
}

impl Heuristics {
    /// Returns the time at which a delayed or a withheld ACK is due.
    fn due(&self) -> Option<Time> {
        let delayed = self.acks.as_ref().and_then(|acks| acks.due());
        let withheld = self.compression.as_ref().and_then(|it| it.due());
        [delayed, withheld].into_iter().flatten().min()
    }
}
