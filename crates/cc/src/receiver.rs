//! The contract of the receiver: a controller that limits any sender by the window that its
//! receiver advertises.

use core::fmt::Debug;

use fullpipe_units::{Bytes, Span, Time};

/// Receiver-side congestion control (RFC 9840).
///
/// The transport calls [`on_arrival`](WindowController::on_arrival) for each data segment, and
/// reads [`window`](WindowController::window) when it sends an ACK. No timer is needed: without
/// arriving data no decision changes, and because the window is never closed, data continues to
/// arrive.
pub trait WindowController: Debug + Send {
    /// A data segment arrived.
    fn on_arrival(&mut self, now: Time, arrival: &Arrival);

    /// Returns the amount of data to allow in flight. The transport never retracts the right edge
    /// of the advertised window: a smaller window takes effect as data arrives. It advertises no
    /// more than its buffer, and no less than a segment.
    fn window(&self) -> Bytes;

    /// Returns the granularity of the timestamps with which arrivals are matched: a tick of the
    /// receiver's clock (RFC 7323 §5.4).
    fn tick(&self) -> Span {
        Span::from_millis(1)
    }

    /// Pushes the values of [`Descriptor::fields`](crate::Descriptor::fields), in their order.
    /// Called only if the run is traced.
    fn observe(&self, row: &mut Vec<f64>);
}

/// A data segment, as its receiver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Position of its first byte in the stream.
    pub seq: Bytes,
    /// Length of its payload.
    pub size: Bytes,
    /// TSval: the send time, by the sender's clock.
    pub tsval: Time,
    /// TSecr: the timestamp of the latest ACK that the sender had seen when it sent the segment.
    pub tsecr: Time,
    /// Time from sending that ACK to this arrival; only the first segment that echoes a timestamp
    /// has it (RFC 9840).
    pub rtt: Option<Span>,
    /// Smoothed RTT of these samples, as in RFC 6298; zero before the first one.
    pub srtt: Span,
    /// Whether it is a retransmission: below the highest sequence number that arrived, and with a
    /// later timestamp (RFC 9840 §4.3).
    pub retransmit: bool,
    /// Whether it carries a CE mark.
    pub ce: bool,
    /// Whether the sender has used the whole advertised window within the last round trip.
    pub limited: bool,
}
