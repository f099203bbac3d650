//! A property of the path that changes at the known times of a scenario's schedule.

use fullpipe_units::Time;

/// A value over time, constant between its changes.
///
/// The changes are known and need no events: an element that computes ahead (a link its departures,
/// a delay line its arrivals) queries the value at a future time. Times must not decrease from call
/// to call.
#[derive(Clone, Debug)]
pub struct Timeline<T> {
    value: T,
    /// Time of the next change, the last one in `later`.
    next: Time,
    /// Remaining changes, latest first.
    later: Vec<(Time, T)>,
}

impl<T> Timeline<T> {
    /// Creates a timeline:`first`, and another value from each of the given times on. The times
    /// ascend.
    pub fn new(first: T, changes: impl IntoIterator<Item = (Time, T)>) -> Timeline<T> {
        let mut later: Vec<(Time, T)> = changes.into_iter().collect();
        debug_assert!(
            later.is_sorted_by_key(|(at, _)| *at),
            "changes are in order"
        );
        later.reverse();
        Timeline {
            value: first,
            next: later.last().map_or(Time::MAX, |(at, _)| *at),
            later,
        }
    }

    /// Returns the value at `now`; a change holds from its nanosecond on.
    #[inline]
    pub fn at(&mut self, now: Time) -> &mut T {
        while now >= self.next {
            self.advance();
        }
        &mut self.value
    }

    #[cold]
    fn advance(&mut self) {
        if let Some((_, value)) = self.later.pop() {
            self.value = value;
        }
        self.next = self.later.last().map_or(Time::MAX, |(at, _)| *at);
    }

    /// Returns the time of the next change after the latest queried time, or [`Time::MAX`] after
    /// the last change.
    #[inline]
    pub fn next_change(&self) -> Time {
        self.next
    }

    /// Returns the value, if it does not change after the latest queried time.
    #[inline]
    pub(crate) fn settled(&self) -> Option<&T> {
        (self.next == Time::MAX).then_some(&self.value)
    }

    /// Returns the value, if it never changes.
    pub fn constant(&self) -> Option<&T> {
        self.later.is_empty().then_some(&self.value)
    }

    /// Creates a timeline with the same times and other values.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Timeline<U> {
        let later = self
            .later
            .into_iter()
            .map(|(at, value)| (at, f(value)))
            .collect();
        Timeline {
            value: f(self.value),
            next: self.next,
            later,
        }
    }
}

impl<T> From<T> for Timeline<T> {
    fn from(value: T) -> Timeline<T> {
        Timeline::new(value, [])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_holds_from_its_nanosecond_on() {
        let at = Time::from_nanos;
        let mut timeline = Timeline::new('a', [(at(5), 'b'), (at(7), 'c'), (at(7), 'd')]);
        assert_eq!(*timeline.at(at(4)), 'a');
        assert_eq!(timeline.next_change(), at(5));
        assert_eq!(*timeline.at(at(5)), 'b');
        assert_eq!(*timeline.at(at(900)), 'd');
        assert_eq!(timeline.next_change(), Time::MAX);
        assert_eq!(timeline.constant(), Some(&'d'), "nothing is left to come");
    }
}
