//! What a run leaves behind: its metrics, computed while it runs in memory that does not grow with
//! its length, and, if asked for, columns over time.
//!
//! `docs/reference/metrics.md` gives each metric its formula.

mod codes;
mod distribution;
pub mod handover;
mod histogram;
mod link_meter;
mod meter;
mod metric;
pub mod metrics;
mod recorder;
mod rows;
mod run;
pub mod slowdown;
mod summary;
mod table;
mod tables;
mod workload;

pub use codes::Codes;
pub use distribution::Distribution;
pub use histogram::{Histogram, Sampler};
pub use link_meter::LinkMeter;
pub use meter::{FlowCounters, FlowMeter, MeasuredTime, PerFlowCounters, Response};
pub use metrics::{FlowSummary, LinkSummary, Summary, WorkloadSummary};
pub use recorder::Recorder;
pub use rows::{ActiveRow, FlowRow, LinkRow, TransitionRow};
pub use run::{Run, TraceLevel};
pub use summary::jain;
pub use table::{Column, Data, Table, Trace};
pub use workload::{Transfer, WorkloadMeter};
