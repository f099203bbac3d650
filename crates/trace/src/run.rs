use fullpipe_units::Span;

use crate::{Summary, Trace};

/// How much of a run is kept over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceLevel {
    /// Nothing.
    Off,
    /// A row a flow and link at every interval.
    Every(Span),
    /// A row at every ACK; links at every millisecond.
    Acks,
}

/// What a run gives.
#[derive(Debug)]
pub struct Run {
    /// Its metrics.
    pub summary: Summary,
    /// Its trace, if one was asked for.
    pub trace: Option<Trace>,
}
