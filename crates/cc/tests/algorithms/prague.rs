//! Prague, compared with L4STeam's tcp_prague.c and the equations of scalable congestion control.

use fullpipe_cc::{EcnCodepoint, ParamValue, PathChange};
use fullpipe_units::{Bytes, Rate, Span, Time};

use super::driver::{Driver, SMSS, word};
use super::path::Path;

const MS: fn(u64) -> Span = Span::from_millis;
const S: fn(u64) -> Span = Span::from_secs;

/// Returns a flow in congestion avoidance with this window and this alpha.
fn avoiding(segments: f64, alpha: f64, params: &[(&str, ParamValue)]) -> Driver {
    let mut all = vec![("alpha_init", ParamValue::Number(alpha))];
    all.extend(params.iter().cloned());
    let mut driver = Driver::new("prague", &all);
    driver.now += S(1);
    while driver.cwnd() < segments {
        driver.round(MS(50));
    }
    driver.mark();
    driver.conn.state = fullpipe_cc::CaState::Open;
    driver
}

#[test]
fn sends_ect1_until_the_path_does_not_carry_it() {
    let mut driver = Driver::new("prague", &[]);
    assert_eq!(driver.decision().ecn, EcnCodepoint::Ect1);
    driver.call(|cc, cx| fullpipe_cc::Controller::on_path(cc, cx, PathChange::EcnFailed));
    assert_eq!(driver.decision().ecn, EcnCodepoint::NotEct);
}

#[test]
fn slow_start_doubles_and_ends_with_a_mark() {
    let mut driver = Driver::new("prague", &[]);
    for window in [10.0, 20.0, 40.0, 80.0] {
        assert_eq!(driver.cwnd(), window);
        driver.round(MS(20));
    }
    driver.mark();
    // Alpha is 1: the target window is halved, and the window in use approaches it by one segment
    // per ACK.
    assert_eq!((driver.field("window"), driver.cwnd()), (80.0, 160.0));
    driver.conn.state = fullpipe_cc::CaState::Open;
    for acks in 1..=10 {
        driver.ack(driver.conn.delivered, SMSS, MS(20));
        assert_eq!(driver.cwnd(), 160.0 - f64::from(acks));
    }
    assert_eq!(driver.transitions(), ["slow_start>congestion_avoidance"]);
}

#[test]
fn a_mark_takes_half_of_alpha_and_keeps_the_fraction() {
    let mut driver = avoiding(80.0, 0.1, &[]);
    let window = driver.field("window");
    driver.mark();
    assert!((driver.field("window") / window - 0.95).abs() < 1e-9);
    for _ in 0..10 {
        driver.mark();
    }
    assert!(
        (driver.field("window") / window - libm::pow(0.95, 11.0)).abs() < 1e-9,
        "the fraction is kept"
    );
}

#[test]
fn alpha_waits_for_the_first_mark() {
    let mut driver = Driver::new("prague", &[]);
    for _ in 0..5 {
        driver.round(MS(20));
    }
    assert_eq!(driver.field("alpha"), 1.0);
    driver.conn.cwnd_limited = false;
    driver.marked = 1.0;
    driver.round(MS(20));
    driver.marked = 0.0;
    for _ in 0..17 {
        driver.round(MS(20));
    }
    let alpha = driver.field("alpha");
    assert!(
        (alpha - libm::pow(15.0 / 16.0, 17.0)).abs() < 0.03,
        "{alpha}"
    );
}

#[test]
fn unmarked_packets_add_a_segment_a_window_though_others_are_marked() {
    let mut driver = avoiding(80.0, 0.0, &[]);
    let before = driver.field("window");
    driver.round(MS(50));
    assert!((driver.field("window") - before - 1.0).abs() < 0.05);
    // tcp_prague.c: growth continues in CWR, and marked packets do not count.
    driver.marked = 0.5;
    driver.conn.state = fullpipe_cc::CaState::Reduced;
    let before = driver.field("window");
    let marked_acks = driver.cwnd() as u64;
    for i in 0..marked_acks {
        driver.marked = if i % 2 == 0 { 1.0 } else { 0.0 };
        driver.ack(driver.conn.delivered, SMSS, MS(50));
    }
    assert!(
        (driver.field("window") - before - 0.5).abs() < 0.05,
        "{}",
        driver.field("window") - before
    );
}

#[test]
fn short_round_trips_grow_as_if_they_were_25_ms_after_500_rounds() {
    for (rtt, expected) in [(5, 0.04), (10, 0.16), (25, 1.0), (60, 1.0)] {
        let mut driver = avoiding(20.0, 0.0, &[]);
        driver.conn.cwnd_limited = false;
        driver.conn.inflight = Bytes::ZERO;
        for _ in 0..490 {
            driver.now += MS(rtt);
            driver.ack(driver.conn.delivered, SMSS, MS(rtt));
        }
        assert_eq!(driver.field("increase"), 1.0, "not yet");
        for _ in 0..100 {
            driver.now += MS(rtt);
            driver.ack(driver.conn.delivered, SMSS, MS(rtt));
        }
        assert!(
            (driver.field("increase") - expected).abs() < 1e-9,
            "{rtt} ms: {}",
            driver.field("increase")
        );
    }
    let mut driver = avoiding(20.0, 0.0, &[("rtt_scaling", word("none"))]);
    for _ in 0..600 {
        driver.now += MS(5);
        driver.ack(driver.conn.delivered, SMSS, MS(5));
    }
    assert_eq!(driver.field("increase"), 1.0);
}

