//! Impairments of a path other than queueing. Each is one value, so that a schedule or `--set` can
//! change it.
//!
//! [`fullpipe_path::IMPAIRMENTS`] declare the syntax of the values.

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
pub(crate) use words::meant;

const OFF: &str = "off";
