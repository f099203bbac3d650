//! Rows of a trace, as runners hand them in.

use fullpipe_units::{Bytes, Rate, Span, Time};

/// A flow at one time.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow {
    /// When.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Window in force.
    pub cwnd: Bytes,
    /// In flight.
    pub inflight: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] is none.
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
    /// Acknowledged so far.
    pub delivered: Bytes,
    /// Declared lost so far.
    pub lost: Bytes,
    /// What limits it.
    pub limited_by: u8,
}

/// A link at one time.
#[derive(Clone, Copy, Debug)]
pub struct LinkRow {
    /// When.
    pub time: Time,
    /// Index of the link.
    pub link: u32,
    /// Packets that wait.
    pub queue_packets: u64,
    /// Bytes that wait.
    pub queue_bytes: Bytes,
    /// How long the latest accepted packet waits.
    pub sojourn: Span,
    /// Dropped so far.
    pub drops: u64,
    /// Marked so far.
    pub marks: u64,
}

/// How many flows of a workload are under way at one time.
#[derive(Clone, Copy, Debug)]
pub struct ActiveRow {
    /// When.
    pub time: Time,
    /// Index of the workload.
    pub workload: u32,
    /// Flows under way.
    pub active: u64,
}

/// A controller's state transition.
#[derive(Clone, Copy, Debug)]
pub struct TransitionRow {
    /// When.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// State left.
    pub from: &'static str,
    /// State entered.
    pub to: &'static str,
    /// Why.
    pub reason: &'static str,
}
