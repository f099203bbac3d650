//! Queueing delay as LEDBAT defines it: a filtered current delay less a base delay (RFC 6817
//! §2.4.2).

use fullpipe_units::{Span, Time};

use crate::Param;

/// Number of samples whose minimum is the current delay. Each algorithm adds its description with
/// `says`.
pub const CURRENT_FILTER: Param = Param::number(4.0, 1.0..=100.0).unit("samples");
/// Number of minutes over which the base delay is the minimum.
pub const BASE_HISTORY: Param = Param::number(10.0, 1.0..=60.0).unit("min").says(
    "BASE_HISTORY: time over which the base delay is the minimum",
    "RFC 6817 §2.5",
);

/// The base delay is kept per minute (RFC 6817 §2.4.2, update_base_delay).
const MINUTE: Span = Span::from_secs(60);

/// The two lists of RFC 6817: CURRENT_FILTER samples, and the minima of BASE_HISTORY minutes.
#[derive(Clone, Debug)]
pub struct QueueDelay {
    /// The latest samples, as a ring buffer; their minimum is the current delay.
    current: Box<[Span]>,
    next: usize,
    /// The minimum of each minute, newest last, with at most `history` entries.
    base: Vec<Span>,
    history: usize,
    minute: u64,
}

impl QueueDelay {
    /// Creates the two lists, with `filter` samples and `history` minutes.
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

    /// Takes a sample of the delay, one-way or round-trip: the offset of the clocks cancels out.
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

    /// Returns the minimum delay of the last minutes; `None` before the first sample.
    #[inline]
    pub fn base(&self) -> Option<Span> {
        self.base.iter().copied().min()
    }

    /// Returns the filtered delay less base delay; `None` before the first sample.
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
            "20 ms has left the filter, but not the base delay"
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
