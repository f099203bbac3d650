//! Results of a run: its metrics, computed during the run in memory that does not grow with the
//! run's length, and, on request, time series (the trace).
//!
//! `docs/reference/metrics.md` lists each metric's formula.

mod codes;
mod columns;
mod distribution;
mod drift;
mod frames;
pub mod handover;
mod histogram;
mod levels;
mod link_meter;
mod meter;
mod metric;
pub mod metrics;
mod packed;
mod recorder;
mod rows;
mod run;
mod series;
pub mod slowdown;
pub mod steadiness;
mod summary;
mod table;
mod tables;
mod workload;

pub use codes::{Codes, NO_BYTE};
pub use columns::{COLUMNS, DeclaredColumn};
pub use distribution::Distribution;
pub use drift::{Drift, FlowDrift, LinkDrift, WorkloadDrift, trend_p};
pub use histogram::{Histogram, Sampler};
pub use levels::levels;
pub use link_meter::LinkMeter;
pub use meter::{FlowCounters, FlowMeter, MeasuredTime, PerFlowCounters, Response};
pub use metrics::{FlowSummary, LinkSummary, Summary, WorkloadSummary};
pub use packed::Values;
pub use recorder::{NO_GROUP, Recorder};
pub use rows::{AckRow, ActiveRow, FlowRow, LinkRow, PacketRow, QueueRow, TransitionRow};
pub use run::{Run, TraceLevel};
pub use steadiness::{Drifting, Steadiness, Steady};
pub use summary::jain;
pub use table::{Column, Data, Table, Trace};
pub use workload::{Transfer, WorkloadMeter};
