//! Messages of finite size that are written at once: bursts and answers.

use fullpipe_units::{Bytes, Draw, Rng, Span, Time};

/// Messages, one after the other. Each begins with a new segment.
#[derive(Clone, Debug)]
pub struct Messages {
    sizes: Draw<Bytes>,
    rng: Rng,
    smss: Bytes,
    /// One past the last segment of the latest message, and that segment's payload.
    end: u64,
    last: u16,
    bytes: Bytes,
}

impl Messages {
    /// Creates a sequence without messages, in segments with a payload of `smss`.
    pub fn new(sizes: Draw<Bytes>, rng: Rng, smss: Bytes) -> Messages {
        Messages {
            sizes,
            rng,
            smss,
            end: 0,
            last: 0,
            bytes: Bytes::ZERO,
        }
    }

    /// Adds the first message.
    #[must_use]
    pub fn with_first(mut self) -> Messages {
        self.add();
        self
    }

    /// Adds a message and returns its size.
    pub(crate) fn add(&mut self) -> Bytes {
        let size = self.sizes.next(&mut self.rng);
        let count = size.get().div_ceil(self.smss.get());
        self.end += count;
        self.last = (size - self.smss * (count - 1)).get() as u16;
        self.bytes += size;
        size
    }

    /// Returns one past the last segment of the latest message.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the total size of all messages.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Returns the payload of segment `seq` of the latest message.
    pub(crate) fn size(&self, seq: u64) -> u16 {
        if seq + 1 == self.end {
            self.last
        } else {
            self.smss.get() as u16
        }
    }
}

/// An application that writes a burst at once, and pauses after the burst is acknowledged.
#[derive(Clone, Debug)]
pub struct Bursts {
    pub(super) messages: Messages,
    off: Draw<Span>,
    rng: Rng,
    /// Time at which the next burst is written, once known.
    resumes: Option<Time>,
}

impl Bursts {
    /// Creates bursts with the sizes of `messages` and pauses drawn from `rng`.
    pub fn new(messages: Messages, off: Draw<Span>, rng: Rng) -> Bursts {
        Bursts {
            messages,
            off,
            rng,
            resumes: Some(Time::ZERO),
        }
    }

    /// Returns one past the last segment written by `now`; segments below `una` are acknowledged.
    pub(super) fn written(&mut self, now: Time, una: u64) -> u64 {
        if una == self.messages.end() {
            let resumes = *self
                .resumes
                .get_or_insert_with(|| now + self.off.next(&mut self.rng));
            if now >= resumes {
                self.messages.add();
                self.resumes = None;
            }
        }
        self.messages.end()
    }

    pub(super) fn ready_at(&self) -> Time {
        self.resumes.unwrap_or(Time::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SMSS;

    #[test]
    fn messages_end_with_what_is_left_of_each() {
        let mut messages = Messages::new(
            Draw::Constant(Bytes::new(3_000)),
            Rng::stream(1, "a", "app"),
            SMSS,
        );
        for (first, bytes) in [(0, 3_000), (3, 6_000)] {
            messages.add();
            let sizes: Vec<u16> = (first..first + 3).map(|seq| messages.size(seq)).collect();
            assert_eq!(sizes, [1448, 1448, 104]);
            assert_eq!(
                (messages.end(), messages.bytes()),
                (first + 3, Bytes::new(bytes))
            );
        }
    }

    #[test]
    fn a_pause_begins_when_the_burst_was_acknowledged() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let rng = Rng::stream(1, "a", "app");
        let messages = Messages::new(Draw::Constant(Bytes::new(2_896)), rng.clone(), SMSS);
        let mut bursts = Bursts::new(messages, Draw::Constant(Span::from_millis(500)), rng);
        assert_eq!(
            bursts.written(at(50), 0),
            2,
            "the first burst is written at once"
        );
        assert_eq!(
            (bursts.written(at(99), 1), bursts.ready_at()),
            (2, Time::MAX)
        );
        assert_eq!(
            (bursts.written(at(100), 2), bursts.ready_at()),
            (2, at(600))
        );
        assert_eq!(bursts.written(at(599), 2), 2);
        assert_eq!(
            (bursts.written(at(600), 2), bursts.ready_at()),
            (4, Time::MAX)
        );
    }
}
