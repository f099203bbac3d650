//! Rows of a trace, as runners record them.

use fullpipe_units::{Bytes, Rate, Span, Time};

/// A sample of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow {
    /// Time of the sample.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Congestion window in force.
    pub cwnd: Bytes,
    /// Data in flight.
    pub inflight: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] if unset.
    pub ssthresh: Bytes,
    /// Pacing rate in force.
    pub pacing_rate: Option<Rate>,
    /// Latest delivery-rate sample.
    pub delivery_rate: Option<Rate>,
    /// Latest RTT sample.
    pub rtt: Option<Span>,
    /// Smoothed RTT.
    pub srtt: Span,
    /// Minimum RTT.
    pub min_rtt: Span,
    /// Data acknowledged so far, cumulatively or by SACK.
    pub delivered: Bytes,
    /// Data acknowledged cumulatively so far, SND.UNA; `delivered` for a transport that acknowledges
    /// single packets.
    pub acked: Bytes,
    /// Data declared lost so far.
    pub lost: Bytes,
    /// Code of the reason that limits the flow now; [`NO_BYTE`](crate::NO_BYTE) if unknown.
    pub limited_by: u8,
}

/// A sample of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkRow {
    /// Time of the sample.
    pub time: Time,
    /// Index of the link.
    pub link: u32,
    /// Number of packets in the queue.
    pub queue_packets: u64,
    /// Number of bytes in the queue.
    pub queue_bytes: Bytes,
    /// Queueing delay of the packet that was accepted last (FIFO queues) or sent last (queues that
    /// decide at dequeue); zero if the queue is empty.
    pub sojourn: Span,
    /// Packets dropped so far.
    pub drops: u64,
    /// Packets marked so far.
    pub marks: u64,
}

/// A sample of the part of a flow, or of all flows of a workload, in the queue of a link.
#[derive(Clone, Copy, Debug)]
pub struct QueueRow {
    /// Time of the sample.
    pub time: Time,
    /// Index of the link.
    pub link: u32,
    /// Index of the flow; workloads follow the flows.
    pub flow: u32,
    /// Number of its bytes in the queue, data and ACKs.
    pub queue_bytes: Bytes,
    /// Data packets of it dropped so far.
    pub drops: u64,
    /// Packets of it marked so far.
    pub marks: u64,
}

/// A data packet, from the sender to its fate.
#[derive(Clone, Copy, Debug)]
pub struct PacketRow {
    /// Time at which it left the sender.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Position of its first byte in the stream, as if all segments were full.
    pub sequence: Bytes,
    /// Size of its payload.
    pub bytes: Bytes,
    /// `new` or `retransmission`.
    pub kind: &'static str,
    /// `arrived`, `marked` (it arrived with a CE mark), `dropped`, `policed`, `lost`, or `under way`.
    pub fate: &'static str,
    /// Index of the link at which it was dropped, policed or lost.
    pub link: Option<u32>,
    /// Time until it reached the first link, if it did: its access link, and random delays of sending.
    pub access: Option<Span>,
    /// Waiting time in the queues of links, if it arrived.
    pub queue: Option<Span>,
    /// Rest of its one-way delay: transmission, propagation and jitter.
    pub path: Option<Span>,
}

/// An ACK that arrived at the sender, with one of its SACK blocks, if it has any.
#[derive(Clone, Copy, Debug)]
pub struct AckRow {
    /// Time of its arrival.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Cumulative acknowledgment.
    pub acked: Bytes,
    /// First byte of the SACK block, and the one behind its last.
    pub sack: Option<(Bytes, Bytes)>,
}

/// A sample of a workload.
#[derive(Clone, Copy, Debug)]
pub struct ActiveRow {
    /// Time of the sample.
    pub time: Time,
    /// Index of the workload.
    pub workload: u32,
    /// Number of active flows.
    pub active: u64,
}

/// A controller's state transition.
#[derive(Clone, Copy, Debug)]
pub struct TransitionRow {
    /// Time of the transition.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// State before the transition.
    pub from: &'static str,
    /// State after the transition.
    pub to: &'static str,
    /// Reason for the transition.
    pub reason: &'static str,
}
