//! Quantities as integer newtypes: time in nanoseconds, sizes in bytes, and rates in bits per
//! second. The crate also provides the random-number streams that all draws come from.
//!
//! No public signature of the project has a bare integer for any of these quantities.

mod bytes;
mod draw;
mod ecn;
mod nearest;
mod param_value;
mod parse;
mod rate;
pub mod rng;
mod time;

pub use bytes::Bytes;
pub use draw::{Draw, Measure};
pub use ecn::EcnCodepoint;
pub use nearest::{nearest, synonym};
pub use param_value::ParamValue;
pub use parse::{UnitError, percent};
pub use rate::Rate;
pub use rng::Rng;
pub use time::{Span, Time};
