//! The clock of rows.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Returns the time of CLOCK_MONOTONIC.
pub(crate) fn now() -> Duration {
    // The clock exists on every Linux.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}
