//! The lesser and the greater of two numbers, neither of which is NaN: an instruction each.
//! `f64::min` and `f64::max`, which must not return a NaN, take five or six, and a controller asks
//! for a dozen with every ACK.

/// The lesser.
#[inline]
pub fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The greater.
#[inline]
pub fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
