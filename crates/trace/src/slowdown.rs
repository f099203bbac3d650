//! Slowdowns of many flows, grouped by size, as measured and under two ideal servers.

use fullpipe_units::{Bytes, Span};
use serde::Serialize;

/// A flow that arrived within the measurement window.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// Size.
    pub bytes: Bytes,
    /// Completion time that the flow would have alone on the path.
    pub alone: Span,
    /// Measured completion time; `None` if the flow was not complete at the end.
    pub took: Option<Span>,
    /// Completion times under ideal servers; `None` where they are not known.
    pub served: Option<Served>,
}

/// Completion times of one flow under servers that know the sizes of all flows.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// With shortest-remaining-processing-time-first service.
    pub srpt: Span,
    /// With processor sharing.
    pub ps: Span,
}

/// Slowdowns of all flows, and by decade of size, smallest first; decades without a flow are
/// omitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Slowdowns {
    /// Over all flows; `None` without a flow.
    pub all: Option<Decade>,
    /// Over the flows of each size range, from one power of ten bytes up to the next.
    pub decades: Vec<Decade>,
}

/// The flows of one size range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decade {
    /// Lower bound of the sizes, in bytes.
    pub from_bytes: u64,
    /// Number of flows that were not complete at the end of the run; no other value includes them.
    pub unfinished: u64,
    /// Slowdowns of the completed flows; `None` without one.
    pub flows: Option<Slowdown>,
    /// Slowdowns of the same flows if the shortest is served first; `None` where that is not known.
    pub srpt: Option<Slowdown>,
    /// Slowdowns of the same flows if all share the rate equally; `None` where that is not known.
    pub ps: Option<Slowdown>,
}

/// Statistics of slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// Number of flows.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median: the smallest value that half of the flows do not exceed.
    pub p50: f64,
    /// The smallest value that 95 % of the flows do not exceed.
    pub p95: f64,
    /// The smallest value that 99 % of the flows do not exceed.
    pub p99: f64,
}

impl Slowdowns {
    /// Computes the slowdowns of `flows`.
    pub fn of(flows: &[Completion]) -> Slowdowns {
        let decade = |flow: &Completion| flow.bytes.get().max(1).ilog10();
        let last = flows.iter().map(decade).max();
        let decades = last.map_or(0..0, |last| 0..last + 1).filter_map(|power| {
            let of_it = || flows.iter().filter(|flow| decade(flow) == power);
            Decade::of(10_u64.pow(power), of_it)
        });
        Slowdowns {
            all: Decade::of(1, || flows.iter()),
            decades: decades.collect(),
        }
    }
}

impl Decade {
    /// Returns `None` if `flows` is empty.
    fn of<'a, I: Iterator<Item = &'a Completion>>(
        from_bytes: u64,
        flows: impl Fn() -> I,
    ) -> Option<Decade> {
        let complete = || flows().filter_map(|flow| Some((flow, flow.took?)));
        let over = |flow: &Completion, took: Span| took.as_secs_f64() / flow.alone.as_secs_f64();
        let served = |by: fn(&Served) -> Span| {
            Slowdown::of(
                complete()
                    .filter_map(|(flow, _)| Some(over(flow, by(flow.served.as_ref()?))))
                    .collect(),
            )
        };
        let found = Decade {
            from_bytes,
            unfinished: flows().filter(|flow| flow.took.is_none()).count() as u64,
            flows: Slowdown::of(complete().map(|(flow, took)| over(flow, took)).collect()),
            srpt: served(|served| served.srpt),
            ps: served(|served| served.ps),
        };
        (found.unfinished > 0 || found.flows.is_some()).then_some(found)
    }
}

impl Slowdown {
    /// Computes the statistics of `values`; `None` without a value.
    pub fn of(mut values: Vec<f64>) -> Option<Slowdown> {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        // Smallest value that at least `percent` % of the values do not exceed.
        let quantile = |percent: usize| {
            values
                .get((count * percent).div_ceil(100).max(1) - 1)
                .copied()
        };
        let mean = values.iter().sum::<f64>() / count as f64;
        Some(Slowdown {
            count: count as u64,
            mean,
            p50: quantile(50)?,
            p95: quantile(95)?,
            p99: quantile(99)?,
        })
    }
}
