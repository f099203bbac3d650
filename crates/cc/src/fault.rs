//! The failure of an algorithm that is loaded, or runs in another language.

/// The failure of an algorithm in a run, which ends the run: the payload of a panic, since the calls
/// of the contract have no errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The algorithm, as the scenario names it.
    pub algorithm: &'static str,
    /// Description of the problem, with the call and its time.
    pub problem: String,
    /// Suggested fix.
    pub fix: &'static str,
}
