//! Storage for packets in transit.

/// Items by index; a free index is reused.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Stores an item and returns its index.
    pub fn put(&mut self, item: T) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 packets are stored")
        });
        self.places[place as usize] = Some(item);
        place
    }

    /// Removes the item at `place`.
    ///
    /// # Panics If there is no item.
    pub fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.places[place as usize]
            .take()
            .expect("a packet is removed once")
    }

    /// Returns the item at `place`.
    ///
    /// # Panics If there is no item.
    pub fn at(&mut self, place: u32) -> &mut T {
        self.get(place).expect("a packet that waits")
    }

    /// Returns the item at `place`, if there is one.
    pub fn get(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Returns whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_that_became_free_last_is_used_first() {
        let mut slab = Slab::default();
        let [first, second] = ['a', 'b'].map(|item| slab.put(item));
        assert_eq!((slab.take(first), slab.len()), ('a', 1));
        assert_eq!(slab.get(first), None);
        assert_eq!(*slab.at(second), 'b');
        assert_eq!((slab.put('c'), slab.put('d')), (first, 2));
        assert!(!slab.is_empty());
    }
}
