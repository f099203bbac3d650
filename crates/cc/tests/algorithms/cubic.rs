//! CUBIC: RFC 9438, and the differences of Linux.

use fullpipe_cc::{Controller, ParamValue, PathChange, Recovery, RecoveryCause, Snapshot};
use fullpipe_units::{Bytes, Span};

use super::driver::{Driver, SMSS, word};

mod undo;

const RTT: Span = Span::from_millis(100);

fn cubic(profile: &str) -> Driver {
    Driver::new(
        "cubic",
        &[("profile", word(profile)), ("slow_start", word("classic"))],
    )
}

/// Causes congestion at a window of `segments`, and recovers from it.
fn after_loss_at(mut driver: Driver, segments: u64) -> Driver {
    grow_to(&mut driver, segments);
    driver.lose();
    driver.recover();
    driver
}

/// Grows in slow start to exactly this window.
fn grow_to(driver: &mut Driver, segments: u64) {
    driver.now += RTT;
    while driver.cwnd() < segments as f64 {
        let missing = SMSS * segments - driver.decision().cwnd;
        driver.ack(driver.conn.delivered, missing.min(SMSS * 2), RTT);
    }
}

/// Runs rounds of `rtt` for `time`; the first ACK begins the epoch.
fn run_for(driver: &mut Driver, rtt: Span, time: Span) {
    let end = driver.now + time;
    while driver.now < end {
        driver.round(rtt);
    }
}

/// A packet whose departure brings `packets` in flight.
fn sent(driver: &Driver, packets: u64) -> Snapshot {
    Snapshot {
        inflight: SMSS * packets,
        ..driver.packet(driver.conn.delivered)
    }
}

#[test]
fn a_loss_leaves_seven_tenths() {
    for profile in ["rfc9438", "linux"] {
        let driver = after_loss_at(cubic(profile), 100);
        assert!(
            (driver.cwnd() - 70.0).abs() < 0.01,
            "{profile}: {}",
            driver.cwnd()
        );
        assert!((driver.ssthresh() - 70.0).abs() < 0.01);
        assert_eq!(driver.field("w_max"), 100.0);
    }
}

#[test]
fn fast_convergence_takes_another_fifteen_per_cent_from_a_falling_maximum() {
    let mut driver = after_loss_at(cubic("rfc9438"), 100);
    driver.lose();
    driver.recover();
    assert!((driver.field("w_max") - 0.85 * 70.0).abs() < 0.01);
    assert!((driver.cwnd() - 49.0).abs() < 0.01);

    let off = Driver::new(
        "cubic",
        &[
            ("slow_start", word("classic")),
            ("fast_convergence", ParamValue::Flag(false)),
        ],
    );
    let mut driver = after_loss_at(off, 100);
    driver.lose();
    assert!((driver.field("w_max") - 70.0).abs() < 0.01);
}

#[test]
fn the_window_follows_the_cubic_function_within_a_segment() {
    // W_max = 1000: K = cbrt(300 / 0.4) = 9.086 s; the Reno-friendly window takes 57 s. Linux's C is
    // 410/1024, and it counts K in units of 1/1024 s.
    for (profile, k) in [("rfc9438", 9.0856), ("linux", 9300.0 / 1024.0)] {
        let mut driver = after_loss_at(cubic(profile), 1_000);
        let start = driver.now;
        run_for(&mut driver, RTT, RTT);
        assert!(
            (driver.field("k") - k).abs() < 1e-3,
            "{}",
            driver.field("k")
        );
        while driver.field("t") < 2.0 * k {
            driver.round(RTT);
            let d = (driver.now - start).as_secs_f64() - k;
            let w = 0.4 * d * d * d + 1_000.0;
            // Tolerance: the growth within an RTT, because the target is an RTT ahead and takes an
            // RTT to reach.
            let slope = 3.0 * 0.4 * d * d * RTT.as_secs_f64();
            assert!(
                (driver.cwnd() - w).abs() <= 1.0 + slope,
                "{profile}, t-K = {d}: {} for {w}",
                driver.cwnd()
            );
        }
        assert!(
            (driver.cwnd() - 1_300.0).abs() < 15.0,
            "W(2K) = 1.3 W_max: {}",
            driver.cwnd()
        );
    }
}

#[test]
fn a_round_adds_half_a_window_at_most() {
    for profile in ["rfc9438", "linux"] {
        let steep = Driver::new(
            "cubic",
            &[
                ("c", ParamValue::Number(100.0)),
                ("profile", word(profile)),
                ("slow_start", word("classic")),
            ],
        );
        let mut driver = after_loss_at(steep, 100);
        let mut largest: f64 = 0.0;
        for _ in 0..12 {
            let before = driver.cwnd();
            driver.round(Span::from_secs(1));
            largest = largest.max(driver.cwnd() / before);
        }
        // Each ACK adds its share of the current window: the factor of 1.5 compounds to at most
        // e^0.5.
        assert!((1.45..=1.65).contains(&largest), "{profile}: {largest}");
    }
}

