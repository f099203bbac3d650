use fullpipe_units::Span;

use crate::{Summary, Trace};

/// The level of detail of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceLevel {
    /// No trace.
    Off,
    /// One row per flow and link at every interval.
    Every(Span),
    /// One row per flow at every ACK, and one per link every millisecond.
    Acks,
}

/// The results of a run.
#[derive(Debug)]
pub struct Run {
    /// Metrics.
    pub summary: Summary,
    /// Trace, if requested.
    pub trace: Option<Trace>,
}
