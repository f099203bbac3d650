//! A link behind an AQM.

use fullpipe_units::{Bytes, Span, Time};

use crate::shaper::Gate;
use crate::{Dropped, Limit, Measured, Packet, Policer, Queue, Shaper, Timeline, Transmitter};

/// A link whose AQM queue chooses the next packet when the transmitter is free.
///
/// Departures are therefore not known in advance: the caller calls [`send`](ManagedLink::send) at
/// [`ready_at`](ManagedLink::ready_at). As with a [`VaryingLink`](crate::VaryingLink), there may be
/// a policer in front and a shaper behind the queue, and all of it may change at known times.
#[derive(Clone, Debug)]
pub struct ManagedLink<P> {
    transmitter: Transmitter,
    limits: Timeline<Limit>,
    policer: Timeline<Option<Policer>>,
    shaped: Option<Box<Shaped<P>>>,
    queue: Queue<P>,
    /// Earliest time at which the packet that the queue chooses may leave; the transmitter may
    /// become free later.
    earliest: Time,
    /// Time since which packets wait.
    waiting_since: Time,
    measured: Measured,
    /// Whether the queue knows that nothing is being sent.
    idle: bool,
}

/// A shaper, with the packet that the queue has chosen and the shaper still holds back.
#[derive(Clone, Debug)]
struct Shaped<P> {
    gate: Box<Gate>,
    held: Option<Packet<P>>,
}

impl<P: Copy> ManagedLink<P> {
    /// Creates an idle link.
    pub fn new(
        transmitter: Transmitter,
        limits: Timeline<Limit>,
        policer: Timeline<Option<Policer>>,
        shaper: Timeline<Option<Shaper>>,
        queue: Queue<P>,
    ) -> ManagedLink<P> {
        let shaped = Gate::new(shaper).map(|gate| Box::new(Shaped { gate, held: None }));
        ManagedLink {
            transmitter,
            limits,
            policer,
            shaped,
            queue,
            earliest: Time::ZERO,
            waiting_since: Time::ZERO,
            measured: Measured::default(),
            idle: true,
        }
    }

    /// Handles the arrival of a packet; returns false if the policer has no tokens for it. The
    /// caller reports arrivals and departures in order of time, a departure before an arrival at
    /// the same time.
    #[inline]
    pub fn arrive(&mut self, packet: Packet<P>, dropped: &mut impl Dropped<P>) -> bool {
        let now = packet.arrived;
        if self
            .policer
            .at(now)
            .as_mut()
            .is_some_and(|policer| !policer.admits(now, packet.size))
        {
            return false;
        }
        if self.backlog().0 == 0 {
            // The link has been idle since the last packet left.
            if !self.idle && now >= self.transmitter.free_at() {
                self.note_idle(dropped);
            }
            (self.earliest, self.waiting_since) = (self.transmitter.after(now), now);
        }
        if let Some(shaped) = &self.shaped {
            // A held packet counts toward the limit, as in tbf.
            let held = shaped.held.map_or(Bytes::ZERO, |held| held.size);
            self.queue.set_limit(self.limits.at(now).without(held));
        } else if now >= self.limits.next_change() {
            self.queue.set_limit(*self.limits.at(now));
        }
        self.queue.enqueue(now, packet, dropped);
        true
    }

    /// Lets the queue note that the link is idle, which `dequeue` on an empty queue does.
    #[inline(never)] // the other call of `dequeue` is inlined instead
    fn note_idle(&mut self, dropped: &mut impl Dropped<P>) {
        self.queue.dequeue(self.transmitter.free_at(), dropped);
        self.idle = true;
    }

    /// Returns the time at which the link can send the next packet, or can query the shaper for it;
    /// `None` when nothing waits.
    #[inline]
    pub fn ready_at(&self) -> Option<Time> {
        (self.backlog().0 > 0).then(|| {
            self.transmitter
                .start(self.earliest.max(self.queue.opens_at()))
        })
    }

