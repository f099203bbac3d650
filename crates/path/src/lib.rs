//! What a packet meets on its way, sans-IO: the same elements stand in the simulator and, later, on the real clock.
//!
//! An element is told the time and answers with times. It holds no packet: who asks keeps them.

mod droptail;
mod link;
mod loss;

pub use droptail::{DropTail, Limit};
pub use link::{Link, Serialiser, Verdict};
pub use loss::Bernoulli;

/// A queue that a scenario may name.
#[derive(Debug)]
pub struct QueueInfo {
    /// Its name, as in tc.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub purpose: &'static str,
}

/// The queues, by name.
pub const QUEUES: &[QueueInfo] =
    &[QueueInfo { name: "pfifo", purpose: "First in, first out; an arrival beyond the limit is dropped (drop-tail)." }];
