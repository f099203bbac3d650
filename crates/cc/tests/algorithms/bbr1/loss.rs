//! Loss: recovery, timeouts, and the detection of a policer.

use super::*;

#[test]
fn recovery_conserves_packets_for_a_round_and_then_grows_back() {
    let mut driver = in_probe_bw(Rate::from_mbps(20));
    for _ in 0..20 {
        driver.round(RTT);
    }
    let before = driver.cwnd();
    driver.conn.inflight = SMSS * 50;
    driver.lose();
    assert_eq!(driver.cwnd(), before, "nothing happens until the next ACK");
    let delivered = driver.conn.delivered - SMSS;
    driver.ack(delivered, SMSS, RTT);
    assert_eq!(driver.field("packet_conservation"), 1.0);
    assert_eq!(driver.cwnd(), 49.0, "data in flight plus data delivered");
    driver.ack(delivered, SMSS, RTT);
    assert_eq!(driver.cwnd(), 49.0);
    // A packet sent in recovery is acknowledged: from now on the window grows by the delivered
    // data.
    driver.ack(driver.conn.delivered, SMSS, RTT);
    assert_eq!(
        (driver.field("packet_conservation"), driver.cwnd()),
        (0.0, 50.0)
    );
    driver.recover();
    assert!(
        (driver.cwnd() - before).abs() <= 2.0,
        "restored, except for the phase's two segments"
    );
}

/// Linux's BBR sees only the state after an ACK: an episode right after another is no new recovery.
#[test]
fn a_second_episode_conserves_no_packets_again() {
    let mut driver = in_probe_bw(Rate::from_mbps(20));
    for _ in 0..20 {
        driver.round(RTT);
    }
    driver.conn.inflight = SMSS * 50;
    driver.lose();
    driver.ack(driver.conn.delivered - SMSS, SMSS, RTT);
    driver.ack(driver.conn.delivered, SMSS, RTT);
    assert_eq!(driver.field("packet_conservation"), 0.0);
    driver.lose();
    driver.ack(driver.conn.delivered - SMSS, SMSS, RTT);
    assert_eq!(driver.field("packet_conservation"), 0.0);
}

#[test]
fn a_timeout_leaves_one_segment_and_the_next_ack_four() {
    let mut driver = in_probe_bw(Rate::from_mbps(20));
    for _ in 0..20 {
        driver.round(RTT);
    }
    let before = driver.cwnd();
    driver.time_out(false);
    assert_eq!((driver.cwnd(), driver.field("full_bw")), (1.0, 0.0));
    driver.ack(driver.conn.delivered, SMSS, RTT);
    assert_eq!(driver.cwnd(), 4.0);
    driver.recover();
    assert!((driver.cwnd() - before).abs() <= 2.0);
}

#[test]
fn a_spurious_recovery_restores_the_window_and_looks_for_the_full_pipe_anew() {
    let mut driver = Driver::new("bbr1", &[]);
    driver.rate = Some(Rate::from_mbps(20));
    for _ in 0..3 {
        driver.round(RTT);
    }
    assert_eq!(driver.field("full_bw_count"), 2.0);
    let before = driver.cwnd();
    driver.conn.inflight = SMSS * 5;
    driver.lose();
    driver.ack(driver.conn.delivered - SMSS, SMSS, RTT);
    assert!(driver.cwnd() < before);
    driver.conn.state = fullpipe_cc::CaState::Open;
    driver.recovery(Recovery::Spurious);
    assert_eq!(
        (
            driver.cwnd(),
            driver.field("full_bw_count"),
            driver.field("full_bw")
        ),
        (before, 0.0, 0.0)
    );
}

