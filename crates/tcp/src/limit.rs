//! What keeps a flow from sending more: the question that users ask first and mostly answer
//! wrongly.

use fullpipe_units::{Span, Time};

/// What held the sender back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Limit {
    /// The connection is not open yet.
    Handshake,
    /// The congestion window.
    Cwnd,
    /// The congestion window during loss recovery.
    Recovery,
    /// The pacing rate.
    Pacing,
    /// The receive window.
    ReceiveWindow,
    /// The application has nothing to send.
    Application,
    /// The host's CPU was busy, or had not woken up.
    Host,
}

/// The names of [`Limit`], in its order.
pub const LIMITS: [&str; 7] = [
    "handshake",
    "cwnd",
    "recovery",
    "pacing",
    "receive_window",
    "application",
    "host",
];

/// How long each limit held.
#[derive(Clone, Debug)]
pub struct LimitClock {
    current: Limit,
    since: Time,
    held: [Span; LIMITS.len()],
}

impl LimitClock {
    /// Starts at `now` in the handshake.
    pub fn new(now: Time) -> LimitClock {
        LimitClock {
            current: Limit::Handshake,
            since: now,
            held: [Span::ZERO; LIMITS.len()],
        }
    }

    /// From `now` on, `limit` holds.
    #[inline]
    pub fn set(&mut self, now: Time, limit: Limit) {
        if limit != self.current {
            self.settle(now);
            self.current = limit;
        }
    }

    /// What holds now.
    #[inline]
    pub fn current(&self) -> Limit {
        self.current
    }

    /// Counts from `from` on, which may be yet to come: measurement begins there.
    pub fn restart(&mut self, from: Time) {
        self.since = from;
        self.held = [Span::ZERO; LIMITS.len()];
    }

    /// The time each limit held, up to `now`, in the order of [`LIMITS`].
    pub fn held(&mut self, now: Time) -> [Span; LIMITS.len()] {
        self.settle(now);
        self.held
    }

    fn settle(&mut self, now: Time) {
        self.held[self.current as usize] += now.since(self.since);
        self.since = self.since.max(now);
    }
}
