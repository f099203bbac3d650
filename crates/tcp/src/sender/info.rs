//! What a sender says of itself to whoever looks: what Linux has in `tcp_info`.

use fullpipe_cc::Controller;
use fullpipe_units::{Bytes, Span, Time};

use super::Sender;
use crate::wire::SMSS;

/// Counts are of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// When the handshake was done.
    pub opened: Option<Time>,
    /// When anything was last delivered.
    pub delivered_at: Time,
    /// Sent, with those sent again.
    pub sent: u64,
    /// Sent again.
    pub retransmitted: u64,
    /// Acknowledged without a gap.
    pub acked: Bytes,
    /// Sent, and not acknowledged without a gap: `tcpi_unacked`.
    pub unacked: u64,
    /// Of these, acknowledged selectively.
    pub sacked: u64,
    /// Of these, deemed lost and not sent again.
    pub lost: u64,
    /// How much the RTT varies (RFC 6298).
    pub rttvar: Span,
    /// The retransmission timeout.
    pub rto: Span,
    /// RACK has seen a segment overtake another.
    pub reordered: bool,
}

impl<C: Controller> Sender<C> {
    /// What it says of itself.
    pub fn info(&self) -> Info {
        Info {
            opened: self.opened,
            delivered_at: self.flight.delivered_at(),
            sent: self.next + self.resent,
            retransmitted: self.resent,
            acked: SMSS * self.una,
            unacked: self.next - self.una,
            sacked: self.sacked,
            lost: self.lost,
            rttvar: self.rtt.variation(),
            rto: self.rtt.rto(),
            reordered: self.rack.has_seen_reordering(),
        }
    }
}
