//! Loss: the bounds that it sets, and the undo of a spurious one.

use super::*;

#[test]
fn losses_end_startup_after_a_round_of_recovery_with_six_holes_and_two_per_cent() {
    for profile in PROFILES {
        for (holes, ends) in [(5, false), (6, true)] {
            let mut driver = flow(profile);
            driver.rate = Some(Rate::from_mbps(20));
            driver.round(RTT);
            driver.rate = Some(Rate::from_mbps(40));
            driver.round(RTT);
            let sent_before = driver.conn.delivered;
            driver.conn.state = fullpipe_cc::CaState::Recovery;
            for hole in 0..holes {
                lose_burst(&mut driver, 40, 1, hole + 1);
                driver.lost_in_ack = SMSS;
                driver.ack(Bytes::ZERO, SMSS, RTT);
            }
            assert_eq!(driver.field("state"), STARTUP);
            driver.conn.inflight = SMSS * 40;
            driver.lost_in_sample = SMSS * holes;
            driver.ack(sent_before, SMSS, RTT);
            assert_eq!(
                driver.field("state") == STARTUP,
                !ends,
                "{profile}, {holes} holes"
            );
            assert_eq!(driver.field("inflight_longterm") > 0.0, ends);
        }
    }
}

#[test]
fn a_loss_while_cruising_leaves_seven_tenths_or_what_is_delivered() {
    // Linux: 180/256.
    for (profile, beta) in [("draft", 0.7), ("linux", 180.0 / 256.0)] {
        for (delivered, left) in [(5, beta * 20e6), (18, 18e6)] {
            let mut driver = cruising_as(profile, Rate::from_mbps(20));
            driver.round_of(4, Span::from_millis(1), |_| RTT);
            driver.rate = Some(Rate::from_mbps(delivered));
            // The maximum of the previous round still counts in the round that the loss begins.
            driver.round_of(2, Span::from_millis(1), |_| RTT);
            driver.round_of(2, Span::from_millis(1), |_| RTT);
            driver.lose();
            driver.ack(driver.conn.delivered - SMSS, SMSS, RTT);
            assert_eq!(
                driver.field("bw_shortterm"),
                0.0,
                "not before the end of the round"
            );
            driver.round_of(1, Span::from_millis(1), |_| RTT);
            assert!(
                (driver.field("bw_shortterm") / left - 1.0).abs() < 1e-3,
                "{profile}: {left}"
            );
            assert!(driver.field("inflight_shortterm") > 0.0);
            assert_eq!(driver.field("inflight_longterm"), 0.0, "not probing");
        }
    }
}

#[test]
fn short_term_bounds_are_gone_when_probing_begins() {
    for profile in PROFILES {
        let mut driver = cruising_as(profile, Rate::from_mbps(20));
        driver.lose();
        driver.round(RTT);
        driver.round(RTT);
        assert!(driver.field("bw_shortterm") > 0.0);
        driver.recover();
        go_up(&mut driver);
        assert_eq!(
            (
                driver.field("bw_shortterm"),
                driver.field("inflight_shortterm")
            ),
            (0.0, 0.0),
            "{profile}"
        );
    }
}

#[test]
fn probing_that_loses_more_than_two_per_cent_sets_the_long_term_bound() {
    // A burst of four out of a hundred in flight: of the 96 before it, 1.92 may be lost, so 1.92 /
    // 0.98 of the burst fit. Linux counts whole packets: ceil(96 * 5 / 256) = 2.
    for (profile, bound) in [("draft", 96.0 + 1.92 / 0.98), ("linux", 98.0)] {
        let mut driver = cruising_as(profile, Rate::from_mbps(20));
        go_up(&mut driver);
        lose_burst(&mut driver, 100, 1, 1);
        assert_eq!(
            (driver.field("state"), driver.field("inflight_longterm")),
            (UP, 0.0),
            "a loss of one in a hundred is tolerated"
        );
        lose_burst(&mut driver, 100, 4, 4);
        assert!(
            (segments(&driver, "inflight_longterm") - bound).abs() < 1e-3,
            "{profile}"
        );
        assert_eq!(driver.field("state"), DOWN);
        lose_burst(&mut driver, 50, 4, 8);
        assert!(
            (segments(&driver, "inflight_longterm") - bound).abs() < 1e-3,
            "one reaction per probe"
        );
    }
}

#[test]
fn the_long_term_bound_is_at_least_seven_tenths_of_what_was_wanted_in_flight() {
    let bdp: f64 = 20e6 * 0.04 / 8.0 / 1_448.0;
    for (profile, bound) in [
        ("draft", 0.7 * bdp),
        ("linux", (180.0 / 256.0) * (bdp.ceil() + 2.0)),
    ] {
        let mut driver = cruising_as(profile, Rate::from_mbps(20));
        go_up(&mut driver);
        lose_burst(&mut driver, 10, 1, 1);
        assert!(
            (segments(&driver, "inflight_longterm") - bound).abs() < 1e-3,
            "{profile}"
        );
    }
}

