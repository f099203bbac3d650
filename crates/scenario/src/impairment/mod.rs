//! What a path does to packets besides queueing them, each in one value, so that a schedule or `--set` can change it.
//!
//! What may be written is what [`path::IMPAIRMENTS`] say of themselves.

mod file;
mod jitter;
mod loss;
mod pattern;
mod policer;
mod radio;
mod shaper;
mod words;

pub(crate) use jitter::InOrder;
pub use policer::Policer;
pub use radio::Suspend;
pub use shaper::Shaper;

const OFF: &str = "off";
