//! The values of a column: packed while a run records them, unpacked when they are first read.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// Number of rows that are packed at a time.
pub(crate) const BLOCK: usize = 64;

/// The form in which the values of a block follow its first one.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Steps {
    /// All values are equal.
    None,
    /// All steps are equal; the step follows in four bytes.
    Equal,
    /// A step for each value, in one, two or four bytes; only the low 32 bits of values differ.
    Byte,
    Short,
    Word,
    /// The values themselves.
    Values,
}

impl Steps {
    const ALL: [Steps; 6] = [
        Steps::None,
        Steps::Equal,
        Steps::Byte,
        Steps::Short,
        Steps::Word,
        Steps::Values,
    ];
}

/// A column of numbers in blocks: for each its kind, its first value, and the steps between values. Most
/// columns of a trace with a row at every ACK take a fourth of their values' size, and the system takes longer to
/// provide memory than it takes to pack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    rows: usize,
}

impl Packed {
    /// Adds the first `rows` values of a block; the others are overwritten. Only the last block of a column may
    /// have less than [`BLOCK`] rows.
    pub(crate) fn push(&mut self, block: &mut [u64; BLOCK], rows: usize) {
        let Some(last) = rows.checked_sub(1) else {
            return;
        };
        if rows < BLOCK {
            let value = block[last];
            block[rows..].fill(value);
        }
        self.rows += rows;
        let first = block[0];
        let mut differ = 0;
        let mut low = [0; BLOCK];
        for (low, value) in low.iter_mut().zip(&*block) {
            differ |= value ^ first;
            *low = *value as u32;
        }
        if differ == 0 {
            return self.head(Steps::None, first);
        }
        if differ > u64::from(u32::MAX) {
            self.head(Steps::Values, first);
            return self.put(block, |value| value.to_le_bytes());
        }
        // A step's sign is its lowest bit, so that small steps down are small numbers, too.
        let mut steps = [0; BLOCK];
        let (mut all, mut unlike) = (0, 0);
        let second = zigzag(low[1].wrapping_sub(low[0]));
        for i in 1..BLOCK {
            let step = zigzag(low[i].wrapping_sub(low[i - 1]));
            steps[i] = step;
            all |= step;
            unlike |= step ^ second;
        }
        if unlike == 0 {
            self.head(Steps::Equal, first);
            self.bytes.extend_from_slice(&second.to_le_bytes());
        } else if all <= u32::from(u8::MAX) {
            self.head(Steps::Byte, first);
            self.put(&steps, |step| [step as u8]);
        } else if all <= u32::from(u16::MAX) {
            self.head(Steps::Short, first);
            self.put(&steps, |step| (step as u16).to_le_bytes());
        } else {
            self.head(Steps::Word, first);
            self.put(&steps, |step| step.to_le_bytes());
        }
    }

    #[inline]
    fn head(&mut self, steps: Steps, first: u64) {
        let mut head = [steps as u8; 9];
        head[1..].copy_from_slice(&first.to_le_bytes());
        self.bytes.extend_from_slice(&head);
    }

    #[inline]
    fn put<T: Copy, const SIZE: usize>(
        &mut self,
        values: &[T; BLOCK],
        bytes: impl Fn(T) -> [u8; SIZE],
    ) {
        self.bytes
            .extend_from_slice(values.map(bytes).as_flattened());
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the allocated memory, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns all values, converted by `of`.
    fn unpack<T>(&self, of: impl Fn(u64) -> T) -> Vec<T> {
        let mut values = Vec::with_capacity(self.rows);
        let mut from = &self.bytes[..];
        while values.len() < self.rows {
            let wanted = (self.rows - values.len()).min(BLOCK);
            let kind = Steps::ALL[usize::from(take::<1>(&mut from)[0])];
            let first = u64::from_le_bytes(take(&mut from));
            match kind {
                Steps::None => values.extend((0..wanted).map(|_| of(first))),
                Steps::Equal => {
                    let step = u32::from_le_bytes(take(&mut from));
                    let steps = (0..wanted).map(|row| if row == 0 { 0 } else { step });
                    values.extend(sums(first, steps).map(&of));
                }
                Steps::Byte => {
                    let steps = take::<BLOCK>(&mut from).map(u32::from);
                    values.extend(sums(first, steps).take(wanted).map(&of));
                }
                Steps::Short => {
                    let steps = words(&mut from).map(|step| u32::from(u16::from_le_bytes(step)));
                    values.extend(sums(first, steps).take(wanted).map(&of));
                }
                Steps::Word => {
                    let steps = words(&mut from).map(u32::from_le_bytes);
                    values.extend(sums(first, steps).take(wanted).map(&of));
                }
                Steps::Values => {
                    let words = words(&mut from).map(u64::from_le_bytes);
                    values.extend(words.into_iter().take(wanted).map(&of));
                }
            }
        }
        values
    }
}

/// Returns the values whose low 32 bits are the sums of `steps`.
fn sums(first: u64, steps: impl IntoIterator<Item = u32>) -> impl Iterator<Item = u64> {
    let high = first & !u64::from(u32::MAX);
    let mut low = first as u32;
    steps.into_iter().map(move |step| {
        low = low.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg());
        high | u64::from(low)
    })
}

