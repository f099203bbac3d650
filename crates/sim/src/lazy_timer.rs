//! Timers that stay on the event queue when they are moved.

use fullpipe_units::Time;

use crate::event_queue::{EventKind, EventQueue, FlowKey};

/// A lazy deadline: the event that is armed, if any. An entry that fires early is armed
/// anew, one that is no longer the armed one is ignored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LazyTimer(Time);

impl Default for LazyTimer {
    fn default() -> LazyTimer {
        LazyTimer(Time::MAX)
    }
}

impl LazyTimer {
    /// Sees to it that the event queue calls at `at` or earlier.
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

    /// The same with a hop.
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

    /// An entry of `at` fired: whether it is the armed one.
    #[inline]
    pub(crate) fn fired(&mut self, at: Time) -> bool {
        let current = self.0 == at;
        if current {
            self.0 = Time::MAX;
        }
        current
    }
}
