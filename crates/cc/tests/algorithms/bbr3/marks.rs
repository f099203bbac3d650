//! The reaction to CE marks.

use super::*;

fn answering(profile: &str, rate: Rate) -> Driver {
    cruising(
        &[
            ("profile", word(profile)),
            ("ecn", ParamValue::Flag(true)),
            MAX_RTT,
        ],
        rate,
    )
}

/// Makes marks count at any RTT, including the tests' 40 ms.
const MAX_RTT: (&str, ParamValue) = ("ecn_max_rtt", ParamValue::Number(0.0));

#[test]
fn mean_nothing_when_they_are_not_answered() {
    for profile in PROFILES {
        let mut driver = cruising_as(profile, Rate::from_mbps(20));
        driver.marked = 1.0;
        for _ in 0..10 {
            driver.round(RTT);
        }
        assert_eq!(driver.field("inflight_shortterm"), 0.0, "{profile}");
        assert_eq!(driver.decision().ecn, fullpipe_cc::EcnCodepoint::NotEct);
    }
}

#[test]
fn a_round_of_them_cuts_the_window_by_a_third_of_their_average() {
    // alpha falls by 1/16 in each round without marks: to (15/16)^n after n rounds.
    let mut driver = answering("linux", Rate::from_mbps(20));
    assert_eq!(driver.decision().ecn, fullpipe_cc::EcnCodepoint::Ect0);
    for _ in 0..5 {
        driver.round(RTT);
    }
    let (alpha, cwnd) = (driver.field("ecn_alpha"), driver.cwnd());
    driver.round(RTT);
    assert!((driver.field("ecn_alpha") / alpha - 15.0 / 16.0).abs() < 1e-9);
    driver.marked = 1.0;
    driver.mark();
    driver.round_of(1, Span::from_millis(1), |_| RTT);
    driver.marked = 0.0;
    let alpha = driver.field("ecn_alpha");
    let cut = 1.0 - alpha * 85.0 / 256.0;
    let found = segments(&driver, "inflight_shortterm") / cwnd;
    assert!((found - cut).abs() < 0.02, "{found} for {cut}");
    assert_eq!(
        driver.field("bw_shortterm"),
        0.0,
        "v3 does not change the bandwidth"
    );
}

#[test]
fn two_rounds_of_more_than_half_end_startup() {
    let params = [
        ("profile", word("linux")),
        ("ecn", ParamValue::Flag(true)),
        MAX_RTT,
    ];
    let mut driver = Driver::new("bbr3", &params);
    for (round, mbps) in [5, 10, 20, 40].into_iter().enumerate() {
        driver.rate = Some(Rate::from_mbps(mbps));
        driver.marked = if round >= 1 { 0.6 } else { 0.0 };
        driver.round(RTT);
    }
    assert_ne!(driver.field("state"), STARTUP);
    assert_eq!(driver.log.0[0].1.reason, "startup met too much congestion");
}

/// `bbr_check_time_to_probe_bw` requires TCP_CA_Open: no probe while one window with marks follows
/// another.
#[test]
fn probing_begins_anew_when_marks_have_ceased_and_not_before() {
    let mut driver = answering("linux", Rate::from_mbps(20));
    for _ in 0..3 {
        driver.mark();
        driver.marked = 0.2;
        driver.round_of(4, Span::from_millis(1), |_| RTT);
        driver.marked = 0.0;
        driver.round_of(4, Span::from_millis(1), |_| RTT);
        assert_eq!(driver.field("state"), CRUISE, "the episode continues");
        driver.recover();
    }
    driver.round_of(1, Span::from_millis(1), |_| RTT);
    assert_eq!(
        driver.log.0.last().map(|(_, change)| change.reason),
        Some("marks have ceased")
    );
}

#[test]
fn probing_that_meets_more_than_half_ends() {
    let mut driver = answering("linux", Rate::from_mbps(20));
    go_up(&mut driver);
    driver.marked = 0.6;
    driver.mark();
    driver.round_of(4, Span::from_millis(1), |_| RTT);
    assert_eq!(driver.field("state"), DOWN);
    assert!(driver.field("inflight_longterm") > 0.0);
}