#[test]
fn a_scaled_flow_is_reduced_once_a_target_round_trip() {
    let mut driver = avoiding(80.0, 0.2, &[("rtt_transition", ParamValue::Number(0.0))]);
    driver.now += MS(25);
    driver.mark();
    let after = driver.field("window");
    for _ in 0..4 {
        driver.now += MS(5);
        driver.mark();
        assert_eq!(driver.field("window"), after, "{}", driver.now);
    }
    driver.now += MS(5);
    driver.mark();
    assert!((driver.field("window") / after - 0.9).abs() < 1e-9);
}

#[test]
fn a_mark_too_early_does_not_put_off_the_next_answer() {
    let mut driver = avoiding(80.0, 0.2, &[("rtt_transition", ParamValue::Number(0.0))]);
    driver.now += MS(25);
    driver.mark();
    let after = driver.field("window");
    // A round trip later a mark begins the endpoint's next episode. During that episode no mark can
    // begin another one.
    driver.now += MS(21);
    driver.mark();
    driver.marked = 1.0;
    driver.now += MS(3);
    driver.ack(driver.conn.delivered, SMSS, MS(20));
    assert_eq!(
        driver.field("window"),
        after,
        "only 24 ms after the first reduction"
    );
    driver.now += MS(1);
    let left = after * (1.0 - driver.field("alpha") / 2.0);
    driver.ack(driver.conn.delivered, SMSS, MS(20));
    assert!(
        (driver.field("window") - left).abs() < 1e-9,
        "{} of {after}",
        driver.field("window")
    );
    driver.now += MS(20);
    driver.ack(driver.conn.delivered, SMSS, MS(20));
    assert!((driver.field("window") - left).abs() < 1e-9, "once");
}

#[test]
fn alpha_is_averaged_as_soon_as_the_target_round_trip_is_over() {
    let mut driver = avoiding(80.0, 0.0, &[("rtt_transition", ParamValue::Number(0.0))]);
    driver.conn.cwnd_limited = false;
    driver.conn.inflight = Bytes::ZERO;
    driver.marked = 1.0;
    driver.ack(driver.conn.delivered, SMSS, MS(10));
    let mut moved = Vec::new();
    for ms in 1..=100 {
        driver.now += MS(1);
        let before = driver.field("alpha");
        driver.ack(driver.conn.delivered, SMSS, MS(10));
        if driver.field("alpha") > before {
            moved.push(ms);
        }
    }
    assert_eq!(moved, [25, 50, 75, 100]);
}

#[test]
fn a_loss_halves_and_stops_growth_until_it_is_repaired() {
    let mut driver = avoiding(80.0, 0.0, &[]);
    let window = driver.field("window");
    driver.lose();
    assert_eq!(driver.field("window"), window / 2.0);
    driver.round(MS(50));
    assert_eq!(driver.field("window"), window / 2.0);
    driver.recover();
    driver.round(MS(50));
    assert!(driver.field("window") > window / 2.0);
    driver.lose();
    driver.recovery(fullpipe_cc::Recovery::Spurious);
    assert!(driver.field("window") >= window / 2.0 + 0.9);
}

#[test]
fn a_timeout_leaves_one_segment_and_leads_back_to_half() {
    let mut driver = avoiding(80.0, 0.0, &[]);
    let window = driver.field("window");
    driver.conn.inflight = SMSS * 80;
    driver.time_out(false);
    assert_eq!(driver.cwnd(), 1.0);
    driver.conn.inflight = SMSS;
    for _ in 0..60 {
        driver.ack(driver.conn.delivered, SMSS, MS(50));
    }
    assert_eq!(driver.cwnd(), (window / 2.0).ceil());
}

#[test]
fn paces_the_window_over_a_round_trip_in_bursts_of_a_quarter_of_a_millisecond() {
    let mut driver = avoiding(400.0, 0.0, &[]);
    driver.ack(driver.conn.delivered, SMSS, MS(10));
    let rate = driver.decision().pacing_rate.expect("it is paced").as_f64();
    let expected = driver.field("window") * 1448.0 * 8.0 / 0.01;
    assert!((rate / expected - 1.0).abs() < 1e-6, "{rate} of {expected}");
    let burst = driver.decision().send_quantum.as_f64() * 8.0 / rate;
    assert!((burst - 1.0 / 4096.0).abs() < 1e-6, "{burst}");
    let slow = Driver::new("prague", &[]);
    assert_eq!(slow.decision().send_quantum, SMSS);
}

#[test]
fn alone_at_a_step_of_a_millisecond_it_fills_the_link_with_a_short_queue() {
    // 40 Mbit/s: a packet takes 0.3 ms, so a step of 1 ms is three packets.
    for delay in [5, 20, 50] {
        let rate = Rate::from_mbps(40);
        let mut path = Path::new("prague", &[], rate, MS(delay), 1_000).marking(3);
        path.run(Time::ZERO + S(40), |_, _| ());
        let (mut delays, delivered) = (Vec::new(), path.conn.delivered);
        path.run(Time::ZERO + S(80), |path, _| delays.push(path.queue()));
        delays.sort_unstable();
        let p99 = delays[delays.len() * 99 / 100] as f64 * 0.3;
        let used = (path.conn.delivered - delivered).as_f64() * 8.0 * 1500.0
            / 1448.0
            / 40.0
            / rate.as_f64();
        assert!(p99 < 3.0, "{delay} ms: {p99} ms");
        assert!(used > 0.95, "{delay} ms: {used}");
        assert_eq!(path.conn.lost, Bytes::ZERO);
    }
}
