//! The contract of the receiver: a controller that decides the advertised window, the times of ACKs,
//! and a value for the sender.

use core::fmt::Debug;

use fullpipe_units::{Bytes, Span, Time};

/// Receiver-side control of a connection, such as RFC 9840.
///
/// The transport calls [`on_arrival`](ReceiverController::on_arrival) for each data segment and
/// [`on_timer`](ReceiverController::on_timer) at the requested time, and reads the
/// [`decision`](ReceiverController::decision) after each call, and once before them.
pub trait ReceiverController: Debug + Send {
    /// A data segment arrived, in order or not.
    fn on_arrival(&mut self, now: Time, arrival: &Arrival);

    /// The time requested in [`ReceiverDecision::wake_at`] was reached.
    fn on_timer(&mut self, now: Time) {
        let _ = now;
    }

    /// Returns the instructions for the transport from now on.
    fn decision(&self) -> ReceiverDecision;

    /// Returns the granularity of the timestamps with which arrivals are matched: a tick of the
    /// receiver's clock (RFC 7323 §5.4).
    fn tick(&self) -> Span {
        Span::from_millis(1)
    }

    /// Pushes the values of [`Descriptor::fields`](crate::Descriptor::fields), in their order.
    /// Called only if the run is traced.
    fn observe(&self, row: &mut Vec<f64>);
}

/// Instructions of a receiver's algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverDecision {
    /// Amount of data to allow in flight; `None` allows as much as the buffer. The transport never
    /// retracts the right edge of the advertised window: a smaller window takes effect as data
    /// arrives. It advertises no more than its buffer, and no less than a segment.
    pub window: Option<Bytes>,
    /// Time of the next ACK.
    pub ack: AckSchedule,
    /// A value for the sender's algorithm, which every ACK of data carries:
    /// [`Ack::feedback`](crate::Ack::feedback). It takes the place of a SACK block.
    pub feedback: Option<u64>,
    /// Time at which to call `on_timer`, if any. After that call it must be later, or `None`.
    pub wake_at: Option<Time>,
}

/// The time of the next ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckSchedule {
    /// That of the receiver's policy: delayed ACKs, and ACKs of data out of order at once.
    #[default]
    Policy,
    /// Now, of everything that has arrived.
    Now,
    /// This time, whatever arrives until then; an answer to a SYN and a client's request still leave
    /// in between.
    At(Time),
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
