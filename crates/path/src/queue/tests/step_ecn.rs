//! Reference values for `step_ecn`.

use super::*;

#[test]
fn step_ecn_marks_what_finds_more_than_the_threshold() {
    let marked = |threshold, drop| {
        let options = [
            ("threshold", OptionValue::Depth(threshold)),
            ("drop_not_ect", OptionValue::Flag(drop)),
        ];
        let mut bench = Bench::new(queue("step_ecn", &options, 100));
        bench.put_many(8, 0, EcnCodepoint::Ect0);
        bench.put(0, 1_500, EcnCodepoint::NotEct);
        for _ in 0..9 {
            bench.now += 1_000;
            bench.take();
        }
        (
            bench.marks(),
            bench.left.iter().position(|(_, packet)| packet.marked),
            bench.dropped.len(),
        )
    };
    assert_eq!(
        marked(Depth::Packets(5), false),
        (2, Some(6), 0),
        "the seventh finds six"
    );
    assert_eq!(
        marked(Depth::Bytes(Bytes::new(7_500)), true),
        (2, Some(6), 1)
    );
    assert_eq!(
        marked(Depth::Time(Span::from_millis(5)), true),
        (3, Some(5), 1),
        "the sixth leaves after six"
    );
}
