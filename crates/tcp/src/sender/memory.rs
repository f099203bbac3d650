//! Buffers that a finished sender passes on to the next one, so that a million short flows do not
//! allocate memory each.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fullpipe_units::Time;

use super::Sender;
use crate::sent::{Bursts, KEPT, SentRing};

/// A sender's buffers, empty.
#[derive(Debug)]
pub struct Memory {
    pub(super) window: SentRing,
    pub(super) bursts: Bursts,
    pub(super) to_retransmit: BinaryHeap<Reverse<u64>>,
    pub(super) retransmitted: VecDeque<(u64, Time)>,
}

impl Default for Memory {
    fn default() -> Memory {
        let (to_retransmit, retransmitted) = (BinaryHeap::new(), VecDeque::new());
        Memory {
            window: SentRing::new(),
            bursts: Bursts::new(),
            to_retransmit,
            retransmitted,
        }
    }
}

impl<C> Sender<C> {
    /// Returns the buffers of a finished sender, for [another one](Sender::within). Buffers that
    /// grew for a long flow are shrunk.
    pub fn into_memory(self) -> Memory {
        let Sender {
            window,
            bursts,
            mut to_retransmit,
            mut retransmitted,
            ..
        } = self;
        to_retransmit.clear();
        to_retransmit.shrink_to(KEPT);
        retransmitted.clear();
        retransmitted.shrink_to(KEPT);
        Memory {
            window: window.cleared(),
            bursts: bursts.cleared(),
            to_retransmit,
            retransmitted,
        }
    }
}
