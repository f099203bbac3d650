//! Errors that a user can fix.

use std::fmt;

/// A problem and its fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The problem, with the name of the file, parameter or process.
    pub problem: String,
    /// Action that resolves it.
    pub fix: String,
}

impl Problem {
    /// Creates an error from a problem and its fix.
    pub fn new(problem: impl Into<String>, fix: impl Into<String>) -> Problem {
        Problem {
            problem: problem.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  fix: {}", self.problem, self.fix)
    }
}

impl std::error::Error for Problem {}
