//! The state of a connection, as the transport maintains it for a controller.

use fullpipe_units::{Bytes, EcnCodepoint, Rate, Span, Time};

/// The state of the connection, maintained by the transport: the `C.*` of draft-ietf-ccwg-bbr-06
/// §2.
///
/// Libraries read it where it is, so that no field is an option, and the order of the fields is that of
/// `fullpipe.h`.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub struct Conn {
    /// Sender maximum segment size, in payload bytes.
    pub smss: Bytes,
    /// Initial window (RFC 6928), in bytes.
    pub initial_cwnd: Bytes,
    /// Bytes sent and neither acknowledged nor declared lost.
    pub inflight: Bytes,
    /// Bytes acknowledged so far, cumulatively or selectively.
    pub delivered: Bytes,
    /// Acknowledged bytes that arrived with a CE mark. With the ECE flag of RFC 3168, and with QUIC,
    /// all bytes of ACKs that report a mark (Linux: `tcp_newly_delivered`).
    pub delivered_ce: Bytes,
    /// Bytes declared lost so far.
    pub lost: Bytes,
    /// Bytes that the application handed over and that were not sent; [`Bytes::MAX`] for an
    /// application that writes without limit. Only datagram flows maintain it: for TCP and QUIC it
    /// is zero.
    pub unsent: Bytes,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Span,
    /// Smallest RTT of the connection; [`Span::MAX`] before the first sample.
    pub min_rtt: Span,
    /// Time at which the pacer releases the next packet; not in the past. In `on_sent`, the packet
    /// that left is not yet counted.
    pub next_departure: Time,
    /// Number of send quanta that the offload path may hold (draft-ietf-ccwg-bbr-06 §5.6.4.2): 3
    /// for TCP, 1 for QUIC.
    pub offload_factor: u64,
    /// State of loss recovery.
    pub state: CaState,
    /// Whether the flow has too little data to send: the latest rate samples are
    /// application-limited (draft-ietf-ccwg-bbr-06 §4.1.2.4).
    pub app_limited: bool,
    /// Whether the flight that is being acknowledged fully used the window (RFC 9438 §4.2, RFC
    /// 7661).
    pub cwnd_limited: bool,
    /// Whether a segment arrived more than three segments late, by the sequence (Linux:
    /// `tcp_reordering`); only TCP detects it.
    pub reordering_seen: bool,
    /// Whether packets are paced, at the controller's rate or the transport's.
    pub paced: bool,
    /// Pacing rate in force; [`Rate::MAX`] if not `paced`.
    pub pacing_rate: Rate,
}

impl Conn {
    /// Creates a connection at `now` that has sent nothing yet, with the initial window of RFC
    /// 6928.
    pub fn new(now: Time, smss: Bytes, offload_factor: u64) -> Conn {
        Conn {
            smss,
            initial_cwnd: smss * 10,
            inflight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            delivered_ce: Bytes::ZERO,
            lost: Bytes::ZERO,
            unsent: Bytes::ZERO,
            srtt: Span::ZERO,
            min_rtt: Span::MAX,
            app_limited: false,
            cwnd_limited: false,
            state: CaState::Open,
            reordering_seen: false,
            next_departure: now,
            paced: false,
            pacing_rate: Rate::MAX,
            offload_factor,
        }
    }

    /// Returns the pacing rate in force; `None` if not paced.
    #[inline]
    pub fn pacing(&self) -> Option<Rate> {
        (self.pacing_rate != Rate::MAX).then_some(self.pacing_rate)
    }

    /// Paces packets at this rate, or not at all.
    #[inline]
    pub fn pace(&mut self, rate: Option<Rate>) {
        self.paced = rate.is_some();
        self.pacing_rate = rate.unwrap_or(Rate::MAX);
    }

    /// Returns whether an episode is open that a loss or a mark began: with
    /// [`RecoveryOwner::Prr`](crate::RecoveryOwner::Prr) the transport owns the window (Linux:
    /// `tcp_in_cwnd_reduction`).
    #[inline]
    pub const fn in_recovery(&self) -> bool {
        matches!(self.state, CaState::Reduced | CaState::Recovery)
    }
}

/// State of loss recovery: Linux's `icsk_ca_state`. It does not depend on the owner of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum CaState {
    /// No episode (TCP_CA_Open and TCP_CA_Disorder).
    #[default]
    Open,
    /// From a CE mark until a segment sent after it is acknowledged, without a loss (TCP_CA_CWR).
    Reduced,
    /// Fast recovery: from a loss until all data outstanding at its start is acknowledged (RFC
    /// 6675; TCP_CA_Recovery). For QUIC, until a packet sent after its start is (RFC 9002 §7.3.2).
    Recovery,
    /// From a retransmission timeout until all data outstanding at that time is acknowledged
    /// (TCP_CA_Loss). QUIC has none.
    Loss,
}

impl CaState {
    /// Returns whether losses are being repaired.
    #[inline]
    pub const fn repairs(self) -> bool {
        matches!(self, CaState::Recovery | CaState::Loss)
    }
}

/// The state of the connection when a packet was sent: the `P.*` of draft-ietf-ccwg-bbr-06 §4.1.1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Snapshot {
    /// Time at which the packet left.
    pub sent: Time,
    /// Send time of the packet that started the sampled flight.
    pub first_sent: Time,
    /// Time at which [`Conn::delivered`] last grew before the packet left.
    pub delivered_at: Time,
    /// [`Conn::delivered`] when the packet left.
    pub delivered: Bytes,
    /// [`Conn::delivered_ce`] when the packet left.
    pub delivered_ce: Bytes,
    /// [`Conn::lost`] when the packet left.
    pub lost: Bytes,
    /// [`Conn::inflight`] when the packet left, **including** the packet.
    pub inflight: Bytes,
    /// Payload bytes of the packet; `inflight == size` means a start from idle.
    pub size: u16,
    /// ECN codepoint of the packet.
    pub ecn: EcnCodepoint,
    /// Whether the packet was sent in an application-limited phase.
    pub app_limited: bool,
    /// Whether the packet is a retransmission.
    pub retransmit: bool,
}

impl Snapshot {
    /// Returns a number that identifies the packet. It grows from each packet of a connection to
    /// the next, retransmissions included, by at least the packet's size: every byte sent so far
    /// is in flight, delivered or lost.
    #[inline]
    pub fn number(&self) -> u64 {
        (self.inflight + self.delivered + self.lost).get()
    }
}
