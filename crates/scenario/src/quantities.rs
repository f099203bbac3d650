//! The metrics that conditions can refer to, by their names in `metrics.json`.

use fullpipe_trace::metrics::{self, Form, Metric};

/// The metrics of flows, workloads, links or the run.
#[derive(Clone, Copy, Debug)]
pub struct Metrics(&'static [Metric]);

/// Metrics of a flow.
pub const FLOW: Metrics = Metrics(metrics::FLOW);
/// Metrics of a workload, whose flows are measured together.
pub const WORKLOAD: Metrics = Metrics(metrics::WORKLOAD);
/// Metrics of a link.
pub const LINK: Metrics = Metrics(metrics::LINK);
/// Metrics of the run.
pub const RUN: Metrics = Metrics(metrics::RUN);

/// The limits of a flow's rate.
pub const LIMITS: &[&str] = &[
    "handshake",
    "application",
    "send_buffer",
    "receive_window",
    "recovery",
    "cwnd",
    "pacing",
    "host",
];

impl Metrics {
    /// Returns the metrics with one value or with statistics of a distribution.
    pub fn all(self) -> impl Iterator<Item = &'static Metric> {
        self.0
            .iter()
            .filter(|metric| !matches!(metric.form, Form::Fact | Form::Shares))
    }

    /// Returns the limits that have a metric like `limited_by.cwnd`; empty except for flows.
    pub fn limits(self) -> &'static [&'static str] {
        match self.0.iter().any(|metric| metric.form == Form::Shares) {
            true => LIMITS,
            false => &[],
        }
    }
}
