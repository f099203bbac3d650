//! Flows as columns, replayed and collapsed.

use std::sync::Arc;

use fullpipe_units::{Bytes, Rate, Span, Time};
use fullpipe_workload::{Arrival, ArrivalSource, Arrivals, Chunk, Flows, FlowsError, Input, Model};

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn chunk(ms: u64, bytes: u64) -> Chunk {
    Chunk {
        offset: Span::from_millis(ms),
        bytes: Bytes::new(bytes),
    }
}

/// 1000 B at 5 ms; 600 B at 10 ms, and 400 B after a pause of 200 ms; 500 B at 25 ms.
fn three() -> Arc<Flows> {
    let bytes = [1000, 1000, 500].map(Bytes::new).to_vec();
    let chunks = vec![
        chunk(0, 1000),
        chunk(0, 600),
        chunk(200, 400),
        chunk(0, 500),
    ];
    Arc::new(
        Flows::with_chunks(vec![at(5), at(10), at(25)], bytes, vec![0, 1, 3, 4], chunks)
            .expect("these are flows"),
    )
}

fn source(model: &str) -> ArrivalSource {
    let model = Model::parse(model).expect("a model");
    ArrivalSource::new(&model, Some(Input::Flows(three()))).expect("flows go with it")
}

fn arrivals(source: &ArrivalSource) -> Arrivals {
    source.arrivals(1, "web", Span::from_secs(1))
}

fn told(arrivals: Arrivals) -> Vec<(Time, Bytes)> {
    arrivals.map(|one| (one.at, one.bytes)).collect()
}

#[test]
fn a_replay_keeps_the_pauses_and_a_collapsed_flow_has_none() {
    let replay = source("replay");
    let collapsed = source("collapsed");
    let three = [
        (at(0), Bytes::new(1000)),
        (at(5), Bytes::new(1000)),
        (at(20), Bytes::new(500)),
    ];
    assert_eq!(
        told(arrivals(&replay)),
        three,
        "the first flow starts the workload"
    );
    assert_eq!(told(arrivals(&collapsed)), three);
    let replayed: Vec<Arrival> = arrivals(&replay).collect();
    assert_eq!(
        arrivals(&replay).chunks(replayed[1].chunks),
        [chunk(0, 600), chunk(200, 400)]
    );
    assert!(
        replayed[0].chunks.is_whole() && replayed[2].chunks.is_whole(),
        "a single chunk has no pause"
    );
    assert!(arrivals(&collapsed).all(|one| one.chunks.is_whole()));
    assert_eq!(replay.arrivals(1, "web", Span::from_millis(19)).count(), 2);
}

#[test]
fn more_bytes_than_64_bits_count_are_a_rate_still() {
    let flows = Flows::new(
        (0..20_001).map(at).collect(),
        vec![Bytes::new(1_000_000_000_000_000); 20_001],
    );
    let source = ArrivalSource::new(
        &Model::Replay,
        Some(Input::Flows(Arc::new(flows.expect("these are flows")))),
    );
    // 2e19 bytes in 20 s.
    assert!((source.expect("they fit").offered() / 8e18 - 1.0).abs() < 1e-4);
}

#[test]
fn a_load_moves_the_starts_and_not_the_pauses() {
    // 2500 B in 20 ms are 1 Mbit/s.
    let source = source("replay");
    assert!((source.offered() - 1e6).abs() < 1e-6);
    let source = source
        .at_load(0.5, Rate::from_mbps(1))
        .expect("they do not all start at once");
    assert!((source.offered() - 0.5e6).abs() < 1e-6);
    let all: Vec<Arrival> = arrivals(&source).collect();
    assert_eq!(
        all.iter().map(|one| one.at).collect::<Vec<_>>(),
        [at(0), at(10), at(40)]
    );
    assert_eq!(
        arrivals(&source).chunks(all[1].chunks)[1].offset,
        Span::from_millis(200)
    );
}

