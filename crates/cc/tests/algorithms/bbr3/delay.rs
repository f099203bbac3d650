//! Leaving Startup and UP when the RTT rises, and the presets with these exits.

use super::*;

const ON: [(&str, ParamValue); 2] = [
    ("startup_exit_on_delay", ParamValue::Flag(true)),
    ("up_exit_on_delay", ParamValue::Flag(true)),
];

/// Runs at 100 Mbit/s and 50 ms. Returns the end of Startup and the 99th percentile of the queueing
/// delay after 2 s, both in minimum RTTs.
fn startup_and_queue(name: &str, params: &[(&str, ParamValue)]) -> (f64, f64) {
    let mut path = Path::new(
        name,
        params,
        Rate::from_mbps(100),
        Span::from_millis(50),
        3_332,
    );
    let mut queues = Vec::new();
    path.run(seconds(2.0), |_, _| {});
    path.run(seconds(17.0), |_, rtt| {
        queues.push(rtt.as_secs_f64() / 0.05 - 1.0)
    });
    queues.sort_by(f64::total_cmp);
    (
        path.log.0[0].0.as_secs_f64() / 0.05,
        queues[queues.len() * 99 / 100],
    )
}

#[test]
fn delay_ends_startup_rounds_before_the_plateau_and_keeps_the_queue_at_a_quarter() {
    let (startup, p99) = startup_and_queue("bbr3", &[]);
    assert!(p99 > 0.7, "plain: {p99}");
    for (name, params) in [
        ("bbr3", &ON[..]),
        ("bbr3-picoquic-2024-09", &[]),
        ("bbr3-picoquic-2024-10", &[]),
    ] {
        let (earlier, p99) = startup_and_queue(name, params);
        assert!(
            earlier < startup - 2.0,
            "{name}: {earlier} and {startup} RTTs"
        );
        // Data sent before the RTT rise is measured adds 0.2375 BDP per RTT.
        assert!(p99 < 0.4, "{name}: {p99}");
    }
}

/// Runs twenty rounds of growth, with twice the minimum RTT from the fifth on. Returns whether
/// delay ended Startup.
fn delay_ends_startup(name: &str, params: &[(&str, ParamValue)], least: Span) -> bool {
    let mut driver = Driver::new(name, params);
    for round in 0..20_u64 {
        driver.rate = Some(Rate::from_bps(1_000_000 * (1 << round)));
        let rtt = if round < 5 { least } else { least * 2 };
        driver.round_of(20, Span::from_millis(2), |_| rtt);
    }
    driver
        .log
        .0
        .iter()
        .any(|(_, change)| change.reason == "delay rose")
}

#[test]
fn below_128_microseconds_delays_end_nothing_but_did_in_september_2024() {
    let (loopback, guarded, path) = (
        Span::from_micros(20),
        Span::from_micros(128),
        Span::from_micros(600),
    );
    let ends = |name: &str, least| delay_ends_startup(name, &[], least);
    assert!(ends("bbr3-picoquic-2024-09", loopback) && ends("bbr3-picoquic-2024-09", path));
    assert!(!ends("bbr3-picoquic-2024-10", loopback) && !ends("bbr3-picoquic-2024-10", guarded));
    assert!(ends("bbr3-picoquic-2024-10", path));
    assert!(!ends("bbr3", path) && delay_ends_startup("bbr3", &ON, path));
    assert!(!delay_ends_startup("bbr3", &ON, loopback));
}

#[test]
fn the_plateau_ends_up_below_the_guard_but_for_the_presets() {
    // picoquic's issue 2118: with neither delay nor plateau, UP does not end without loss.
    for (name, ends) in [("bbr3", true), ("bbr3-picoquic-2024-10", false)] {
        let params: &[(&str, ParamValue)] = if ends { &ON } else { &[] };
        let rtt = Span::from_micros(100);
        let mut path = Path::new(name, params, Rate::from_mbps(1_000), rtt, 100_000);
        path.run(seconds(0.2), |_, _| {});
        let ups = path
            .log
            .0
            .iter()
            .filter(|(_, change)| change.to == "probe_bw_up")
            .count();
        assert_eq!(ups > 2, ends, "{name}: {ups}");
    }
}

#[test]
fn a_fifth_may_be_lost_in_2024() {
    let mut driver = Driver::new(
        "bbr3-picoquic-2024-10",
        &[("probe_rtt_interval", ParamValue::Number(1e3))],
    );
    driver.rate = Some(Rate::from_mbps(20));
    while driver.field("state") != CRUISE {
        driver.conn.inflight = SMSS * 20;
        driver.round(RTT);
    }
    go_up(&mut driver);
    lose_burst(&mut driver, 100, 20, 20);
    assert_eq!(driver.field("state"), UP);
    lose_burst(&mut driver, 100, 1, 21);
    assert_eq!(driver.field("state"), DOWN);
}
