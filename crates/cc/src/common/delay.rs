//! Queueing delay as LEDBAT sees it: a filtered current delay over a base delay (RFC 6817 §2.4.2).

use fullpipe_units::{Span, Time};

use crate::Param;

/// How many samples the current delay is the minimum of; how many they are is to be said.
pub const CURRENT_FILTER: Param = Param::number(4.0, 1.0..=100.0).unit("samples");
/// How many minutes the base delay is the minimum of.
pub const BASE_HISTORY: Param = Param::number(10.0, 1.0..=60.0).unit("min").says(
    "BASE_HISTORY: the base delay is the minimum over this time",
    "RFC 6817 §2.5",
);

/// A base delay is kept for each minute (RFC 6817 §2.4.2, update_base_delay).
const MINUTE: Span = Span::from_secs(60);

/// The two lists of RFC 6817: CURRENT_FILTER samples, and the minima of BASE_HISTORY minutes.
#[derive(Clone, Debug)]
pub struct QueueDelay {
    /// The latest samples, a ring; the filter is their minimum.
    current: Box<[Span]>,
    next: usize,
    /// The minimum of each minute, the newest last, at most `history` of them.
    base: Vec<Span>,
    history: usize,
    minute: u64,
}

impl QueueDelay {
    /// The minimum of `filter` samples over that of `history` minutes.
    pub fn new(filter: usize, history: usize) -> QueueDelay {
        let current = vec![Span::MAX; filter.max(1)].into();
        QueueDelay {
            current,
            next: 0,
            base: Vec::with_capacity(history),
            history: history.max(1),
            minute: 0,
        }
    }

    /// A sample of the delay, of one way or of both: the clocks' offset cancels out.
    #[inline]
    pub fn sample(&mut self, now: Time, delay: Span) {
        self.current[self.next] = delay;
        self.next = (self.next + 1) % self.current.len();
        let minute = now.as_nanos() / MINUTE.as_nanos();
        match self.base.last_mut() {
            Some(last) if minute == self.minute => *last = (*last).min(delay),
            _ => self.begin_minute(minute, delay),
        }
    }

    #[cold]
    fn begin_minute(&mut self, minute: u64, delay: Span) {
        if self.base.len() == self.history {
            self.base.remove(0);
        }
        self.base.push(delay);
        self.minute = minute;
    }

    /// The smallest delay of the last minutes; none before the first sample.
    #[inline]
    pub fn base(&self) -> Option<Span> {
        self.base.iter().copied().min()
    }

    /// The filtered delay over the base; none before the first sample.
    #[inline]
    pub fn queueing(&self) -> Option<Span> {
        let current = self.current.iter().copied().min()?;
        self.base().map(|base| current.saturating_sub(base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    #[test]
    fn the_filter_is_the_minimum_of_the_latest_samples() {
        let mut delay = QueueDelay::new(4, 10);
        assert_eq!((delay.base(), delay.queueing()), (None, None));
        for ms in [20, 50, 60, 70] {
            delay.sample(Time::ZERO, MS(ms));
        }
        assert_eq!(delay.queueing(), Some(MS(0)));
        delay.sample(Time::ZERO, MS(80));
        assert_eq!(
            (delay.base(), delay.queueing()),
            (Some(MS(20)), Some(MS(30))),
            "20 left the filter, not the base"
        );
    }

    #[test]
    fn the_base_forgets_after_its_minutes() {
        let mut delay = QueueDelay::new(1, 10);
        let at = |minute: u64| Time::ZERO + MINUTE * minute;
        delay.sample(at(0), MS(20));
        for minute in 1..=9 {
            delay.sample(at(minute), MS(30));
            assert_eq!(delay.base(), Some(MS(20)), "minute {minute}");
        }
        delay.sample(at(10), MS(40));
        assert_eq!(
            (delay.base(), delay.queueing()),
            (Some(MS(30)), Some(MS(10)))
        );
    }
}
