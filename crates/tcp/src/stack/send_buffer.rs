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
    /// The congestion window.
    pub(crate) cwnd: u64,
    /// Whether the window has room.
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
}

impl SendBuffer {
    pub(super) fn new(max: Bytes, windows: u64, smss: Bytes) -> SendBuffer {
        SendBuffer {
            smss,
            unsent: smss + OVERHEAD / buffer_size(smss),
            each: room(smss),
            size: (room(smss) * (windows * INITIAL)).min(max),
            max,
            windows,
            written: 0,
            is_full: false,
        }
    }

    /// Lets the application write, and returns the end of the written data.
    #[inline]
    pub(super) fn fill(&mut self, queue: &Queue) -> u64 {
        if self.is_full && queue.has_room && self.size < self.max {
            let segments = queue.cwnd.max(INITIAL);
            let wanted = (self.each * (self.windows * segments)).min(self.max);
            self.size = self.size.max(wanted);
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
        self.written
    }

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

/// Returns the memory of a segment for which the buffer has room.
fn room(smss: Bytes) -> Bytes {
    Bytes::new((smss.get() + HEADERS).next_power_of_two() + DESCRIPTOR)
}
