//! The servers, compared with queueing theory and with results derived by hand.

use fullpipe_units::{Bytes, Draw, Rate, Rng, Span, Time};
use fullpipe_workload::{Best, Chunk, Delays, Jobs, Peak, Wire};
use proptest::collection::vec;
use proptest::prelude::*;

/// One byte takes 8 us; there are no headers.
const WIRE: Wire = Wire {
    rate: Rate::from_mbps(1),
    segment: Bytes::new(1000),
    header: Bytes::ZERO,
};

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn at(time: u64) -> Time {
    Time::ZERO + ms(time)
}

fn jobs(flows: &[(u64, u64)], rtt: Span) -> Jobs {
    let mut jobs = Jobs::new(WIRE);
    flows
        .iter()
        .for_each(|(start, bytes)| jobs.add(at(*start), Bytes::new(*bytes), &[], delays(rtt)));
    jobs
}

#[test]
fn the_shortest_is_served_first_and_sharers_get_equal_parts() {
    // 80 ms of work at 0, 16 ms at 24 ms, 8 ms at 32 ms.
    let mut jobs = jobs(&[(0, 10_000), (24, 2_000), (32, 1_000)], Span::ZERO);
    // The third flow finds the second with equal work left; the earlier flow is served first.
    assert_eq!(jobs.shortest_remaining_first(), [ms(104), ms(16), ms(16)]);
    // Halves from 24 ms on, thirds from 32 ms on until the third flow has its 8 ms at 56 ms. The
    // second has had 12 ms by then and leaves at 64 ms, when the first has had 40 ms.
    assert_eq!(jobs.shared(), [ms(104), ms(40), ms(24)]);
}

#[test]
fn flows_that_do_not_overlap_take_as_long_as_alone() {
    let rtt = ms(30);
    let wire = Wire {
        header: Bytes::new(52),
        ..WIRE
    };
    let pauses = [
        Chunk {
            offset: Span::ZERO,
            bytes: Bytes::new(500),
        },
        Chunk {
            offset: ms(10),
            bytes: Bytes::new(500),
        },
        Chunk {
            offset: ms(200),
            bytes: Bytes::new(2_500),
        },
    ];
    let mut jobs = Jobs::new(wire);
    let flows: [(u64, &[Chunk]); 3] = [(1_448, &[]), (3_500, &pauses), (1, &[])];
    for (number, (bytes, chunks)) in flows.iter().enumerate() {
        jobs.add(
            at(1_000 * number as u64),
            Bytes::new(*bytes),
            chunks,
            delays(rtt),
        );
    }
    let alone: Vec<Span> = flows
        .iter()
        .map(|(bytes, chunks)| best(wire, rtt).alone(Bytes::new(*bytes), chunks, Span::ZERO))
        .collect();
    // 1.5 RTT and 1448 B in two packets; with pauses, the last chunk is written at 200 ms and has
    // three packets.
    assert_eq!(alone[0], ms(45) + Span::from_micros(8 * (1_448 + 2 * 52)));
    assert_eq!(
        alone[1],
        ms(200 + 15) + Span::from_micros(8 * (2_500 + 3 * 52))
    );
    assert_eq!(jobs.shortest_remaining_first(), alone);
    assert_eq!(jobs.shared(), alone);
}

