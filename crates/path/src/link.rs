//! A link behind a drop-tail queue.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::shaper::Gate;
use crate::{DropTail, Limit, Measured, Policer, Serializer, Shaper, Timeline, Transmitter};

/// Outcome for a packet that arrives at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is sent from `start` to `end`; it waited for `start` - arrival.
    Departs {
        /// First bit out.
        start: Time,
        /// Last bit out.
        end: Time,
    },
    /// The queue had no room.
    Dropped,
    /// The policer had no tokens for the packet.
    Policed,
}

/// A link: a drop-tail queue, then a transmitter of constant rate.
///
/// Only arrivals change such a link, so a packet's departure is known when the link accepts it and
/// needs no event. Arrival times must not decrease from call to call.
#[derive(Clone, Debug)]
pub struct Link {
    serializer: Serializer,
    queue: DropTail,
}

impl Link {
    /// Creates an idle link.
    pub fn new(rate: Rate, limit: Limit) -> Link {
        Link {
            serializer: Serializer::new(rate),
            queue: DropTail::new(limit),
        }
    }

    /// Handles the arrival of a packet of `size` bytes.
    #[inline(always)] // once for each packet
    pub fn arrive(&mut self, now: Time, size: Bytes) -> Verdict {
        let Link { serializer, queue } = self;
        accept(queue, serializer.free_at(), now, size, || {
            serializer.transmit(now, size)
        })
    }

    /// Returns the queue as its latest arrival left it.
    pub(crate) fn queue(&self) -> &DropTail {
        &self.queue
    }

    /// Returns the numbers of packets and bytes waiting at `now`, excluding the packet being sent.
    pub fn backlog(&mut self, now: Time) -> (u64, Bytes) {
        self.queue.release(now);
        self.queue.backlog()
    }
}

/// A drop-tail link with an optional policer in front and an optional shaper behind the queue. All
/// of these may change at known times, so departures are still known in advance.
///
/// A separate type keeps other links free of its cost.
#[derive(Clone, Debug)]
pub struct VaryingLink {
    transmitter: Transmitter,
    queue: DropTail,
    limits: Timeline<Limit>,
    policer: Timeline<Option<Policer>>,
    gate: Option<Box<Gate>>,
    measured: Measured,
}

impl VaryingLink {
    /// Creates an idle link. When a limit shrinks, packets that already wait stay.
    pub fn new(
        transmitter: Transmitter,
        mut limits: Timeline<Limit>,
        policer: Timeline<Option<Policer>>,
        shaper: Timeline<Option<Shaper>>,
    ) -> VaryingLink {
        let queue = DropTail::new(*limits.at(Time::ZERO));
        VaryingLink {
            transmitter,
            queue,
            limits,
            policer,
            gate: Gate::new(shaper),
            measured: Measured::default(),
        }
    }

    /// Handles the arrival of a packet of `size` bytes.
    pub fn arrive(&mut self, now: Time, size: Bytes) -> Verdict {
        let VaryingLink {
            transmitter,
            queue,
            limits,
            policer,
            gate,
            measured,
        } = self;
        if policer
            .at(now)
            .as_mut()
            .is_some_and(|policer| !policer.admits(now, size))
        {
            return Verdict::Policed;
        }
        queue.set_limit(*limits.at(now));
        queue.release(now);
        // A packet that leaves at once needs no buffer: the queue is empty, because earlier packets
        // have begun to leave.
        let leaves =
            transmitter.is_free(now) && gate.as_mut().is_none_or(|gate| gate.is_open(now, size));
        if !leaves && !queue.has_room(size) {
            return Verdict::Dropped;
        }
        let at_head = transmitter.after(now).max(transmitter.free_at());
        let opens = gate
            .as_mut()
            .map_or(at_head, |gate| gate.opens_at(at_head, size));
        let (start, end) = transmitter.transmit(now, opens, size);
        *measured = transmitter.measured(at_head, start, end, size);
        if let Some(gate) = gate {
            gate.pass(start, size);
        }
        if !leaves {
            queue.push(start, size);
        }
        Verdict::Departs { start, end }
    }

