//! A measured distribution.

use fullpipe_units::Span;

/// Bins with counts. The distribution within a bin is uniform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Start of each bin, followed by the end of the last one.
    edges: Vec<Span>,
    /// Number of samples below each edge.
    below: Vec<u64>,
}

impl Histogram {
    /// Returns a histogram of bins, each given by start and count; the last start, with count zero,
    /// ends the last bin. `None` unless the starts ascend, the last count is zero and another is
    /// not.
    pub fn new(bins: &[(Span, u64)]) -> Option<Histogram> {
        let edges: Vec<Span> = bins.iter().map(|(start, _)| *start).collect();
        let mut below = vec![0_u64];
        for (_, count) in bins {
            below.push(below.last()?.checked_add(*count)?);
        }
        let behind = below.pop()?;
        let rise = edges.windows(2).all(|pair| pair[0] < pair[1]);
        (rise && behind > 0 && below.last() == Some(&behind)).then_some(Histogram { edges, below })
    }

    /// Returns the bins as given to [`Histogram::new`].
    pub fn bins(&self) -> impl Iterator<Item = (Span, u64)> {
        let counts = self
            .below
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .chain([0]);
        self.edges.iter().copied().zip(counts)
    }

    /// Returns the time, in seconds, below which a share `u` of all samples lies.
    pub(super) fn quantile(&self, u: f64) -> f64 {
        let total = self.below.last().copied().unwrap_or(0) as f64;
        let wanted = u * total;
        // The first edge with more than `wanted` samples below it ends a bin whose count is not
        // zero.
        let end = self
            .below
            .partition_point(|below| (*below as f64) <= wanted)
            .clamp(1, self.below.len() - 1);
        let (from, to) = (self.below[end - 1] as f64, self.below[end] as f64);
        let (start, stop) = (
            self.edges[end - 1].as_secs_f64(),
            self.edges[end].as_secs_f64(),
        );
        start + (stop - start) * ((wanted - from) / (to - from)).min(1.0)
    }
}
