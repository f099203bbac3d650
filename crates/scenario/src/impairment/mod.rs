//! What a path does to packets besides queueing them, each in one value, so that a schedule or
//! `--set` can change it.
//!
//! What may be written is what [`fullpipe_path::IMPAIRMENTS`] say of themselves.

mod bucket;
mod file;
mod jitter;
mod loss;
mod pattern;
mod radio;
mod words;

pub use bucket::{Policer, Shaper};
pub(crate) use jitter::InOrder;
pub use radio::Suspend;

const OFF: &str = "off";
