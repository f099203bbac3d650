//! A one-way delay over time, as measured.

use std::sync::Arc;

use fullpipe_units::{Span, Time};

use crate::impairment::{Argument, Impairment, Unit};
use crate::{Begin, Timeline};

pub(crate) static DELAY_TRACE: Impairment = Impairment {
    name: "delay-trace",
    keys: &["delay_trace", "reverse_delay_trace"],
    named: false,
    purpose: "The one-way delay follows a trace, in steps, instead of being half of the RTT; packets keep their order.",
    arguments: &[
        Argument::first(
            "delays",
            Unit::Delays,
            "Times with the one-way delay from then on, the first at 0s.",
        ),
        Argument::optional(
            "every",
            Unit::Time,
            "never",
            "The period after which the trace repeats; without it the last delay stays.",
        ),
        Argument::begin(),
    ],
    example: "0s 23ms, 15s 31ms every 30s",
    source: "",
};

/// A one-way delay over time, in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayTrace {
    /// Times, each with the delay from then on; the first time is zero, and they increase.
    pub steps: Arc<[(Span, Span)]>,
    /// Period after which the trace repeats, longer than the last step's time; `None` for no
    /// repetition.
    pub every: Option<Span>,
    /// Where it begins; a random place only in a trace that repeats.
    pub begin: Begin,
}

impl DelayTrace {
    /// Returns the shortest delay.
    pub fn shortest(&self) -> Span {
        let delays = self.steps.iter().map(|(_, delay)| *delay);
        delays.min().unwrap_or(Span::ZERO)
    }

    /// Returns the longest delay.
    pub fn longest(&self) -> Span {
        let delays = self.steps.iter().map(|(_, delay)| *delay);
        delays.max().unwrap_or(Span::ZERO)
    }

    /// Returns whether it uses random numbers.
    pub fn is_random(&self) -> bool {
        self.begin == Begin::Random
    }

    /// Returns the delay at `now`, and the start and end of the time for which the delay holds.
    fn step(&self, now: Time) -> (Span, Time, Time) {
        let start = match self.every {
            None => Time::ZERO,
            Some(every) => now - Span::from_nanos(now.as_nanos() % every.as_nanos()),
        };
        let into = now - start;
        let later = self.steps.partition_point(|(at, _)| *at <= into);
        let (at, delay) = self.steps[later - 1];
        let until = match (self.steps.get(later), self.every) {
            (Some((next, _)), _) => start + *next,
            (None, Some(every)) => start + every,
            (None, None) => Time::MAX,
        };
        (delay, start + at, until)
    }
}

/// A propagation delay over time.
#[derive(Clone, Debug)]
pub enum Delay {
    /// A delay with few changes.
    Timeline(Timeline<Span>),
    /// A delay trace, shared by all lines.
    Trace(Follower),
}

/// Position of a line in a trace.
#[derive(Clone, Debug)]
pub struct Follower {
    trace: DelayTrace,
    /// Time of the trace at which the run begins.
    begin: Span,
    /// Constant delay of the line, added to that of the trace.
    more: Span,
    delay: Span,
    /// The current delay holds from `from` until `until`, times of the trace.
    from: Time,
    until: Time,
}

impl From<Timeline<Span>> for Delay {
    fn from(timeline: Timeline<Span>) -> Delay {
        Delay::Timeline(timeline)
    }
}

impl Delay {
    /// Creates a delay of the trace plus `more`. A trace with a random beginning begins at the share
    /// `place` of its period, in 0..1.
    pub fn of_trace(trace: DelayTrace, more: Span, place: f64) -> Delay {
        let begin = trace.begin.offset(trace.every.unwrap_or(Span::ZERO), place);
        let (delay, from, until) = trace.step(Time::ZERO + begin);
        Delay::Trace(Follower {
            trace,
            begin,
            more,
            delay,
            from,
            until,
        })
    }

    /// Returns the delay, if it never changes.
    pub(crate) fn constant(&self) -> Option<&Span> {
        match self {
            Delay::Timeline(timeline) => timeline.constant(),
            Delay::Trace(_) => None,
        }
    }

