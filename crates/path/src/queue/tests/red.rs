//! Reference values for `red`.

use super::*;

/// Floyd and Jacobson 1993 §4 and §7: halfway from min to max p_b is half of the maximum, and the
/// number of arrivals between marks is uniform in 1 to 1/p_b.
#[test]
fn red_marks_with_half_the_probability_half_way() {
    let options = [
        ("min", OptionValue::Size(Bytes::new(15_000))),
        ("max", OptionValue::Size(Bytes::new(45_000))),
        ("probability", OptionValue::Number(0.02)),
        ("ecn", OptionValue::Flag(true)),
    ];
    let mut bench = Bench::new(queue("red", &options, 200));
    // 20 packets wait at each arrival.
    bench.put_many(20, 0, EcnCodepoint::Ect0);
    for step in 0..1_000_000 {
        bench.now = step;
        bench.put(0, 1_500, EcnCodepoint::Ect0);
        bench.take();
    }
    let marked = bench
        .left
        .iter()
        .skip(10_000)
        .filter(|(_, packet)| packet.marked);
    let numbers: Vec<u64> = marked.map(|(_, packet)| packet.payload).collect();
    let gaps: Vec<u64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!(
        (mean - 50.5).abs() < 1.0,
        "p_b = 0.01: uniform in 1 to 100, mean {mean}"
    );
    assert!(
        (99..=100).contains(gaps.iter().max().expect("marks")),
        "{:?}",
        gaps.iter().max()
    );
    assert!(bench.dropped.is_empty());
}

#[test]
fn red_forgets_while_idle_and_drops_beyond_max() {
    let options = [
        ("min", OptionValue::Size(Bytes::new(5_000))),
        ("max", OptionValue::Size(Bytes::new(15_000))),
    ];
    let mut bench = Bench::new(queue("red", &options, 200));
    bench.put_many(200, 0, EcnCodepoint::NotEct);
    let hard = bench.dropped.len();
    assert!(hard > 100, "the average soon exceeds max: {hard}");
    while bench.take().is_some() {}
    bench.now += 1_000_000;
    bench.put_many(3, 0, EcnCodepoint::NotEct);
    assert_eq!(
        bench.dropped.len(),
        hard,
        "a second is 1500 small packets: the average is back at zero"
    );
}
