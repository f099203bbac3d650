//! What a packet meets on its way, sans-IO: the same elements stand in the simulator and, later, on the real clock.
//!
//! An element is told the time and answers with times. It holds no packet: who asks keeps them.

mod droptail;
mod line;
mod link;
mod loss;
mod policer;
mod serialiser;
mod timeline;

pub use droptail::{DropTail, Limit};
pub use line::{Jitter, Line};
pub use link::{Link, VaryingLink, Verdict};
pub use loss::Bernoulli;
pub use policer::Policer;
pub use serialiser::Serialiser;
pub use timeline::Timeline;

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
