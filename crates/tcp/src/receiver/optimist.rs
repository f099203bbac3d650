//! A misbehaving receiver that acknowledges data before they arrive (Savage et al., "TCP Congestion
//! Control with a Misbehaving Receiver", CCR 1999: optimistic ACKing).

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Span, Time};

use super::Receiver;
use crate::wire::{Ack, Block, Segment};

/// The arrivals by which the receiver estimates how much arrives within its lead.
#[derive(Debug)]
pub(super) struct Optimist {
    lead: Span,
    arrivals: VecDeque<Time>,
}

impl Optimist {
    /// Returns the number of segments that arrived within the lead, with this one.
    fn on_arrival(&mut self, now: Time) -> u64 {
        self.arrivals.push_back(now);
        while self
            .arrivals
            .front()
            .is_some_and(|first| *first + self.lead < now)
        {
            self.arrivals.pop_front();
        }
        self.arrivals.len() as u64
    }
}

impl Receiver {
    /// Lets the receiver acknowledge the data of the next `lead`, at the present rate of arrivals,
    /// before they arrive, and conceal losses.
    #[must_use]
    pub fn with_optimistic_acks(self, lead: Span) -> Receiver {
        Receiver {
            optimist: Some(Box::new(Optimist {
                lead,
                arrivals: VecDeque::new(),
            })),
            attentive: true,
            ..self
        }
    }

    /// Acknowledges a segment, those before it and those that are expected.
    pub(super) fn on_segment_optimistically(
        &mut self,
        now: Time,
        segment: &Segment,
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) {
        let Some(optimist) = &mut self.optimist else {
            return;
        };
        self.ts_recent = segment.sent;
        if segment.seq < self.next {
            // A retransmission: the sender has nothing in flight that could be acknowledged.
            optimist.arrivals.clear();
            self.ahead = 0;
        } else {
            self.ahead = optimist.on_arrival(now);
            self.in_order += Bytes::new(u64::from(segment.size));
            self.next = segment.seq + 1;
        }
        self.acknowledge(now, emit);
    }
}