/// Poisson arrivals at a load, with drawn sizes; returns the work in s of each flow, and its
/// completion time with both servers.
fn queue(load: f64, mean: f64, draw: impl Fn(&mut Rng) -> u64) -> Vec<(f64, f64, f64)> {
    let (mut gaps, mut sizes) = (
        Rng::stream(1, "theory", "gaps"),
        Rng::stream(1, "theory", "sizes"),
    );
    let gap = Draw::Exponential {
        mean: Span::from_secs_f64(mean * 8e-6 / load),
    };
    let (mut jobs, mut start, mut works) = (Jobs::new(WIRE), Time::ZERO, Vec::new());
    for _ in 0..1_000_000 {
        start += gap.next(&mut gaps);
        let bytes = Bytes::new(draw(&mut sizes));
        jobs.add(start, bytes, &[], delays(Span::ZERO));
        works.push(bytes.as_f64() * 8e-6);
    }
    let (first, shared) = (jobs.shortest_remaining_first(), jobs.shared());
    let seconds = first
        .iter()
        .zip(&shared)
        .map(|(first, shared)| (first.as_secs_f64(), shared.as_secs_f64()));
    works
        .into_iter()
        .zip(seconds)
        .map(|(work, (first, shared))| (work, first, shared))
        .collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Mean response time of M/G/1 with SRPT (Schrage and Miller, 1966), for exponential work of mean 1
/// at this load: a flow of x waits `(load m2(x) + load x^2 (1 - F(x))) / 2 (1 - rho(x))^2` and is
/// then served in the integral of `dt / (1 - rho(t))`.
fn schrage_and_miller(load: f64) -> f64 {
    let step = 1e-3;
    let (mut response, mut rho, mut second, mut served) = (0.0, 0.0, 0.0, 0.0);
    let mut x = step / 2.0;
    while x < 40.0 {
        let density = libm::exp(-x);
        rho += load * x * density * step;
        second += x * x * density * step;
        served += step / (1.0 - rho);
        let waits = load * (second + x * x * density) / (2.0 * (1.0 - rho) * (1.0 - rho));
        response += (waits + served) * density * step;
        x += step;
    }
    response
}

#[test]
fn mean_responses_are_those_of_theory() {
    let load = 0.7;
    let one = 100_000.0;
    let law = Draw::Exponential {
        mean: Bytes::new(one as u64),
    };
    let flows = queue(load, one, |rng| law.next(rng).get());
    let theory = schrage_and_miller(load);
    let measured = mean(flows.iter().map(|flow| flow.1)) / (one * 8e-6);
    assert!(
        (measured / theory - 1.0).abs() < 0.02,
        "SRPT: {measured} of {theory}"
    );
    // Processor sharing: 1 / (1 - load) for flows of every size, with any distribution.
    let measured = mean(flows.iter().map(|flow| flow.2)) / (one * 8e-6);
    assert!(
        (measured * (1.0 - load) - 1.0).abs() < 0.02,
        "PS: {measured}"
    );
    for (from, to) in [(0.2, 0.4), (0.9, 1.1), (2.0, 4.0)] {
        let near: Vec<f64> = flows
            .iter()
            .filter(|flow| (from..to).contains(&(flow.0 / 0.8)))
            .map(|flow| flow.2 / flow.0)
            .collect();
        let slowdown = mean(near.into_iter());
        assert!(
            (slowdown * (1.0 - load) - 1.0).abs() < 0.03,
            "PS of {from} to {to}: {slowdown}"
        );
    }
}

#[test]
fn sharing_does_not_mind_the_law_and_the_shortest_first_is_never_worse_in_the_mean() {
    // Nine of ten flows have 10 kB, the tenth has a megabyte.
    let flows = queue(0.6, 109_000.0, |rng| {
        if rng.chance(0.9) { 10_000 } else { 1_000_000 }
    });
    let shared = mean(flows.iter().map(|flow| flow.2));
    assert!(
        (shared * 0.4 / (109_000.0 * 8e-6) - 1.0).abs() < 0.03,
        "PS: {shared}"
    );
    assert!(mean(flows.iter().map(|flow| flow.1)) < shared);
}

/// Flows as (start, chunks of (pause before the chunk, bytes)), in us.
fn flows(chunks: core::ops::Range<usize>) -> impl Strategy<Value = Vec<(u64, Vec<(u64, u64)>)>> {
    vec(
        (0..200_000_u64, vec((1..30_000_u64, 1..5_000_u64), chunks)),
        1..40,
    )
}

/// Both ways of a path with half of an RTT each.
fn delays(rtt: Span) -> Delays {
    Delays {
        way: rtt / 2,
        round: rtt,
    }
}

fn best(wire: Wire, rtt: Span) -> Best {
    Best {
        links: vec![Peak {
            rate: wire.rate,
            burst: Bytes::ZERO,
            peak: wire.rate,
        }],
        segment: wire.segment,
        header: wire.header,
        delays: delays(rtt),
    }
}

#[test]
fn a_burst_leaves_at_its_peak_and_the_way_is_that_of_data() {
    let best = Best {
        links: vec![
            Peak {
                rate: Rate::from_mbps(1),
                burst: Bytes::new(3_000),
                peak: Rate::from_mbps(8),
            },
            Peak {
                rate: Rate::from_mbps(2),
                burst: Bytes::ZERO,
                peak: Rate::from_mbps(2),
            },
        ],
        segment: Bytes::new(1_000),
        header: Bytes::ZERO,
        delays: Delays {
            way: ms(5),
            round: ms(30),
        },
    };
    // The second link is slower for 3 kB, 12 ms against 3 ms, and the first one for 9 kB, 48 ms against 36.
    let alone = |bytes| best.alone(Bytes::new(bytes), &[], ms(4));
    assert_eq!(alone(3_000), ms(34 + 12 + 7));
    assert_eq!(alone(9_000), ms(34 + 48 + 7));
}

/// Completion time of each flow: alone, with the shortest first, and with equal shares.
fn served(flows: &[(u64, Vec<(u64, u64)>)], rtt: Span) -> [Vec<Span>; 3] {
    let wire = Wire {
        header: Bytes::new(52),
        ..WIRE
    };
    let (mut jobs, mut alone) = (Jobs::new(wire), Vec::new());
    for (start, chunks) in flows {
        let mut offset = Span::ZERO;
        let chunk = |(number, (pause, bytes)): (usize, &(u64, u64))| {
            if number > 0 {
                offset += Span::from_micros(*pause);
            }
            Chunk {
                offset,
                bytes: Bytes::new(*bytes),
            }
        };
        let chunks: Vec<Chunk> = chunks.iter().enumerate().map(chunk).collect();
        let bytes = chunks.iter().map(|chunk| chunk.bytes).sum();
        alone.push(best(wire, rtt).alone(bytes, &chunks, Span::ZERO));
        jobs.add(
            Time::ZERO + Span::from_micros(*start),
            bytes,
            &chunks,
            delays(rtt),
        );
    }
    [alone, jobs.shortest_remaining_first(), jobs.shared()]
}

/// Rounding error of the sharing server's fluid model.
const LITTLE: Span = Span::from_nanos(10);

proptest! {
    #[test]
    fn no_server_is_faster_than_alone_nor_idle_while_there_is_work(flows in flows(1..4), rtt in 0..50_u64) {
        let [alone, first, shared] = served(&flows, ms(rtt));
        for (row, alone) in alone.iter().enumerate() {
            prop_assert!(first[row] >= *alone, "{row}: {:?} of {alone:?}", first[row]);
            prop_assert!(shared[row] + LITTLE >= *alone, "{row}: {:?} of {alone:?}", shared[row]);
        }
        let last = |took: &[Span]| flows.iter().zip(took).map(|(flow, took)| Span::from_micros(flow.0) + *took).max().unwrap();
        prop_assert!(last(&first).saturating_sub(last(&shared)) <= LITTLE && last(&shared).saturating_sub(last(&first)) <= LITTLE);
    }

    #[test]
    fn no_mean_is_below_that_of_the_shortest_first(flows in flows(1..2)) {
        let [_, first, shared] = served(&flows, Span::ZERO);
        let sum = |took: &[Span]| took.iter().map(|took| took.as_nanos()).sum::<u64>();
        prop_assert!(sum(&first) <= sum(&shared) + 10 * flows.len() as u64);
    }
}
