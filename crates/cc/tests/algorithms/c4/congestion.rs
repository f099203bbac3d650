//! Signs of congestion, and the reactions to them (§5).

use fullpipe_units::{Rate, Span};

use super::{FAST, Flow, MS, RTT, SLOW, near};
use crate::algorithms::driver::SMSS;

/// §5.1.
#[test]
fn sensitivity_is_linear_in_the_rate_between_its_four_points() {
    let points = [
        (10e3, 0.0),
        (50e3, 0.0),
        (525e3, 0.46),
        (1e6, 0.92),
        (5.5e6, 0.96),
        (10e6, 1.0),
        (1e9, 1.0),
    ];
    for (rate, sensitivity) in points {
        let mut flow = Flow::new(Some(Rate::from_bps_f64(rate * 8.0)));
        flow.end_era(RTT);
        near(flow.get("sensitivity"), sensitivity);
    }
}

/// §5.2, §5.5.1: at 20 Mbit/s the threshold is 7.5 % of the nominal max RTT.
#[test]
fn delay_reduces_the_rate_by_its_excess_over_the_threshold_and_by_a_quarter_at_most() {
    let mut flow = Flow::cruising(FAST);
    flow.ack(Span::from_micros(107_490));
    assert!(flow.log().is_empty());
    flow.ack(Span::from_micros(108_250));
    assert_eq!(flow.log(), ["recovery: delay"]);
    near(flow.rate(), 0.9 * FAST.as_f64());
    let mut flow = Flow::cruising(FAST);
    flow.ack(MS(120));
    near(flow.rate(), 0.75 * FAST.as_f64());
    near(flow.get("nominal_max_rtt"), 0.1);
    // The threshold of a slow flow: a quarter, at most 25 ms.
    let mut flow = Flow::cruising(SLOW);
    flow.ack(Span::from_micros(124_900));
    assert!(flow.log().is_empty());
    flow.ack(MS(126));
    assert_eq!(flow.log(), ["recovery: delay"]);
}

/// §5.3: one loss makes a rate of 1/16; the threshold is 0.02 + 0.5 (1 - sensitivity).
#[test]
fn one_loss_counts_from_eight_megabits_on_and_slower_flows_bear_more() {
    for (rate, losses) in [(8_000_000, 1), (7_900_000, 2), (6_600_000, 3)] {
        let rate = Rate::from_bps(rate);
        let mut flow = Flow::cruising(rate);
        flow.driver.lose_packets(losses - 1);
        assert!(flow.log().is_empty(), "{rate:?}");
        let mut flow = Flow::cruising(rate);
        flow.driver.lose_packets(losses);
        assert_eq!(flow.log(), ["recovery: loss"]);
        // §5.5.1; picoquic for the nominal max RTT.
        near(flow.rate(), 0.75 * rate.as_f64());
        near(flow.get("nominal_max_rtt"), 0.075);
    }
}

/// §5.3.
#[test]
fn arrivals_let_the_loss_rate_decay_by_a_sixteenth_each() {
    let mut flow = Flow::cruising(SLOW);
    flow.driver.lose_packets(1);
    flow.driver.recover();
    for _ in 0..10 {
        flow.ack(RTT);
    }
    // (15/16)^10.
    near(flow.get("loss_rate"), 0.0625 * 0.524_460);
}

/// §5.3.1.
#[test]
fn a_timeout_sends_one_packet_and_changes_nothing_else() {
    let mut flow = Flow::cruising(FAST);
    let (rate, window) = (flow.rate(), flow.driver.cwnd());
    flow.driver.conn.inflight = SMSS * 10;
    for again in [false, true] {
        flow.driver.time_out(again);
        assert_eq!(flow.driver.cwnd(), 1.0);
        flow.driver.conn.inflight = flow.driver.decision().cwnd;
    }
    flow.ack(RTT);
    assert!(flow.log().is_empty());
    assert_eq!((flow.rate(), flow.driver.cwnd()), (rate, window));
    assert_eq!(flow.get("loss_rate"), 0.0);
}

/// §5.4, §5.5.1: at 20 Mbit/s the threshold is 0.1.
#[test]
fn marks_count_by_their_average_and_reduce_the_rate_by_its_excess() {
    let mut flow = Flow::cruising(FAST);
    flow.driver.marked = 0.09;
    for _ in 0..100 {
        flow.ack(RTT);
    }
    assert!(flow.log().is_empty());
    let mut flow = Flow::cruising(FAST);
    flow.driver.marked = 0.2;
    for _ in 0..10 {
        flow.ack(RTT);
    }
    assert!(flow.log().is_empty());
    flow.ack(RTT);
    assert_eq!(flow.log(), ["recovery: marks"]);
    let alpha = flow.get("ecn_alpha");
    // 1 - (15/16)^11.
    assert!((alpha - 0.2 * 0.508_318).abs() < 1e-3);
    near(flow.rate(), (1.0 - (alpha - 0.1) / 0.1) * FAST.as_f64());
    // It is zero again at the end of Recovery.
    flow.driver.marked = 0.0;
    flow.end_era(RTT);
    assert_eq!(flow.get("ecn_alpha"), 0.0);
}

