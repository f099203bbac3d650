//! Sizes.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// The largest size, which stands for "no limit".
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// Returns a size of `n` bytes.
    #[inline]
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }

    /// Returns the number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of bytes as a float, for ratios.
    #[inline]
    pub const fn as_f64(self) -> f64 {
        crate::float(self.0)
    }

    /// Returns a size of `n` bytes, rounded down. A negative `n` or NaN becomes zero, one out of
    /// range [`Bytes::MAX`].
    #[inline]
    pub fn from_f64(n: f64) -> Bytes {
        Bytes(n as u64)
    }

    /// Returns `self` times `factor`, rounded down.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Bytes {
        Bytes((crate::float(self.0) * factor) as u64)
    }

    /// Returns the difference, or zero if `other` is larger.
    #[inline]
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(crate::sum(self.0, other.0))
    }
}

impl AddAssign for Bytes {
    /// Adds to a count, which no run can fill: a sum that overflows is a bug of the caller.
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        debug_assert!(
            self.0.checked_add(other.0).is_some(),
            "{self:?} + {other:?}"
        );
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        debug_assert!(self.0 >= other.0, "{self:?} is less than {other:?}");
        Bytes(self.0.wrapping_sub(other.0))
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        *self = *self - other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn mul(self, factor: u64) -> Bytes {
        Bytes(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn div(self, divisor: u64) -> Bytes {
        Bytes(self.0 / divisor)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    /// Writes the shortest exact form that parses back: `1500B`, `3MB`, `1.5kB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            n if n >= 1_000_000_000 && n % 1_000_000 == 0 => (1_000_000_000, "GB"),
            n if n >= 1_000_000 && n % 1_000 == 0 => (1_000_000, "MB"),
            n if n >= 10_000 => (1_000, "kB"),
            _ => (1, "B"),
        };
        crate::parse::write_scaled(f, self.0, scale, unit)
    }
}
