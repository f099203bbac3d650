//! The statistics that a summary reports of a distribution.

use fullpipe_units::Span;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// Statistics of a distribution of durations, in seconds; `None` when there was no sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Smallest.
    pub min: Option<f64>,
    /// Exact mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl From<&Histogram> for Distribution {
    fn from(histogram: &Histogram) -> Distribution {
        let seconds = |span: Option<Span>| span.map(Span::as_secs_f64);
        Distribution {
            min: seconds(histogram.min()),
            mean: histogram.mean(),
            p50: seconds(histogram.quantile(0.5)),
            p95: seconds(histogram.quantile(0.95)),
            p99: seconds(histogram.quantile(0.99)),
            max: seconds(histogram.max()),
        }
    }
}
