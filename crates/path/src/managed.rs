//! A link behind a queue that decides.

use units::{Bytes, Rate, Time};

use crate::{Dropped, Limit, Packet, Policer, Queue, Serialiser, Timeline};

/// A link whose queue chooses, when the transmitter is free, what is sent next. So its departures are not known before:
/// who runs it calls [`send`](ManagedLink::send) at [`ready_at`](ManagedLink::ready_at). As with a
/// [`VaryingLink`](crate::VaryingLink) there may be a policer in front, and all of it may change at known times.
#[derive(Clone, Debug)]
pub struct ManagedLink<P> {
    serialiser: Serialiser,
    rates: Timeline<Rate>,
    limits: Timeline<Limit>,
    policer: Timeline<Option<Policer>>,
    queue: Queue<P>,
    /// The queue knows that nothing is being sent.
    idle: bool,
}

impl<P: Copy> ManagedLink<P> {
    /// An idle link.
    pub fn new(
        mut rates: Timeline<Rate>,
        limits: Timeline<Limit>,
        policer: Timeline<Option<Policer>>,
        queue: Queue<P>,
    ) -> ManagedLink<P> {
        let serialiser = Serialiser::new(*rates.at(Time::ZERO));
        ManagedLink { serialiser, rates, limits, policer, queue, idle: true }
    }

    /// A packet arrives; false when the policer has no tokens for it. Arrivals and departures are told in order of time, a
    /// departure before an arrival of the same time.
    #[inline]
    pub fn arrive(&mut self, packet: Packet<P>, dropped: &mut impl Dropped<P>) -> bool {
        let now = packet.arrived;
        if self.policer.at(now).as_mut().is_some_and(|policer| !policer.admits(now, packet.size)) {
            return false;
        }
        // It was idle from when the last packet had left.
        if !self.idle && now >= self.serialiser.free_at() && self.queue.backlog().0 == 0 {
            self.queue.dequeue(self.serialiser.free_at(), dropped);
            self.idle = true;
        }
        if now >= self.limits.next_change() {
            self.queue.set_limit(*self.limits.at(now));
        }
        self.queue.enqueue(now, packet, dropped);
        true
    }

    /// When the next packet can be sent, which may be some time ago; none when nothing waits.
    #[inline]
    pub fn ready_at(&self) -> Option<Time> {
        (self.queue.backlog().0 > 0).then(|| self.serialiser.free_at().max(self.queue.opens_at()))
    }

    /// Sends the next packet at `now`; when its last bit leaves. None when what waited was dropped.
    #[inline]
    pub fn send(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<(Packet<P>, Time)> {
        let packet = self.queue.dequeue(now, dropped);
        self.idle = packet.is_none();
        let packet = packet?;
        Some((packet, self.serialiser.transmit_at(now, packet.size, &mut self.rates).1))
    }

    /// Packets and bytes that wait, without the one being sent.
    pub fn backlog(&self) -> (u64, Bytes) {
        self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Depth, Ecn, QUEUES, Value, VaryingLink, Verdict};
    use proptest::prelude::*;
    use units::{Rng, Span};

    /// Sends what is due from `from` to `to`; (start, end) of each.
    fn run(link: &mut ManagedLink<()>, from: Time, to: Time, sent: &mut Vec<(Time, Time)>) {
        while let Some(at) = link.ready_at().filter(|at| *at <= to) {
            let at = at.max(from);
            sent.extend(link.send(at, &mut |_| ()).map(|(_, end)| (at, end)));
        }
    }

    proptest! {
        /// A queue that never marks or drops early is a drop-tail queue, and the link the one of known departures.
        #[test]
        fn a_queue_that_lets_all_pass_equals_drop_tail(
            first in 1_000_u64..10_000_000_000,
            changes in prop::collection::vec((1_u64..400_000, 1_000_u64..10_000_000_000, 1_u64..20), 0..5),
            policed in any::<bool>(),
            arrivals in prop::collection::vec((0_u64..40_000, prop_oneof![Just(1500_u64), 40_u64..1500]), 1..300),
        ) {
            let mut at = 0;
            let changes: Vec<_> = changes.iter().map(|(gap, rate, limit)| { at += gap; (at, *rate, *limit) }).collect();
            let rates = changes.iter().map(|(at, rate, _)| (Time::from_nanos(*at), Rate::from_bps(*rate)));
            let limits = changes.iter().map(|(at, _, limit)| (Time::from_nanos(*at), Limit::Packets(*limit)));
            let rates = Timeline::new(Rate::from_bps(first), rates);
            let limits = Timeline::new(Limit::Packets(7), limits);
            let policer: Timeline<Option<Policer>> =
                policed.then(|| Policer::new(Rate::from_mbps(500), Bytes::new(15_000))).into();
            let config = Config::new(QUEUES.iter().find(|queue| queue.name == "step_ecn").expect("a queue"));
            let config = config.with("threshold", Value::Depth(Depth::Time(Span::ZERO))).expect("in range");
            let queue = Queue::new(&config, Limit::Packets(7), Rate::from_bps(first), Rng::stream(1, "", ""));
            let mut known = VaryingLink::new(rates.clone(), limits.clone(), policer.clone());
            let mut managed = ManagedLink::new(rates, limits, policer, queue.expect("it decides"));
            let (mut now, mut ours, mut theirs) = (Time::ZERO, Vec::new(), Vec::new());
            for (gap, size) in arrivals {
                now += Span::from_nanos(gap);
                let size = Bytes::new(size);
                run(&mut managed, Time::ZERO, now, &mut ours);
                let mut dropped = false;
                let admitted = managed.arrive(Packet::new(0, size, Ecn::NotEct, now, ()), &mut |_| dropped = true);
                run(&mut managed, now, now, &mut ours);
                let verdict = known.arrive(now, size);
                prop_assert_eq!(admitted, verdict != Verdict::Policed);
                prop_assert_eq!(dropped, verdict == Verdict::Dropped);
                prop_assert_eq!(managed.backlog(), known.backlog(now));
                if let Verdict::Departs { start, end } = verdict {
                    theirs.push((start, end));
                }
            }
            run(&mut managed, now, Time::MAX, &mut ours);
            prop_assert_eq!(ours, theirs);
        }
    }
}
