//! A media source: an encoder of frames, and the queue in which their packets wait.

use std::collections::VecDeque;

use fullpipe_cc::{Frame, MediaSource};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

/// Data of a frame that was not sent.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    created: Time,
    left: Bytes,
}

/// An encoder that follows a rate, and its queue of data to send.
///
/// Encoding takes a frame period: a frame that comes out now has the rate that applied when the
/// frame before it came out.
#[derive(Clone, Debug)]
pub struct Media {
    source: MediaSource,
    /// Largest share by which a frame's size differs from that of its rate.
    vary: f64,
    /// Age of the oldest waiting data above which all waiting data is discarded.
    discard: Option<Span>,
    rng: Rng,
    next_at: Time,
    /// Rate of the frame that is being encoded.
    rate: Rate,
    queue: VecDeque<Waiting>,
    unsent: Bytes,
}

impl Media {
    /// Creates an encoder whose first frame comes out at `start`.
    pub fn new(
        source: MediaSource,
        vary: f64,
        discard: Option<Span>,
        rng: Rng,
        start: Time,
    ) -> Media {
        Media {
            source,
            vary,
            discard,
            rng,
            next_at: start,
            rate: source.min,
            queue: VecDeque::new(),
            unsent: Bytes::ZERO,
        }
    }

    /// Sets the rate of the frame that is being encoded to `wanted`, within the limits of the
    /// source; without a wish, to the highest one.
    pub(super) fn begin_frame(&mut self, wanted: Option<Rate>) {
        let MediaSource { min, max, .. } = self.source;
        self.rate = wanted.map_or(max, |rate| rate.max(min).min(max));
    }

    /// Returns the time at which the next frame comes out.
    pub(super) fn next_at(&self) -> Time {
        self.next_at
    }

    /// Puts the frame that comes out now into the queue, and begins the next one at `wanted`.
    /// Returns the frame and its time.
    pub(super) fn encode(&mut self, wanted: Option<Rate>) -> (Time, Frame) {
        let now = self.next_at;
        let age = |waiting: &Waiting| now - waiting.created;
        let mut waited = self.queue.front().map_or(Span::ZERO, age);
        // draft-ietf-ccwg-rfc8298bis-screamv2-01 §3.3: the sender may discard encoded frames to
        // drain its queue.
        if self.discard.is_some_and(|most| waited > most) {
            self.queue.clear();
            (self.unsent, waited) = (Bytes::ZERO, Span::ZERO);
        }
        let factor = match self.vary {
            0.0 => 1.0,
            vary => 1.0 + vary * (2.0 * self.rng.unit() - 1.0),
        };
        let size = self.rate.bytes_in(self.source.frame_period);
        let size = size.mul_f64(factor).max(Bytes::new(1));
        self.queue.push_back(Waiting {
            created: now,
            left: size,
        });
        self.unsent += size;
        self.next_at = now + self.source.frame_period;
        self.begin_frame(wanted);
        (now, Frame { size, waited })
    }

    /// Returns the bytes in the queue.
    pub(super) fn unsent(&self) -> Bytes {
        self.unsent
    }

    /// Returns the size of the next packet, whose payload is at most `smss`.
    pub(super) fn peek(&self, smss: Bytes) -> Option<Bytes> {
        self.queue.front().map(|waiting| waiting.left.min(smss))
    }

    /// Takes the next packet, of `size` bytes. Returns the time at which its frame came out, and
    /// whether it is the frame's last one.
    pub(super) fn take(&mut self, size: Bytes) -> (Time, bool) {
        let first = self.queue.front_mut().expect("the caller has seen it");
        first.left -= size;
        self.unsent -= size;
        let taken = (first.created, first.left == Bytes::ZERO);
        if taken.1 {
            self.queue.pop_front();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: Bytes = Bytes::new(1448);

    fn media(discard: Option<Span>) -> Media {
        let source = MediaSource {
            min: Rate::from_bps(400_000),
            max: Rate::from_mbps(4),
            frame_period: Span::from_millis(20),
        };
        Media::new(
            source,
            0.0,
            discard,
            Rng::stream(1, "media", "test"),
            Time::ZERO,
        )
    }

    #[test]
    fn a_frame_has_the_rate_of_the_frame_period_before_it() {
        let mut media = media(None);
        media.begin_frame(Some(Rate::from_mbps(1)));
        let wishes = [2_000_000, 9_000_000, 1, 2_000_000];
        let sizes: Vec<u64> = wishes
            .map(|bps| media.encode(Some(Rate::from_bps(bps))).1.size.get())
            .into();
        // 20 ms at 1 Mbit/s, 2 Mbit/s, the maximum of 4 Mbit/s, and the minimum of 400 kbit/s.
        assert_eq!(sizes, [2_500, 5_000, 10_000, 1_000]);
        assert_eq!(media.next_at(), Time::ZERO + Span::from_millis(80));
        let (_, frame) = media.encode(None);
        assert_eq!(frame.waited, Span::from_millis(80));
        media.encode(None);
        assert_eq!(media.unsent(), Bytes::new(18_500 + 5_000 + 10_000));
    }

    #[test]
    fn a_frame_is_cut_into_packets_and_the_last_one_is_marked() {
        let mut media = media(None);
        media.begin_frame(Some(Rate::from_mbps(1)));
        media.encode(None);
        let mut packets = Vec::new();
        while let Some(size) = media.peek(SMSS) {
            let (created, last) = media.take(size);
            packets.push((size.get(), last));
            assert_eq!(created, Time::ZERO);
        }
        assert_eq!(packets, [(1448, false), (1052, true)]);
        assert_eq!(media.unsent(), Bytes::ZERO);
    }

    #[test]
    fn data_older_than_the_limit_is_discarded_with_all_that_waits() {
        let mut media = media(Some(Span::from_millis(40)));
        media.begin_frame(Some(Rate::from_mbps(1)));
        let wish = Some(Rate::from_mbps(1));
        for frames in 1..=3 {
            media.encode(wish);
            assert_eq!(media.unsent(), Bytes::new(2_500 * frames));
        }
        let (_, frame) = media.encode(wish);
        assert_eq!(media.unsent(), Bytes::new(2_500), "the first waited 60 ms");
        assert_eq!(frame.waited, Span::ZERO);
    }
}