#[test]
fn on_short_paths_the_window_grows_as_renos_would() {
    // 10 ms, W_max = 100: alpha is 0.5294 segments per RTT until the window is 100 again, then 1.
    let rtt = Span::from_millis(10);
    let mut driver = after_loss_at(cubic("rfc9438"), 100);
    let start = driver.cwnd();
    for _ in 0..40 {
        driver.round(rtt);
    }
    assert_eq!(driver.field("state"), 2.0, "Reno-friendly");
    assert!(
        (driver.cwnd() - start - 40.0 * 0.5294).abs() < 0.6,
        "{}",
        driver.cwnd() - start
    );
    while driver.cwnd() < 101.0 {
        driver.round(rtt);
    }
    let before = driver.cwnd();
    for _ in 0..10 {
        driver.round(rtt);
    }
    assert!(
        (driver.cwnd() - before - 10.0).abs() < 0.2,
        "{}",
        driver.cwnd() - before
    );
}

#[test]
fn linux_keeps_the_reno_friendly_slope() {
    let rtt = Span::from_millis(10);
    let mut driver = after_loss_at(cubic("linux"), 100);
    while driver.cwnd() < 101.0 {
        driver.round(rtt);
    }
    let before = driver.cwnd();
    for _ in 0..10 {
        driver.round(rtt);
    }
    // The slope is 8/15: its reciprocal is rounded to eighths.
    assert!(
        (driver.cwnd() - before - 10.0 * 8.0 / 15.0).abs() < 1.0,
        "{}",
        driver.cwnd() - before
    );
}

#[test]
fn linux_grows_by_five_per_cent_a_round_before_any_loss() {
    let mut driver = Driver::new(
        "cubic",
        &[("profile", word("linux")), ("slow_start", word("hystart"))],
    );
    grow_to(&mut driver, 100);
    // An RTT that ends slow start.
    while driver.transitions().is_empty() {
        driver.round_of(20, Span::from_millis(3), |_| RTT * 2);
    }
    let before = driver.cwnd();
    driver.round(RTT);
    assert!(
        (driver.cwnd() - 1.05 * before).abs() < 1.0,
        "{}",
        driver.cwnd() / before
    );
}

#[test]
fn after_a_slow_start_without_loss_the_plateau_is_here() {
    let mut driver = Driver::new("cubic", &[("slow_start", word("hystart"))]);
    grow_to(&mut driver, 100);
    while driver.transitions().is_empty() {
        driver.round_of(20, Span::from_millis(3), |_| RTT * 2);
    }
    // RFC 9438 §4.10: K = 0, convex from the start; alpha = 1, because there was no reduction.
    let before = driver.cwnd();
    driver.round(RTT);
    assert_eq!(driver.field("k"), 0.0);
    assert!(
        (driver.cwnd() - before - 1.0).abs() < 0.1,
        "{}",
        driver.cwnd() - before
    );
}

#[test]
fn after_a_timeout_the_epoch_begins_at_its_own_plateau() {
    let mut driver = after_loss_at(cubic("rfc9438"), 1_000);
    driver.time_out(false);
    assert_eq!(driver.cwnd(), 1.0);
    assert!((driver.ssthresh() - 490.0).abs() < 0.01);
    while driver.cwnd() < driver.ssthresh() {
        driver.round(RTT);
    }
    driver.round(RTT);
    assert_eq!(driver.field("k"), 0.0);
    let reduced = driver.ssthresh();
    driver.time_out(true);
    assert!(
        (driver.ssthresh() - reduced).abs() < 0.01,
        "RFC 5681 §3.1: ssthresh held constant"
    );
    driver.time_out(false);
    assert!(driver.ssthresh() < reduced);
}

#[test]
fn a_timeout_inside_recovery_reduces_again_but_not_in_linux() {
    for (profile, left) in [("rfc9438", 49.0), ("linux", 70.0)] {
        let mut driver = cubic(profile);
        grow_to(&mut driver, 100);
        driver.lose();
        driver.time_out(false);
        assert!(
            (driver.ssthresh() - left).abs() < 0.01,
            "{profile}: {}",
            driver.ssthresh()
        );
    }
}

#[test]
fn time_without_use_of_the_window_does_not_age_the_epoch() {
    let mut used = after_loss_at(cubic("rfc9438"), 1_000);
    let mut driver = after_loss_at(cubic("rfc9438"), 1_000);
    for _ in 0..20 {
        used.round(RTT);
    }
    for _ in 0..10 {
        driver.round(RTT);
    }
    driver.conn.cwnd_limited = false;
    let window = driver.cwnd();
    for _ in 0..300 {
        driver.round(RTT);
    }
    assert_eq!(driver.cwnd(), window);
    driver.conn.cwnd_limited = true;
    for _ in 0..10 {
        driver.round(RTT);
    }
    assert!(
        (driver.cwnd() - used.cwnd()).abs() < 0.01,
        "{} and {}",
        driver.cwnd(),
        used.cwnd()
    );
}

#[test]
fn idle_time_does_not_age_the_epoch() {
    for profile in ["rfc9438", "linux"] {
        let mut driver = after_loss_at(cubic(profile), 1_000);
        run_for(&mut driver, RTT, Span::from_secs(1));
        let last = sent(&driver, 10);
        driver.call(|cc, cx| cc.on_sent(cx, &last));
        let age = driver.field("t");
        driver.now += Span::from_secs(60);
        let first = sent(&driver, 1);
        driver.call(|cc, cx| cc.on_sent(cx, &first));
        driver.round(RTT);
        assert!(
            (driver.field("t") - age - RTT.as_secs_f64()).abs() < 0.01,
            "{profile}: {}",
            driver.field("t") - age
        );
    }
}