#[test]
fn cruising_leaves_fifteen_per_cent_of_the_long_term_bound() {
    // The draft's bound is the inflight at which losses exceeded 2 %; Linux's is the BDP plus two
    // segments, times 180/256.
    for (profile, cwnd) in [
        ("draft", 97.959 * 0.85),
        ("linux", 141.0 * 180.0 / 256.0 - 14.0),
    ] {
        let mut driver = cruising_as(profile, Rate::from_mbps(40));
        go_up(&mut driver);
        lose_burst(&mut driver, 100, 4, 4);
        while driver.field("state") != CRUISE {
            driver.conn.inflight = SMSS * 20;
            driver.round_of(20, Span::from_millis(1), |_| RTT);
        }
        driver.conn.inflight = SMSS * 20;
        driver.round_of(60, Span::from_micros(10), |_| RTT);
        assert_eq!(driver.field("state"), CRUISE);
        assert!(
            (driver.cwnd() - cwnd).abs() < 0.01,
            "{profile}: {} not {cwnd}",
            driver.cwnd()
        );
    }
}

#[test]
fn a_careful_probe_ends_when_no_segment_more_fits_below_the_bound() {
    let mut driver = cruising_as("draft", Rate::from_mbps(40));
    go_up(&mut driver);
    lose_burst(&mut driver, 100, 4, 4);
    while driver.field("state") != CRUISE {
        driver.conn.inflight = SMSS * 20;
        driver.round_of(20, Span::from_millis(1), |_| RTT);
    }
    let bound = segments(&driver, "inflight_longterm");
    assert!(
        bound.fract() > 0.05,
        "{bound} is not a whole number of segments"
    );
    driver.now += Span::from_secs(3);
    step_into(&mut driver, UP);
    for (in_flight, state) in [(bound as u64 - 1, UP), (bound as u64, DOWN)] {
        driver.conn.inflight = SMSS * in_flight;
        driver.ack(Bytes::ZERO, SMSS, RTT);
        assert_eq!(
            driver.field("state"),
            state,
            "{in_flight} of {bound} in flight when the ACK arrived"
        );
    }
    assert_eq!(
        driver.log.0.last().unwrap().1.reason,
        "as much in flight as was too much the last time"
    );
}

#[test]
fn the_bound_rises_by_1_2_4_8_segments_a_round() {
    for profile in PROFILES {
        let mut driver = cruising_as(profile, Rate::from_mbps(40));
        go_up(&mut driver);
        lose_burst(&mut driver, 100, 4, 4);
        while driver.field("state") != CRUISE {
            driver.conn.inflight = SMSS * 20;
            driver.round_of(20, Span::from_millis(1), |_| RTT);
        }
        // The next probe is careful: it ends where the last one failed, and the one after it begins
        // immediately.
        driver.now += Span::from_secs(3);
        step_into(&mut driver, UP);
        driver.conn.inflight = SMSS * 110;
        driver.ack(Bytes::ZERO, SMSS, RTT);
        assert_eq!(driver.field("state"), DOWN, "{profile}");
        assert_eq!(
            driver.log.0.last().unwrap().1.reason,
            "as much in flight as was too much the last time"
        );
        step_into(&mut driver, UP);
        let reasons: Vec<_> = driver
            .log
            .0
            .iter()
            .map(|(_, change)| change.reason)
            .collect();
        assert!(
            reasons.contains(&"the careful probe met no resistance"),
            "{profile}: {reasons:?}"
        );
        let mut bounds = vec![segments(&driver, "inflight_longterm")];
        let before_up = driver.conn.delivered - SMSS;
        for _ in 0..driver.cwnd() as u64 {
            driver.ack(before_up, SMSS, RTT);
        }
        bounds.push(segments(&driver, "inflight_longterm"));
        for _ in 0..3 {
            driver.round(RTT);
            bounds.push(segments(&driver, "inflight_longterm"));
        }
        let rises: Vec<f64> = bounds
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).round())
            .collect();
        for (rise, expected) in rises.iter().zip([1.0, 2.0, 4.0, 8.0]) {
            assert!((rise - expected).abs() <= 1.0, "{profile}: {rises:?}");
        }
    }
}

