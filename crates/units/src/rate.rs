//! Rates, and their combination with sizes and durations.

use core::fmt;

use crate::{Bytes, Span};

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Rate(u64);

impl Rate {
    /// Zero bits per second.
    pub const ZERO: Rate = Rate(0);
    /// The highest rate, which stands for "no limit".
    pub const MAX: Rate = Rate(u64::MAX);

    /// Returns a rate of `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// Returns a rate of `mbps` million bits per second.
    #[inline]
    pub const fn from_mbps(mbps: u64) -> Rate {
        Rate(mbps * 1_000_000)
    }

    /// Returns a rate of `bps` bits per second, rounded down. A negative `bps` or NaN becomes zero.
    #[inline]
    pub fn from_bps_f64(bps: f64) -> Rate {
        Rate(bps as u64)
    }

    /// Returns the rate of `bytes` in `span`, or [`Rate::MAX`] if the span is zero.
    #[inline]
    pub fn from_delivery(bytes: Bytes, span: Span) -> Rate {
        if span == Span::ZERO {
            return Rate::MAX;
        }
        Rate((bytes.as_f64() * 8e9 / crate::float(span.as_nanos())) as u64)
    }

    /// Returns the bits per second.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the bits per second as a float.
    #[inline]
    pub const fn as_f64(self) -> f64 {
        crate::float(self.0)
    }

    /// Returns the bytes that this rate moves in `span`, rounded down.
    #[inline]
    pub fn bytes_in(self, span: Span) -> Bytes {
        Bytes::from_f64(crate::float(self.0) * crate::float(span.as_nanos()) / 8e9)
    }

    /// Returns the time that `bytes` take at this rate, to the nearest nanosecond, or [`Span::MAX`]
    /// if the rate is zero.
    ///
    /// For pacing and models. A link must not drift, so it keeps the remainder of the division.
    #[inline]
    pub fn time_for(self, bytes: Bytes) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        Span::from_nanos((bytes.as_f64() * 8e9 / crate::float(self.0) + 0.5) as u64)
    }

    /// Returns `self` times `factor`, rounded down.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Rate {
        Rate((crate::float(self.0) * factor) as u64)
    }
}

impl fmt::Display for Rate {
    /// Writes the shortest exact form that parses back: `100mbit`, `1.5gbit`, `64kbit`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            bps if bps >= 1_000_000_000 => (1_000_000_000, "gbit"),
            bps if bps >= 1_000_000 => (1_000_000, "mbit"),
            bps if bps >= 1_000 => (1_000, "kbit"),
            _ => (1, "bit"),
        };
        crate::parse::write_scaled(f, self.0, scale, unit)
    }
}