    /// Returns the time that the packet accepted last counts in metrics.
    pub fn measured(&self) -> Measured {
        self.measured
    }

    /// Returns the time from `from` to `to` during which the link could have sent, in the unit of
    /// [`measured`](VaryingLink::measured).
    pub fn offered(&self, from: Time, to: Time) -> Span {
        self.transmitter.offered(from, to)
    }

    /// Returns the queue as its latest arrival left it.
    pub(crate) fn queue(&self) -> &DropTail {
        &self.queue
    }

    /// Returns the numbers of packets and bytes waiting at `now`, excluding the packet being sent.
    pub fn backlog(&mut self, now: Time) -> (u64, Bytes) {
        self.queue.release(now);
        self.queue.backlog()
    }
}

/// Sends a packet, queues it, or drops it.
#[inline(always)] // once for each packet
fn accept(
    queue: &mut DropTail,
    free_at: Time,
    now: Time,
    size: Bytes,
    transmit: impl FnOnce() -> (Time, Time),
) -> Verdict {
    queue.release(now);
    let waits = now < free_at;
    if waits && !queue.has_room(size) {
        return Verdict::Dropped;
    }
    let (start, end) = transmit();
    if waits {
        queue.push(start, size);
    }
    Verdict::Departs { start, end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// A link stepped event by event (departures and changes): slow, obvious, in exact rational
    /// time.
    struct Stepped {
        rate: u128,
        limit: u64,
        /// Remaining changes: (time, rate, limit).
        changes: VecDeque<(u64, u128, u64)>,
        queue: VecDeque<u128>,
        /// Start of the packet being sent, and its work left at `clock`.
        sending: Option<(u64, u128)>,
        clock: u64,
        /// End of the last packet, and the remainder of its division.
        ended: (u64, u128),
    }

    impl Stepped {
        fn advance(&mut self, now: u64, done: &mut Vec<(u64, u64)>) {
            loop {
                let change = self.changes.front().copied().filter(|(at, ..)| *at <= now);
                let end = self
                    .sending
                    .map(|(_, work)| self.clock.saturating_add((work / self.rate) as u64));
                match (change, end.filter(|end| *end <= now)) {
                    (Some((at, rate, limit)), end) if end.is_none_or(|end| at <= end) => {
                        if let Some((_, work)) = &mut self.sending {
                            *work -= u128::from(at - self.clock) * self.rate;
                        }
                        (self.clock, self.rate, self.limit) = (at, rate, limit);
                        self.changes.pop_front();
                    }
                    (_, Some(end)) => {
                        let (start, work) = self
                            .sending
                            .take()
                            .expect("the packet that ends was being sent");
                        done.push((start, end));
                        self.ended = (end, work % self.rate);
                        if let Some(size) = self.queue.pop_front() {
                            self.begin(end, size);
                        }
                    }
                    (_, None) => break,
                }
            }
        }

        fn begin(&mut self, at: u64, size: u128) {
            let carry = if self.ended.0 == at { self.ended.1 } else { 0 };
            self.clock = at;
            self.sending = Some((at, size * 8_000_000_000 + carry));
        }

        fn arrive(&mut self, now: u64, size: u128, done: &mut Vec<(u64, u64)>) -> bool {
            self.advance(now, done);
            if self.sending.is_none() {
                self.begin(now, size);
            } else if (self.queue.len() as u64) < self.limit {
                self.queue.push_back(size);
            } else {
                return false;
            }
            true
        }
    }

    fn rate() -> impl Strategy<Value = u64> {
        1_000_u64..100_000_000_000
    }

    proptest! {
        #[test]
        fn known_departures_equal_stepping_bit_for_bit(
            first in (rate(), 1_u64..20),
            changes in prop::collection::vec((0_u64..400_000, rate(), 1_u64..20), 0..6),
            arrivals in prop::collection::vec((0_u64..40_000, prop_oneof![Just(1500_u64), 40_u64..1500]), 1..300),
        ) {
            let mut at = 0;
            let changes: Vec<_> = changes.iter().map(|(gap, rate, limit)| { at += gap; (at, *rate, *limit) }).collect();
            let rates = changes.iter().map(|(at, rate, _)| (Time::from_nanos(*at), Rate::from_bps(*rate)));
            let limits = changes.iter().map(|(at, _, limit)| (Time::from_nanos(*at), Limit::Packets(*limit)));
            let mut link = VaryingLink::new(
                Transmitter::serial(Timeline::new(Rate::from_bps(first.0), rates).into()),
                Timeline::new(Limit::Packets(first.1), limits),
                None.into(),
                None.into(),
            );
            let mut stepped = Stepped {
                rate: u128::from(first.0),
                limit: first.1,
                changes: changes.iter().map(|(at, rate, limit)| (*at, u128::from(*rate), *limit)).collect(),
                queue: VecDeque::new(),
                sending: None,
                clock: 0,
                ended: (0, 0),
            };
            let (mut now, mut ours, mut theirs) = (0, Vec::new(), Vec::new());
            for (gap, size) in arrivals {
                now += gap;
                let verdict = link.arrive(Time::from_nanos(now), Bytes::new(size));
                let accepted = stepped.arrive(now, u128::from(size), &mut theirs);
                prop_assert_eq!(link.backlog(Time::from_nanos(now)).0, stepped.queue.len() as u64);
                match verdict {
                    Verdict::Departs { start, end } => ours.push((start.as_nanos(), end.as_nanos())),
                    Verdict::Dropped | Verdict::Policed => {}
                }
                prop_assert_eq!(verdict != Verdict::Dropped, accepted);
            }
            stepped.advance(u64::MAX, &mut theirs);
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn packets_in_are_packets_out_dropped_or_queued(
            limit in 1_u64..50, slow in 1_u64..1_000, policed in any::<bool>(),
            gaps in prop::collection::vec(0_u64..30_000, 1..500),
        ) {
            let half = Time::from_nanos(gaps.iter().sum::<u64>() / 2);
            let policer = policed.then(|| Policer::new(Rate::from_mbps(500), Bytes::new(15_000)));
            let mut link = VaryingLink::new(
                Transmitter::serial(Timeline::new(Rate::from_mbps(1_000), [(half, Rate::from_mbps(slow))]).into()),
                Timeline::new(Limit::Packets(50), [(half, Limit::Packets(limit))]),
                Timeline::new(None, [(half, policer)]),
                None.into(),
            );
            let mut before_change = 50;
            let (mut now, mut departures, mut last, mut dropped) = (0, Vec::new(), Time::ZERO, 0_usize);
            for gap in &gaps {
                now += gap;
                match link.arrive(Time::from_nanos(now), Bytes::new(1500)) {
                    Verdict::Departs { start, end } => {
                        prop_assert!(start >= last && start >= Time::from_nanos(now), "order kept, sojourn not negative");
                        last = end;
                        departures.push(start);
                    }
                    Verdict::Dropped | Verdict::Policed => dropped += 1,
                }
                let (packets, bytes) = link.backlog(Time::from_nanos(now));
                // Packets that wait when the limit shrinks stay.
                let allowed = if Time::from_nanos(now) < half { 50 } else { limit.max(before_change) };
                prop_assert!(packets <= allowed);
                before_change = packets;
                prop_assert_eq!(bytes, Bytes::new(1500) * packets);
            }
            let queued = departures.iter().filter(|start| **start > Time::from_nanos(now)).count();
            prop_assert_eq!(link.backlog(Time::from_nanos(now)).0 as usize, queued);
            prop_assert_eq!(departures.len() + dropped, gaps.len());
        }
    }
}
