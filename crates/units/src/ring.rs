//! A first-in-first-out queue with little work per item.

/// A queue in a ring whose length is a power of two, so that a place needs no comparison with the end
/// of the ring. Like `VecDeque` it grows as needed.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    places: Box<[T]>,
    /// Numbers of the first item and of the next one; the low bits are the place.
    head: usize,
    tail: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring {
            places: Box::default(),
            head: 0,
            tail: 0,
        }
    }
}

impl<T: Copy> Ring<T> {
    /// Returns the number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Returns whether there is no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Returns whether the next item makes the ring grow.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() == self.places.len()
    }

    #[inline]
    fn place(&self, number: usize) -> usize {
        number & self.places.len().wrapping_sub(1)
    }

    /// Adds an item at the end.
    #[inline(always)] // several times for each packet
    pub fn push(&mut self, item: T) {
        if self.is_full() {
            self.resize((self.places.len() * 2).max(8), item);
        }
        let place = self.place(self.tail);
        self.places[place] = item;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Removes the first item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.first().copied()?;
        self.head = self.head.wrapping_add(1);
        Some(first)
    }

    /// Returns the item that is `index` places behind the first.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len() {
            return None;
        }
        Some(&self.places[self.place(self.head.wrapping_add(index))])
    }

    /// Returns the first item.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        Some(&self.places[self.place(self.head)])
    }

    /// Returns the last item.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        Some(&self.places[self.place(self.tail.wrapping_sub(1))])
    }

    /// Returns the last item, to change it.
    #[inline]
    pub fn last_mut(&mut self) -> Option<&mut T> {
        if self.is_empty() {
            return None;
        }
        let place = self.place(self.tail.wrapping_sub(1));
        Some(&mut self.places[place])
    }

    /// Gives memory back, if the items fit into `most` places, a power of two.
    pub fn shrink_to(&mut self, most: usize) {
        if self.places.len() > most && self.len() <= most {
            match self.first().copied() {
                Some(first) => self.resize(most, first),
                None => *self = Ring::default(),
            }
        }
    }

    /// Moves the items to a ring of `places`; free places hold `any`.
    #[cold]
    fn resize(&mut self, places: usize, any: T) {
        debug_assert!(places.is_power_of_two() && places >= self.len());
        let mut ring = vec![any; places].into_boxed_slice();
        for index in 0..self.len() {
            ring[index] = self.places[self.place(self.head.wrapping_add(index))];
        }
        (self.head, self.tail) = (0, self.len());
        self.places = ring;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::Rng;

    #[test]
    fn agrees_with_a_deque_whatever_is_pushed_and_popped() {
        let mut rng = Rng::stream(1, "ring", "test");
        let (mut ring, mut deque) = (Ring::default(), VecDeque::new());
        for step in 0..20_000_u64 {
            // Periods of growth and of shrinking.
            let growth = if step / 1_000 % 2 == 0 { 0.6 } else { 0.4 };
            if rng.chance(growth) {
                ring.push(step);
                deque.push_back(step);
            } else {
                assert_eq!(ring.pop(), deque.pop_front());
            }
            if step % 500 == 0 {
                ring.shrink_to(64);
            }
            if let (Some(ours), Some(theirs)) = (ring.last_mut(), deque.back_mut()) {
                (*ours, *theirs) = (*ours + 1, *theirs + 1);
            }
            assert_eq!(
                (ring.len(), ring.is_empty()),
                (deque.len(), deque.is_empty())
            );
            assert_eq!((ring.first(), ring.last()), (deque.front(), deque.back()));
            assert_eq!(ring.get(3), deque.get(3));
        }
    }
}
