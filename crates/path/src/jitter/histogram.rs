//! A measured distribution.

use fullpipe_units::Span;

/// Bins with counts. Within a bin everything is equally likely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Where each bin begins and, last, where the last one ends.
    edges: Vec<Span>,
    /// How many are below each edge.
    below: Vec<u64>,
}

impl Histogram {
    /// The starts of the bins and their counts; the last start, whose count is zero, ends the last
    /// bin. None unless the starts rise, and something was counted but nothing behind the end.
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

    /// The bins as they were given.
    pub fn bins(&self) -> impl Iterator<Item = (Span, u64)> {
        let counts = self
            .below
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .chain([0]);
        self.edges.iter().copied().zip(counts)
    }

    /// The time, in seconds, that a share `u` of all is below.
    pub(super) fn quantile(&self, u: f64) -> f64 {
        let total = self.below.last().copied().unwrap_or(0) as f64;
        let wanted = u * total;
        // The first edge with as many below is the end of the bin, whose count is not zero.
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
