//! `filter_time`, and the profile "loopback": bandwidth samples that outlast short cycles.

use super::*;

fn loopback() -> (&'static str, ParamValue) {
    ("profile", ParamValue::Word("loopback".into()))
}

/// Halves a rate of 1 Gbit/s at 100 us, where a cycle takes milliseconds. Returns max_bw relative
/// to the new rate, 0.2 s and about a second later.
fn after_halving(param: (&str, ParamValue)) -> (f64, f64) {
    let params = [param];
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
    let (soon, late) = after_halving(("filter_time", ParamValue::Number(0.0)));
    assert!(soon < 1.1 && late < 1.1, "two cycles: {soon} {late}");
    for param in [("filter_time", ParamValue::Number(0.3)), loopback()] {
        let (soon, late) = after_halving(param);
        assert!(soon > 1.9, "0.3 s: {soon}");
        assert!(late < 1.1, "at most 0.6 s: {late}");
    }
}

#[test]
fn where_cycles_and_ten_rounds_are_longer_neither_changes_anything() {
    let run = |params: &[(&str, ParamValue)]| {
        let mut path = Path::new(
            "bbr3",
            params,
            Rate::from_mbps(100),
            Span::from_millis(50),
            3_332,
        );
        path.run(seconds(20.0), |_, _| {});
        (path.log.0.clone(), path.conn.delivered)
    };
    let draft = run(&[]);
    assert_eq!(draft, run(&[("filter_time", ParamValue::Number(0.3))]));
    assert_eq!(draft, run(&[loopback()]));
}

#[test]
fn on_a_loopback_bursts_are_as_large_as_linux_makes_them() {
    let burst = |params: &[(&str, ParamValue)], rtt: Span| {
        let mut path = Path::new("bbr3", params, Rate::from_mbps(100), rtt, 100);
        path.run(seconds(1.0), |_, _| {});
        path.cc.decision().send_quantum.get() / SMSS.get()
    };
    // A millisecond at the pacing rate is seven to ten segments, by its gain. The addition of 64 KiB halves with
    // each 512 us of the minimum RTT, which includes 120 us for sending a packet.
    for (rtt, more) in [(100, 45), (600, 22), (2_100, 3), (20_000, 0)] {
        let rtt = Span::from_micros(rtt);
        let (draft, near) = (burst(&[], rtt), burst(&[loopback()], rtt));
        assert!((7..=10).contains(&draft), "{rtt}: {draft}");
        let range = (7 + more).min(45)..=(10 + more).min(45);
        assert!(range.contains(&near), "{rtt}: {near}");
    }
}
