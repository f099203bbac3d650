//! Application models: how much there is to send, and when.

mod client;
mod messages;
mod parts;
mod schedule;

pub use client::{Answer, Client};
pub use messages::{Bursts, Messages};
pub use parts::Parts;
pub use schedule::{Cycle, Schedule};

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::wire::SMSS;

/// What feeds the sender.
#[derive(Clone, Debug)]
pub enum App {
    /// Always more to send.
    Unlimited,
    /// A transfer.
    Transfer {
        /// Its length.
        bytes: Bytes,
    },
    /// Writes at a rate from the start of the connection; full segments are sent, as Nagle's
    /// algorithm would have it.
    Paced {
        /// The rate, of payload.
        rate: Rate,
        /// It ends after that many bytes, if ever.
        bytes: Option<Bytes>,
    },
    /// Writes at a rate that changes over time.
    Scheduled(Box<Schedule>),
    /// Writes a burst, and pauses when all of it was acknowledged.
    Bursts(Box<Bursts>),
    /// Writes at given times.
    Parts(Box<Parts>),
    /// A server's: writes an answer whenever the [`Client`] asks. The first request comes with the
    /// handshake.
    Answers(Box<Messages>),
}

impl App {
    /// One behind the last segment that may be sent at `now`, for a connection open since `opened`,
    /// when those below `sent` have been, and those below `una` are acknowledged.
    #[inline]
    pub(crate) fn written(&mut self, opened: Time, now: Time, una: u64, sent: u64) -> u64 {
        match self {
            App::Unlimited => u64::MAX,
            App::Transfer { bytes } => segments(*bytes),
            _ => self.written_so_far(opened, now, una, sent),
        }
    }

    /// The same of one that does not write all at once.
    fn written_so_far(&mut self, opened: Time, now: Time, una: u64, sent: u64) -> u64 {
        match self {
            App::Unlimited => u64::MAX,
            App::Transfer { bytes } => segments(*bytes),
            App::Paced { rate, bytes } => {
                let written = rate.bytes_in(now.since(opened));
                match bytes {
                    Some(bytes) if written >= *bytes => segments(*bytes),
                    _ => written.get() / SMSS.get(),
                }
            }
            App::Scheduled(schedule) => schedule.written(opened, now, sent),
            App::Bursts(bursts) => bursts.written(now, una),
            App::Parts(parts) => parts.written(now),
            App::Answers(answers) => answers.end(),
        }
    }

    /// A request has come from a client that has everything before `next`. One that was asked again
    /// is known by it: the answer is on its way.
    pub(crate) fn on_request(&mut self, next: u64) {
        if let App::Answers(answers) = self
            && answers.end() == next
        {
            answers.add();
        }
    }

    /// What it writes at once ends with PSH (RFC 9293 §3.9.1; Linux: tcp_push).
    #[inline]
    pub(crate) fn pushes(&self) -> bool {
        matches!(self, App::Bursts(_) | App::Parts(_) | App::Answers(_))
    }

    /// When segment `seq` will have been written, or it may be.
    pub(crate) fn ready_at(&self, opened: Time, seq: u64) -> Time {
        match self {
            App::Scheduled(schedule) => schedule.ready_at(opened, seq),
            App::Bursts(bursts) => bursts.ready_at(),
            App::Parts(parts) => parts.ready_at(seq),
            App::Paced { rate, bytes } if bytes.is_none_or(|bytes| seq < segments(bytes)) => {
                let end = bytes
                    .map_or(Bytes::MAX, |bytes| bytes)
                    .min(SMSS * (seq + 1));
                // `bytes_in` rounds down, so one nanosecond more is surely enough.
                opened + rate.time_for(end) + Span::from_nanos(1)
            }
            _ => Time::MAX,
        }
    }

    /// Payload of segment `seq`.
    #[inline]
    pub(crate) fn size(&self, seq: u64) -> u16 {
        match self {
            App::Unlimited => SMSS.get() as u16,
            App::Bursts(bursts) => bursts.messages.size(seq),
            App::Parts(parts) => parts.size(seq),
            App::Answers(answers) => answers.size(seq),
            _ => self
                .bytes()
                .map_or(SMSS, |bytes| (bytes - SMSS * seq).min(SMSS))
                .get() as u16,
        }
    }

    /// What it writes in all, if it ends.
    fn bytes(&self) -> Option<Bytes> {
        match self {
            App::Unlimited | App::Bursts(_) | App::Answers(_) => None,
            App::Transfer { bytes } => Some(*bytes),
            App::Parts(parts) => Some(parts.bytes()),
            App::Paced { bytes, .. } => *bytes,
            App::Scheduled(schedule) => schedule.bytes(),
        }
    }

    /// The segments of the whole, if it ends.
    #[inline]
    pub(crate) fn total(&self) -> Option<u64> {
        match self {
            App::Unlimited => None,
            App::Parts(parts) => Some(parts.end()),
            _ => self.bytes().map(segments),
        }
    }
}

fn segments(bytes: Bytes) -> u64 {
    bytes.get().div_ceil(SMSS.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_ends_with_what_is_left() {
        let app = App::Transfer {
            bytes: Bytes::new(3_000_000),
        };
        assert_eq!(app.total(), Some(2_072));
        assert_eq!(app.size(2_070), 1448);
        assert_eq!(u64::from(app.size(2_071)), 3_000_000 - 2_071 * 1448);
    }

    #[test]
    fn a_paced_application_writes_whole_segments_in_time() {
        let mut app = App::Paced {
            rate: Rate::from_bps(1448 * 8 * 10),
            bytes: None,
        };
        let opened = Time::from_nanos(5);
        assert_eq!(app.written(opened, opened + Span::from_millis(99), 0, 0), 0);
        assert_eq!(
            app.written(opened, opened + Span::from_millis(100), 0, 0),
            1
        );
        for seq in 0..1000 {
            let ready = app.ready_at(opened, seq);
            assert!(
                app.written(opened, ready, seq, seq) > seq,
                "ready means written"
            );
        }
    }
}
