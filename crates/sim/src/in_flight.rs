//! Packets of one flow in flight to one place: first in, first out, with one event for the first.

use fullpipe_units::{Ring, Time};

/// Items in flight, each with its time of arrival.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    items: Ring<(Time, T)>,
}

impl<T> Default for InFlight<T> {
    fn default() -> InFlight<T> {
        InFlight {
            items: Ring::default(),
        }
    }
}

impl<T: Copy> InFlight<T> {
    /// Returns the first two and the last item, which handling the first will touch.
    #[inline]
    pub(crate) fn ends(&self) -> impl Iterator<Item = &(Time, T)> {
        self.items
            .first()
            .into_iter()
            .chain(self.items.get(1))
            .chain(self.items.last())
    }

    /// Returns the items, the first to arrive first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.items.len()).filter_map(|place| self.items.get(place).map(|(_, item)| item))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Shrinks the capacity of the empty FIFO to at most `most` items.
    pub(crate) fn shrink_to(&mut self, most: usize) {
        self.items.shrink_to(most);
    }

    /// Adds an item that arrives at `at`, not before the item added last. Returns true if it is the
    /// first and needs an entry in the event queue.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, item: T) -> bool {
        debug_assert!(
            self.items.last().is_none_or(|(last, _)| *last <= at),
            "items arrive in order"
        );
        self.items.push((at, item));
        self.items.len() == 1
    }

    /// Returns the first item to arrive. It stays in the FIFO while it is handled, so that an item
    /// added meanwhile does not count as the first.
    #[inline]
    pub(crate) fn front(&self) -> Option<T> {
        self.items.first().map(|(_, item)| *item)
    }

    /// Returns the last item to arrive.
    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        self.items.last_mut().map(|(_, item)| item)
    }

    /// Removes the first item after it was handled; returns the arrival time of the next one.
    #[inline]
    pub(crate) fn advance(&mut self) -> Option<Time> {
        self.items.pop();
        self.items.first().map(|(at, _)| *at)
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
            "added while the last one is handled, so `advance` finds it"
        );
        assert_eq!(in_flight.advance(), Some(Time::from_nanos(9)));
        assert_eq!(in_flight.advance(), None);
        assert!(in_flight.push(Time::from_nanos(10), 'd'));
    }
}
