//! The metrics that a condition may be about, by their names in `metrics.json`; a test of `sim` holds them against those of a run.

/// What a metric is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// bit/s
    Rate,
    /// Seconds.
    Time,
    /// A count of packets.
    Packets,
    /// A count of something else.
    Count,
    /// A share or an index, from 0 to 1.
    Share,
}

use Dimension::{Count, Packets, Rate, Share, Time};

/// Of a flow.
pub const FLOW: &[(&str, Dimension)] = &[
    ("goodput_bps", Rate),
    ("rtt_s", Time),
    ("queue_delay_s", Time),
    ("sent", Packets),
    ("retransmits", Packets),
    ("loss_fraction", Share),
    ("drops", Packets),
    ("marks", Packets),
    ("ack_drops", Packets),
    ("completion_s", Time),
    ("responses", Count),
    ("response_s", Time),
];
/// Of a link.
pub const LINK: &[(&str, Dimension)] = &[
    ("utilisation", Share),
    ("queue_delay_s", Time),
    ("drops", Packets),
    ("losses", Packets),
    ("policed", Packets),
    ("duplicates", Packets),
    ("marks", Packets),
    ("packets", Packets),
    ("acks", Packets),
    ("ack_drops", Packets),
    ("acks_filtered", Packets),
];
/// Of the run.
pub const RUN: &[(&str, Dimension)] = &[("jain", Share), ("packets", Packets)];
/// Those that are distributions, with these values.
pub const DISTRIBUTED: &[&str] = &["rtt_s", "queue_delay_s", "response_s"];
/// The values of a distribution.
pub const STATISTICS: &[&str] = &["min", "mean", "p50", "p95", "p99", "max"];
/// What a flow may be limited by, as `limited_by.cwnd`.
pub const LIMITS: &[&str] = &["handshake", "application", "receive_window", "recovery", "cwnd", "pacing", "host"];
