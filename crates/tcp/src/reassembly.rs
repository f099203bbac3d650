//! Data that has arrived out of order.

/// The segments above the next expected one that have arrived: a bitmap in a power-of-two ring.
#[derive(Debug)]
pub(crate) struct ReassemblyBitmap {
    words: Box<[u64]>,
    count: u64,
}

impl ReassemblyBitmap {
    /// Creates an empty bitmap; the ring grows as needed.
    pub(crate) fn new() -> ReassemblyBitmap {
        ReassemblyBitmap {
            words: vec![0; 1].into(),
            count: 0,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    fn at(&self, seq: u64) -> (usize, u64) {
        (
            (seq / 64) as usize & (self.words.len() - 1),
            1 << (seq % 64),
        )
    }

    pub(crate) fn contains(&self, seq: u64) -> bool {
        let (word, bit) = self.at(seq);
        self.words[word] & bit != 0
    }

    /// Records the arrival of `seq`; the bitmap has no segment below `next`.
    pub(crate) fn insert(&mut self, next: u64, seq: u64) {
        while seq / 64 - next / 64 >= self.words.len() as u64 {
            self.grow(next);
        }
        let (word, bit) = self.at(seq);
        self.words[word] |= bit;
        self.count += 1;
    }

    pub(crate) fn remove(&mut self, seq: u64) {
        let (word, bit) = self.at(seq);
        self.words[word] &= !bit;
        self.count -= 1;
    }

    #[cold]
    fn grow(&mut self, next: u64) {
        let old = self.words.len() as u64;
        let mut words = vec![0; self.words.len() * 2].into_boxed_slice();
        let mask = words.len() - 1;
        for word in next / 64..next / 64 + old {
            words[word as usize & mask] = self.words[(word & (old - 1)) as usize];
        }
        self.words = words;
    }

    /// Returns whether `seq`, at or above `next`, has arrived; false beyond the range of the ring.
    pub(crate) fn contains_above(&self, next: u64, seq: u64) -> bool {
        seq / 64 - next / 64 < self.words.len() as u64 && self.contains(seq)
    }
}
