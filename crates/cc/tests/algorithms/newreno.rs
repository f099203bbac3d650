//! NewReno: RFC 5681, RFC 6582, RFC 3465.

use fullpipe_cc::{PathChange, Recovery};
use fullpipe_units::{Bytes, Span};

use super::driver::{Driver, SMSS, word};

const RTT: Span = Span::from_millis(100);

/// Returns a flow in congestion avoidance with a window of `segments`.
fn in_avoidance(segments: u64) -> Driver {
    let mut driver = Driver::new("newreno", &[]);
    while driver.cwnd() < 2.0 * segments as f64 {
        let missing = SMSS * (2 * segments) - driver.decision().cwnd;
        driver.ack(driver.conn.delivered, missing.min(SMSS * 2), RTT);
    }
    driver.lose();
    driver.recover();
    assert_eq!(driver.cwnd(), segments as f64);
    driver
}

#[test]
fn slow_start_doubles_the_window_every_round() {
    let mut driver = Driver::new("newreno", &[]);
    for window in [10.0, 20.0, 40.0, 80.0] {
        assert_eq!(driver.cwnd(), window);
        driver.round(RTT);
    }
}

#[test]
fn an_ack_counts_two_segments_at_most() {
    let mut driver = Driver::new("newreno", &[]);
    driver.ack(Bytes::ZERO, SMSS * 8, RTT);
    assert_eq!(driver.cwnd(), 12.0);
}

#[test]
fn linux_counts_whole_segments_and_halves_the_window() {
    let mut driver = Driver::new("newreno", &[("profile", word("linux"))]);
    driver.ack(Bytes::ZERO, SMSS * 5, RTT);
    assert_eq!(driver.cwnd(), 15.0, "no limit per ACK");
    driver.conn.cwnd_limited = false;
    driver.conn.inflight = SMSS * 4;
    driver.lose();
    assert_eq!(
        driver.cwnd(),
        7.0,
        "tcp_reno_ssthresh: half of 15, rounded down"
    );
    driver.recover();
    driver.conn.cwnd_limited = true;
    driver.time_out(false);
    assert_eq!((driver.cwnd(), driver.ssthresh()), (1.0, 3.0));
    driver.recover();
    // Two of five segments reach ssthresh, three begin congestion avoidance, where three make one.
    driver.ack(driver.conn.delivered, SMSS * 5, RTT);
    assert_eq!(driver.cwnd(), 4.0);
}

#[test]
fn in_linux_the_ack_that_ends_recovery_counts_after_it() {
    for (name, ended) in [("newreno", 50.0), ("cubic", 70.0)] {
        let mut driver = Driver::new(name, &[("profile", word("linux"))]);
        while driver.cwnd() < 100.0 {
            let missing = SMSS * 100 - driver.decision().cwnd;
            driver.ack(driver.conn.delivered, missing.min(SMSS * 2), RTT);
        }
        driver.lose();
        driver.ack(driver.conn.delivered, SMSS * 200, RTT);
        assert_eq!(driver.cwnd(), ended, "{name}: in recovery");
        driver.recover();
        assert!(driver.cwnd() > ended, "{name}: {}", driver.cwnd());
    }
}

#[test]
fn congestion_avoidance_adds_one_segment_a_round() {
    let mut driver = in_avoidance(50);
    for window in [50.0, 51.0, 52.0, 53.0] {
        assert_eq!(driver.cwnd(), window);
        driver.round(RTT);
    }
}

#[test]
fn all_losses_of_a_window_halve_it_once() {
    let mut driver = in_avoidance(80);
    driver.lose();
    assert_eq!((driver.cwnd(), driver.ssthresh()), (40.0, 40.0));
    // Later losses are in the same recovery, so the transport does not report a second Enter.
    driver.round(RTT);
    assert_eq!(driver.cwnd(), 40.0, "no growth in recovery");
    driver.recover();
    assert_eq!(driver.cwnd(), 40.0);
}

#[test]
fn a_flight_below_the_window_counts_not_the_window() {
    let mut driver = in_avoidance(80);
    driver.conn.inflight = SMSS * 30;
    driver.conn.cwnd_limited = false;
    driver.lose();
    assert_eq!(
        driver.ssthresh(),
        15.0,
        "half of 29 segments in flight plus one lost"
    );
}

