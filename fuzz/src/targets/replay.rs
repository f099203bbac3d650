//! Recorded flows as a source of arrivals: accepted flows arrive in order, with all their bytes, in
//! each of the models.

use std::sync::Arc;

use arbitrary::Arbitrary;
use fullpipe_units::{Bytes, Rate, Span, Time};
use fullpipe_workload::{ArrivalSource, Chunk, Flows, Input, Model};

#[derive(Arbitrary, Debug)]
pub(crate) struct Case {
    /// Gaps before the starts, rather than starts: those of a file are sorted.
    gaps: Vec<u64>,
    bytes: Vec<u64>,
    chunks: Vec<Vec<(u32, u16)>>,
    first_chunks: Option<Vec<u32>>,
    unsorted: bool,
    load: u16,
    seed: u64,
    until: u64,
}

fn flows(case: &Case) -> Option<Flows> {
    let mut at = 0_u64;
    let starts = case.gaps.iter().map(|gap| {
        at = if case.unsorted {
            *gap
        } else {
            at.saturating_add(*gap)
        };
        Time::from_nanos(at)
    });
    let starts: Vec<Time> = starts.collect();
    let mut bytes: Vec<Bytes> = case.bytes.iter().map(|bytes| Bytes::new(*bytes)).collect();
    let (mut firsts, mut chunks) = (Vec::new(), Vec::new());
    if !case.chunks.is_empty() {
        bytes.resize(starts.len(), Bytes::new(1));
        firsts.push(0);
        for row in 0..starts.len() {
            let mut offset = 0;
            let (mut sum, begin) = (0, chunks.len());
            for (gap, size) in case.chunks.get(row).into_iter().flatten() {
                offset = if chunks.len() == begin {
                    0
                } else {
                    offset + u64::from(*gap)
                };
                sum += u64::from(*size);
                let bytes = Bytes::new((*size).into());
                chunks.push(Chunk {
                    offset: Span::from_nanos(offset),
                    bytes,
                });
            }
            if sum > 0 {
                bytes[row] = Bytes::new(sum);
            }
            firsts.push(chunks.len() as u32);
        }
    }
    let firsts = case.first_chunks.clone().unwrap_or(firsts);
    match Flows::with_chunks(starts, bytes, firsts, chunks) {
        Ok(flows) => Some(flows),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

pub(crate) fn check(case: Case) {
    let Some(flows) = flows(&case).map(Arc::new) else {
        return;
    };
    let until = Span::from_nanos(case.until);
    for model in [Model::Replay, Model::Collapsed, Model::Synthetic] {
        let source = ArrivalSource::new(&model, Some(Input::Flows(Arc::clone(&flows))));
        let source =
            source.unwrap_or_else(|refusal| panic!("{model:?} refuses flows: {refusal:?}"));
        let source = match case.load {
            0 => source,
            load => match source.at_load(f64::from(load) / 100.0, Rate::from_bps(10_000_000)) {
                Ok(source) => source,
                Err(refusal) => return assert!(!refusal.fix.is_empty()),
            },
        };
        assert!(source.offered() > 0.0, "{}", source.offered());
        let mut arrivals = source.arrivals(case.seed, "web", until);
        let (mut count, mut last, mut total) = (0, Time::ZERO, 0.0);
        while let Some(arrival) = arrivals.next() {
            assert!(
                arrival.at >= last && arrival.at <= Time::ZERO + until,
                "{arrival:?}"
            );
            assert!(arrival.bytes > Bytes::ZERO);
            let chunks = arrivals.chunks(arrival.chunks);
            let sum: Bytes = chunks.iter().map(|chunk| chunk.bytes).sum();
            assert!(chunks.is_empty() || sum == arrival.bytes, "{arrival:?}");
            (count, last, total) = (count + 1, arrival.at, total + arrival.bytes.as_f64());
        }
        assert!(count <= flows.len() && total <= flows.total() * 1.000_001);
    }
}