    /// Returns the delay at `now`, which must not decrease from call to call.
    #[inline]
    pub(crate) fn at(&mut self, now: Time) -> Span {
        match self {
            Delay::Timeline(timeline) => *timeline.at(now),
            Delay::Trace(follower) => follower.at(now),
        }
    }
}

impl Follower {
    fn at(&mut self, now: Time) -> Span {
        let now = now + self.begin;
        if !(self.from..self.until).contains(&now) {
            (self.delay, self.from, self.until) = self.trace.step(now);
        }
        self.delay + self.more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    fn trace(steps: &[(u64, u64)], every: Option<u64>) -> DelayTrace {
        DelayTrace {
            steps: steps
                .iter()
                .map(|(at, delay)| (ms(*at), ms(*delay)))
                .collect(),
            every: every.map(ms),
            begin: Begin::At(Span::ZERO),
        }
    }

    fn delays(delay: &mut Delay, times: &[u64]) -> Vec<u64> {
        let at = |at: &u64| delay.at(Time::ZERO + ms(*at)).as_nanos() / 1_000_000;
        times.iter().map(at).collect()
    }

    #[test]
    fn a_delay_holds_until_the_next_and_the_last_one_stays() {
        let trace = trace(&[(0, 20), (10, 50), (30, 10)], None);
        assert_eq!(trace.longest(), ms(50));
        let mut delay = Delay::of_trace(trace, ms(5), 0.0);
        let found = delays(&mut delay, &[0, 9, 10, 29, 30, 1_000_000]);
        assert_eq!(found, [25, 25, 55, 55, 15, 15]);
    }

    #[test]
    fn a_trace_that_begins_again_does_so_however_late_it_is_asked() {
        let mut delay = Delay::of_trace(trace(&[(0, 20), (10, 50)], Some(40)), Span::ZERO, 0.0);
        let found = delays(&mut delay, &[0, 39, 40, 49, 50, 79, 80, 400_009, 400_010]);
        assert_eq!(found, [20, 50, 20, 20, 50, 50, 20, 20, 50]);
    }

    #[test]
    fn a_trace_may_begin_at_a_later_place() {
        let begun = |begin: Begin, every: Option<u64>| {
            let trace = DelayTrace {
                begin,
                ..trace(&[(0, 20), (10, 50), (30, 10)], every)
            };
            let mut delay = Delay::of_trace(trace, Span::ZERO, 0.5);
            delays(&mut delay, &[0, 9, 10, 19, 20, 29, 30])
        };
        let found = begun(Begin::At(ms(10)), None);
        assert_eq!(found, [50, 50, 50, 50, 10, 10, 10]);
        let found = begun(Begin::Random, Some(40));
        assert_eq!(
            found,
            [50, 50, 10, 10, 20, 20, 50],
            "from 20 ms on, half of 40 ms"
        );
    }

    proptest! {
        /// Compares with the definition, step by step.
        #[test]
        fn asked_at_any_times_it_is_the_last_step_before(
            gaps in prop::collection::vec((1_u64..50, 0_u64..200), 1..20),
            spare in prop::option::of(1_u64..100),
            asked in prop::collection::vec(0_u64..2_000, 1..100),
        ) {
            let mut at = 0;
            let mut steps = vec![(0, 7)];
            for (gap, delay) in gaps {
                at += gap;
                steps.push((at, delay));
            }
            let every = spare.map(|spare| at + spare);
            let mut delay = Delay::of_trace(trace(&steps, every), Span::ZERO, 0.0);
            let mut asked = asked;
            asked.sort_unstable();
            let expected: Vec<u64> = asked.iter().map(|now| {
                let into = every.map_or(*now, |every| now % every);
                steps.iter().rev().find(|(at, _)| *at <= into).expect("the first is zero").1
            }).collect();
            prop_assert_eq!(delays(&mut delay, &asked), expected);
        }
    }
}
