//! Copa: the rules and numbers of the paper (Arun and Balakrishnan, NSDI 2018).

use fullpipe_cc::{ParamValue, Recovery, RecoveryCause};
use fullpipe_units::Span;

use super::driver::{Driver, SMSS, word};

const MS: fn(u64) -> Span = Span::from_millis;

/// Returns a flow after slow start on a path of 100 ms, which it has measured, with a window of
/// `packets`.
fn steady(packets: f64, params: &[(&str, ParamValue)]) -> Driver {
    let mut driver = Driver::new("copa", params);
    while driver.cwnd() < packets {
        driver.round(MS(100));
    }
    // A long queue ends slow start, and then disappears.
    for rtt in [MS(300), MS(300), MS(100)] {
        driver.round(rtt);
    }
    assert_eq!(driver.field("state"), 1.0, "default mode");
    driver
}

#[test]
fn slow_start_doubles_until_the_rate_is_above_its_target() {
    let mut driver = Driver::new("copa", &[]);
    for window in [10.0, 20.0, 40.0, 80.0] {
        assert_eq!(driver.cwnd(), window);
        driver.round(MS(100));
    }
    // With δ = 0.5 and dq = 1 ms the target rate is 2 packets per ms: 202 packets in 101 ms.
    driver.round_of(60, MS(2), |_| MS(101));
    assert_eq!(driver.transitions(), ["slow_start>default"]);
    assert!(
        (202.0..=203.0).contains(&driver.ssthresh()),
        "{}",
        driver.ssthresh()
    );
}

#[test]
fn a_window_changes_by_one_over_delta_a_round_trip() {
    for (delta, packets) in [(0.5, 2.0), (0.25, 4.0), (1.0, 1.0)] {
        let mut driver = steady(100.0, &[("delta", ParamValue::Number(delta))]);
        // Decrease first, so that the velocity is 1.
        driver.round(MS(300));
        let before = driver.cwnd();
        driver.round(MS(100));
        let change = driver.cwnd() - before;
        assert!(
            (change - packets).abs() < 0.1 * packets,
            "δ {delta}: {change}"
        );
    }
}

#[test]
fn the_velocity_doubles_when_the_direction_has_stayed_for_three_round_trips() {
    let mut driver = steady(100.0, &[]);
    driver.round(MS(300));
    let mut velocities = vec![];
    for _ in 0..8 {
        driver.round(MS(100));
        velocities.push(driver.field("velocity"));
    }
    assert_eq!(velocities, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
    // A queue: the direction changes with the first ACK.
    let delivered = driver.conn.delivered;
    for _ in 0..40 {
        driver.now += MS(2);
        driver.ack(delivered, SMSS, MS(120));
    }
    assert_eq!(driver.field("velocity"), 1.0);
}

#[test]
fn rtt_standing_is_the_least_of_half_an_srtt_and_rtt_min_of_ten_seconds() {
    let mut driver = Driver::new("copa", &[]);
    driver.ack(driver.conn.delivered, SMSS, MS(100));
    for ms in [0_u64, 40, 20, 30] {
        driver.now += MS(ms);
        driver.ack(driver.conn.delivered, SMSS, MS(100 + ms));
    }
    // The sample of 20 ms is 30 ms old, and half an srtt is 65 ms; the sample of 100 ms is 90 ms
    // old.
    assert_eq!(driver.field("rtt_standing"), 0.12);
    assert_eq!(driver.field("rtt_min"), 0.1);
    for _ in 0..100 {
        driver.now += MS(101);
        driver.ack(driver.conn.delivered, SMSS, MS(110));
    }
    assert_eq!(driver.field("rtt_min"), 0.11, "10 s later");
}

#[test]
fn pacing_is_twice_the_window_a_standing_rtt() {
    let driver = steady(50.0, &[]);
    let bits = 2.0 * driver.cwnd() * SMSS.as_f64() * 8.0 / driver.field("rtt_standing");
    let rate = driver.decision().pacing_rate.expect("paced").as_f64();
    assert!((rate / bits - 1.0).abs() < 1e-5, "{rate} for {bits}");
    assert_eq!(driver.decision().send_quantum, SMSS);
}

#[test]
fn five_round_trips_without_a_nearly_empty_queue_begin_competition() {
    let mut driver = steady(100.0, &[]);
    driver.log.0.clear();
    let begins = driver.now;
    // The queueing delay stays between 50 and 150 ms, never below a tenth of the swing.
    let mut round = 0;
    while driver.field("state") == 1.0 {
        round += 1;
        driver.round(MS(if round % 2 == 0 { 250 } else { 150 }));
    }
    assert_eq!(driver.transitions(), ["default>competitive"]);
    let waited = driver.log.0[0].0 - begins;
    assert!((MS(600)..MS(1_600)).contains(&waited), "{waited:?}");
    for _ in 0..10 {
        driver.round(MS(200));
    }
    let grown = 1.0 / driver.field("delta") - 2.0;
    assert!((9.0..=11.0).contains(&grown), "one per round trip: {grown}");
    // A loss halves 1/δ, but not below its value in default mode.
    let before = 1.0 / driver.field("delta");
    driver.lose();
    assert!((1.0 / driver.field("delta") - before / 2.0).abs() < 1e-9);
    for _ in 0..5 {
        driver.lose();
    }
    assert_eq!(driver.field("delta"), 0.5);
    driver.recover();
    // An empty queue ends competitive mode, and δ is 0.5 again.
    driver.round(MS(200));
    driver.round(MS(100));
    assert_eq!((driver.field("state"), driver.field("delta")), (1.0, 0.5));
}

#[test]
fn without_competitive_mode_a_full_buffer_changes_nothing() {
    let mut driver = steady(100.0, &[("modes", word("default"))]);
    for _ in 0..30 {
        driver.round(MS(200));
    }
    assert_eq!((driver.field("state"), driver.field("delta")), (1.0, 0.5));
    // The rate is 1/(δ dq) with 100 ms of queueing delay: 20 packets per second, 4 in 200 ms.
    assert!((driver.cwnd() - 4.0).abs() < 1.0, "{}", driver.cwnd());
}

#[test]
fn a_loss_in_default_mode_changes_nothing() {
    let mut driver = steady(100.0, &[]);
    let (cwnd, delta) = (driver.cwnd(), driver.field("delta"));
    driver.lose();
    assert_eq!((driver.cwnd(), driver.field("delta")), (cwnd, delta));
}

#[test]
fn a_timeout_takes_the_window_away_and_undo_gives_it_back() {
    let mut driver = steady(100.0, &[]);
    let cwnd = driver.cwnd();
    driver.time_out(false);
    assert_eq!(driver.cwnd(), 2.0);
    driver.recovery(Recovery::Spurious);
    assert_eq!(driver.cwnd(), cwnd);
}

#[test]
fn what_delay_took_from_the_window_a_spurious_loss_does_not_give_back() {
    let mut driver = steady(100.0, &[]);
    driver.recovery(Recovery::Enter(RecoveryCause::Loss));
    driver.round(MS(300));
    let reduced = driver.cwnd();
    driver.recovery(Recovery::Spurious);
    assert_eq!(driver.cwnd(), reduced);
}
