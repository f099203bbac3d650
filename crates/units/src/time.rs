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
    /// Later than everything: "never".
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time since `earlier`; zero when `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than everything: "not known yet" of a minimum.
    pub const MAX: Span = Span(u64::MAX);

    /// `ns` nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Span {
        Span(ns)
    }

    /// `us` microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Span {
        Span(us * 1_000)
    }

    /// `ms` milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * 1_000_000)
    }

    /// `s` seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Span {
        Span(s * 1_000_000_000)
    }

    /// `s` seconds, rounded to the nanosecond; negative and NaN become zero, too much becomes
    /// [`Span::MAX`].
    #[inline]
    pub fn from_secs_f64(s: f64) -> Span {
        // A float cast saturates, and 0.5 before truncation rounds.
        Span((s * 1e9 + 0.5) as u64)
    }

    /// Nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self` times `factor`, rounded to the nanosecond.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Span {
        Span((self.0 as f64 * factor + 0.5) as u64)
    }

    /// The difference, or zero when `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

/// What an instant and a duration have in common: a duration can be added, and the difference of two
/// is one.
macro_rules! operators {
    ($Type:ident, $less:literal) => {
        impl Add<Span> for $Type {
            type Output = $Type;
            #[inline]
            fn add(self, span: Span) -> $Type {
                $Type(self.0.saturating_add(span.0))
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
            /// What `self` is more than `other`. An `other` that is more is a broken invariant of
            /// the caller.
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
    /// The shortest exact form that parses back: `50ms`, `1.5s`, `128us`.
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
