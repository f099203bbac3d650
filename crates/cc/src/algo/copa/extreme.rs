//! The minimum and the maximum RTT over a sliding window of time.

use std::collections::VecDeque;

use fullpipe_units::{Span, Time};

/// Limits the number of candidates: a sample less extreme than its predecessor is kept only if it
/// is younger by at least 1/64 of the window.
const GRAINS: u64 = 64;

/// The extreme to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Least,
    Greatest,
}

/// The extreme sample within a window of time: candidates in the order of their times, each less
/// extreme than the one before.
#[derive(Clone, Debug)]
pub(super) struct Extreme {
    keep: Keep,
    candidates: VecDeque<(Time, Span)>,
}

impl Extreme {
    pub(super) fn new(keep: Keep) -> Extreme {
        Extreme {
            keep,
            candidates: VecDeque::new(),
        }
    }

    /// Takes a sample, and returns the extreme over the last `window`.
    pub(super) fn update(&mut self, now: Time, sample: Span, window: Span) -> Span {
        while self
            .candidates
            .back()
            .is_some_and(|&(_, last)| !self.beats(last, sample))
        {
            self.candidates.pop_back();
        }
        let is_due = |&(at, _): &(Time, Span)| now.since(at) * GRAINS >= window;
        if self.candidates.back().is_none_or(is_due) {
            self.candidates.push_back((now, sample));
        }
        while self.candidates.len() > 1 && now.since(self.candidates[0].0) > window {
            self.candidates.pop_front();
        }
        self.candidates[0].1
    }

    /// Returns whether `a` is more extreme than `b`.
    fn beats(&self, a: Span, b: Span) -> bool {
        match self.keep {
            Keep::Least => a < b,
            Keep::Greatest => a > b,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_lasts_for_the_window() {
        let mut least = Extreme::new(Keep::Least);
        let window = Span::from_millis(100);
        for ms in 0..200_u64 {
            let rtt = Span::from_millis(if ms == 0 { 10 } else { 20 });
            let now = Time::ZERO + Span::from_millis(ms);
            let expected = if ms <= 100 { 10 } else { 20 };
            assert_eq!(
                least.update(now, rtt, window),
                Span::from_millis(expected),
                "at {ms} ms"
            );
        }
    }

    proptest! {
        #[test]
        fn is_that_of_a_window_that_is_a_grain_longer_or_shorter(
            samples in prop::collection::vec((0_u64..30, 1_u64..1_000), 1..300),
        ) {
            let window = Span::from_millis(640);
            let (mut least, mut greatest) = (Extreme::new(Keep::Least), Extreme::new(Keep::Greatest));
            let (mut now, mut seen) = (Time::ZERO, Vec::new());
            for (wait, rtt) in samples {
                now += Span::from_millis(wait);
                let rtt = Span::from_micros(rtt);
                seen.push((now, rtt));
                let within = |span: Span| {
                    seen.iter().filter(move |(at, _)| now.since(*at) <= span).map(|sample| sample.1)
                };
                let (long, short) = (window, Span::from_millis(630));
                let measured = least.update(now, rtt, window);
                prop_assert!(Some(measured) >= within(long).min());
                prop_assert!(Some(measured) <= within(short).min());
                let measured = greatest.update(now, rtt, window);
                prop_assert!(Some(measured) <= within(long).max());
                prop_assert!(Some(measured) >= within(short).max());
            }
        }
    }
}
