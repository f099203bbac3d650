//! Application models: how much there is to send, and when.

use units::{Bytes, Rate, Span, Time};

use crate::wire::SMSS;

/// What feeds the sender.
#[derive(Clone, Copy, Debug)]
pub enum App {
    /// Always more to send.
    Unlimited,
    /// A transfer.
    Transfer {
        /// Its length.
        bytes: Bytes,
    },
    /// Writes at a rate from the start of the connection; full segments are sent, as Nagle's algorithm would have it.
    Paced {
        /// The rate, of payload.
        rate: Rate,
        /// It ends after that many bytes, if ever.
        bytes: Option<Bytes>,
    },
}

impl App {
    /// One behind the last segment that may be sent at `now`, for a connection open since `opened`.
    #[inline]
    pub(crate) fn written(&self, opened: Time, now: Time) -> u64 {
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
        }
    }

    /// When segment `seq` will have been written.
    pub(crate) fn ready_at(&self, opened: Time, seq: u64) -> Time {
        match self {
            App::Paced { rate, bytes } if bytes.is_none_or(|bytes| seq < segments(bytes)) => {
                let end = bytes.map_or(Bytes::MAX, |bytes| bytes).min(SMSS * (seq + 1));
                // `bytes_in` rounds down, so one nanosecond more is surely enough.
                opened + rate.time_for(end) + Span::from_nanos(1)
            }
            _ => Time::MAX,
        }
    }

    /// Payload of segment `seq`.
    #[inline]
    pub(crate) fn size(&self, seq: u64) -> u16 {
        let full = SMSS.get() as u16;
        match self {
            App::Unlimited | App::Paced { bytes: None, .. } => full,
            App::Transfer { bytes } | App::Paced { bytes: Some(bytes), .. } => {
                let rest = bytes.get() - SMSS.get() * seq;
                rest.min(u64::from(full)) as u16
            }
        }
    }

    /// The segments of the whole, if it ends.
    pub(crate) fn total(&self) -> Option<u64> {
        match self {
            App::Unlimited | App::Paced { bytes: None, .. } => None,
            App::Transfer { bytes } | App::Paced { bytes: Some(bytes), .. } => Some(segments(*bytes)),
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
        let app = App::Transfer { bytes: Bytes::new(3_000_000) };
        assert_eq!(app.total(), Some(2_072));
        assert_eq!(app.size(2_070), 1448);
        assert_eq!(u64::from(app.size(2_071)), 3_000_000 - 2_071 * 1448);
    }

    #[test]
    fn a_paced_application_writes_whole_segments_in_time() {
        let app = App::Paced { rate: Rate::from_bps(1448 * 8 * 10), bytes: None };
        let opened = Time::from_nanos(5);
        assert_eq!(app.written(opened, opened + Span::from_millis(99)), 0);
        assert_eq!(app.written(opened, opened + Span::from_millis(100)), 1);
        for seq in 0..1000 {
            assert!(app.written(opened, app.ready_at(opened, seq)) > seq, "ready means written");
        }
    }
}
