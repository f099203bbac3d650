//! The queue below a paced sender, which takes bursts ahead of their departure (Linux:
//! tcp_small_queue_check, sch_fq).

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Rate, Time};

use super::send_buffer::OVERHEAD;
use crate::wire::Segment;

/// A burst that waits to leave.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    departure: Time,
    memory: Bytes,
}

/// Segments that were sent and have not left, in order of departure. Their `sent` is the time at
/// which they leave.
#[derive(Debug, Default)]
pub(crate) struct SmallQueue {
    segments: VecDeque<Segment>,
    bursts: VecDeque<Waiting>,
    /// Memory of the waiting bursts (sk_wmem_alloc).
    memory: Bytes,
}

impl SmallQueue {
    /// Returns the time at which a burst leaves that the pacer lets leave at `paced`.
    pub(crate) fn departure(&self, now: Time, paced: Time) -> Time {
        let behind = self.segments.back().map_or(now, |last| last.sent);
        now.max(paced).max(behind)
    }

    /// Returns whether a burst of `size` may join (`tcp_small_queue_check`): while less than two
    /// such bursts wait, or less than a millisecond's data; a retransmission may while less than
    /// twice as much waits.
    pub(crate) fn has_room(&self, size: Bytes, rate: Rate, retransmits: bool) -> bool {
        let millisecond = Bytes::new((rate.as_bps() / 8) >> 10);
        let limit = ((size + OVERHEAD) * 2).max(millisecond);
        self.memory < limit * if retransmits { 2 } else { 1 }
    }

    /// Adds a segment, to the burst with the same departure.
    pub(crate) fn push(&mut self, segment: Segment) {
        if self
            .bursts
            .back()
            .is_none_or(|last| last.departure != segment.sent)
        {
            self.bursts.push_back(Waiting {
                departure: segment.sent,
                memory: OVERHEAD,
            });
            self.memory += OVERHEAD;
        }
        let size = Bytes::new(u64::from(segment.size));
        self.memory += size;
        if let Some(burst) = self.bursts.back_mut() {
            burst.memory += size;
        }
        self.segments.push_back(segment);
    }

    /// Lets the segments leave that are due.
    pub(crate) fn release(&mut self, now: Time, emit: &mut impl FnMut(Segment)) {
        while let Some(segment) = self.segments.pop_front_if(|first| first.sent <= now) {
            emit(segment);
        }
        while let Some(burst) = self.bursts.pop_front_if(|first| first.departure <= now) {
            self.memory -= burst.memory;
        }
    }

    /// Returns the time at which the next segment leaves.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.segments.front().map(|first| first.sent)
    }

    /// Returns the waiting segments.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter()
    }
}
