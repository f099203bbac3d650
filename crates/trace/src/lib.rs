//! What a run leaves behind: its metrics, computed while it runs in memory that does not grow with
//! its length, and, if asked for, columns over time.
//!
//! `docs/metrics.md` gives each metric its formula.

mod codes;
pub mod handover;
mod histogram;
mod meter;
pub mod metrics;
mod recorder;
mod run;
pub mod slowdown;
mod summary;
mod table;
mod workload;

pub use codes::Codes;
pub use histogram::{Histogram, Sampler};
pub use meter::{FlowCounters, FlowMeter, LinkMeter, MeasuredTime, PerFlowCounters, Response};
pub use metrics::{FlowSummary, LinkSummary, Summary, WorkloadSummary};
pub use recorder::{ActiveRow, FlowRow, LinkRow, Recorder, TransitionRow};
pub use run::{Run, TraceLevel};
pub use summary::{Distribution, jain};
pub use table::{Column, Data, Table, Trace};
pub use workload::{Transfer, WorkloadMeter};
