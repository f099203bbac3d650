//! The metrics that a condition may be about, by their names in `metrics.json`.

use fullpipe_trace::metrics::{self, Form, Metric};

/// The metrics of one kind of thing.
#[derive(Clone, Copy, Debug)]
pub struct Metrics(&'static [Metric]);

/// Of a flow.
pub const FLOW: Metrics = Metrics(metrics::FLOW);
/// Of a workload, all flows of which are measured together.
pub const WORKLOAD: Metrics = Metrics(metrics::WORKLOAD);
/// Of a link.
pub const LINK: Metrics = Metrics(metrics::LINK);
/// Of the run.
pub const RUN: Metrics = Metrics(metrics::RUN);

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

impl Metrics {
    /// Those with a value, or with the values of a distribution.
    pub fn all(self) -> impl Iterator<Item = &'static Metric> {
        self.0
            .iter()
            .filter(|metric| !matches!(metric.form, Form::Fact | Form::Shares))
    }

    /// What it may be limited by, as `limited_by.cwnd`.
    pub fn limits(self) -> &'static [&'static str] {
        match self.0.iter().any(|metric| metric.form == Form::Shares) {
            true => LIMITS,
            false => &[],
        }
    }
}