/// §5.4: from one half on, the fraction of one ACK is the average.
#[test]
fn an_ack_with_half_of_its_packets_marked_counts_at_once() {
    let mut flow = Flow::cruising(FAST);
    flow.driver.marked = 0.5;
    flow.ack(RTT);
    assert_eq!(flow.log(), ["recovery: marks"]);
    near(flow.get("ecn_alpha"), 0.5);
    near(flow.rate(), 0.75 * FAST.as_f64());
}

/// Without counts of marks, as with the echo of RFC 3168.
#[test]
fn an_echo_without_counts_reduces_the_rate_as_a_loss_does() {
    let mut flow = Flow::cruising(FAST);
    flow.driver.mark();
    assert_eq!(flow.log(), ["recovery: marks"]);
    near(flow.rate(), 0.75 * FAST.as_f64());
}

/// §5.5, §4.7.
#[test]
fn in_probing_and_pushing_congestion_only_ends_the_state() {
    for state in ["probing", "pushing"] {
        let mut flow = Flow::cruising(FAST);
        if state == "pushing" {
            flow.until("recovery");
            flow.driver.rate = Some(FAST.mul_f64(1.01));
            flow.ack(RTT);
        }
        flow.until(state);
        let rate = flow.rate();
        flow.driver.lose_packets(1);
        assert_eq!(flow.log().last().expect("a change"), "recovery: loss");
        assert_eq!(flow.rate(), rate);
        near(flow.get("nominal_max_rtt"), 0.1);
    }
}

/// §4.2.
#[test]
fn initial_ends_by_loss_after_twenty_packets() {
    let mut flow = Flow::new(Some(FAST));
    flow.end_era(RTT);
    for _ in 1..20 {
        flow.ack(RTT);
    }
    flow.driver.lose_packets(1);
    flow.driver.recover();
    assert!(flow.log().is_empty());
    flow.ack(RTT);
    flow.driver.lose_packets(1);
    assert_eq!(flow.log(), ["recovery: loss"]);
    assert_eq!(flow.rate(), FAST.as_f64());
}

/// §4.2.
#[test]
fn initial_ends_by_delay_only_after_two_eras_without_an_increase() {
    let mut flow = Flow::new(Some(FAST));
    flow.end_era(RTT);
    for _ in 0..2 {
        assert!(flow.log().is_empty());
        flow.ack(MS(200));
        flow.end_era(RTT);
    }
    near(flow.get("nominal_max_rtt"), 0.1);
    assert!(flow.log().is_empty());
    flow.ack(MS(200));
    assert_eq!(flow.log(), ["recovery: delay"]);
}

/// §3.1, §4.4.
#[test]
fn in_recovery_congestion_only_keeps_the_nominal_rate_from_rising() {
    for congested in [false, true] {
        let mut flow = Flow::cruising(FAST);
        flow.until("recovery");
        if congested {
            flow.driver.lose_packets(1);
            flow.driver.recover();
        }
        flow.driver.rate = Some(FAST.mul_f64(1.1));
        flow.ack(RTT);
        assert_eq!(flow.driver.log.0.len(), 2, "{:?}", flow.log());
        let expected = if congested { 20e6 } else { 22e6 };
        near(flow.rate(), expected);
        flow.end_era(RTT);
        assert_eq!(flow.get("congestions"), f64::from(u8::from(congested)));
    }
}

/// §5.5.2.
#[test]
fn the_second_congestion_in_a_row_resets_the_rate_to_the_measured_one() {
    let mut flow = Flow::cruising(FAST);
    flow.driver.rate = Some(Rate::from_mbps(10));
    flow.driver.lose_packets(1);
    flow.driver.recover();
    flow.end_era(RTT);
    near(flow.rate(), 15e6);
    flow.driver.lose_packets(1);
    flow.driver.recover();
    near(flow.rate(), 11.25e6);
    flow.end_era(RTT);
    assert_eq!(flow.get("congestions"), 2.0);
    near(flow.rate(), 10e6);
    // A cycle without congestion ends the row.
    flow.until("cruising");
    assert_eq!(flow.get("congestions"), 0.0);
}

/// §5.6.
#[test]
fn a_rate_that_did_not_grow_is_trimmed_halfway_to_the_measured_one() {
    for (limited, expected) in [(false, 19e6), (true, 20e6)] {
        let mut flow = Flow::cruising(FAST);
        flow.driver.rate = Some(Rate::from_mbps(18));
        flow.until("probing");
        flow.driver.conn.app_limited = limited;
        flow.until("cruising");
        near(flow.rate(), expected);
    }
}
