//! Bytes that have reached the receiver of unresponsive traffic, for the trace.

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Time};

/// The packets that reached the receiver, which the simulation may deliver ahead of time.
#[derive(Debug, Default)]
pub(crate) struct Received {
    ahead: VecDeque<(Time, Bytes)>,
    bytes: Bytes,
}

impl Received {
    /// Adds a packet that arrives at `at`.
    pub(crate) fn on_packet(&mut self, at: Time, size: Bytes) {
        self.ahead.push_back((at, size));
    }

    /// Returns the number of bytes that have arrived by `now`.
    pub(crate) fn until(&mut self, now: Time) -> Bytes {
        while let Some(&(_, size)) = self.ahead.front().filter(|(at, _)| *at <= now) {
            self.bytes += size;
            self.ahead.pop_front();
        }
        self.bytes
    }
}
