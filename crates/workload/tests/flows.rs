//! Flows as columns, replayed and collapsed.

use std::sync::Arc;

use units::{Bytes, Rate, Span, Time};
use workload::{Arrival, Chunk, Flows, FlowsError, Source};

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn chunk(ms: u64, bytes: u64) -> Chunk {
    Chunk { offset: Span::from_millis(ms), bytes: Bytes::new(bytes) }
}

/// 1000 B at 5 ms; 600 B, a pause of 200 ms and 400 B from 10 ms on; 500 B at 25 ms.
fn three() -> Arc<Flows> {
    let bytes = [1000, 1000, 500].map(Bytes::new).to_vec();
    let chunks = vec![chunk(0, 1000), chunk(0, 600), chunk(200, 400), chunk(0, 500)];
    Arc::new(Flows::with_chunks(vec![at(5), at(10), at(25)], bytes, vec![0, 1, 3, 4], chunks).expect("these are flows"))
}

#[test]
fn a_replay_keeps_the_pauses_and_a_collapsed_flow_has_none() {
    let replay = Source::replay(three());
    let arrivals: Vec<Arrival> = replay.arrivals(1, "web").collect();
    let collapsed: Vec<Arrival> = Source::collapsed(three()).arrivals(1, "web").collect();
    let told = |arrivals: &[Arrival]| arrivals.iter().map(|one| (one.at, one.bytes)).collect::<Vec<_>>();
    assert_eq!(told(&arrivals), [(at(0), Bytes::new(1000)), (at(5), Bytes::new(1000)), (at(20), Bytes::new(500))]);
    assert_eq!(told(&arrivals), told(&collapsed), "the first flow starts the workload");
    assert_eq!(replay.chunks(arrivals[1].chunks), [chunk(0, 600), chunk(200, 400)]);
    assert!(arrivals[0].chunks.is_whole() && arrivals[2].chunks.is_whole(), "one chunk is no pause");
    assert!(collapsed.iter().all(|one| one.chunks.is_whole()));
}

#[test]
fn a_load_moves_the_starts_and_not_the_pauses() {
    // 2500 B in 20 ms are 1 Mbit/s.
    let source = Source::replay(three());
    assert!((source.offered() - 1e6).abs() < 1e-6);
    let source = source.at_load(0.5, Rate::from_mbps(1));
    assert!((source.offered() - 0.5e6).abs() < 1e-6);
    let arrivals: Vec<Arrival> = source.arrivals(1, "web").collect();
    assert_eq!(arrivals.iter().map(|one| one.at).collect::<Vec<_>>(), [at(0), at(10), at(40)]);
    assert_eq!(source.chunks(arrivals[1].chunks)[1].offset, Span::from_millis(200));
}

#[test]
fn columns_that_are_no_flows_are_refused_with_their_row() {
    let two = |starts: [u64; 2], bytes: [u64; 2]| Flows::new(starts.map(at).to_vec(), bytes.map(Bytes::new).to_vec());
    assert_eq!(Flows::new(vec![], vec![]), Err(FlowsError::Empty));
    assert_eq!(Flows::new(vec![at(0)], vec![]), Err(FlowsError::Lengths));
    assert_eq!(two([2, 1], [1, 1]), Err(FlowsError::Unsorted(1)));
    assert_eq!(two([1, 1], [1, 0]), Err(FlowsError::Nothing(1)));
    let one = |first: Vec<u32>, chunks| Flows::with_chunks(vec![at(0)], vec![Bytes::new(100)], first, chunks);
    assert_eq!(one(vec![0], vec![chunk(0, 100)]), Err(FlowsError::Lengths));
    for chunks in [
        vec![chunk(1, 100)],
        vec![chunk(0, 60), chunk(0, 40)],
        vec![chunk(0, 60), chunk(5, 41)],
        vec![chunk(0, 100), chunk(5, 0)],
    ] {
        assert_eq!(one(vec![0, chunks.len() as u32], chunks), Err(FlowsError::Chunks(0)));
    }
    assert_eq!(one(vec![0, 2], vec![chunk(0, 100)]), Err(FlowsError::Chunks(0)), "a list beyond the column's end");
}
