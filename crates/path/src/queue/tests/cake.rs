//! CAKE: flow isolation, COBALT, shaper.

use super::*;

/// COBALT begins as CoDel does, but counts from the first delay above target: 100, 70.7, 57.7, 50,
/// 44.7 ms. The drop rate rises with the delay until it suffices, and the last packet is never
/// dropped.
#[test]
fn cake_drops_after_an_interval_over_the_root_of_the_count() {
    let mut bench = Bench::new(queue("cake", &[], 1_000_000));
    for step in 0..10_000 {
        bench.now = step * 100;
        bench.put_many(2, 0, EcnCodepoint::NotEct);
        bench.take();
    }
    let mut expected = 10.1;
    for (n, (now, _)) in bench.dropped.iter().enumerate().take(20) {
        expected += 100.0 / ((n + 1) as f64).sqrt();
        let now = *now as f64 / 1e3;
        assert!(
            (now - expected).abs() <= 0.21,
            "drop {n} at {now}, not {expected}"
        );
    }
    assert!(bench.dropped.len() >= 20);
    let mut lone = Bench::new(queue("cake", &[], 100));
    for _ in 0..100 {
        lone.put(0, 1_500, EcnCodepoint::NotEct);
        lone.now += 20_000;
        lone.take();
    }
    assert!(lone.dropped.is_empty());
}

/// A flow that does not respond to drops fills the queue: BLUE's probability grows by 1/256 per
/// target of time.
#[test]
fn cake_drops_from_the_longest_and_blue_sees_to_what_does_not_answer() {
    let mut bench = Bench::new(queue("cake", &[], 100));
    let mut shares = Vec::new();
    for step in 0..20_000 {
        bench.now = step * 100;
        bench.put_many(3, 1, EcnCodepoint::Ect0);
        if step % 10 == 0 {
            bench.put(2, 300, EcnCodepoint::NotEct);
        }
        bench.take();
        shares.push(bench.queue.backlog().0);
    }
    assert!(
        bench.dropped.iter().all(|(_, packet)| packet.flow == 1),
        "the other flow's queue is short"
    );
    // Two seconds are 400 targets: unlimited, the probability would exceed one. The probability
    // stops growing when the queue is no longer full.
    assert!(shares[..1_000].contains(&99), "full at first");
    assert!(
        shares[19_000..].iter().all(|packets| *packets < 60),
        "not full for long"
    );
}

/// Eight ways: of 300 flows in 1024 queues none has to share, where plain hashing would give about
/// 44 pairs with a common queue.
#[test]
fn cake_gives_each_flow_a_queue_of_its_own() {
    let mut bench = Bench::new(queue("cake", &[], 100_000));
    for _ in 0..20 {
        (0..300).for_each(|flow| bench.put(flow, 1_500, EcnCodepoint::NotEct));
    }
    for _ in 0..3_000 {
        bench.take();
    }
    for flow in 0..300 {
        let sent = bench
            .left
            .iter()
            .filter(|(_, packet)| packet.flow == flow)
            .count();
        assert!((9..=11).contains(&sent), "flow {flow}: {sent}");
    }
}

#[test]
fn cake_sends_a_sparse_flow_first() {
    let mut bench = Bench::new(queue("cake", &[], 100_000));
    for step in 0..3_000 {
        bench.now = step * 1_000;
        (0..10).for_each(|flow| bench.put(flow, 1_500, EcnCodepoint::NotEct));
        if step % 100 == 50 {
            bench.put(77, 200, EcnCodepoint::NotEct);
            assert_eq!(bench.take().expect("there is a backlog").flow, 77);
        }
        bench.take();
    }
}

/// 12 Mbit/s are one packet of 1500 bytes per millisecond, from the first packet on: there is no
/// burst after an idle time.
#[test]
fn cake_shapes_without_bursts() {
    let mut bench = Bench::new(queue(
        "cake",
        &[("bandwidth", OptionValue::Rate(Rate::from_mbps(12)))],
        10_000,
    ));
    bench.now = 5_000_000;
    bench.put_many(100, 0, EcnCodepoint::NotEct);
    for n in 0..100 {
        assert!(bench.take().is_some(), "packet {n}");
        assert!(
            bench.take().is_none() && (n == 99 || bench.queue.opens_at() == at(bench.now + 1_000))
        );
        bench.now += 1_000;
    }
}

/// A flow at rest is forgotten. Before that, it keeps its queue, and its count falls as it grew.
#[test]
fn cake_forgets_a_flow_when_its_control_is_at_rest() {
    let mut bench = Bench::new(queue("cake", &[], 1_000_000));
    let load = |bench: &mut Bench, until: u64, packets: u64| {
        while bench.now < until {
            bench.now += 100;
            bench.put_many(packets, 0, EcnCodepoint::NotEct);
            bench.take();
        }
    };
    load(&mut bench, 500_000, 2);
    let first = bench.dropped.len();
    assert!(first >= 8, "{first}");
    while bench.take().is_some() {}
    // Half an interval later its count has hardly fallen: the first drop needs less than an
    // interval.
    bench.now += 20_000;
    load(&mut bench, 600_000, 2);
    assert!(bench.dropped.len() > first, "none within 80 ms");
    while bench.take().is_some() {}
    let before = bench.dropped.len();
    // Another flow's packets let the first one decay.
    for _ in 0..40_000 {
        bench.now += 100;
        bench.put(1, 1_500, EcnCodepoint::NotEct);
        bench.take();
    }
    let start = bench.now;
    load(&mut bench, start + 100_000, 2);
    assert_eq!(
        bench.dropped.len(),
        before,
        "it starts over: no drop for an interval"
    );
}

/// BLUE's probability shrinks by 1/4096 per target of time in which the flow has no packets.
#[test]
fn cake_forgives_a_flood_after_a_while() {
    let mut bench = Bench::new(queue("cake", &[], 100));
    let dropped = |bench: &mut Bench, steps: u64, others: bool| {
        let before = bench.dropped.len();
        for step in 0..steps {
            bench.now += 100;
            if others {
                bench.put(2, 1_500, EcnCodepoint::NotEct);
            } else if step % 20 == 0 {
                bench.put_many(10, 1, EcnCodepoint::NotEct);
            }
            bench.take();
        }
        bench.dropped.len() - before
    };
    for _ in 0..20_000 {
        bench.now += 100;
        bench.put_many(3, 1, EcnCodepoint::NotEct);
        bench.take();
    }
    while bench.take().is_some() {}
    assert!(
        dropped(&mut bench, 2_000, false) > 200,
        "bursts of ten that fit, right after the flood"
    );
    // 4096 targets are 20.5 s.
    assert_eq!(dropped(&mut bench, 210_000, true), 0);
    assert_eq!(
        dropped(&mut bench, 2_000, false),
        0,
        "the same bursts afterwards"
    );
}