#[test]
fn a_restart_from_idle_paces_at_the_bandwidth() {
    let mut driver = in_probe_bw(Rate::from_mbps(20));
    while driver.field("phase") != 0.0 {
        driver.round(RTT);
    }
    assert_eq!(
        driver.decision().pacing_rate,
        Some(Rate::from_bps(24_750_000)),
        "gain of 1.25, less a margin of 1 %"
    );
    driver.now += Span::from_secs(20);
    driver.conn.app_limited = true;
    let first = Snapshot {
        inflight: SMSS,
        ..driver.packet(driver.conn.delivered)
    };
    driver.call(|cc, cx| cc.on_sent(cx, &first));
    assert_eq!(
        driver.decision().pacing_rate,
        Some(Rate::from_bps(19_800_000))
    );
    // The idle period has drained the path: no PROBE_RTT, although the minimum has expired.
    driver.ack(driver.conn.delivered, SMSS, RTT);
    assert_eq!(driver.field("state"), 2.0);
}

#[test]
fn loss_does_not_slow_it_down() {
    // A queue of a quarter BDP, which STARTUP and each probe overflow.
    let mut path = Path::new("bbr1", &[], Rate::from_mbps(40), RTT, 34);
    path.run(seconds(5), |_, _| {});
    let before = path.conn.delivered;
    path.run(seconds(9), |_, _| {});
    let goodput = (path.conn.delivered - before).as_f64() * 8.0 / 4.0;
    assert!(
        path.conn.lost > SMSS * 100 && goodput > 0.93 * BANDWIDTH,
        "{} of {BANDWIDTH}",
        goodput
    );
}

/// Acknowledges a round of forty ACKs in which `lost` segments are lost.
fn policed_round(driver: &mut Driver, lost: u64) {
    driver.conn.lost += SMSS * lost;
    driver.lost_in_ack = SMSS * lost;
    driver.round_of(40, RTT / 40, |_| RTT);
}

#[test]
fn two_intervals_of_much_loss_and_one_rate_show_a_policer_whose_rate_is_kept_for_48_rounds() {
    let mut driver = in_probe_bw(Rate::from_mbps(20));
    // 10 lost of 40 exceed the threshold of 50 per 256 delivered. An interval lasts at least four
    // rounds.
    for round in 0..8 {
        assert_eq!(driver.field("policer_bw"), 0.0, "round {round}");
        policed_round(&mut driver, 10);
    }
    let rate = 40.0 * 1_448.0 * 8.0 / 0.04;
    let found = driver.field("policer_bw");
    assert!((found / rate - 1.0).abs() < 0.03, "{found} of {rate}");
    assert_eq!(driver.field("pacing_gain"), 1.0);
    let paced = driver.decision().pacing_rate.unwrap().as_f64();
    assert!((paced / (0.99 * found) - 1.0).abs() < 1e-6);
    let mut rounds = 0;
    while driver.field("policer_bw") > 0.0 {
        policed_round(&mut driver, 0);
        rounds += 1;
    }
    assert_eq!(rounds, 48);
}

#[test]
fn little_loss_or_another_rate_show_none() {
    // 7 of 40 are less than 50 of 256.
    let mut driver = in_probe_bw(Rate::from_mbps(20));
    for _ in 0..40 {
        policed_round(&mut driver, 7);
    }
    assert_eq!(driver.field("policer_bw"), 0.0);
    // Each interval takes twice as long as the previous one.
    let mut driver = in_probe_bw(Rate::from_mbps(20));
    for round in 0..20 {
        driver.conn.lost += SMSS * 10;
        driver.lost_in_ack = SMSS * 10;
        driver.round_of(40, (RTT / 40) * (1 << (round / 4)), |_| RTT);
    }
    assert_eq!(driver.field("policer_bw"), 0.0);
}

#[test]
fn the_estimator_can_be_turned_off() {
    let mut driver = Driver::new(
        "bbr1",
        &[("policer_estimator", fullpipe_cc::ParamValue::Flag(false))],
    );
    driver.rate = Some(Rate::from_mbps(20));
    for _ in 0..40 {
        policed_round(&mut driver, 10);
    }
    assert_eq!(driver.field("policer_bw"), 0.0);
}
