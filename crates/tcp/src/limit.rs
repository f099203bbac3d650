//! The factor that limits a flow's sending at each time.

use fullpipe_units::{Span, Time};

/// The factor that limits the sender.
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
    /// The send buffer is full, and all data in it was sent.
    SendBuffer,
    /// The application has nothing to send.
    Application,
    /// The host's CPU was busy or had not woken up.
    Host,
}

/// The names of [`Limit`], in its order.
pub const LIMITS: [&str; 8] = [
    "handshake",
    "cwnd",
    "recovery",
    "pacing",
    "receive_window",
    "send_buffer",
    "application",
    "host",
];

/// A limit in words.
#[derive(Clone, Copy, Debug)]
pub struct LimitRow {
    /// The limit.
    pub limit: Limit,
    /// A short name, for a column.
    pub short: &'static str,
    /// The limit as the object of a sentence: "held by its congestion window".
    pub words: &'static str,
    /// The condition under which it holds, if none before it does.
    pub condition: &'static str,
}

impl LimitRow {
    /// Returns its name in metrics and traces.
    pub fn name(&self) -> &'static str {
        LIMITS[self.limit as usize]
    }
}

/// The limits, in the order in which they are tested.
pub const LIMIT_ROWS: [LimitRow; LIMITS.len()] = [
    LimitRow {
        limit: Limit::Handshake,
        short: "handshake",
        words: "the handshake",
        condition: "no SYN-ACK has arrived yet",
    },
    LimitRow {
        limit: Limit::Application,
        short: "app",
        words: "its application",
        condition: "nothing is to be retransmitted, and everything that the application has written was sent",
    },
    LimitRow {
        limit: Limit::SendBuffer,
        short: "sndbuf",
        words: "its send buffer",
        condition: "nothing is to be retransmitted, and everything in a full send buffer was sent: only with \
                    `send_buffer`",
    },
    LimitRow {
        limit: Limit::ReceiveWindow,
        short: "rwnd",
        words: "the receive window",
        condition: "nothing is to be retransmitted, and the next segment would exceed the peer's window",
    },
    LimitRow {
        limit: Limit::Recovery,
        short: "recovery",
        words: "loss recovery",
        condition: "inflight + the next segment > window, in fast recovery or after a timeout",
    },
    LimitRow {
        limit: Limit::Cwnd,
        short: "cwnd",
        words: "its congestion window",
        condition: "inflight + the next segment > window, otherwise",
    },
    LimitRow {
        limit: Limit::Pacing,
        short: "pacing",
        words: "pacing",
        condition: "the window has room, and the pacer permits no packet yet",
    },
    LimitRow {
        limit: Limit::Host,
        short: "host",
        words: "its host",
        condition: "more could be sent, but the CPU was busy or had not woken up: only with a host",
    },
];

/// Total time during which each limit applied.
#[derive(Clone, Debug)]
pub struct LimitClock {
    current: Limit,
    since: Time,
    held: [Span; LIMITS.len()],
}

impl LimitClock {
    /// Starts at `now` with the handshake as the limit.
    pub fn new(now: Time) -> LimitClock {
        LimitClock {
            current: Limit::Handshake,
            since: now,
            held: [Span::ZERO; LIMITS.len()],
        }
    }

    /// Records that `limit` applies from `now` on.
    #[inline]
    pub fn set(&mut self, now: Time, limit: Limit) {
        if limit != self.current {
            self.settle(now);
            self.current = limit;
        }
    }

    /// Returns the limit that applies now.
    #[inline]
    pub fn current(&self) -> Limit {
        self.current
    }

    /// Clears the totals and counts from `from` on, which may be in the future: the end of the
    /// warm-up.
    pub fn restart(&mut self, from: Time) {
        self.since = from;
        self.held = [Span::ZERO; LIMITS.len()];
    }

    /// Returns the time during which each limit applied, up to `now`, in the order of [`LIMITS`].
    pub fn held(&mut self, now: Time) -> [Span; LIMITS.len()] {
        self.settle(now);
        self.held
    }

    fn settle(&mut self, now: Time) {
        self.held[self.current as usize] += now.since(self.since);
        self.since = self.since.max(now);
    }
}
