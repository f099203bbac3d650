//! A send buffer of limited size that grows with the window (Linux: tcp_sndbuf_expand).

use fullpipe_units::Bytes;

use super::tso::buffer_size;

/// Memory of a segment for which the buffer has room, besides its data: timestamps, headers and
/// shared information, rounded up with the data to a power of two, and its descriptor (Linux:
/// tcp_sndbuf_expand, on x86-64).
const HEADERS: u64 = 12 + 320 + 320;
const DESCRIPTOR: u64 = 256;
/// Memory of a buffer of the write queue besides its data (Linux: SKB_TRUESIZE, on x86-64).
const OVERHEAD: Bytes = Bytes::new(1_280);
/// Number of segments for which the buffer has room at first (Linux: TCP_INIT_CWND).
const INITIAL: u64 = 10;

/// The write queue of a sender, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    /// SND.UNA and SND.NXT.
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// One past the last segment that the application would have written into an unlimited buffer.
    pub(crate) app: u64,
    /// The congestion window in bytes, and whether it has room.
    pub(crate) cwnd: Bytes,
    pub(crate) has_room: bool,
    /// Size of a burst, which is a buffer of its own.
    pub(crate) burst: u64,
}

/// The send buffer.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// Payload of a full segment, and its memory in the write queue before it is sent.
    smss: Bytes,
    unsent: Bytes,
    /// Room that the buffer has for a segment.
    each: Bytes,
    /// Memory that the write queue may take (sk->sk_sndbuf), and its limit (tcp_wmem).
    size: Bytes,
    max: Bytes,
    /// Windows for which there is room.
    windows: u64,
    /// One past the last segment that the application has written.
    written: u64,
    /// Whether the application waits for room (SOCK_NOSPACE).
    is_full: bool,
    /// It waits for certain while SND.UNA is below this segment, and unless a larger window than this one
    /// lets the buffer grow.
    waits_until: u64,
    grown_to: Bytes,
}

impl SendBuffer {
    pub(super) fn new(max: Bytes, windows: u64, smss: Bytes) -> SendBuffer {
        let size = (room(smss) * (windows * INITIAL)).min(max);
        SendBuffer {
            smss,
            unsent: smss + OVERHEAD / buffer_size(smss),
            each: room(smss),
            size,
            max,
            windows,
            written: 0,
            is_full: false,
            waits_until: 0,
            grown_to: grown_to(size, max, Bytes::ZERO),
        }
    }

    /// Returns whether [`fill`](SendBuffer::fill) would do nothing: most ACKs free too little for the
    /// application to write again.
    #[inline]
    pub(super) fn waits(&self, una: u64, cwnd: Bytes, has_room: bool) -> bool {
        una < self.waits_until && (cwnd <= self.grown_to || !has_room)
    }

    /// Lets the application write, and returns the end of the written data.
    pub(super) fn fill(&mut self, queue: &Queue) -> u64 {
        if self.is_full && queue.has_room && self.size < self.max {
            let segments = (queue.cwnd.get() / self.smss.get()).max(INITIAL);
            let wanted = (self.each * (self.windows * segments)).min(self.max);
            self.size = self.size.max(wanted);
            self.grown_to = grown_to(self.size, self.max, self.grown_to.max(queue.cwnd));
        }
        let in_use = self.in_use(queue);
        // A third must be free before the application writes again (Linux:
        // sk_stream_is_writeable).
        if !self.is_full || in_use * 3 <= self.size * 2 {
            let room = self.size.saturating_sub(in_use).get();
            let room = room.div_ceil(self.unsent.get());
            self.written = queue.app.min(self.written.max(queue.next) + room);
            self.is_full = self.written < queue.app;
        }
        self.waits_until = match self.is_full {
            // Whatever the bursts' size, the data alone takes more than two thirds.
            true => {
                let most = (self.size * 2).get() / (self.smss * 3).get();
                self.written.saturating_sub(most)
            }
            false => 0,
        };
        self.written
    }

    /// Returns the end of the written data.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.written
    }

    #[inline]
    pub(super) fn written(&self, app: u64) -> u64 {
        self.written.min(app)
    }

    /// Returns the memory that the write queue takes.
    #[inline]
    fn in_use(&self, queue: &Queue) -> Bytes {
        let sent = (self.smss + OVERHEAD / queue.burst) * (queue.next - queue.una);
        let unsent = self.unsent * self.written.saturating_sub(queue.next);
        sent + unsent
    }
}

/// Returns the largest window that lets a buffer of `size` not grow, which has grown with a window of `cwnd`.
fn grown_to(size: Bytes, max: Bytes, cwnd: Bytes) -> Bytes {
    if size < max { cwnd } else { Bytes::MAX }
}

/// Returns the memory of a segment for which the buffer has room.
fn room(smss: Bytes) -> Bytes {
    Bytes::new((smss.get() + HEADERS).next_power_of_two() + DESCRIPTOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SMSS;
    use proptest::prelude::*;

    const BEGIN: Queue = Queue {
        una: 0,
        next: 0,
        app: u64::MAX,
        cwnd: Bytes::ZERO,
        has_room: false,
        burst: 1,
    };

    #[test]
    fn most_acks_of_a_full_buffer_let_the_application_wait() {
        let mut buffer = SendBuffer::new(Bytes::new(4 << 20), 2, SMSS);
        let mut queue = Queue {
            cwnd: SMSS * 4_000,
            has_room: true,
            burst: 45,
            ..BEGIN
        };
        buffer.fill(&queue);
        queue.next = buffer.fill(&queue);
        let (mut waited, mut una) = (0, 0);
        while buffer.fill(&Queue { una, ..queue }) == queue.next {
            waited += u64::from(buffer.waits(una, queue.cwnd, true));
            una += 1;
        }
        assert!(
            waited * 20 > una * 19,
            "{waited} of {una} segments, a third of the buffer"
        );
    }

    proptest! {
        #[test]
        fn an_application_that_waits_for_certain_would_not_write(
            max in 10_000_u64..3_000_000,
            windows in 2..=3_u64,
            smss in 500..9_000_u64,
            steps in prop::collection::vec(
                (0..60_u64, 0..60_u64, 1..1_000_u64, any::<bool>(), 1..=45_u64),
                1..300,
            ),
        ) {
            let mut buffer = SendBuffer::new(Bytes::new(max), windows, Bytes::new(smss));
            let mut queue = BEGIN;
            for (acked, sent, cwnd, has_room, burst) in steps {
                queue = Queue {
                    una: (queue.una + acked).min(queue.next),
                    next: (queue.next + sent).min(buffer.written),
                    cwnd: Bytes::new(smss * cwnd),
                    has_room,
                    burst,
                    ..queue
                };
                let before = format!("{buffer:?}");
                let waits = buffer.waits(queue.una, queue.cwnd, has_room);
                buffer.fill(&queue);
                prop_assert!(!waits || before == format!("{buffer:?}"), "{queue:?}");
            }
        }
    }
}