#[inline]
fn zigzag(step: u32) -> u32 {
    (step << 1) ^ ((step as i32) >> 31) as u32
}

fn take<const SIZE: usize>(from: &mut &[u8]) -> [u8; SIZE] {
    let (bytes, rest) = from
        .split_first_chunk::<SIZE>()
        .expect("a block has all of its steps");
    *from = rest;
    *bytes
}

fn words<const SIZE: usize>(from: &mut &[u8]) -> [[u8; SIZE]; BLOCK] {
    std::array::from_fn(|_| take(from))
}

/// Converts a number that was packed into the value of the column.
type Convert<T> = fn(u64) -> T;

/// The values of a column. Those of a run's flows are packed, and unpacked when they are first read.
#[derive(Clone)]
pub struct Values<T> {
    packed: Option<(Packed, Convert<T>)>,
    plain: OnceLock<Vec<T>>,
}

impl<T> Values<T> {
    /// Values that were recorded packed, and what converts each of them.
    pub(crate) fn packed(packed: Packed, of: Convert<T>) -> Values<T> {
        Values {
            packed: Some((packed, of)),
            plain: OnceLock::new(),
        }
    }

    /// Returns the number of values, without unpacking them.
    pub fn len(&self) -> usize {
        match (self.plain.get(), &self.packed) {
            (Some(plain), _) => plain.len(),
            (None, Some((packed, _))) => packed.rows(),
            (None, None) => 0,
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values in memory of their own.
    pub fn into_vec(mut self) -> Vec<T> {
        self.unpacked();
        self.plain.take().unwrap_or_default()
    }

    /// Returns the allocated memory, in bytes.
    pub fn memory(&self) -> usize {
        let packed = self
            .packed
            .as_ref()
            .map_or(0, |(packed, _)| packed.memory());
        packed + self.plain.get().map_or(0, Vec::capacity) * size_of::<T>()
    }

    fn unpacked(&self) -> &[T] {
        self.plain.get_or_init(|| match &self.packed {
            Some((packed, of)) => packed.unpack(of),
            None => Vec::new(),
        })
    }
}

impl<T> From<Vec<T>> for Values<T> {
    fn from(plain: Vec<T>) -> Values<T> {
        Values {
            packed: None,
            plain: plain.into(),
        }
    }
}

impl<T> FromIterator<T> for Values<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Values<T> {
        Vec::from_iter(values).into()
    }
}

impl<T> Deref for Values<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.unpacked()
    }
}

impl<'a, T> IntoIterator for &'a Values<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.unpacked().iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.unpacked().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(values: &[u64]) -> Packed {
        let mut packed = Packed::default();
        for rows in values.chunks(BLOCK) {
            let mut block = std::array::from_fn(|row| rows.get(row).copied().unwrap_or(0));
            packed.push(&mut block, rows.len());
        }
        packed
    }

    /// Values in runs of each kind that columns have: equal, equal steps, and steps of any size.
    fn columns() -> impl Strategy<Value = Vec<u64>> {
        let step = prop_oneof![
            Just(0),
            0..200_u64,
            0..60_000_u64,
            0..u64::from(u32::MAX),
            any::<u64>()
        ];
        let run = (any::<u64>(), step, 1..200_usize, any::<u64>());
        prop::collection::vec(run, 0..5).prop_map(|runs| {
            let values = |(first, most, rows, seed): (u64, u64, usize, u64)| {
                let (mut value, mut random) = (first, seed | 1);
                (0..rows).map(move |_| {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    let step = if seed % 2 == 0 {
                        most
                    } else {
                        random.checked_rem(most).unwrap_or(0)
                    };
                    value = if random >> 63 == 0 {
                        value.wrapping_add(step)
                    } else {
                        value.wrapping_sub(step)
                    };
                    value
                })
            };
            runs.into_iter().flat_map(values).collect()
        })
    }

    proptest! {
        #[test]
        fn unpacked_values_are_those_that_were_packed(values in columns()) {
            let column = Values::packed(packed(&values), |value| value);
            prop_assert_eq!(column.len(), values.len());
            prop_assert_eq!(&column[..], &values[..]);
            prop_assert_eq!(column.into_vec(), values);
        }
    }

    #[test]
    fn small_steps_take_a_byte_and_equal_values_nearly_none() {
        let memory = |of: fn(u64) -> u64| {
            let values: Vec<u64> = (0..6_400).map(of).collect();
            packed(&values).bytes.len()
        };
        assert_eq!(memory(|_| u64::MAX), 100 * 9);
        assert_eq!(memory(|row| row * 2_896), 100 * 13);
        assert_eq!(memory(|row| 1_000_000 - row % 7), 100 * (9 + 64));
        assert_eq!(memory(|row| 1_000_000 - 1_448 * (row % 7)), 100 * (9 + 128));
    }
}
