//! The label of each row of a column, stored as an index.

/// The label index of each row. One byte per row is enough for most columns; from the 256th label
/// on, each row takes four bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codes {
    /// Up to 255 labels; code 255 means "no label".
    U8(Vec<u8>),
    /// More than 255 labels; code `u32::MAX` means "no label".
    U32(Vec<u32>),
}

/// The one-byte code for "no label", and therefore the number of labels that one byte can encode.
pub const NO_BYTE: u8 = u8::MAX;
/// The four-byte code for "no label".
const NO_WORD: u32 = u32::MAX;

impl Default for Codes {
    fn default() -> Codes {
        Codes::U8(Vec::new())
    }
}

impl Codes {
    /// Returns an empty column, wide enough for `labels` labels.
    pub fn for_labels(labels: usize) -> Codes {
        if labels <= usize::from(NO_BYTE) {
            Codes::U8(Vec::new())
        } else {
            Codes::U32(Vec::new())
        }
    }

    /// Adds a row, and widens all rows to four bytes if the label needs it.
    pub fn push(&mut self, label: usize) {
        if let Codes::U8(codes) = self {
            if label < usize::from(NO_BYTE) {
                return codes.push(label as u8);
            }
            *self = Codes::U32(codes.iter().map(|code| widened(*code)).collect());
        }
        if let Codes::U32(codes) = self {
            codes.push(label as u32);
        }
    }

    /// Adds rows as controllers report them: the label's index, or NaN for no label.
    pub(crate) fn extend_reported(&mut self, values: impl Iterator<Item = f64>) {
        match self {
            Codes::U8(codes) => {
                codes.extend(values.map(|value| if value.is_nan() { NO_BYTE } else { value as u8 }))
            }
            Codes::U32(codes) => codes.extend(values.map(|value| {
                if value.is_nan() {
                    NO_WORD
                } else {
                    value as u32
                }
            })),
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Codes::U8(codes) => codes.len(),
            Codes::U32(codes) => codes.len(),
        }
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the label's index in `row`, or `None` if the row has no label.
    ///
    /// # Panics
    /// If `row` is out of range.
    pub fn get(&self, row: usize) -> Option<usize> {
        match self {
            Codes::U8(codes) => (codes[row] != NO_BYTE).then_some(usize::from(codes[row])),
            Codes::U32(codes) => (codes[row] != NO_WORD).then_some(codes[row] as usize),
        }
    }

    /// Iterates over [`get`](Codes::get) of each row.
    pub fn iter(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Returns the allocated memory, in bytes.
    pub fn memory(&self) -> usize {
        match self {
            Codes::U8(codes) => codes.capacity(),
            Codes::U32(codes) => codes.capacity() * size_of::<u32>(),
        }
    }
}

fn widened(code: u8) -> u32 {
    if code == NO_BYTE {
        NO_WORD
    } else {
        u32::from(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_256th_label_widens_all_codes_and_changes_none() {
        let mut codes = Codes::default();
        codes.extend_reported([f64::NAN].into_iter());
        (0..255).for_each(|label| codes.push(label));
        assert!(matches!(codes, Codes::U8(_)), "one byte per row is enough");
        (255..300).for_each(|label| codes.push(label));
        assert!(matches!(codes, Codes::U32(_)));
        let expected: Vec<_> = [None].into_iter().chain((0..300).map(Some)).collect();
        assert_eq!(codes.iter().collect::<Vec<_>>(), expected);
        assert_eq!(codes.len(), 301);
    }

    #[test]
    fn the_last_label_is_not_taken_for_none() {
        for labels in [1, 255, 256, 300] {
            let mut codes = Codes::for_labels(labels);
            codes.extend_reported([f64::NAN, (labels - 1) as f64].into_iter());
            assert_eq!(codes.iter().collect::<Vec<_>>(), [None, Some(labels - 1)]);
        }
    }
}