    /// Sends the next packet at `now`; returns it with the time at which its last bit leaves.
    /// `None` if the waiting packets were dropped, or the shaper still holds the packet back.
    #[inline]
    pub fn send(&mut self, now: Time, dropped: &mut impl Dropped<P>) -> Option<(Packet<P>, Time)> {
        self.earliest = now;
        let held = self.shaped.as_mut().and_then(|shaped| shaped.held.take());
        let packet = if held.is_some() {
            held
        } else {
            self.queue.dequeue(now, dropped)
        };
        self.idle = packet.is_none();
        let packet = packet?;
        if self.shaped.is_some() && !self.passes(now, packet) {
            return None;
        }
        let at_head = self.waiting_since.max(self.transmitter.free_at());
        let end = self
            .transmitter
            .transmit(packet.arrived, now, packet.size)
            .1;
        self.measured = self.transmitter.measured(at_head, now, end, packet.size);
        Some((packet, end))
    }

    /// Returns whether the shaper lets the packet chosen by the queue pass; otherwise the packet is
    /// held. Linux's tbf peeks in the same way: the inner qdisc dequeues, and the packet waits in
    /// front of it for tokens.
    #[cold]
    fn passes(&mut self, now: Time, packet: Packet<P>) -> bool {
        let Some(shaped) = &mut self.shaped else {
            return true;
        };
        self.earliest = shaped.gate.opens_at(now, packet.size);
        let passes = self.earliest <= now;
        match passes {
            true => shaped.gate.pass(now, packet.size),
            false => shaped.held = Some(packet),
        }
        passes
    }

    /// Returns the time that the packet sent last counts in metrics.
    #[inline]
    pub fn measured(&self) -> Measured {
        self.measured
    }

    /// Returns the time from `from` to `to` during which the link could have sent, in the unit of
    /// [`measured`](ManagedLink::measured).
    pub fn offered(&self, from: Time, to: Time) -> Span {
        self.transmitter.offered(from, to)
    }

