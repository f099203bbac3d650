//! What one flow has on the way to one place: first in, first out, with one agenda entry for the first.

use std::collections::VecDeque;

use units::Time;

/// Things on the way, each with its time of arrival.
#[derive(Debug)]
pub(crate) struct Lane<T> {
    items: VecDeque<(Time, T)>,
}

impl<T> Default for Lane<T> {
    fn default() -> Lane<T> {
        Lane { items: VecDeque::new() }
    }
}

impl<T> Lane<T> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds what arrives at `at`, not before what was added last; true when it is the first, so must be put on the agenda.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, item: T) -> bool {
        debug_assert!(self.items.back().is_none_or(|(last, _)| *last <= at), "a lane keeps its order");
        self.items.push_back((at, item));
        self.items.len() == 1
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, T)> {
        self.items.pop_front()
    }

    #[inline]
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.items.front().map(|(at, _)| *at)
    }
}
