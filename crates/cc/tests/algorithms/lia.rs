//! LIA: RFC 6356.

use fullpipe_cc::{Controller, Shared};
use fullpipe_units::{Bytes, Span};

use super::driver::{Driver, SMSS};

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// Makes `driver` a flow in congestion avoidance with a window of `segments`.
fn bring_to(driver: &mut Driver, segments: u64, rtt: Span) {
    while driver.cwnd() < 2.0 * segments as f64 {
        let missing = SMSS * (2 * segments) - driver.decision().cwnd;
        driver.ack(driver.conn.delivered, missing.min(SMSS * 2), rtt);
    }
    driver.lose();
    driver.recover();
    assert_eq!(driver.cwnd(), segments as f64);
}

/// Subflows of one connection in congestion avoidance, each with a window in segments and an RTT in
/// milliseconds.
fn connection<const N: usize>(subflows: [(u64, u64); N]) -> [Driver; N] {
    let shared = &mut Shared::default();
    subflows.map(|(segments, rtt)| {
        let mut driver = Driver::in_group("lia", "phone", shared);
        bring_to(&mut driver, segments, ms(rtt));
        driver
    })
}

/// Acknowledges nothing, so that the subflow looks at its siblings.
fn look(driver: &mut Driver) {
    let (delivered, rtt) = (driver.conn.delivered, driver.conn.srtt);
    driver.ack(delivered, Bytes::ZERO, rtt);
}

fn alpha(driver: &mut Driver) -> f64 {
    look(driver);
    driver.field("alpha")
}

fn close(found: f64, expected: f64) {
    assert!(
        (found / expected - 1.0).abs() < 1e-9,
        "{found} instead of {expected}"
    );
}

/// Segments of a subflow's own acknowledged data for which its window grows by one.
fn needed(driver: &mut Driver) -> u64 {
    let rtt = driver.conn.srtt;
    let start = driver.cwnd();
    // From the first increase to the second: the count before it is not known.
    let mut counts = [0, 0];
    for (step, count) in counts.iter_mut().enumerate() {
        while driver.cwnd() < start + step as f64 + 1.0 {
            driver.ack(driver.conn.delivered, SMSS, rtt);
            *count += 1;
        }
    }
    counts[1]
}

#[test]
fn with_equal_windows_and_rtts_alpha_is_one_over_the_number_of_subflows() {
    close(alpha(&mut connection([(40, 100)])[0]), 1.0);
    close(alpha(&mut connection([(40, 100); 2])[0]), 1.0 / 2.0);
    close(alpha(&mut connection([(40, 100); 3])[1]), 1.0 / 3.0);
    close(alpha(&mut connection([(40, 100); 5])[4]), 1.0 / 5.0);
}

#[test]
fn with_equal_rtts_alpha_is_the_largest_share_of_the_window() {
    // 60 · (40/r²) / (60/r)² = 40/60.
    for driver in &mut connection([(40, 100), (20, 100)]) {
        close(alpha(driver), 2.0 / 3.0);
    }
}

#[test]
fn alpha_is_that_of_equation_2() {
    // Units of 1/100 ms: 50 · max(40/1, 10/16) / (40/1 + 10/4)² = 50 · 40 / 42.5².
    for driver in &mut connection([(40, 100), (10, 400)]) {
        close(alpha(driver), 2_000.0 / 1_806.25);
        assert_eq!(driver.field("cwnd_total"), SMSS.as_f64() * 50.0);
        assert_eq!(driver.field("subflows"), 2.0);
    }
    // Wischik et al. 2011, §2.3: Wi-Fi with 10 ms, 3G with 100 ms. Units of 1/10 ms:
    // 110 · max(10/1, 100/100) / (10/1 + 100/10)² = 110 · 10 / 400.
    close(alpha(&mut connection([(10, 10), (100, 100)])[0]), 2.75);
}

