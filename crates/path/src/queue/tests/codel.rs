//! Reference values for `codel`.

use super::*;

/// Returns the times in ms at which CoDel drops or marks, with a departure every 100 us and twice
/// as many arrivals.
fn codel_acts(ecn: bool) -> Vec<f64> {
    let mut bench = Bench::new(queue(
        "codel",
        &[("ecn", OptionValue::Flag(ecn))],
        1_000_000,
    ));
    for step in 0..10_000 {
        bench.now = step * 100;
        bench.put_many(
            2,
            0,
            if ecn {
                EcnCodepoint::Ect0
            } else {
                EcnCodepoint::NotEct
            },
        );
        bench.take();
    }
    let acts = if ecn { &bench.left } else { &bench.dropped };
    acts.iter()
        .filter(|(_, packet)| packet.marked == ecn)
        .map(|(now, _)| *now as f64 / 1e3)
        .collect()
}

/// RFC 8289 §3.3: intervals of 100, 70.7, 57.7, 50, 44.7 ms… between drops. The first of Linux's roots
/// are inexact: 100, 50.0, 56.3, 48.8, 44.1 ms.
#[test]
fn codel_drops_after_an_interval_over_the_root_of_the_count() {
    for ecn in [false, true] {
        let acts = codel_acts(ecn);
        // At twice the link's rate the delay is half of the time elapsed: 5 ms at 10 ms.
        assert!(
            (acts[0] - 110.0).abs() < 0.2,
            "an interval after the delay first exceeded the target: {}",
            acts[0]
        );
        for (n, pair) in acts.windows(2).enumerate().take(40).skip(5) {
            let (gap, exact) = (pair[1] - pair[0], 100.0 / ((n + 1) as f64).sqrt());
            assert!(
                (gap / exact - 1.0).abs() < 0.02,
                "gap {n}: {gap}, not {exact}"
            );
        }
        let gaps: Vec<f64> = acts
            .windows(2)
            .take(5)
            .map(|pair| ((pair[1] - pair[0]) * 10.0).round() / 10.0)
            .collect();
        assert_eq!(gaps, [100.0, 50.0, 56.3, 48.8, 44.1], "on a grid of 0.1 ms");
    }
}

/// RFC 8289 §5.5: if dropping begins again within 16 intervals, the count starts with the drops
/// added the last time.
#[test]
fn codel_takes_up_dropping_where_it_left_off() {
    let mut bench = Bench::new(queue("codel", &[], 1_000_000));
    let load = |bench: &mut Bench, ms: u64, packets: u64| {
        for _ in 0..ms * 10 {
            bench.now += 100;
            bench.put_many(packets, 0, EcnCodepoint::NotEct);
            bench.take();
        }
    };
    load(&mut bench, 500, 2);
    let before = bench.dropped.len();
    while bench.take().is_some() {}
    load(&mut bench, 400, 2);
    let again: Vec<f64> = bench.dropped[before..]
        .iter()
        .map(|(now, _)| *now as f64 / 1e3)
        .collect();
    let gap = again[1] - again[0];
    assert!(
        (gap - 100.0 / ((before - 1) as f64).sqrt()).abs() < 0.2,
        "{gap} after {before} drops"
    );
}

#[test]
fn codel_lets_a_burst_and_a_lone_packet_pass() {
    let mut bench = Bench::new(queue("codel", &[], 1_000));
    bench.put_many(90, 0, EcnCodepoint::NotEct);
    for _ in 0..90 {
        bench.now += 1_000;
        bench.take().expect("no drop within an interval");
    }
    for _ in 0..50 {
        bench.put(0, 1_500, EcnCodepoint::NotEct);
        bench.now += 50_000;
        bench.take().expect("one packet is not a standing queue");
    }
    assert!(bench.dropped.is_empty());
}

#[test]
fn codel_marks_beyond_the_threshold_besides() {
    let mut bench = Bench::new(queue("codel", &[("ce_threshold", ms(1))], 1_000));
    bench.put_many(4, 0, EcnCodepoint::Ect1);
    for _ in 0..4 {
        bench.now += 500;
        bench.take();
    }
    assert_eq!(
        bench
            .left
            .iter()
            .map(|(_, packet)| packet.marked)
            .collect::<Vec<_>>(),
        [false, false, true, true]
    );
}
