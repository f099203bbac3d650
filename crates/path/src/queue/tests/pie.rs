//! Reference values for `pie`.

use super::*;

/// RFC 8033 §4.4: nothing is dropped for 150 ms; then the delay stays at the target.
#[test]
fn pie_lets_a_burst_pass_and_holds_the_target() {
    let mut bench = Bench::new(queue("pie", &[], 1_000));
    let (mut delay, mut samples) = (0.0, 0.0);
    for step in 0..60_000 {
        bench.now = step * 1_000;
        bench.put(0, 1_500, EcnCodepoint::NotEct);
        if step % 2 == 0 {
            bench.put(0, 1_500, EcnCodepoint::NotEct);
        }
        bench.take();
        if step >= 30_000 {
            (delay, samples) = (delay + bench.waited(), samples + 1.0);
        }
    }
    let first = bench.dropped[0].0;
    assert!((150_000..400_000).contains(&first), "{first} us");
    let mean = delay / samples;
    assert!((mean - 15.0).abs() < 1.5, "{mean} ms");
    let late = bench
        .dropped
        .iter()
        .filter(|(now, _)| *now >= 30_000_000)
        .count() as f64;
    assert!(
        (late / 45_000.0 - 1.0 / 3.0).abs() < 0.01,
        "a third of the arriving packets is too much"
    );
}
