//! LEDBAT: RFC 6817.

use fullpipe_cc::ParamValue;
use fullpipe_units::{Bytes, Rate, Span, Time};

use super::driver::{Driver, SMSS};
use super::path::Path;

const MS: fn(u64) -> Span = Span::from_millis;

/// Returns a flow with a window of `segments`, whose path takes 20 ms in the forward direction
/// without a queue, and 30 ms in the return direction.
fn at(segments: f64, params: &[(&str, ParamValue)]) -> Driver {
    let mut driver = Driver::new("ledbat", params);
    driver.back = MS(30);
    driver.conn.inflight = driver.decision().cwnd;
    while driver.cwnd() < segments {
        driver.round(MS(50));
    }
    driver
}

/// Returns the change of the window, in segments, by a round trip of `ms`. The filter is filled
/// with such samples first.
fn change(driver: &mut Driver, ms: u64) -> f64 {
    for _ in 0..4 {
        driver.ack(driver.conn.delivered, Bytes::ZERO, MS(ms));
    }
    let before = driver.cwnd();
    driver.round(MS(ms));
    driver.cwnd() - before
}

#[test]
fn begins_with_two_segments() {
    assert_eq!(Driver::new("ledbat", &[]).cwnd(), 2.0);
}

#[test]
fn grows_and_shrinks_in_proportion_to_the_distance_from_the_target() {
    // RFC 6817 §2.4.2: GAIN * off_target segments per window of ACKs.
    for (queue, expected) in [
        (0, 1.0),
        (50, 0.5),
        (75, 0.25),
        (100, 0.0),
        (150, -0.5),
        (200, -1.0),
    ] {
        let mut driver = at(50.0, &[]);
        let change = change(&mut driver, 50 + queue);
        assert!(
            (change - expected).abs() < 0.03,
            "{change} with {queue} ms of queue, not {expected}"
        );
    }
}

#[test]
fn the_gain_scales_it() {
    let mut driver = at(20.0, &[("gain", ParamValue::Number(0.25))]);
    let change = change(&mut driver, 50);
    assert!((change - 0.25).abs() < 0.01, "{change}");
}

#[test]
fn a_queue_on_the_way_back_is_none() {
    let mut driver = at(50.0, &[]);
    driver.back = MS(230);
    let change = change(&mut driver, 250);
    assert!((change - 1.0).abs() < 0.03, "{change}");
}

#[test]
fn the_least_of_four_samples_counts() {
    let mut driver = at(50.0, &[]);
    // One ACK in three sees a queueing delay of twice the target; the minimum of four samples never
    // does.
    let before = driver.cwnd();
    driver.round_of(51, MS(1), |i| if i % 3 == 0 { MS(250) } else { MS(50) });
    assert!(
        (driver.cwnd() - before - 1.0).abs() < 0.05,
        "{}",
        driver.cwnd() - before
    );
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut driver = at(20.0, &[]);
    for _ in 0..100 {
        driver.conn.inflight = SMSS * 5;
        driver.now += MS(50);
        driver.ack(driver.conn.delivered, SMSS, MS(50));
    }
    assert_eq!(driver.cwnd(), 6.0, "flight size and ALLOWED_INCREASE");
}

#[test]
fn losses_of_a_window_halve_it_once_and_never_below_two() {
    let mut driver = at(40.0, &[]);
    let before = driver.cwnd();
    driver.lose();
    assert!((driver.cwnd() - before / 2.0).abs() < 0.01);
    driver.round(MS(50));
    driver.recover();
    assert!((driver.cwnd() - before / 2.0).abs() < 0.01);
    for _ in 0..10 {
        driver.lose();
        driver.recover();
    }
    assert_eq!(driver.cwnd(), 2.0);
}

#[test]
fn a_timeout_leaves_one_segment() {
    let mut driver = at(40.0, &[]);
    driver.conn.inflight = SMSS * 40;
    driver.time_out(false);
    assert_eq!(driver.cwnd(), 1.0);
}

#[test]
fn alone_it_fills_the_link_and_holds_the_target() {
    let delay = MS(40);
    // 10 Mbit/s: a packet takes 1.2 ms, so the target is 83 packets.
    let mut path = Path::new("ledbat", &[], Rate::from_mbps(10), delay, 400);
    path.run(Time::ZERO + Span::from_secs(60), |_, _| ());
    let (mut worst, mut best, delivered) = (Span::ZERO, Span::MAX, path.conn.delivered);
    path.run(Time::ZERO + Span::from_secs(120), |_, rtt| {
        worst = worst.max(rtt - delay);
        best = best.min(rtt - delay);
    });
    assert!(best > MS(90) && worst < MS(110), "{best} to {worst}");
    let utilization =
        (path.conn.delivered - delivered).as_f64() * 8.0 * 1500.0 / 1448.0 / 60.0 / 10e6;
    assert!(utilization > 0.99, "{utilization}");
    assert_eq!(path.conn.lost, Bytes::ZERO);
}
