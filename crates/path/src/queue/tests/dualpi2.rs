//! Reference values for `dualpi2`.

use super::*;

/// RFC 9332 §2.1: at a base probability of 0.1 the classic queue is marked with its square, L4S
/// with twice the base probability.
#[test]
fn dualpi2_squares_for_classic_and_doubles_for_l4s() {
    for (ecn, expected) in [(EcnCodepoint::Ect0, 0.01), (EcnCodepoint::Ect1, 0.2)] {
        // Without the integral part, p' = beta x delay, which remains once the delay is constant at
        // 100 ms.
        let options = [
            ("alpha", OptionValue::Number(0.0)),
            ("beta", OptionValue::Number(1.0)),
            (
                "step_thresh",
                OptionValue::Depth(Depth::Time(Span::from_secs(1))),
            ),
        ];
        let mut bench = Bench::new(queue("dualpi2", &options, 10_000));
        for step in 0..200_000 {
            bench.now = step * 1_000;
            bench.put(0, 1_500, ecn);
            if step >= 100 {
                bench.take();
            }
        }
        let late = bench.left.iter().filter(|(now, _)| *now > 1_000_000);
        let (all, marked) = late.fold((0.0, 0.0), |(all, marked), (_, p)| {
            (all + 1.0, marked + f64::from(u8::from(p.marked)))
        });
        let share = marked / all;
        // 199,000 draws: sigma is 0.0002 and 0.0009.
        assert!(
            (share - expected).abs() < 4.0 * (expected * (1.0 - expected) / all).sqrt(),
            "{ecn:?}: {share}"
        );
    }
}

#[test]
fn dualpi2_puts_l4s_first_and_protects_the_classic_queue() {
    let mut bench = Bench::new(queue(
        "dualpi2",
        &[
            ("alpha", OptionValue::Number(0.0)),
            ("beta", OptionValue::Number(0.0)),
        ],
        10_000,
    ));
    bench.put_many(1_000, 0, EcnCodepoint::NotEct);
    bench.put_many(1_000, 1, EcnCodepoint::Ect1);
    bench.put_many(10, 2, EcnCodepoint::Ce);
    for _ in 0..1_000 {
        bench.take();
    }
    assert_eq!(bench.left[0].1.flow, 1);
    let classic = bench
        .left
        .iter()
        .filter(|(_, packet)| packet.flow == 0)
        .count();
    assert_eq!(classic, 100, "its tenth and not more");
}

#[test]
fn dualpi2_marks_l4s_at_a_millisecond_and_drops_it_on_overload() {
    let mut bench = Bench::new(queue("dualpi2", &[], 10_000));
    bench.put_many(3, 0, EcnCodepoint::Ect1);
    for wait in [900, 101, 1] {
        bench.now += wait;
        bench.take();
    }
    assert_eq!(
        bench
            .left
            .iter()
            .map(|(_, packet)| packet.marked)
            .collect::<Vec<_>>(),
        [false, true, true]
    );
    // Twice the link's rate, from traffic that does not respond to marks.
    for step in 0..60_000 {
        bench.now += 1_000;
        bench.put_many(2, 0, EcnCodepoint::Ect1);
        bench.take();
        assert!(
            step < 10_000 || bench.queue.backlog().0 < 100,
            "{:?} wait",
            bench.queue.backlog()
        );
    }
    assert!(
        bench.dropped.len() > 50_000,
        "half of the traffic, not in front of the queue"
    );
}

/// RFC 9332 A.2: on a slow link a lone packet, behind the one being sent, waits longer than the
/// threshold.
#[test]
fn dualpi2_spares_l4s_packets_that_find_too_few_before_them() {
    for (least, marked) in [
        (0, [true, true, true]),
        (1, [false, true, true]),
        (2, [false, false, true]),
    ] {
        let mut bench = Bench::new(queue(
            "dualpi2",
            &[("min_qlen_step", OptionValue::Count(least))],
            10_000,
        ));
        bench.put_many(3, 0, EcnCodepoint::Ect1);
        for _ in 0..3 {
            bench.now += 1_200;
            bench.take();
        }
        assert_eq!(
            bench
                .left
                .iter()
                .map(|(_, packet)| packet.marked)
                .collect::<Vec<_>>(),
            marked,
            "{least}"
        );
    }
}
