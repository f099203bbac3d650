//! Slowdowns of many flows, by how large they are, and what two servers would have made of the same
//! flows.

use fullpipe_units::{Bytes, Span};
use serde::Serialize;

/// A flow that arrived within the time that counts.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// What it carries.
    pub bytes: Bytes,
    /// How long it would have taken alone.
    pub alone: Span,
    /// How long it took; none when it was not complete at the end.
    pub took: Option<Span>,
    /// How long it would have taken where the shortest is served first, and where all share
    /// equally.
    pub served: Option<Served>,
}

/// What the servers that know would have needed.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// Shortest remaining processing time.
    pub srpt: Span,
    /// Processor sharing.
    pub ps: Span,
}

/// Slowdowns of all, and by decade, the smallest flows first; decades without a flow are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Slowdowns {
    /// Of all flows, if there is one.
    pub all: Option<Decade>,
    /// Of those from a power of ten bytes up to the next.
    pub decades: Vec<Decade>,
}

/// Flows of like size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decade {
    /// The least that one of them may carry.
    pub from_bytes: u64,
    /// Those that were not complete at the end: in none of the others.
    pub unfinished: u64,
    /// Those that were; none when there is none.
    pub flows: Option<Slowdown>,
    /// The same flows where the shortest is served first; none where that is not known.
    pub srpt: Option<Slowdown>,
    /// The same flows where all share equally.
    pub ps: Option<Slowdown>,
}

/// What is known of some slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest that half of them do not exceed.
    pub p50: f64,
    /// That 95 % do not exceed.
    pub p95: f64,
    /// That 99 % do not exceed.
    pub p99: f64,
}

impl Slowdowns {
    /// Of these flows.
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
    /// None without a flow.
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
    /// Of these; none of nothing.
    pub fn of(mut values: Vec<f64>) -> Option<Slowdown> {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        // The smallest value up to which there are so many in a hundred.
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
