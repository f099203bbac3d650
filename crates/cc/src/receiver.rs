//! The contract on the other side: a controller that steers any sender by the window that its
//! receiver offers.

use core::fmt::Debug;

use fullpipe_units::{Bytes, Span, Time};

/// Receiver-side congestion control (RFC 9840).
///
/// The transport calls [`on_arrival`](WindowController::on_arrival) for each data segment, and
/// reads [`window`](WindowController::window) when it sends an ACK. There is no timer: while data
/// is missing nothing is to be decided, and a window that is not closed always lets some come.
pub trait WindowController: Debug + Send {
    /// A data segment arrived.
    fn on_arrival(&mut self, now: Time, arrival: &Arrival);

    /// How much may be on its way. The transport sees to it that the right edge of what it offers
    /// never retreats: a smaller window takes effect as data arrives. It offers no more than its
    /// buffer, and no less than a segment.
    fn window(&self) -> Bytes;

    /// How coarse the timestamps are that arrivals are matched with: a tick of the receiver's clock
    /// (RFC 7323 §5.4).
    fn tick(&self) -> Span {
        Span::from_millis(1)
    }

    /// Pushes the values of [`Descriptor::fields`](crate::Descriptor::fields), in their order.
    /// Called only when traced.
    fn observe(&self, row: &mut Vec<f64>);
}

/// One data segment, as its receiver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Where in the stream it begins.
    pub seq: Bytes,
    /// Its payload.
    pub size: Bytes,
    /// TSval: when the sender sent it, by the sender's clock.
    pub tsval: Time,
    /// TSecr: the timestamp of the latest ACK that the sender had seen by then.
    pub tsecr: Time,
    /// From sending that ACK to this arrival; only the first segment that echoes a timestamp has it
    /// (RFC 9840).
    pub rtt: Option<Span>,
    /// These, smoothed as in RFC 6298; zero before the first.
    pub srtt: Span,
    /// It was sent again: below the highest that arrived, and with a later timestamp (RFC 9840
    /// §4.3).
    pub retransmit: bool,
    /// It came with a CE mark.
    pub ce: bool,
    /// Within the last round trip the sender has used up what was offered to it.
    pub limited: bool,
}
