//! Delivery-rate samples, for any transport that maintains a [`Conn`] and takes [`Snapshot`]s.

use fullpipe_cc::{Conn, EcnCodepoint, RateSample, Snapshot};
use fullpipe_units::{Bytes, Rate, Span, Time};

/// The part of a snapshot that is not in the [`Conn`]: C.first_send_time, C.delivered_time and
/// C.app_limited (draft-ietf-ccwg-bbr-06 §4.1.2).
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    first_sent: Time,
    delivered_at: Time,
    app_limited_until: Option<Bytes>,
}

impl Flight {
    /// Creates a flight that begins at `now`.
    pub fn new(now: Time) -> Flight {
        Flight {
            first_sent: now,
            delivered_at: now,
            app_limited_until: None,
        }
    }

    /// Notes that a packet is about to leave at `now`. A flight begins with a packet that is sent
    /// when no data is in flight (§4.1.2.2).
    #[inline]
    pub fn on_send(&mut self, now: Time, conn: &Conn) {
        if conn.inflight == Bytes::ZERO {
            self.restart(now);
        }
    }

    /// Restarts the flight at `now`.
    #[inline]
    pub fn restart(&mut self, now: Time) {
        (self.first_sent, self.delivered_at) = (now, now);
    }

    /// Returns the snapshot of a packet that left and is already counted in flight.
    #[inline]
    pub fn snapshot(
        &self,
        now: Time,
        conn: &Conn,
        size: u16,
        ecn: EcnCodepoint,
        retransmit: bool,
    ) -> Snapshot {
        Snapshot {
            sent: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: conn.delivered,
            delivered_ce: conn.delivered_ce,
            lost: conn.lost,
            inflight: conn.inflight,
            size,
            app_limited: self.app_limited_until.is_some(),
            ecn,
            retransmit,
        }
    }

    /// Processes an ACK that is already counted in `conn`; its most recently sent packet left at
    /// `sent`.
    #[inline]
    pub fn on_delivered(&mut self, now: Time, sent: Time, conn: &mut Conn) {
        (self.first_sent, self.delivered_at) = (sent, now);
        if self
            .app_limited_until
            .is_some_and(|mark| conn.delivered > mark)
        {
            self.app_limited_until = None;
            conn.app_limited = false;
        }
    }

    /// Marks the flow as application-limited: it has no unsent and no lost data to send, and room
    /// in the window (§4.1.2.4).
    #[inline]
    pub fn mark_app_limited(&mut self, conn: &mut Conn) {
        self.app_limited_until = Some((conn.delivered + conn.inflight).max(Bytes::new(1)));
        conn.app_limited = true;
    }

    /// Returns the time of the latest delivery.
    pub fn delivered_at(&self) -> Time {
        self.delivered_at
    }
}

/// Returns the rate sample of an ACK at `now` that is already counted in `conn`; `newest` is its
/// most recently sent packet (draft-ietf-ccwg-bbr-06 §4.1.2.3).
#[inline]
pub fn rate_sample(now: Time, conn: &Conn, newest: &Snapshot) -> RateSample {
    let send_elapsed = newest.sent - newest.first_sent;
    // A flight may begin with a retransmission that has not left when its original is acknowledged.
    let ack_elapsed = now.since(newest.delivered_at);
    let interval = send_elapsed.max(ack_elapsed);
    let delivered = conn.delivered - newest.delivered;
    // An interval this short results from a retransmission whose original was acknowledged.
    let valid = interval >= conn.min_rtt && interval > Span::ZERO;
    RateSample {
        rate: valid.then(|| Rate::from_delivery(delivered, interval)),
        interval,
        delivered,
        lost: conn.lost - newest.lost,
        delivered_ce: conn.delivered_ce - newest.delivered_ce,
        app_limited: newest.app_limited,
    }
}
