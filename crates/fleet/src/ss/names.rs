//! Words that come again and again, by number.

use std::collections::BTreeMap;

/// Each word once.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    words: Vec<String>,
    numbers: BTreeMap<Box<[u8]>, u32>,
    last: u32,
}

impl Names {
    /// The number of a word.
    pub(super) fn number(&mut self, word: &[u8]) -> u32 {
        if self.words.get(self.last as usize).is_some_and(|last| last.as_bytes() == word) {
            return self.last;
        }
        self.last = if let Some(number) = self.numbers.get(word) {
            *number
        } else {
            let number = u32::try_from(self.words.len()).expect("memory ends before four thousand million words");
            self.words.push(String::from_utf8_lossy(word).into_owned());
            self.numbers.insert(word.into(), number);
            number
        };
        self.last
    }

    pub(super) fn words(&self) -> &[String] {
        &self.words
    }
}
