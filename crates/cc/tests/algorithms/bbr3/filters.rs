//! `filter_time`: bandwidth samples that outlast short cycles.

use super::*;

/// Halves a rate of 1 Gbit/s at 100 us, where a cycle takes milliseconds. Returns max_bw relative
/// to the new rate, 0.2 s and about a second later.
fn after_halving(filter_time: f64) -> (f64, f64) {
    let params = [("filter_time", ParamValue::Number(filter_time))];
    let mut path = Path::new(
        "bbr3",
        &params,
        Rate::from_mbps(1_000),
        Span::from_micros(100),
        100_000,
    );
    path.run(seconds(0.5), |_, _| {});
    path.set_rate(Rate::from_mbps(500));
    let left = 500e6 * 1448.0 / 1500.0;
    path.run(seconds(0.7), |_, _| {});
    let soon = path.field("max_bw") / left;
    path.run(seconds(1.5), |_, _| {});
    (soon, path.field("max_bw") / left)
}

#[test]
fn a_bandwidth_counts_for_filter_time_however_short_cycles_are() {
    let (soon, late) = after_halving(0.0);
    assert!(soon < 1.1 && late < 1.1, "two cycles: {soon} {late}");
    let (soon, late) = after_halving(0.3);
    assert!(soon > 1.9, "0.3 s: {soon}");
    assert!(late < 1.1, "at most 0.6 s: {late}");
}

#[test]
fn where_cycles_and_ten_rounds_are_longer_filter_time_changes_nothing() {
    let run = |filter_time: f64| {
        let params = [("filter_time", ParamValue::Number(filter_time))];
        let mut path = Path::new(
            "bbr3",
            &params,
            Rate::from_mbps(100),
            Span::from_millis(50),
            3_332,
        );
        path.run(seconds(20.0), |_, _| {});
        (path.log.0.clone(), path.conn.delivered)
    };
    assert_eq!(run(0.0), run(0.3));
}
