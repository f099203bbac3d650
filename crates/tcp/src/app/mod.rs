//! Application models: the amount of data to send, and when it is written.

mod client;
mod messages;
mod parts;
mod schedule;

pub use client::{Answer, Client};
pub use messages::{Bursts, Messages};
pub use parts::Parts;
pub use schedule::{Cycle, Schedule};

use fullpipe_units::{Bytes, Rate, Span, Time};

/// The division of an application's data into segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segmentation {
    /// Payload of a full segment.
    pub(crate) smss: Bytes,
    /// One past the last segment; `u64::MAX` if the application does not end.
    pub(crate) total: u64,
}

impl Segmentation {
    /// Returns the number of full segments in `bytes`.
    fn full(self, bytes: Bytes) -> u64 {
        bytes.get() / self.smss.get()
    }
}

/// The application that feeds the sender.
#[derive(Clone, Debug)]
pub enum App {
    /// Always has more data to send.
    Unlimited,
    /// Sends a fixed number of bytes.
    Transfer {
        /// Bytes to send.
        bytes: Bytes,
    },
    /// Writes at a constant rate from the opening of the connection; sends full segments only, as
    /// with Nagle's algorithm.
    Paced {
        /// Rate of payload.
        rate: Rate,
        /// Bytes after which the application ends; `None` if it never ends.
        bytes: Option<Bytes>,
    },
    /// Writes at a rate that changes over time.
    Scheduled(Box<Schedule>),
    /// Writes a burst, and pauses after the whole burst is acknowledged.
    Bursts(Box<Bursts>),
    /// Writes given amounts at given times.
    Parts(Box<Parts>),
    /// A server: writes an answer for each request of the [`Client`]. The first request arrives
    /// with the handshake.
    Answers(Box<Messages>),
}

impl App {
    /// Returns one past the last segment that may be sent at `now`, for a connection that opened at
    /// `opened`. It has handed over the segments below `accepted`, and those below `una` are acknowledged.
    #[inline]
    pub(crate) fn written(
        &mut self,
        opened: Time,
        now: Time,
        una: u64,
        accepted: u64,
        segments: Segmentation,
    ) -> u64 {
        match self {
            App::Unlimited | App::Transfer { .. } => segments.total,
            _ => self.written_so_far(opened, now, una, accepted, segments),
        }
    }

    /// As [`App::written`], for an application that does not write everything at once.
    fn written_so_far(
        &mut self,
        opened: Time,
        now: Time,
        una: u64,
        accepted: u64,
        segments: Segmentation,
    ) -> u64 {
        match self {
            App::Unlimited | App::Transfer { .. } => segments.total,
            App::Paced { rate, bytes } => {
                let written = rate.bytes_in(now.since(opened));
                match bytes {
                    Some(bytes) if written >= *bytes => segments.total,
                    _ => segments.full(written),
                }
            }
            App::Scheduled(schedule) => schedule.written(opened, now, accepted, segments),
            App::Bursts(bursts) => bursts.written(now, una),
            App::Parts(parts) => parts.written(now),
            App::Answers(answers) => answers.end(),
        }
    }

    /// Processes a request of a client that has received everything before `next`. A repeated
    /// request is ignored: `next` is below the end of an answer that is already on its way.
    pub(crate) fn on_request(&mut self, next: u64) {
        if let App::Answers(answers) = self
            && answers.end() == next
        {
            answers.add();
        }
    }

    /// Returns whether each write ends with the PSH flag (RFC 9293 §3.9.1; Linux: tcp_push).
    #[inline]
    pub(crate) fn pushes(&self) -> bool {
        matches!(self, App::Bursts(_) | App::Parts(_) | App::Answers(_))
    }

    /// Returns the time at which segment `seq` will have been written, or at which it may be.
    pub(crate) fn ready_at(&self, opened: Time, seq: u64, segments: Segmentation) -> Time {
        match self {
            App::Scheduled(schedule) => schedule.ready_at(opened, seq, segments),
            App::Bursts(bursts) => bursts.ready_at(),
            App::Parts(parts) => parts.ready_at(seq),
            App::Paced { rate, bytes } if seq < segments.total => {
                let end = bytes.unwrap_or(Bytes::MAX).min(segments.smss * (seq + 1));
                // `bytes_in` rounds down; one extra nanosecond is always enough.
                opened + rate.time_for(end) + Span::from_nanos(1)
            }
            _ => Time::MAX,
        }
    }

    /// Returns the payload of segment `seq`.
    #[inline(always)]
    pub(crate) fn size(&self, seq: u64, smss: Bytes) -> u16 {
        match self {
            App::Unlimited => smss.get() as u16,
            _ => self.size_of_some(seq, smss),
        }
    }

    /// As [`App::size`], for an application whose data may end.
    fn size_of_some(&self, seq: u64, smss: Bytes) -> u16 {
        match self {
            App::Bursts(bursts) => bursts.messages.size(seq),
            App::Parts(parts) => parts.size(seq),
            App::Answers(answers) => answers.size(seq),
            _ => self
                .bytes()
                .map_or(smss, |bytes| (bytes - smss * seq).min(smss))
                .get() as u16,
        }
    }

    /// Returns the total bytes to write, if the application ends.
    fn bytes(&self) -> Option<Bytes> {
        match self {
            App::Unlimited | App::Bursts(_) | App::Answers(_) => None,
            App::Transfer { bytes } => Some(*bytes),
            App::Parts(parts) => Some(parts.bytes()),
            App::Paced { bytes, .. } => *bytes,
            App::Scheduled(schedule) => schedule.bytes(),
        }
    }

    /// Returns the division of the data into segments with a payload of `smss`.
    pub(crate) fn segments(&self, smss: Bytes) -> Segmentation {
        let total = match self {
            App::Parts(parts) => parts.end(),
            _ => self
                .bytes()
                .map_or(u64::MAX, |bytes| bytes.get().div_ceil(smss.get())),
        };
        Segmentation { smss, total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SMSS;

    #[test]
    fn a_transfer_ends_with_what_is_left() {
        let app = App::Transfer {
            bytes: Bytes::new(3_000_000),
        };
        assert_eq!(app.segments(SMSS).total, 2_072);
        assert_eq!(app.size(2_070, SMSS), 1448);
        assert_eq!(u64::from(app.size(2_071, SMSS)), 3_000_000 - 2_071 * 1448);
    }

    #[test]
    fn a_paced_application_writes_whole_segments_in_time() {
        let mut app = App::Paced {
            rate: Rate::from_bps(1448 * 8 * 10),
            bytes: None,
        };
        let (opened, segments) = (Time::from_nanos(5), app.segments(SMSS));
        assert_eq!(
            app.written(opened, opened + Span::from_millis(99), 0, 0, segments),
            0
        );
        assert_eq!(
            app.written(opened, opened + Span::from_millis(100), 0, 0, segments),
            1
        );
        for seq in 0..1000 {
            let ready = app.ready_at(opened, seq, segments);
            assert!(
                app.written(opened, ready, seq, seq, segments) > seq,
                "ready means written"
            );
        }
    }
}
