//! Application models: how much there is to send, and when.

use units::{Bytes, Rate, Span, Time};

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
    /// Writes at a rate from the start of the connection; full segments are sent, as Nagle's algorithm would have it.
    Paced {
        /// The rate, of payload.
        rate: Rate,
        /// It ends after that many bytes, if ever.
        bytes: Option<Bytes>,
    },
    /// Writes at a rate that changes at known times.
    Scheduled(Box<Schedule>),
}

/// An application whose rate changes: it may pause, or have no limit for a time.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Of payload; none for no limit.
    rate: Option<Rate>,
    /// Since when, and what had been written by then, bytes.
    since: Time,
    base: Bytes,
    /// Latest first.
    later: Vec<(Time, Option<Rate>)>,
    /// It ends after that many bytes, if ever.
    bytes: Option<Bytes>,
}

impl Schedule {
    /// One of rate `first`, and from each of the given times on another; none for no limit. The times are in order.
    pub fn new(
        first: Option<Rate>,
        changes: impl IntoIterator<Item = (Time, Option<Rate>)>,
        bytes: Option<Bytes>,
    ) -> Schedule {
        let mut later: Vec<_> = changes.into_iter().collect();
        later.reverse();
        Schedule { rate: first, since: Time::ZERO, base: Bytes::ZERO, later, bytes }
    }

    /// As [`App::written`]. An application without a limit has written what was sent, whenever its rate changes.
    fn written(&mut self, opened: Time, now: Time, sent: u64) -> u64 {
        while let Some((at, rate)) = self.later.pop_if(|(at, _)| *at <= now) {
            self.base = self.bytes_at(opened, at).unwrap_or(SMSS * sent);
            (self.rate, self.since) = (rate, at);
        }
        match (self.bytes_at(opened, now), self.bytes) {
            (None, bytes) => bytes.map_or(u64::MAX, segments),
            (Some(written), Some(bytes)) if written >= bytes => segments(bytes),
            (Some(written), _) => written.get() / SMSS.get(),
        }
    }

    /// What has been written at a time of the present rate, if there is one.
    fn bytes_at(&self, opened: Time, at: Time) -> Option<Bytes> {
        self.rate.map(|rate| self.base + rate.bytes_in(at.since(self.since.max(opened))))
    }

    /// As [`App::ready_at`]; a change may come before.
    fn ready_at(&self, opened: Time, seq: u64) -> Time {
        let change = self.later.last().map_or(Time::MAX, |(at, _)| *at);
        let ready = match self.rate {
            Some(rate) if rate > Rate::ZERO && self.bytes.is_none_or(|bytes| seq < segments(bytes)) => {
                let end = self.bytes.unwrap_or(Bytes::MAX).min(SMSS * (seq + 1));
                self.since.max(opened) + rate.time_for(end.saturating_sub(self.base)) + Span::from_nanos(1)
            }
            _ => Time::MAX,
        };
        ready.min(change)
    }
}

impl App {
    /// One behind the last segment that may be sent at `now`, for a connection open since `opened`, when those below
    /// `sent` have been.
    #[inline]
    pub(crate) fn written(&mut self, opened: Time, now: Time, sent: u64) -> u64 {
        match self {
            App::Unlimited => u64::MAX,
            _ => self.written_so_far(opened, now, sent),
        }
    }

    /// The same of one that is limited.
    fn written_so_far(&mut self, opened: Time, now: Time, sent: u64) -> u64 {
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
        }
    }

    /// When segment `seq` will have been written, or it may be.
    pub(crate) fn ready_at(&self, opened: Time, seq: u64) -> Time {
        match self {
            App::Scheduled(schedule) => schedule.ready_at(opened, seq),
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
        match self {
            App::Unlimited => SMSS.get() as u16,
            _ => self.bytes().map_or(SMSS, |bytes| (bytes - SMSS * seq).min(SMSS)).get() as u16,
        }
    }

    /// What it writes in all, if it ends.
    fn bytes(&self) -> Option<Bytes> {
        match self {
            App::Unlimited => None,
            App::Transfer { bytes } => Some(*bytes),
            App::Paced { bytes, .. } => *bytes,
            App::Scheduled(schedule) => schedule.bytes,
        }
    }

    /// The segments of the whole, if it ends.
    #[inline]
    pub(crate) fn total(&self) -> Option<u64> {
        match self {
            App::Unlimited => None,
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
        let app = App::Transfer { bytes: Bytes::new(3_000_000) };
        assert_eq!(app.total(), Some(2_072));
        assert_eq!(app.size(2_070), 1448);
        assert_eq!(u64::from(app.size(2_071)), 3_000_000 - 2_071 * 1448);
    }

    #[test]
    fn a_paced_application_writes_whole_segments_in_time() {
        let mut app = App::Paced { rate: Rate::from_bps(1448 * 8 * 10), bytes: None };
        let opened = Time::from_nanos(5);
        assert_eq!(app.written(opened, opened + Span::from_millis(99), 0), 0);
        assert_eq!(app.written(opened, opened + Span::from_millis(100), 0), 1);
        for seq in 0..1000 {
            let ready = app.ready_at(opened, seq);
            assert!(app.written(opened, ready, seq) > seq, "ready means written");
        }
    }

    #[test]
    fn a_schedule_pauses_has_no_limit_for_a_time_and_goes_on_from_what_was_sent() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let ten = Rate::from_bps(1448 * 8 * 10);
        let changes = [(at(1000), Some(Rate::ZERO)), (at(3000), None), (at(4000), Some(ten))];
        let mut app = App::Scheduled(Box::new(Schedule::new(Some(ten), changes, None)));
        let opened = at(100);
        assert_eq!(app.written(opened, at(600), 0), 5);
        assert_eq!(app.ready_at(opened, 5), at(700) + Span::from_nanos(1));
        assert_eq!(app.written(opened, at(1000), 5), 9, "what was written before the pause is sent in it");
        assert_eq!(app.written(opened, at(2999), 9), 9);
        assert_eq!(app.ready_at(opened, 9), at(3000), "the pause ends");
        assert_eq!(app.written(opened, at(3000), 9), u64::MAX);
        assert_eq!(app.written(opened, at(4200), 500), 502, "whole segments behind those sent");
        assert_eq!(app.ready_at(opened, 502), at(4300) + Span::from_nanos(1));
    }

    #[test]
    fn a_schedule_ends_with_its_last_byte() {
        let second = Time::ZERO + Span::from_secs(1);
        let schedule = Schedule::new(None, [(second, Some(Rate::from_mbps(1)))], Some(Bytes::new(2_000)));
        let mut app = App::Scheduled(Box::new(schedule));
        assert_eq!((app.total(), app.size(0), app.size(1)), (Some(2), 1448, 552));
        assert_eq!(app.written(Time::ZERO, Time::ZERO, 0), 2);
        assert_eq!(app.written(Time::ZERO, second + Span::from_secs(9), 0), 2);
        assert_eq!(app.ready_at(Time::ZERO, 2), Time::MAX);
    }
}
