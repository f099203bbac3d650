//! What one flow has on the way to one place: first in, first out, with one event for the
//! first.

use std::collections::VecDeque;

use fullpipe_units::Time;

/// Things on the way, each with its time of arrival.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    items: VecDeque<(Time, T)>,
}

impl<T> Default for InFlight<T> {
    fn default() -> InFlight<T> {
        InFlight {
            items: VecDeque::new(),
        }
    }
}

impl<T: Copy> InFlight<T> {
    /// The first two and the last: what dealing with the first will touch.
    #[inline]
    pub(crate) fn ends(&self) -> impl Iterator<Item = &(Time, T)> {
        self.items
            .front()
            .into_iter()
            .chain(self.items.get(1))
            .chain(self.items.back())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Gives back what is more than room for so many; it is empty.
    pub(crate) fn shrink_to(&mut self, most: usize) {
        self.items.shrink_to(most);
    }

    /// Adds what arrives at `at`, not before what was added last; true when it is the first, so
    /// must be put on the event queue.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, item: T) -> bool {
        debug_assert!(
            self.items.back().is_none_or(|(last, _)| *last <= at),
            "a lane keeps its order"
        );
        self.items.push_back((at, item));
        self.items.len() == 1
    }

    /// What arrives first. It stays while it is dealt with, so that what is added meanwhile does
    /// not count as the first.
    #[inline]
    pub(crate) fn front(&self) -> Option<T> {
        self.items.front().map(|(_, item)| *item)
    }

    /// What arrives last.
    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        self.items.back_mut().map(|(_, item)| item)
    }

    /// The first was dealt with; when the next one arrives.
    #[inline]
    pub(crate) fn advance(&mut self) -> Option<Time> {
        self.items.pop_front();
        self.items.front().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_calls_for_an_event() {
        let mut in_flight = InFlight::default();
        assert!(in_flight.push(Time::from_nanos(1), 'a'));
        assert!(!in_flight.push(Time::from_nanos(2), 'b'));
        assert_eq!(in_flight.advance(), Some(Time::from_nanos(2)));
        assert_eq!(in_flight.front(), Some('b'));
        assert!(
            !in_flight.push(Time::from_nanos(9), 'c'),
            "added while the last one is dealt with: it is taken from there"
        );
        assert_eq!(in_flight.advance(), Some(Time::from_nanos(9)));
        assert_eq!(in_flight.advance(), None);
        assert!(in_flight.push(Time::from_nanos(10), 'd'));
    }
}
