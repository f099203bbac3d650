//! Timers whose entries stay on the event queue when the timers move.

use fullpipe_units::Time;

use crate::event_queue::{EventKind, EventQueue, FlowKey};

/// A lazy deadline: the time of the armed event, if any. An entry that fires early is armed again;
/// one that is not the armed one is ignored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LazyTimer(Time);

impl Default for LazyTimer {
    fn default() -> LazyTimer {
        LazyTimer(Time::MAX)
    }
}

impl LazyTimer {
    /// Ensures that the event queue has an entry at `at` or earlier.
    #[inline]
    pub(crate) fn arm(
        &mut self,
        event_queue: &mut EventQueue,
        at: Time,
        class: EventKind,
        key: FlowKey,
    ) {
        self.arm_at(event_queue, at, class, key, 0);
    }

    /// Like `arm`, with a hop.
    #[inline]
    pub(crate) fn arm_at(
        &mut self,
        event_queue: &mut EventQueue,
        at: Time,
        class: EventKind,
        key: FlowKey,
        hop: u8,
    ) {
        if at < self.0 {
            self.0 = at;
            event_queue.push(at, class, key, hop);
        }
    }

    /// Returns whether an entry that fires at `at` is the armed one.
    #[inline]
    pub(crate) fn fired(&mut self, at: Time) -> bool {
        let current = self.0 == at;
        if current {
            self.0 = Time::MAX;
        }
        current
    }
}
