//! Errors that a user can fix.

use std::fmt;

/// A problem and its fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxError {
    /// The problem, and the step at which it occurred.
    pub problem: String,
    /// Action that resolves the problem.
    pub fix: String,
}

impl SandboxError {
    /// Creates an error from a problem and its fix.
    pub fn new(problem: impl Into<String>, fix: impl Into<String>) -> SandboxError {
        SandboxError {
            problem: problem.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  fix: {}", self.problem, self.fix)
    }
}

impl std::error::Error for SandboxError {}