    /// Returns the numbers of packets and bytes that wait, excluding the packet being sent.
    #[inline]
    pub fn backlog(&self) -> (u64, Bytes) {
        let (packets, bytes) = self.queue.backlog();
        match self.shaped.as_ref().and_then(|shaped| shaped.held.as_ref()) {
            None => (packets, bytes),
            Some(held) => (packets + 1, bytes + held.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Aggregation, Config, Depth, EcnCodepoint, Opportunities, OptionValue, OutageSchedule,
        QUEUES, Radio, Rates, Suspension, VaryingLink, Verdict,
    };
    use fullpipe_units::{Rate, Rng};
    use proptest::prelude::*;

    /// Sends all packets due from `from` to `to`; collects (start, end) of each, and how it counts.
    fn run(
        link: &mut ManagedLink<()>,
        from: Time,
        to: Time,
        sent: &mut Vec<(Time, Time, Measured)>,
    ) {
        while let Some(at) = link.ready_at().filter(|at| *at <= to) {
            let at = at.max(from);
            if let Some((_, end)) = link.send(at, &mut |_| ()) {
                sent.push((at, end, link.measured()));
            }
        }
    }

    /// Transmitters of every kind, with time scales of microseconds per packet, or milliseconds for
    /// a trace.
    fn transmitter() -> impl Strategy<Value = (Transmitter, u64)> {
        let rate = || (1_000_u64..10_000_000_000).prop_map(Rate::from_bps);
        let steps = (
            rate(),
            prop::collection::vec((1_u64..400_000, rate()), 0..5),
        )
            .prop_map(|(first, changes)| {
                let mut at = Time::ZERO;
                let changes = changes.into_iter().map(|(gap, rate)| {
                    at += Span::from_nanos(gap);
                    (at, rate)
                });
                (Transmitter::serial(Timeline::new(first, changes).into()), 1)
            });
        let (low, high) = (Rate::from_mbps(10), Rate::from_mbps(2_000));
        let pattern = (0..3, 10_000_u64..1_000_000).prop_map(move |(kind, period)| {
            let period = Span::from_nanos(period);
            let rates = match kind {
                0 => Rates::sine(low, high, period),
                1 => Rates::saw(low, high, period),
                _ => Rates::walk(low, high, period, Rng::stream(1, "link", "rate")),
            };
            (Transmitter::serial(rates), 1)
        });
        let trace = prop::collection::vec(0_u32..40, 1..30).prop_map(|mut times| {
            times.push(40);
            times.sort_unstable();
            (
                Transmitter::Trace(Opportunities::new(times.into(), Span::ZERO)),
                100,
            )
        });
        prop_oneof![steps, pattern, trace, radio()]
    }

    fn radio() -> impl Strategy<Value = (Transmitter, u64)> {
        let choices = (
            1_u64..5,
            0_u64..30_000,
            1_u64..60_000,
            1_u64..400_000,
            any::<bool>(),
        );
        choices.prop_map(|(frames, overhead, hold, more, random)| {
            let (hold, every) = (Span::from_nanos(hold), Span::from_nanos(hold + more));
            let outage = OutageSchedule::new(
                Some(Suspension {
                    hold,
                    every,
                    salt: random.then_some(3),
                }),
                [],
            );
            let overhead = Span::from_nanos(overhead);
            let aggregation = Aggregation {
                frames,
                bytes: Bytes::new(4_000),
                overhead,
                backoff: overhead,
            };
            let rates = Timeline::from(Rate::from_mbps(500)).into();
            let rng = Rng::stream(1, "link", "backoff");
            (
                Transmitter::Radio(Radio::new(rates, Some(aggregation).into(), outage, rng).into()),
                1,
            )
        })
    }

    fn shaper() -> impl Strategy<Value = Option<Shaper>> {
        let shaper = (100_000_u64..1_000_000_000, 1_500_u64..20_000);
        prop::option::of(
            shaper.prop_map(|(rate, burst)| Shaper::new(Rate::from_bps(rate), Bytes::new(burst))),
        )
    }

    proptest! {
        /// A queue that never marks or drops early behaves as a drop-tail queue, so its link must
        /// match the link with known departures.
        #[test]
        fn a_queue_that_lets_all_pass_equals_drop_tail(
            (transmitter, scale) in transmitter(),
            first in shaper(),
            changes in prop::collection::vec((1_u64..400_000, 1_u64..20, shaper()), 0..5),
            policed in any::<bool>(),
            arrivals in prop::collection::vec((0_u64..40_000, prop_oneof![Just(1500_u64), 40_u64..1500]), 1..300),
        ) {
            let mut at = Time::ZERO;
            let changes: Vec<_> = changes
                .into_iter()
                .map(|(gap, limit, shaper)| { at += Span::from_nanos(gap * scale); (at, limit, shaper) })
                .collect();
            let limits = changes.iter().map(|(at, limit, _)| (*at, Limit::Packets(*limit)));
            let limits = Timeline::new(Limit::Packets(7), limits);
            let shapers = Timeline::new(first, changes.iter().map(|(at, _, shaper)| (*at, shaper.clone())));
            let policer: Timeline<Option<Policer>> =
                policed.then(|| Policer::new(Rate::from_mbps(500), Bytes::new(15_000))).into();
            let config = Config::new(QUEUES.iter().find(|queue| queue.name == "step_ecn").expect("a queue"));
            let config = config.with("threshold", OptionValue::Depth(Depth::Time(Span::ZERO))).expect("in range");
            let queue = Queue::new(&config, Limit::Packets(7), Rate::from_mbps(1), Rng::stream(1, "", ""));
            let mut known = VaryingLink::new(transmitter.clone(), limits.clone(), policer.clone(), shapers.clone());
            let mut managed = ManagedLink::new(transmitter, limits, policer, shapers, queue.expect("it decides"));
            let (mut now, mut ours, mut theirs) = (Time::ZERO, Vec::new(), Vec::new());
            for (gap, size) in arrivals {
                now += Span::from_nanos(gap * scale);
                let size = Bytes::new(size);
                run(&mut managed, Time::ZERO, now, &mut ours);
                let mut dropped = false;
                let admitted = managed.arrive(Packet::new(0, size, EcnCodepoint::NotEct, now, ()), &mut |_| dropped = true);
                run(&mut managed, now, now, &mut ours);
                let verdict = known.arrive(now, size);
                prop_assert_eq!(admitted, verdict != Verdict::Policed);
                prop_assert_eq!(dropped, verdict == Verdict::Dropped);
                prop_assert_eq!(managed.backlog(), known.backlog(now));
                if let Verdict::Departs { start, end } = verdict {
                    theirs.push((start, end, known.measured()));
                }
            }
            run(&mut managed, now, Time::MAX, &mut ours);
            prop_assert_eq!(ours, theirs);
        }
    }
}
