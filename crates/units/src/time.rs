//! Instants and durations, integer nanoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// An instant of a run: nanoseconds since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Time(u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// The latest instant, which stands for "never".
    pub const MAX: Time = Time(u64::MAX);

    /// Returns the instant `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        crate::float(self.0) / 1e9
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later than `self`.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A duration of zero.
    pub const ZERO: Span = Span(0);
    /// The longest duration, which stands for a minimum that is not known yet.
    pub const MAX: Span = Span(u64::MAX);

    /// Returns a duration of `ns` nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Span {
        Span(ns)
    }

    /// Returns a duration of `us` microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Span {
        Span(us * 1_000)
    }

    /// Returns a duration of `ms` milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * 1_000_000)
    }

    /// Returns a duration of `s` seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Span {
        Span(s * 1_000_000_000)
    }

    /// Returns a duration of `s` seconds, rounded to the nanosecond. A negative `s` or NaN becomes
    /// zero, one out of range [`Span::MAX`].
    #[inline]
    pub fn from_secs_f64(s: f64) -> Span {
        // A float cast saturates; adding 0.5 before it rounds.
        Span((s * 1e9 + 0.5) as u64)
    }

    /// Returns the nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the nanoseconds as a float.
    #[inline]
    pub const fn as_nanos_f64(self) -> f64 {
        crate::float(self.0)
    }

    /// Returns the seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        crate::float(self.0) / 1e9
    }

    /// Returns `self` times `factor`, rounded to the nanosecond.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Span {
        Span((crate::float(self.0) * factor + 0.5) as u64)
    }

    /// Returns the difference, or zero if `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

/// Implements the operators that instants and durations share: adding a duration, and the
/// difference of two values as a duration.
macro_rules! operators {
    ($Type:ident, $less:literal) => {
        impl Add<Span> for $Type {
            type Output = $Type;
            #[inline]
            fn add(self, span: Span) -> $Type {
                $Type(crate::sum(self.0, span.0))
            }
        }

        impl AddAssign<Span> for $Type {
            #[inline]
            fn add_assign(&mut self, span: Span) {
                *self = *self + span;
            }
        }

        impl Sub for $Type {
            type Output = Span;
            /// Returns the difference. An `other` that is larger than `self` is a bug of the
            /// caller.
            #[inline]
            fn sub(self, other: $Type) -> Span {
                let less = $less;
                debug_assert!(self.0 >= other.0, "{self:?} is {less} {other:?}");
                Span(self.0.wrapping_sub(other.0))
            }
        }
    };
}

operators!(Time, "before");
operators!(Span, "less than");

impl Sub<Span> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Span) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    #[inline]
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl fmt::Display for Span {
    /// Writes the shortest exact form that parses back: `50ms`, `1.5s`, `128us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0 => (1_000_000_000, "s"),
            ns if ns >= 1_000_000_000 => (1_000_000_000, "s"),
            ns if ns >= 1_000_000 => (1_000_000, "ms"),
            ns if ns >= 1_000 => (1_000, "us"),
            _ => (1, "ns"),
        };
        crate::parse::write_scaled(f, self.0, scale, unit)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}