#[test]
fn a_spurious_loss_in_up_gives_back_the_bound_and_in_the_draft_the_probe() {
    for (profile, state) in [("draft", REFILL), ("linux", DOWN)] {
        let mut driver = cruising_as(profile, Rate::from_mbps(20));
        go_up(&mut driver);
        let before = driver.cwnd();
        lose_burst(&mut driver, 100, 4, 4);
        driver.recovery(Recovery::Enter(fullpipe_cc::RecoveryCause::Loss));
        assert_eq!(driver.field("state"), DOWN);
        driver.recovery(Recovery::Spurious);
        assert_eq!(driver.field("state"), state, "{profile}");
        if profile == "draft" {
            assert_eq!(driver.field("inflight_longterm"), 0.0);
            assert!(
                (driver.cwnd() - before).abs() <= 15.0,
                "{} of {before}",
                driver.cwnd()
            );
        }
    }
}

/// Linux: `bbr_ssthresh` saves the bounds again when an episode follows another. An undo of the second
/// episode keeps the reductions of the first.
#[test]
fn a_second_episode_gives_back_what_it_took_itself() {
    for profile in PROFILES {
        let mut driver = cruising_as(profile, Rate::from_mbps(20));
        go_up(&mut driver);
        driver.lose();
        lose_burst(&mut driver, 100, 4, 4);
        driver.ack(driver.conn.delivered, SMSS, RTT);
        let bound = driver.field("inflight_longterm");
        assert!(bound > 0.0, "{profile}");
        driver.recovery(Recovery::Enter(fullpipe_cc::RecoveryCause::Loss));
        driver.conn.state = fullpipe_cc::CaState::Open;
        driver.recovery(Recovery::Spurious);
        assert_eq!(driver.field("inflight_longterm"), bound, "{profile}");
    }
}

#[test]
fn further_losses_of_an_episode_leave_what_is_given_back_alone() {
    let mut driver = cruising_as("draft", Rate::from_mbps(20));
    go_up(&mut driver);
    let before = driver.cwnd();
    lose_burst(&mut driver, 100, 4, 4);
    driver.recovery(Recovery::Enter(fullpipe_cc::RecoveryCause::Loss));
    driver.ack(driver.conn.delivered, SMSS, RTT);
    lose_burst(&mut driver, 100, 4, 8);
    driver.ack(driver.conn.delivered, SMSS, RTT);
    assert_eq!(driver.field("state"), DOWN);
    driver.recovery(Recovery::Spurious);
    assert_eq!(driver.field("state"), REFILL);
    assert_eq!(driver.field("inflight_longterm"), 0.0);
    assert!(
        (driver.cwnd() - before).abs() <= 15.0,
        "{} of {before}",
        driver.cwnd()
    );
}

#[test]
fn the_probe_that_is_given_back_refills_for_a_round() {
    let mut driver = cruising_as("draft", Rate::from_mbps(20));
    go_up(&mut driver);
    let sent_before = driver.conn.delivered;
    lose_burst(&mut driver, 100, 4, 4);
    driver.recovery(Recovery::Spurious);
    assert_eq!(driver.field("state"), REFILL);
    driver.ack(sent_before, SMSS, RTT);
    assert_eq!(driver.field("state"), REFILL, "this packet was sent before");
    driver.ack(driver.conn.delivered, SMSS, RTT);
    assert_eq!(driver.field("state"), UP);
}

#[test]
fn a_timeout_leaves_one_segment_and_the_next_ack_four() {
    for profile in PROFILES {
        let mut driver = cruising_as(profile, Rate::from_mbps(20));
        driver.round(RTT);
        let before = driver.cwnd();
        driver.conn.inflight = SMSS * 40;
        driver.time_out(false);
        assert_eq!(driver.cwnd(), 1.0, "{profile}");
        driver.ack(driver.conn.delivered, SMSS, RTT);
        assert_eq!(driver.cwnd(), 4.0, "{profile}");
        driver.recover();
        assert!(
            driver.cwnd() > 0.6 * before,
            "{profile}: {} of {before}",
            driver.cwnd()
        );
    }
}

#[test]
fn in_a_shallow_buffer_it_loses_little_in_the_long_run() {
    for profile in PROFILES {
        let mut path = Path::new(
            "bbr3",
            &[("profile", word(profile))],
            Rate::from_mbps(40),
            RTT,
            68,
        );
        path.run(seconds(5.0), |_, _| {});
        let (lost, delivered) = (path.conn.lost, path.conn.delivered);
        path.run(seconds(35.0), |_, _| {});
        let rate = (path.conn.lost - lost).as_f64() / (path.conn.delivered - delivered).as_f64();
        let goodput = (path.conn.delivered - delivered).as_f64() * 8.0 / 30.0;
        assert!(
            rate < 0.005 && goodput > 0.9 * 40e6 * 0.965,
            "{profile}: {rate} lost at {goodput}"
        );
    }
}
