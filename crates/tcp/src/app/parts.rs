//! An application that writes given amounts at given times.

use fullpipe_units::{Bytes, Time};

/// Data written at once. It begins with a new segment.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Time of the write.
    at: Time,
    /// One past the part's last segment, and that segment's payload.
    end: u64,
    last: u16,
}

/// An application that writes given amounts at given times, as recorded from a real flow. Data
/// written before the connection opens waits until then.
#[derive(Clone, Debug)]
pub struct Parts {
    parts: Vec<Part>,
    bytes: Bytes,
    smss: Bytes,
}

impl Parts {
    /// Creates parts from (time, bytes) pairs in order of time, in segments with a payload of
    /// `smss`; no part may be empty.
    pub fn new(parts: impl IntoIterator<Item = (Time, Bytes)>, smss: Bytes) -> Parts {
        let (mut end, mut bytes) = (0, Bytes::ZERO);
        let parts = parts.into_iter().map(|(at, size)| {
            let count = size.get().div_ceil(smss.get());
            end += count;
            bytes += size;
            Part {
                at,
                end,
                last: (size - smss * (count - 1)).get() as u16,
            }
        });
        Parts {
            parts: parts.collect(),
            bytes,
            smss,
        }
    }

    /// Returns the total size of all parts.
    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Returns one past the last segment of all parts.
    pub(super) fn end(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.end)
    }

    /// Returns one past the last segment written by `now`.
    pub(super) fn written(&self, now: Time) -> u64 {
        let written = self.parts.partition_point(|part| part.at <= now);
        written
            .checked_sub(1)
            .map_or(0, |last| self.parts[last].end)
    }

    /// Returns the time at which segment `seq` is written.
    pub(super) fn ready_at(&self, seq: u64) -> Time {
        self.of(seq).map_or(Time::MAX, |part| part.at)
    }

    /// Returns the payload of segment `seq`.
    pub(super) fn size(&self, seq: u64) -> u16 {
        match self.of(seq) {
            Some(part) if seq + 1 == part.end => part.last,
            _ => self.smss.get() as u16,
        }
    }

    fn of(&self, seq: u64) -> Option<&Part> {
        self.parts
            .get(self.parts.partition_point(|part| part.end <= seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SMSS;
    use fullpipe_units::Span;

    #[test]
    fn each_part_is_written_at_its_time_and_ends_with_what_is_left() {
        let ms = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let parts = Parts::new(
            [
                (ms(0), Bytes::new(3_000)),
                (ms(200), Bytes::new(1)),
                (ms(500), SMSS * 2),
            ],
            SMSS,
        );
        assert_eq!(
            (parts.bytes(), parts.end()),
            (Bytes::new(3_001) + SMSS * 2, 6)
        );
        for (at, written) in [(0, 3), (199, 3), (200, 4), (499, 4), (500, 6), (9_999, 6)] {
            assert_eq!(parts.written(ms(at)), written, "after {at} ms");
        }
        assert_eq!(
            (0..6).map(|seq| parts.size(seq)).collect::<Vec<_>>(),
            [1448, 1448, 104, 1, 1448, 1448]
        );
        assert_eq!(
            [2, 3, 4].map(|seq| parts.ready_at(seq)),
            [0, 200, 500].map(ms)
        );
        assert_eq!(parts.ready_at(6), Time::MAX, "there are no more parts");
    }
}
