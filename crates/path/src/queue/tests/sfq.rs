//! Reference values for `sfq`.

use super::*;

fn count(n: u64) -> OptionValue {
    OptionValue::Count(n)
}

/// Returns the number of packets of a flow that left.
fn left(bench: &Bench, flow: u32) -> usize {
    let of_flow = |(_, packet): &&(u64, Packet<u64>)| packet.flow == flow;
    bench.left.iter().filter(of_flow).count()
}

/// Returns the flows 0..=others, each with a slot of its own: with so few flows and a large divisor
/// nearly any salt achieves that, and this one does.
fn apart(options: &[(&str, OptionValue)], limit: u64) -> Bench {
    let options: Vec<_> = [("divisor", count(65_536))]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    Bench::new(queue("sfq", &options, limit))
}

/// Linux sfq_dequeue: flows share bytes, not packets, at any offered load.
#[test]
fn sfq_shares_bytes_one_to_one() {
    let mut bench = apart(&[], 127);
    let mut bytes = [0.0; 2];
    for step in 0..30_000 {
        bench.now = step * 1_000;
        bench.put(0, 1_500, EcnCodepoint::NotEct);
        (0..6).for_each(|_| bench.put(1, 500, EcnCodepoint::NotEct));
        if let Some(packet) = bench.take() {
            bytes[packet.flow as usize] += packet.size.as_f64();
        }
    }
    let ratio: f64 = bytes[0] / bytes[1];
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// Linux sfq_enqueue: a flow whose queue was empty has its turn after all others, once per round.
#[test]
fn sfq_puts_a_new_flow_at_the_end_of_the_round() {
    let mut bench = apart(&[], 127);
    for flow in 0..3 {
        bench.put_many(3, flow, EcnCodepoint::NotEct);
    }
    bench.take();
    bench.put_many(1, 3, EcnCodepoint::NotEct);
    while bench.take().is_some() {}
    let flows: Vec<u32> = bench.left.iter().map(|(_, packet)| packet.flow).collect();
    // A quantum is one full packet.
    assert_eq!(flows, [0, 1, 2, 3, 0, 1, 2, 0, 1, 2]);
}

/// Linux sfq_drop: the queue with the most packets, not the most bytes, loses its newest packet;
/// with headdrop, its oldest.
#[test]
fn sfq_drops_from_the_queue_with_most_packets() {
    for headdrop in [false, true] {
        let mut bench = apart(&[("headdrop", OptionValue::Flag(headdrop))], 20);
        (0..12).for_each(|_| bench.put(0, 100, EcnCodepoint::NotEct));
        bench.put_many(8, 1, EcnCodepoint::NotEct);
        assert!(bench.dropped.is_empty());
        bench.put_many(4, 1, EcnCodepoint::NotEct);
        let dropped: Vec<u64> = bench
            .dropped
            .iter()
            .map(|(_, packet)| packet.payload)
            .collect();
        // 12 and 9, 11 and 10; then 10 and 11, where the second flow's queue is the longest.
        let expected: [u64; 4] = match headdrop {
            false => [11, 10, 22, 23],
            true => [0, 1, 12, 13],
        };
        assert_eq!(dropped, expected, "headdrop: {headdrop}");
    }
}

/// Linux sfq_drop: if all queues hold one packet, the one whose turn it is loses it.
#[test]
fn sfq_takes_from_the_next_where_nobody_has_two() {
    let mut bench = apart(&[], 3);
    (0..4).for_each(|flow| bench.put(flow, 1_500, EcnCodepoint::NotEct));
    assert_eq!(bench.dropped[0].1.flow, 0);
    while bench.take().is_some() {}
    let flows: Vec<u32> = bench.left.iter().map(|(_, packet)| packet.flow).collect();
    assert_eq!(flows, [1, 2, 3]);
}

/// Linux sfq_enqueue: a queue holds up to depth packets, and flows beyond the number of queues get
/// none.
#[test]
fn sfq_keeps_to_its_depth_and_its_number_of_queues() {
    let options = [("depth", count(5)), ("flows", count(2))];
    let mut bench = apart(&options, 127);
    bench.put_many(7, 0, EcnCodepoint::NotEct);
    bench.put_many(2, 1, EcnCodepoint::NotEct);
    bench.put_many(2, 2, EcnCodepoint::NotEct);
    let dropped = |flow: u32| {
        let of_flow = |(_, packet): &&(u64, Packet<u64>)| packet.flow == flow;
        bench.dropped.iter().filter(of_flow).count()
    };
    assert_eq!([0, 1, 2].map(dropped), [2, 0, 2]);

    for depth in [1, 5] {
        let options = [
            ("depth", count(depth)),
            ("headdrop", OptionValue::Flag(true)),
        ];
        let mut bench = apart(&options, 127);
        bench.put_many(7, 0, EcnCodepoint::NotEct);
        bench.put_many(1, 1, EcnCodepoint::NotEct);
        while bench.take().is_some() {}
        let numbers: Vec<u64> = bench
            .left
            .iter()
            .map(|(_, packet)| packet.payload)
            .collect();
        let newest = (7 - depth..7).filter(|n| *n != 7);
        let mut expected: Vec<u64> = newest.collect();
        // The other flow has its turn after the first packet.
        expected.insert(1, 7);
        assert_eq!(numbers, expected, "the newest packets stay");
    }
}

/// McKenney 1990: flows with one hash share a queue, but not for long if the hash changes. Returns
/// the shares of three flows that always have packets, hashed to four queues.
fn shares(perturb: u64) -> Vec<f64> {
    let options = [
        ("divisor", count(4)),
        ("perturb", OptionValue::Time(Span::from_secs(perturb))),
    ];
    let mut bench = Bench::new(queue("sfq", &options, 60));
    let mut order = Rng::stream(1, "flows", "order");
    let steps = 400_000;
    for step in 0..steps {
        bench.now = step * 1_000;
        // The flow that arrives first finds room.
        let first = order.below(3);
        (0..3).for_each(|flow| {
            bench.put(((first + flow) % 3) as u32, 1_500, EcnCodepoint::NotEct);
        });
        bench.take();
    }
    let share = |flow| left(&bench, flow) as f64 / steps as f64;
    (0..3).map(share).collect()
}

#[test]
fn sfq_perturbs_so_that_nobody_shares_a_queue_for_long() {
    let fixed = shares(0);
    let spread = |shares: &[f64]| {
        let most = shares.iter().copied().fold(0.0, f64::max);
        most - shares.iter().copied().fold(1.0, f64::min)
    };
    assert!(
        spread(&fixed) > 0.2,
        "with this salt, two flows share a queue: {fixed:?}"
    );
    // 400 hashes: sigma of a flow's share, 1/3 on average, is at most 0.14 / √400.
    let perturbed = shares(1);
    assert!(spread(&perturbed) < 0.05, "{perturbed:?}");
}

/// Linux sfq_rehash: waiting packets stay, in the order of each flow, and flows with room lose
/// none.
#[test]
fn sfq_perturbs_without_loss() {
    let options = [("perturb", OptionValue::Time(Span::from_secs(1)))];
    let mut bench = Bench::new(queue("sfq", &options, 127));
    for flow in 0..6 {
        bench.put_many(10, flow, EcnCodepoint::NotEct);
    }
    bench.now = 10_500_000;
    while bench.take().is_some() {}
    assert_eq!((bench.left.len(), bench.dropped.len()), (60, 0));
    for flow in 0..6 {
        let of_flow = bench
            .left
            .iter()
            .filter(|(_, packet)| packet.flow == flow)
            .map(|(_, packet)| packet.payload);
        assert!(of_flow.is_sorted());
    }
}
