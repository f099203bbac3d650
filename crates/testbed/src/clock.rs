//! The real clock.

use fullpipe_units::{Span, Time};
use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC since a moment that is zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: u64,
}

impl Clock {
    /// Zero is now.
    pub fn start() -> Clock {
        Clock {
            zero: read(ClockId::CLOCK_MONOTONIC),
        }
    }

    /// The time since then.
    #[inline]
    pub fn now(&self) -> Time {
        Time::from_nanos(read(ClockId::CLOCK_MONOTONIC) - self.zero)
    }

    /// What CLOCK_MONOTONIC was at zero.
    pub fn zero(&self) -> Span {
        Span::from_nanos(self.zero)
    }
}

/// The CPU time of this thread.
pub(crate) fn thread_cpu() -> Span {
    Span::from_nanos(read(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

/// What CLOCK_REALTIME is, for dates in files.
pub(crate) fn date() -> Span {
    Span::from_nanos(read(ClockId::CLOCK_REALTIME))
}

#[inline]
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("every kernel has these clocks");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}
