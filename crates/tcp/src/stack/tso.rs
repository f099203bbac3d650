//! Bursts of several segments, as with TCP segmentation offload (Linux: tcp_write_xmit).

use fullpipe_units::{Bytes, Span, Time};

/// Largest payload of a buffer of the write queue: 64 KiB with headers, or half of the peer's
/// window (Linux: tcp_xmit_size_goal).
const BUFFER: u64 = 65_535 - 320;
/// Largest window before the first ACK, since a SYN's window has no scale (RFC 7323 §2.2).
const FIRST_WINDOW: u64 = 65_535;
/// Part of the window that is large enough to send at once (Linux: tcp_tso_win_divisor).
const WINDOW_PART: u64 = 3;
/// Longest time for which a burst waits for the next ACK, and after the last burst.
const PATIENCE: Span = Span::from_millis(1);

/// The sender before a burst, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeforeBurst {
    pub(crate) now: Time,
    /// SND.NXT.
    pub(crate) next: u64,
    /// One past the last segment that the application has written.
    pub(crate) written: u64,
    /// The peer's window, and its room, at least 1.
    pub(crate) receive_window: u64,
    pub(crate) receive_room: u64,
    /// The congestion window, and its room, at least 1.
    pub(crate) cwnd: u64,
    pub(crate) room: u64,
    /// Size of a full burst.
    pub(crate) most: u64,
    /// Whether losses are being repaired.
    pub(crate) repairs: bool,
    /// Time at which the first outstanding segment was sent.
    pub(crate) head_sent: Option<Time>,
    pub(crate) srtt: Span,
}

impl BeforeBurst {
    /// Returns the number of segments that may leave, at most `most`.
    pub(crate) fn room_for(&self, most: u64) -> u64 {
        (self.written - self.next)
            .min(self.receive_room)
            .min(self.room)
            .min(most)
            .max(1)
    }
}

/// The next action of a sender with room for a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Burst {
    /// Send this number of segments.
    Send(u64),
    /// Wait for the next ACK, with which the burst can be larger.
    Defer {
        /// Whether the congestion window keeps the burst from being larger.
        cwnd_limited: bool,
    },
}

/// Returns the number of segments in a full buffer of the write queue.
pub(super) fn buffer_size(smss: Bytes) -> u64 {
    (BUFFER / smss.get()).max(1)
}

/// The bursts of a connection.
#[derive(Debug)]
pub(super) struct Tso {
    /// Payload of a full segment.
    smss: Bytes,
    /// Time at which the last burst was sent (tp->tcp_wstamp_ns).
    last: Time,
    /// Segment from which on the written data fill buffers; `None` while the application writes,
    /// which tops up the buffer that is being sent.
    queue: Option<u64>,
    /// End of the data that were written before the first ACK.
    first_end: Option<u64>,
}

impl Tso {
    pub(super) fn new(smss: Bytes) -> Tso {
        Tso {
            smss,
            last: Time::ZERO,
            queue: None,
            first_end: None,
        }
    }

    pub(super) fn next(&mut self, before: &BeforeBurst) -> Burst {
        let buffer = self.buffer(before);
        // One that is being written is pushed at once (Linux: tcp_push_one).
        if buffer > 1 && self.queue.is_some() && self.defers(before, buffer) {
            let cwnd_limited = before.room < before.receive_room && before.room <= buffer;
            return Burst::Defer { cwnd_limited };
        }
        self.last = before.now;
        // At least two bursts in flight (Linux: tcp_cwnd_test).
        let quota = before.room.min((before.cwnd / 2).max(1));
        let most = before.most.min(before.receive_room);
        Burst::Send(buffer.min(quota).min(most))
    }

    /// Processes the end of a write, at which the next segment is `next` of `written`.
    #[inline]
    pub(super) fn on_written(&mut self, next: u64, written: u64) {
        if next == written {
            self.queue = None;
        } else if self.queue.is_none() {
            self.queue = Some(next);
            self.first_end.get_or_insert(written);
        }
    }

    /// Returns the number of segments up to the end of the first buffer of the write queue.
    fn buffer(&self, before: &BeforeBurst) -> u64 {
        let written = before.written - before.next;
        let Some(begin) = self.queue else {
            return written;
        };
        let (begin, size) = match self.first_end.filter(|end| before.next < *end) {
            Some(_) => {
                let window = FIRST_WINDOW / self.smss.get();
                (begin, buffer_size(self.smss).min(window / 2).max(1))
            }
            None => (
                begin.max(self.first_end.unwrap_or(0)),
                buffer_size(self.smss).min(before.receive_window / 2).max(1),
            ),
        };
        written.min(size - (before.next - begin) % size)
    }

    /// Returns whether the next ACK comes soon enough to wait for it (Linux: tcp_tso_should_defer).
    fn defers(&self, before: &BeforeBurst, buffer: u64) -> bool {
        let room = before.room.min(before.receive_room);
        let is_last = before.next + buffer == before.written;
        if before.repairs
            || before.now.since(self.last) > PATIENCE
            || room >= before.most
            || !is_last && room >= buffer
            || room * WINDOW_PART >= before.cwnd.min(before.receive_window)
        {
            return false;
        }
        let Some(sent) = before.head_sent else {
            return false;
        };
        let wait = (sent + before.srtt).since(before.now);
        wait <= (before.srtt / 2).min(PATIENCE)
    }
}
