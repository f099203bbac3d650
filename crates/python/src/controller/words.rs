//! States and reasons of transitions, which live as long as the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::declared::leaked;

/// Maximum number of states and reasons that an algorithm may introduce: each is kept as long as
/// the process lives.
const MOST_WORDS: usize = 1 << 16;

/// States and reasons of all algorithms.
static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns the word with a static lifetime; `new` counts words that were not known.
pub(super) fn known(word: String, new: &mut usize) -> PyResult<&'static str> {
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(word.as_str()) {
        return Ok(known);
    }
    if *new == MOST_WORDS {
        return Err(PyValueError::new_err(format!(
            "cx.transition: {word:?} exceeds the limit of {MOST_WORDS} states and reasons; \
             put values that change each time into a trace field"
        )));
    }
    *new += 1;
    let word = leaked(word);
    words.insert(word);
    Ok(word)
}
