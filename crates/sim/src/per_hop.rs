//! One item for each hop of a flow's route.

use std::ops::{Index, IndexMut};

/// One item per hop, at least one. That of the first hop, the only one of a dumbbell, is stored inline, so that
/// it takes no look at a length or a pointer.
#[derive(Debug, Default)]
pub(crate) struct PerHop<T> {
    first: T,
    others: Vec<T>,
}

impl<T> PerHop<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        1 + self.others.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// Drops the items behind the first `hops`, or adds default ones.
    pub(crate) fn resize(&mut self, hops: usize)
    where
        T: Default,
    {
        self.others.resize_with(hops - 1, T::default);
    }
}

impl<T> FromIterator<T> for PerHop<T> {
    /// # Panics Without items: each route has a hop.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> PerHop<T> {
        let mut items = items.into_iter();
        PerHop {
            first: items.next().expect("a route has a hop"),
            others: items.collect(),
        }
    }
}

impl<T> Index<usize> for PerHop<T> {
    type Output = T;

    #[inline]
    fn index(&self, hop: usize) -> &T {
        if hop == 0 {
            &self.first
        } else {
            &self.others[hop - 1]
        }
    }
}

impl<T> IndexMut<usize> for PerHop<T> {
    #[inline]
    fn index_mut(&mut self, hop: usize) -> &mut T {
        if hop == 0 {
            &mut self.first
        } else {
            &mut self.others[hop - 1]
        }
    }
}
