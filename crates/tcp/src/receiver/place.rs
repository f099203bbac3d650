//! Reassembly: the place of an arriving segment in the stream.

use fullpipe_units::{Bytes, Time};

use super::Receiver;
use crate::wire::Segment;

/// Where an arriving segment belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The next expected segment, in order now with those that it releases.
    Next,
    /// Above a hole, for the first time.
    Early,
    /// Above a hole, again.
    Again,
    /// Acknowledged before.
    Old,
}

impl Receiver {
    /// Returns where segment `seq` belongs.
    #[inline(always)] // a part of `on_segment`
    pub(super) fn place_of(&self, seq: u64) -> Place {
        if seq < self.next {
            Place::Old
        } else if self.early.contains_above(self.next, seq) {
            Place::Again
        } else if seq == self.next {
            Place::Next
        } else {
            Place::Early
        }
    }

    /// Records the arrival of a segment and returns where it belongs.
    #[inline(always)] // a part of `on_segment`
    pub(super) fn place(&mut self, segment: &Segment) -> Place {
        let seq = segment.seq;
        let place = self.place_of(seq);
        match place {
            Place::Old | Place::Again => self.duplicate = Some(seq),
            Place::Next => {
                self.accept(segment);
                self.accept_early();
            }
            Place::Early => {
                self.early.insert(self.next, seq);
                let short = self.smss.get() - u64::from(segment.size);
                if short > 0 {
                    self.early_short.push((seq, short));
                }
                self.blocks.note(seq);
            }
        }
        place
    }

    /// Updates TS.Recent, the timestamp of the first segment that the next ACK answers (RFC 7323
    /// §4.3).
    #[inline]
    pub(super) fn note_timestamp(&mut self, segment: &Segment) {
        if segment.seq <= self.last_ack && segment.sent >= self.ts_recent {
            self.ts_recent = segment.sent;
        }
    }

    /// Counts an in-order segment, which may begin a train.
    #[inline]
    pub(super) fn note_train(&mut self, now: Time) {
        if self.pending == 0 || now > self.train_since + self.policy.coalesce {
            self.train_since = now;
        }
        self.pending += 1;
    }

    #[inline]
    pub(super) fn accept(&mut self, segment: &Segment) {
        self.next += 1;
        self.in_order += Bytes::new(u64::from(segment.size));
    }

    /// Moves segments that had arrived early and are now in order.
    fn accept_early(&mut self) {
        while !self.early.is_empty() && self.early.contains(self.next) {
            self.early.remove(self.next);
            self.in_order += self.smss;
            if let Some(i) = self
                .early_short
                .iter()
                .position(|(seq, _)| *seq == self.next)
            {
                self.in_order -= Bytes::new(self.early_short.swap_remove(i).1);
            }
            self.next += 1;
        }
        self.blocks.remove_below(self.next);
    }
}
