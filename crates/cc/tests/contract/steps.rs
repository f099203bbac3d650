//! The events that a transport passes through.

use fullpipe_cc::PathChange;
use fullpipe_units::{Bytes, Span};

/// The kind of a transport, and of its reports about marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// TCP with counts of marks.
    Counts,
    /// TCP with the ECE flag of RFC 3168.
    Ece,
    /// QUIC, which reports that there are marks.
    Quic,
}

/// An event of the transport.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Time passes.
    Wait(Span),
    /// The application writes this number of packets; those that fit in the window leave.
    Send(u64),
    /// An ACK arrives.
    Ack(Arrival),
    /// The retransmission timer fires, and leaves this number of recent packets in flight.
    Timeout { keeps: usize },
    /// The application begins or ceases to limit the flow.
    AppLimited(bool),
    /// The controller's timer fires, if it asked for it.
    Timer,
    /// The path changes; only QUIC notices.
    Path(PathChange),
    /// The segment size changes; only QUIC notices.
    Mtu(Bytes),
}

/// The content of an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Number of the oldest packets in flight that it does not acknowledge, and whether they are
    /// lost.
    pub(crate) skips: usize,
    pub(crate) loses: bool,
    /// Number of the next packets, which it acknowledges, and of the marked ones among them.
    pub(crate) acks: usize,
    pub(crate) marked: usize,
    /// It shows that the episode was spurious, that a loss probe repaired a loss, or that congestion
    /// is persistent, if that is possible.
    pub(crate) spurious: bool,
    pub(crate) repaired: bool,
    pub(crate) persistent: bool,
}
