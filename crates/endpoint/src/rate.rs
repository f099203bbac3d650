//! Delivery-rate samples: the same for whatever transport keeps a [`Conn`] and takes [`Snapshot`]s.

use cc::{Conn, RateSample, Snapshot};
use units::{Rate, Span, Time};

/// The sample of an ACK at `now`, already counted in `conn`, whose most recently sent packet is `newest`
/// (draft-ietf-ccwg-bbr-06 §4.1.2.3).
#[inline]
pub fn rate_sample(now: Time, conn: &Conn, newest: &Snapshot) -> RateSample {
    let send_elapsed = newest.sent - newest.first_sent;
    let ack_elapsed = now - newest.delivered_at;
    let interval = send_elapsed.max(ack_elapsed);
    let delivered = conn.delivered - newest.delivered;
    // Too short an interval comes of a retransmission whose original was acknowledged.
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