#[test]
fn two_equal_subflows_grow_together_by_half_a_segment_a_round() {
    // Each by a quarter: in 4 rounds by one segment, both by 2, where two NewReno flows grow by 8.
    let mut subflows = connection([(40, 100); 2]);
    for round in 1..=16 {
        for driver in &mut subflows {
            for _ in 0..40 {
                driver.ack(driver.conn.delivered, SMSS, ms(100));
            }
        }
        // 40 segments are not quite a window any more after the first increase.
        if round % 4 == 0 {
            let grown: f64 = subflows.iter().map(|driver| driver.cwnd() - 40.0).sum();
            let expected = f64::from(round) / 2.0;
            assert!(
                grown <= expected && grown >= expected - 2.0,
                "{grown} after {round} rounds"
            );
        }
    }
    assert_eq!(subflows.map(|driver| driver.cwnd()), [43.0, 43.0]);
}

#[test]
fn the_increase_is_alpha_over_the_total_window() {
    // A segment acknowledged on the first subflow counts for alpha/cwnd_total = 40 / 42.5²: one
    // segment more for each 45.16; with its window of 41 then, 51 · 41 / 43.5² / 51: 46.15.
    let mut subflows = connection([(40, 100), (10, 400)]);
    let count = needed(&mut subflows[0]);
    assert!((46..=47).contains(&count), "{count}");
}

#[test]
fn no_subflow_grows_faster_than_newreno() {
    // By the first term, Wi-Fi would gain 2.75/110 of a segment for each segment, a quarter of
    // 1/10; 3G 2.75/110 instead of 1/100: the second term limits it.
    let mut subflows = connection([(10, 10), (100, 100)]);
    assert_eq!(needed(&mut subflows[1]), 101, "its own window");
    let mut subflows = connection([(10, 10), (100, 100)]);
    let count = needed(&mut subflows[0]);
    // With 11: 111 · 11 / 21² = 2.7687; 111/2.7687 = 40.09.
    assert!((40..=41).contains(&count), "{count}");
}

#[test]
fn slow_start_and_the_decrease_are_not_coupled() {
    let shared = &mut Shared::default();
    let mut subflows = ["a", "a"].map(|group| Driver::in_group("lia", group, shared));
    for window in [10.0, 20.0, 40.0, 80.0] {
        for driver in &mut subflows {
            assert_eq!(driver.cwnd(), window);
            driver.round(ms(100));
        }
    }
    let [first, second] = &mut subflows;
    first.lose();
    assert_eq!((first.cwnd(), first.ssthresh()), (80.0, 80.0));
    assert_eq!(second.cwnd(), 160.0, "a loss concerns its own subflow");
    first.recover();
    first.time_out(false);
    assert_eq!((first.cwnd(), first.ssthresh()), (1.0, 40.0));
}

#[test]
fn a_subflow_counts_from_its_first_rtt_until_its_end() {
    let shared = &mut Shared::default();
    let mut first = Driver::in_group("lia", "a", shared);
    let mut second = Driver::in_group("lia", "a", shared);
    bring_to(&mut first, 40, ms(100));
    close(alpha(&mut first), 1.0);
    assert_eq!(needed(&mut first), 41, "a sibling that has not begun");
    first.lose();
    bring_to(&mut second, 21, ms(100)); // as many as the first has left
    first.recover();
    close(alpha(&mut first), 1.0 / 2.0);
    second.call(|cc, cx| cc.on_end(cx));
    close(alpha(&mut first), 1.0);
    assert_eq!(first.field("subflows"), 1.0);
}

#[test]
fn groups_and_runs_do_not_mix() {
    let (one, other) = (&mut Shared::default(), &mut Shared::default());
    let mut flows = [
        Driver::in_group("lia", "a", one),
        Driver::in_group("lia", "b", one),
        Driver::in_group("lia", "a", other),
    ];
    for driver in &mut flows {
        bring_to(driver, 40, ms(100));
    }
    for driver in &mut flows {
        close(alpha(driver), 1.0);
    }
}
