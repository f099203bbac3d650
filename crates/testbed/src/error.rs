//! What a user can mend.

use std::fmt;

/// What went wrong and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxError {
    /// What went wrong, at which step.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

impl SandboxError {
    /// A problem and its fix.
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
