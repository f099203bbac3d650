//! Running totals at the edges of equal parts of a run: constant memory, and work only at the edges.

use std::ops::Range;

use fullpipe_units::{Span, Time};

use crate::MeasuredTime;

/// Number of parts of the measured window.
pub(crate) const PARTS: usize = 60;

/// Totals at the edges of equal parts of the window, and of parts of the same length before it.
#[derive(Clone, Debug)]
pub(crate) struct Series<T> {
    first: Time,
    part: Span,
    /// Number of parts before the window.
    pub(crate) before: usize,
    /// Number of whole parts of the window that are tested for drift.
    tested: usize,
    totals: Vec<T>,
}

impl<T: Copy + Default> Series<T> {
    /// Creates an empty series; `None` if the window has no end, or is too short to be divided. With
    /// `earlier`, the warm-up is divided too, unless it is longer than the window.
    pub(crate) fn new(window: MeasuredTime, earlier: bool) -> Option<Series<T>> {
        let length = window.to.since(window.from);
        let part = length / PARTS as u64;
        if window.to == Time::MAX || part == Span::ZERO {
            return None;
        }
        let warm_up = window.from.since(Time::ZERO);
        let before = if earlier && warm_up <= length {
            (warm_up.as_nanos() / part.as_nanos()) as usize
        } else {
            0
        };
        let tested = window.tested_to.since(window.from);
        let whole = (tested.as_nanos() / part.as_nanos()) as usize;
        Some(Series {
            first: window.from - part * before as u64,
            part,
            before,
            tested: whole.min(PARTS),
            totals: Vec::with_capacity(before + PARTS + 1),
        })
    }

    /// Returns the time of the next edge inside the run.
    pub(crate) fn next(&self) -> Time {
        if self.totals.len() < self.before + PARTS {
            self.first + self.part * self.totals.len() as u64
        } else {
            Time::MAX
        }
    }

    /// Stores `total` for each edge up to `now`; returns the time of the next one.
    pub(crate) fn pass(&mut self, now: Time, total: T) -> Time {
        let mut next = self.next();
        while next <= now {
            self.totals.push(total);
            next = self.next();
        }
        next
    }

    /// Returns the totals at all edges; `total` is that of the end of the run.
    pub(crate) fn finish(&self, total: T) -> Vec<T> {
        let mut totals = self.totals.clone();
        totals.resize(self.before + PARTS + 1, total);
        totals
    }

    /// Changes the totals by those of a finished series with the same edges.
    pub(crate) fn merge(&mut self, others: &[T], change: impl Fn(&mut T, &T)) {
        for (ours, theirs) in self.totals.iter_mut().zip(others) {
            change(ours, theirs);
        }
    }

    /// Returns whether it has parts from the start of the run on.
    pub(crate) fn is_whole(&self) -> bool {
        self.first.since(Time::ZERO) < self.part
    }

    /// Returns which parts are tested for drift.
    pub(crate) fn tested(&self) -> Range<usize> {
        self.before..self.before + self.tested
    }

    /// Returns the length of a part.
    pub(crate) fn part(&self) -> Span {
        self.part
    }

    /// Returns the time of an edge.
    pub(crate) fn edge(&self, index: usize) -> Time {
        self.first + self.part * index as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_edges_divide_the_window_and_a_shorter_warm_up() {
        let window = MeasuredTime::new(at(10_000), at(70_000));
        let series = Series::<u64>::new(window, true).unwrap();
        assert_eq!((series.before, series.next()), (10, at(0)));
        let without = Series::<u64>::new(window, false).unwrap();
        assert_eq!((without.before, without.next()), (0, at(10_000)));
        let longer = MeasuredTime::new(at(70_001), at(130_000));
        let late = Series::<u64>::new(longer, true).unwrap();
        assert_eq!((late.before, late.is_whole()), (0, false));
        assert!(series.is_whole() && !without.is_whole());
        let open = MeasuredTime::new(at(0), Time::MAX);
        assert!(Series::<u64>::new(open, true).is_none());
    }

    #[test]
    fn an_edge_without_an_event_has_the_total_of_the_one_before() {
        let window = MeasuredTime::new(at(0), at(60_000));
        let mut series = Series::new(window, false).unwrap();
        assert_eq!(series.pass(at(0), 0), at(1_000));
        assert_eq!(series.pass(at(3_500), 5), at(4_000));
        let totals = series.finish(9);
        assert_eq!(totals.len(), PARTS + 1);
        assert_eq!(totals[..5], [0, 5, 5, 5, 9]);
    }
}
