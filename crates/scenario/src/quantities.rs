//! The metrics that a condition may be about, by their names in `metrics.json`; a test of `sim`
//! holds them against those of a run.

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
    /// How many times something else; a number, too.
    Factor,
    /// Bytes.
    Volume,
    /// A share or an index, from 0 to 1.
    Share,
}

use Dimension::{Count, Factor, Packets, Rate, Share, Time, Volume};

/// The metrics of one kind of thing.
#[derive(Clone, Copy, Debug)]
pub struct Metrics {
    /// By their names.
    pub all: &'static [(&'static str, Dimension)],
    /// Those that are distributions.
    pub distributed: &'static [&'static str],
    /// What it may be limited by, as `limited_by.cwnd`.
    pub limits: &'static [&'static str],
}

/// Of a flow.
pub const FLOW: Metrics = Metrics {
    all: OF_FLOW,
    distributed: &["rtt_s", "queue_delay_s", "response_s"],
    limits: LIMITS,
};
/// Of a workload, all flows of which are measured together.
pub const WORKLOAD: Metrics = Metrics {
    all: OF_WORKLOAD,
    distributed: &["completion_s", "slowdown", "rtt_s", "queue_delay_s"],
    limits: LIMITS,
};
/// Of a link.
pub const LINK: Metrics = Metrics {
    all: OF_LINK,
    distributed: &["queue_delay_s"],
    limits: &[],
};
/// Of the run.
pub const RUN: Metrics = Metrics {
    all: &[("jain", Share), ("packets", Packets)],
    distributed: &[],
    limits: &[],
};

const OF_FLOW: &[(&str, Dimension)] = &[
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
const OF_WORKLOAD: &[(&str, Dimension)] = &[
    ("goodput_bps", Rate),
    ("arrived", Count),
    ("refused", Count),
    ("completed", Count),
    ("unfinished", Count),
    ("completed_bytes", Volume),
    ("completion_s", Time),
    ("slowdown", Factor),
    ("concurrent", Count),
    ("most_concurrent", Count),
    ("rtt_s", Time),
    ("queue_delay_s", Time),
    ("sent", Packets),
    ("retransmits", Packets),
    ("loss_fraction", Share),
    ("drops", Packets),
    ("marks", Packets),
    ("ack_drops", Packets),
];
const OF_LINK: &[(&str, Dimension)] = &[
    ("utilisation", Share),
    ("queue_delay_s", Time),
    ("queue_within_1_rtt", Share),
    ("queue_within_2_rtts", Share),
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
/// The values of a distribution.
pub const STATISTICS: &[&str] = &["min", "mean", "p50", "p95", "p99", "max"];
/// Those of slowdowns.
pub const SLOWDOWN: &[&str] = &["mean", "p50", "p95", "p99"];
/// What a flow may be limited by.
pub const LIMITS: &[&str] = &[
    "handshake",
    "application",
    "receive_window",
    "recovery",
    "cwnd",
    "pacing",
    "host",
];
