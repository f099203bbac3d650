//! A sender's state for observers, like Linux's `tcp_info`.

use fullpipe_cc::Controller;
use fullpipe_units::{Bytes, Span, Time};

use super::Sender;

/// A sender's state. Counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Time at which the handshake completed.
    pub opened: Option<Time>,
    /// Time of the latest delivery.
    pub delivered_at: Time,
    /// Segments sent, including retransmissions.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Cumulatively acknowledged data.
    pub acked: Bytes,
    /// Segments sent and not cumulatively acknowledged: `tcpi_unacked`.
    pub unacked: u64,
    /// Segments among `unacked` that are SACKed.
    pub sacked: u64,
    /// Segments among `unacked` that are declared lost and not retransmitted.
    pub lost: u64,
    /// RTT variation, RTTVAR (RFC 6298).
    pub rttvar: Span,
    /// The retransmission timeout.
    pub rto: Span,
    /// Whether RACK has seen reordering.
    pub reordered: bool,
}

impl<C: Controller> Sender<C> {
    /// Returns [`Info::acked`].
    #[inline]
    pub fn acked(&self) -> Bytes {
        self.conn.delivered - self.sacked_bytes
    }

    /// Returns the sender's current state.
    pub fn info(&self) -> Info {
        Info {
            opened: self.opened,
            delivered_at: self.flight.delivered_at(),
            sent: self.next + self.resent,
            retransmitted: self.resent,
            acked: self.acked(),
            unacked: self.next - self.una,
            sacked: self.sacked,
            lost: self.lost,
            rttvar: self.rtt.variation(),
            rto: self.rtt.rto(),
            reordered: self.rack.has_seen_reordering(),
        }
    }
}
