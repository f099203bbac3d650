//! Times at which a radio is silent, because it sleeps or scans other channels.

use fullpipe_units::{Span, Time};

use crate::impairment::{Argument, Impairment, Unit};

pub(crate) static SUSPEND: Impairment = Impairment {
    name: "suspend",
    keys: &["suspend"],
    named: false,
    purpose: "The radio is periodically silent: data packets wait in the queue, ACKs at the receiver.",
    arguments: &[
        Argument::first("for", Unit::Time, "The length of each silence."),
        Argument::needed(
            "every",
            Unit::Time,
            "The period; the radio is silent once in each, at its start by default.",
        ),
        Argument::flag(
            "random",
            "Places each silence at a random time within its period.",
        ),
    ],
    example: "200ms every 2s",
    source: "IEEE 802.11: power save, scanning; picoquic's simulated link",
};

/// A silence that occurs once in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspension {
    /// Length of the silence, less than `every`.
    pub hold: Span,
    /// The period.
    pub every: Span,
    /// Seed for the place of the silence within each period; `None` for its start.
    pub salt: Option<u64>,
}

impl Suspension {
    /// Returns the end of the silence in force at `at`; `at` itself outside any silence.
    fn end(&self, at: Time) -> Time {
        let period = at.as_nanos() / self.every.as_nanos();
        let spare = self.every.saturating_sub(self.hold).as_nanos();
        let into = self
            .salt
            .map_or(0, |salt| scaled(mixed(period ^ salt), spare + 1));
        let start =
            Time::from_nanos(period.saturating_mul(self.every.as_nanos())) + Span::from_nanos(into);
        let end = start + self.hold;
        if (start..end).contains(&at) { end } else { at }
    }
}

/// Suspensions over time. They depend on no random stream, only on their salt, so equal schedules
/// give equal silences.
#[derive(Clone, Debug, Default)]
pub struct OutageSchedule(Vec<(Time, Option<Suspension>)>);

impl OutageSchedule {
    /// Creates a schedule:`first`, and the suspension or none from each of the given times on. The
    /// times ascend.
    pub fn new(
        first: Option<Suspension>,
        changes: impl IntoIterator<Item = (Time, Option<Suspension>)>,
    ) -> OutageSchedule {
        OutageSchedule([(Time::ZERO, first)].into_iter().chain(changes).collect())
    }

    /// Returns whether there is never a suspension.
    pub fn is_none(&self) -> bool {
        self.0.iter().all(|(_, suspension)| suspension.is_none())
    }

    /// Returns the first time from `at` on outside any silence.
    pub fn resumes(&self, mut at: Time) -> Time {
        loop {
            let later = self.0.partition_point(|(from, _)| *from <= at);
            let current = later.checked_sub(1).and_then(|place| self.0[place].1);
            let changes = self.0.get(later).map_or(Time::MAX, |(from, _)| *from);
            match current.map_or(at, |suspension| suspension.end(at).min(changes)) {
                end if end == at => return at,
                end => at = end,
            }
        }
    }
}

/// Returns the SplitMix64 output for state `x`.
fn mixed(x: u64) -> u64 {
    let mut x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Scales 64 uniform bits to a number in 0..n.
fn scaled(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    fn suspension(hold: u64, every: u64, salt: Option<u64>) -> Suspension {
        Suspension {
            hold: Span::from_millis(hold),
            every: Span::from_millis(every),
            salt,
        }
    }

    #[test]
    fn it_is_silent_at_the_start_of_each_period() {
        let outage = OutageSchedule::new(
            Some(suspension(20, 100, None)),
            [(ms(210), None), (ms(305), Some(suspension(5, 10, None)))],
        );
        let resumes = [
            0, 19, 20, 99, 100, 199, 200, 209, 210, 304, 305, 310, 314, 315,
        ]
        .map(|at| outage.resumes(ms(at)));
        assert_eq!(
            resumes,
            [
                20, 20, 20, 99, 120, 199, 210, 210, 210, 304, 305, 315, 315, 315
            ]
            .map(ms)
        );
        assert!(!outage.is_none() && OutageSchedule::default().is_none());
        assert_eq!(OutageSchedule::default().resumes(ms(7)), ms(7));
    }

    #[test]
    fn a_random_place_is_anywhere_in_the_period() {
        let outage = suspension(20, 100, Some(7));
        let starts: Vec<u64> = (0..10_000)
            .map(|n| (0..100).find(|at| outage.end(ms(n * 100 + at)) > ms(n * 100 + at)))
            .map(|at| at.expect("once in each"))
            .collect();
        // Uniform in 0 to 80 ms, rounded up to 1 ms: sigma of the mean is 0.23 ms.
        let mean = starts.iter().sum::<u64>() as f64 / starts.len() as f64;
        assert!((mean - 40.5).abs() < 1.0, "{mean}");
        assert!(starts.iter().any(|at| *at <= 1) && starts.iter().any(|at| *at >= 80));
    }

    proptest! {
        /// Compares with a check of every nanosecond.
        #[test]
        fn it_resumes_at_the_first_instant_that_is_not_silent(
            pieces in prop::collection::vec((1_u64..60, prop::option::of((1_u64..9, 1_u64..20, prop::option::of(any::<u64>())))), 1..5),
            at in 0_u64..300,
        ) {
            let ns = Time::from_nanos;
            let mut from = 0;
            let pieces: Vec<_> = pieces.into_iter().map(|(gap, piece)| {
                let suspension = piece.map(|(hold, more, salt)| Suspension { hold: Span::from_nanos(hold), every: Span::from_nanos(hold + more), salt });
                let begins = from;
                from += gap;
                (ns(begins), suspension)
            }).collect();
            let outage = OutageSchedule::new(pieces[0].1, pieces[1..].iter().copied());
            let is_silent = |at: u64| {
                let current = pieces.iter().rev().find(|(from, _)| *from <= ns(at)).and_then(|(_, suspension)| *suspension);
                current.is_some_and(|suspension| suspension.end(ns(at)) > ns(at))
            };
            let expected = (at..).find(|at| !is_silent(*at)).expect("every silence ends");
            prop_assert_eq!(outage.resumes(ns(at)), ns(expected));
        }
    }
}
