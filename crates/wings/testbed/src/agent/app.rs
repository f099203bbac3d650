//! Data that an application has written by a given time, at a rate that changes.

/// Shortest time between two writes of a rate-limited application, ns; a kernel's timers are no
/// finer.
const TICK: u64 = 1_000_000;

/// An application that writes.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    /// Bit/s; `None` for no limit.
    rate: Option<u64>,
    since: u64,
    /// Bytes written by `since`.
    base: u64,
    /// Future changes of the rate, latest first.
    later: Vec<(u64, Option<u64>)>,
    bytes: u64,
    /// Payload of a full segment. A rate-limited application hands over whole segments, as Nagle's
    /// algorithm would.
    segment: u64,
}

/// Bytes that may be written now, and the time to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    /// Bytes in all, including those already written.
    pub(super) bytes: u64,
    /// Time by which more bytes may be written; `u64::MAX` for never.
    pub(super) again: u64,
}

impl Writes {
    /// Creates the application of a connection that opened at `opened`. `changes` are in order of
    /// time, on the same clock.
    pub(super) fn new(
        first: Option<u64>,
        changes: impl IntoIterator<Item = (u64, Option<u64>)>,
        bytes: Option<u64>,
        opened: u64,
        segment: u32,
    ) -> Writes {
        let mut later: Vec<_> = changes.into_iter().collect();
        later.reverse();
        Writes {
            rate: first,
            since: opened,
            base: 0,
            later,
            bytes: bytes.unwrap_or(u64::MAX),
            segment: segment.into(),
        }
    }

    /// Returns the allowance at `now`, when `written` bytes have been written. When the rate
    /// changes from unlimited to a limit, the new rate counts from `written`.
    pub(super) fn allowed(&mut self, now: u64, written: u64) -> Allowed {
        while let Some((at, rate)) = self.later.pop_if(|(at, _)| *at <= now) {
            self.base = self.at(at.max(self.since)).unwrap_or(written);
            (self.rate, self.since) = (rate, at.max(self.since));
        }
        let change = self.later.last().map_or(u64::MAX, |(at, _)| *at);
        let Some(bytes) = self.at(now) else {
            return Allowed {
                bytes: self.bytes,
                again: change,
            };
        };
        if bytes >= self.bytes {
            return Allowed {
                bytes: self.bytes,
                again: u64::MAX,
            };
        }
        let whole = bytes - bytes % self.segment;
        let next = match self.rate {
            Some(rate) if rate > 0 => self
                .reached((whole + self.segment).min(self.bytes), rate)
                .max(now + TICK),
            _ => u64::MAX,
        };
        Allowed {
            bytes: whole.max(written.min(bytes)),
            again: next.min(change),
        }
    }

    /// Returns the bytes written by `time` at the present rate; `None` without a limit.
    fn at(&self, time: u64) -> Option<u64> {
        let bits =
            |rate| u128::from(rate) * u128::from(time.saturating_sub(self.since)) / 8_000_000_000;
        self.rate.map(|rate| self.base + bits(rate) as u64)
    }

    /// Returns the time at which `bytes` are written at `rate`.
    fn reached(&self, bytes: u64, rate: u64) -> u64 {
        let bits = u128::from(bytes.saturating_sub(self.base)) * 8_000_000_000;
        self.since
            .saturating_add(bits.div_ceil(u128::from(rate)) as u64)
    }
}

/// Returns the bytes of `chunks`, (time, bytes) each, that are written at `now`.
pub(super) fn written(chunks: &[(u64, u64)], now: u64) -> Allowed {
    let come = chunks.partition_point(|(at, _)| *at <= now);
    let again = chunks.get(come).map_or(u64::MAX, |(at, _)| *at);
    Allowed {
        bytes: chunks[..come].iter().map(|(_, bytes)| bytes).sum(),
        again,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const SEGMENT: u32 = 1_448;

    #[test]
    fn chunks_are_written_when_their_time_has_come() {
        let chunks = [(5, 100), (10, 20), (30, 3)];
        let allowed = |now| written(&chunks, now);
        assert_eq!(allowed(4), Allowed { bytes: 0, again: 5 });
        assert_eq!(
            allowed(10),
            Allowed {
                bytes: 120,
                again: 30
            }
        );
        assert_eq!(
            allowed(31),
            Allowed {
                bytes: 123,
                again: u64::MAX
            }
        );
    }

    #[test]
    fn a_transfer_is_written_at_once() {
        let mut app = Writes::new(None, [], Some(5_000), 7, SEGMENT);
        assert_eq!(
            app.allowed(8, 0),
            Allowed {
                bytes: 5_000,
                again: u64::MAX
            }
        );
    }

    /// 10 segments a second from the opening at 100 ms, as in the simulator's corresponding test.
    #[test]
    fn at_a_rate_whole_segments_come_in_time_and_a_pause_keeps_what_was_written() {
        let ten = Some(1448 * 8 * 10);
        let mut app = Writes::new(
            ten,
            [(1_000 * MS, Some(0)), (3_000 * MS, None), (4_000 * MS, ten)],
            None,
            100 * MS,
            SEGMENT,
        );
        assert_eq!(
            app.allowed(600 * MS, 0),
            Allowed {
                bytes: 5 * 1448,
                again: 700 * MS
            }
        );
        assert_eq!(
            app.allowed(1_000 * MS, 5 * 1448),
            Allowed {
                bytes: 9 * 1448,
                again: 3_000 * MS
            }
        );
        assert_eq!(
            app.allowed(3_000 * MS, 9 * 1448),
            Allowed {
                bytes: u64::MAX,
                again: 4_000 * MS
            }
        );
        let sent = 500 * 1448;
        assert_eq!(
            app.allowed(4_200 * MS, sent),
            Allowed {
                bytes: sent + 2 * 1448,
                again: 4_300 * MS
            }
        );
    }

    #[test]
    fn at_a_high_rate_data_comes_every_millisecond() {
        let mut app = Writes::new(Some(100_000_000), [], Some(30_000), 0, SEGMENT);
        assert_eq!(
            app.allowed(MS, 0),
            Allowed {
                bytes: 8 * 1448,
                again: 2 * MS
            }
        );
        assert_eq!(app.allowed(2 * MS, 8 * 1448).again, 3 * MS);
        assert_eq!(
            app.allowed(3 * MS, 17 * 1448),
            Allowed {
                bytes: 30_000,
                again: u64::MAX
            }
        );
    }
}