#[test]
fn synthetic_flows_are_the_same_gaps_and_volumes_in_other_orders() {
    let starts: Vec<u64> = (0..1000).map(|i| i * i).collect();
    let bytes: Vec<u64> = (0..1000).map(|i| 1 + i * 7).collect();
    let flows = Flows::new(
        starts.iter().map(|ns| Time::from_nanos(*ns)).collect(),
        bytes.iter().map(|bytes| Bytes::new(*bytes)).collect(),
    );
    let source = ArrivalSource::new(
        &Model::Synthetic,
        Some(Input::Flows(Arc::new(flows.expect("these are flows")))),
    )
    .expect("they fit");
    let drawn = |seed, name| told(source.arrivals(seed, name, Span::MAX));
    let one = drawn(1, "web");
    let sorted = |mut values: Vec<u64>| {
        values.sort_unstable();
        values
    };
    let gaps = |starts: &[u64]| sorted(starts.windows(2).map(|pair| pair[1] - pair[0]).collect());
    let drawn_starts: Vec<u64> = one.iter().map(|(at, _)| at.as_nanos()).collect();
    assert_eq!(gaps(&drawn_starts), gaps(&starts));
    assert_eq!(
        sorted(one.iter().map(|(_, bytes)| bytes.get()).collect()),
        bytes
    );
    assert_eq!(
        one.last().expect("a thousand").0,
        Time::from_nanos(999 * 999),
        "hence the load is the same"
    );
    assert_ne!(drawn_starts, starts);
    assert_eq!(one, drawn(1, "web"));
    assert_ne!(one, drawn(2, "web"));
    assert_ne!(one, drawn(1, "mail"));
}

#[test]
fn a_model_and_its_source_must_go_together() {
    let refused = |model: &str, input| {
        let refusal = ArrivalSource::new(&Model::parse(model).expect("a model"), input)
            .expect_err("they don't go together");
        format!("{}; {}", refusal.problem, refusal.fix)
    };
    assert!(refused("replay", None).starts_with("replay needs flows; give a flows.parquet"));
    assert!(refused("cdf", Some(Input::Flows(three()))).starts_with("cdf needs a distribution"));
    assert!(
        refused(
            "bounded_pareto shape 1 min 1kB max 1MB",
            Some(Input::Flows(three()))
        )
        .contains("omit source")
    );
    let at_once =
        Arc::new(Flows::new(vec![at(1), at(1)], vec![Bytes::new(1); 2]).expect("these are flows"));
    let at_once =
        ArrivalSource::new(&Model::Replay, Some(Input::Flows(at_once))).expect("they fit");
    assert!(at_once.at_load(0.5, Rate::from_mbps(1)).is_err());
}

#[test]
fn columns_that_are_no_flows_are_refused_with_their_row() {
    let two = |starts: [u64; 2], bytes: [u64; 2]| {
        Flows::new(starts.map(at).to_vec(), bytes.map(Bytes::new).to_vec())
    };
    assert_eq!(Flows::new(vec![], vec![]), Err(FlowsError::Empty));
    assert_eq!(Flows::new(vec![at(0)], vec![]), Err(FlowsError::Lengths));
    assert_eq!(two([2, 1], [1, 1]), Err(FlowsError::Unsorted(1)));
    assert_eq!(two([1, 1], [1, 0]), Err(FlowsError::Nothing(1)));
    assert_eq!(
        two([1, 1], [1, 1_000_000_000_000_001]),
        Err(FlowsError::TooLarge(1))
    );
    let one = |first: Vec<u32>, chunks| {
        Flows::with_chunks(vec![at(0)], vec![Bytes::new(100)], first, chunks)
    };
    assert_eq!(one(vec![0], vec![chunk(0, 100)]), Err(FlowsError::Lengths));
    for chunks in [
        vec![chunk(1, 100)],
        vec![chunk(0, 60), chunk(0, 40)],
        vec![chunk(0, 60), chunk(5, 41)],
        vec![chunk(0, 100), chunk(5, 0)],
    ] {
        assert_eq!(
            one(vec![0, chunks.len() as u32], chunks),
            Err(FlowsError::Chunks(0))
        );
    }
    assert_eq!(
        one(vec![0, 2], vec![chunk(0, 100)]),
        Err(FlowsError::Chunks(0)),
        "a list that exceeds the column"
    );
}
