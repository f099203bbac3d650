//! The real clock.

use fullpipe_units::{Span, Time};
use nix::time::{ClockId, clock_gettime};

/// Time of CLOCK_MONOTONIC since a zero point, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: u64,
}

impl Clock {
    /// Starts a clock, with zero as its time now.
    pub fn start() -> Clock {
        Clock {
            zero: read(ClockId::CLOCK_MONOTONIC),
        }
    }

    /// Returns the time since zero.
    #[inline]
    pub fn now(&self) -> Time {
        Time::from_nanos(read(ClockId::CLOCK_MONOTONIC) - self.zero)
    }

    /// Returns CLOCK_MONOTONIC at zero.
    pub fn zero(&self) -> Span {
        Span::from_nanos(self.zero)
    }
}

/// Returns the CPU time of this thread.
pub(crate) fn thread_cpu() -> Span {
    Span::from_nanos(read(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

/// Returns CLOCK_REALTIME, for dates in files.
pub(crate) fn date() -> Span {
    Span::from_nanos(read(ClockId::CLOCK_REALTIME))
}

#[inline]
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("every kernel has these clocks");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}