#[test]
fn no_growth_while_the_window_is_not_used() {
    for mut driver in [Driver::new("newreno", &[]), in_avoidance(20)] {
        driver.conn.cwnd_limited = false;
        let window = driver.cwnd();
        driver.round(RTT);
        assert_eq!(driver.cwnd(), window);
    }
}

#[test]
fn a_timeout_restarts_from_one_segment_and_repeated_ones_keep_the_threshold() {
    let mut driver = in_avoidance(80);
    driver.time_out(false);
    assert_eq!((driver.cwnd(), driver.ssthresh()), (1.0, 40.0));
    driver.conn.inflight = SMSS;
    driver.time_out(true);
    assert_eq!(
        (driver.cwnd(), driver.ssthresh()),
        (1.0, 40.0),
        "RFC 5681 §3.1: ssthresh held constant"
    );
    driver.round(RTT);
    driver.round(RTT);
    assert_eq!(driver.cwnd(), 4.0, "slow start");
    while driver.cwnd() < 40.0 {
        driver.round(RTT);
    }
    assert_eq!(driver.cwnd(), 40.0, "slow start ends at the threshold");
    driver.round(RTT);
    assert_eq!(driver.cwnd(), 41.0);
}

#[test]
fn a_timeout_of_another_segment_reduces_again() {
    let mut driver = in_avoidance(80);
    driver.time_out(false);
    driver.conn.inflight = SMSS;
    driver.round(RTT);
    driver.round(RTT);
    assert_eq!((driver.cwnd(), driver.ssthresh()), (4.0, 40.0));
    driver.time_out(false);
    assert_eq!((driver.cwnd(), driver.ssthresh()), (1.0, 2.0));
}

#[test]
fn a_timeout_inside_recovery_is_a_second_sign_of_congestion() {
    let mut driver = in_avoidance(80);
    driver.lose();
    driver.conn.inflight = SMSS * 40;
    driver.time_out(false);
    assert_eq!((driver.cwnd(), driver.ssthresh()), (1.0, 20.0));
}

#[test]
fn the_threshold_is_two_segments_at_least() {
    let mut driver = in_avoidance(10);
    for window in [5.0, 2.5, 2.0, 2.0] {
        driver.lose();
        driver.recover();
        assert_eq!((driver.cwnd(), driver.ssthresh()), (window, window));
    }
}

#[test]
fn a_spurious_recovery_or_timeout_is_undone() {
    for timeout in [false, true] {
        let mut driver = in_avoidance(80);
        if timeout {
            driver.time_out(false)
        } else {
            driver.lose()
        }
        driver.conn.state = fullpipe_cc::CaState::Open;
        driver.recovery(Recovery::Spurious);
        assert_eq!((driver.cwnd(), driver.ssthresh()), (80.0, 80.0));
        driver.recovery(Recovery::Spurious);
        assert_eq!(driver.cwnd(), 80.0, "no reduction is left to undo");
    }
}

#[test]
fn a_mark_halves_as_a_loss_does_or_takes_less_by_abe() {
    let mut driver = in_avoidance(80);
    driver.mark();
    assert_eq!((driver.cwnd(), driver.ssthresh()), (40.0, 40.0));
    // RFC 8511 §3.1.
    let mut driver = Driver::new(
        "newreno",
        &[("beta_ecn", fullpipe_cc::ParamValue::Number(0.8))],
    );
    driver.mark();
    assert_eq!((driver.cwnd(), driver.ssthresh()), (8.0, 8.0));
    driver.recover();
    driver.lose();
    assert_eq!(driver.cwnd(), 4.0, "a loss still halves");
}

#[test]
fn persistent_congestion_leaves_the_minimum_window() {
    let mut driver = in_avoidance(80);
    driver.recovery(Recovery::Persistent);
    assert_eq!(driver.cwnd(), 2.0);
}

#[test]
fn a_larger_segment_lifts_a_window_below_it() {
    let mut driver = in_avoidance(80);
    driver.time_out(false);
    driver.conn.smss = Bytes::new(9_000);
    driver.call(|cc, cx| fullpipe_cc::Controller::on_path(cc, cx, PathChange::Mtu));
    assert_eq!(driver.decision().cwnd, Bytes::new(9_000));
}
