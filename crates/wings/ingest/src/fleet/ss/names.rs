//! Numbers of words that occur repeatedly.

use std::collections::BTreeMap;

/// Kinds of words: state, timer, congestion control, cgroup.
pub(super) const KINDS: usize = 4;

/// Words, each stored once.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    words: Vec<String>,
    numbers: BTreeMap<Box<str>, u32>,
    /// Last word of each kind, which is usually also the next one.
    last: [u32; KINDS],
}

impl Names {
    /// Returns the number of a word of a kind.
    pub(super) fn number(&mut self, kind: usize, word: &[u8]) -> u32 {
        if self
            .words
            .get(self.last[kind] as usize)
            .is_some_and(|last| last.as_bytes() == word)
        {
            return self.last[kind];
        }
        // Damaged words may have the same text: the number belongs to the text, which is kept.
        let text = String::from_utf8_lossy(word);
        self.last[kind] = if let Some(number) = self.numbers.get(&*text) {
            *number
        } else {
            let number = u32::try_from(self.words.len())
                .expect("memory ends before four thousand million words");
            self.numbers.insert((&*text).into(), number);
            self.words.push(text.into_owned());
            number
        };
        self.last[kind]
    }

    pub(super) fn words(&self) -> &[String] {
        &self.words
    }
}
