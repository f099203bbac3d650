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
mod ring;
pub mod rng;
mod time;

/// Converts a number to the nearest float. Most processors convert only signed numbers in one instruction.
#[inline]
pub(crate) const fn float(value: u64) -> f64 {
    if value > i64::MAX as u64 {
        return large(value);
    }
    value as i64 as f64
}

#[cold] // a function of its own: otherwise the compiler makes one conversion of the two
#[inline(never)]
const fn large(value: u64) -> f64 {
    value as f64
}

/// Returns the sum, which stops at the greatest value. A branch that is never taken costs less than a choice.
#[inline]
pub(crate) fn sum(value: u64, more: u64) -> u64 {
    value.checked_add(more).unwrap_or_else(greatest)
}

#[cold]
fn greatest() -> u64 {
    u64::MAX
}

pub use bytes::Bytes;
pub use draw::{Draw, Measure};
pub use ecn::EcnCodepoint;
pub use nearest::{nearest, related, synonym};
pub use param_value::ParamValue;
pub use parse::{UnitError, percent};
pub use rate::Rate;
pub use ring::Ring;
pub use rng::Rng;
pub use time::{Span, Time};
