//! LEDBAT++: draft-irtf-iccrg-ledbat-plus-plus.

use fullpipe_cc::ParamValue;
use fullpipe_units::{Rate, Span, Time};

use super::driver::{Driver, SMSS, word};
use super::path::Path;

const MS: fn(u64) -> Span = Span::from_millis;
const S: fn(u64) -> Span = Span::from_secs;

/// Returns a flow in congestion avoidance with a window of about `segments`, and with a base delay
/// of `base` ms. No slowdown is due for an hour.
fn avoiding(segments: f64, base: u64) -> Driver {
    let mut driver = Driver::new("ledbat++", &[("slowdown_spacing", ParamValue::Number(1e6))]);
    while driver.cwnd() < segments {
        driver.round(MS(base));
    }
    // The queue ends slow start; the first slowdown comes two round trips later, and the loop waits
    // for its end.
    fill(&mut driver, base + 50);
    while driver.field("state") != 1.0 || driver.transitions().len() < 4 {
        driver.round(MS(base));
    }
    driver
}

/// Sets every sample of the filter to `ms` milliseconds.
fn fill(driver: &mut Driver, ms: u64) {
    for _ in 0..4 {
        driver.ack(driver.conn.delivered, fullpipe_units::Bytes::ZERO, MS(ms));
    }
}

#[test]
fn gain_follows_the_base_delay() {
    // §4.2: 1 / min(16, ceil(2 TARGET / base)).
    for (base, divisor) in [
        (1, 16.0),
        (7, 16.0),
        (8, 15.0),
        (10, 12.0),
        (20, 6.0),
        (50, 3.0),
        (100, 2.0),
        (120, 1.0),
        (300, 1.0),
    ] {
        let mut driver = Driver::new("ledbat++", &[]);
        driver.ack(driver.conn.delivered, SMSS, MS(base));
        assert_eq!(driver.field("gain"), 1.0 / divisor, "base {base} ms");
    }
}

#[test]
fn slow_start_grows_by_gain() {
    // §4.1: starts from two segments; at 20 ms, grows by a factor of 7/6 per round trip.
    let mut driver = Driver::new("ledbat++", &[]);
    assert_eq!(driver.cwnd(), 2.0);
    while driver.cwnd() < 100.0 {
        driver.round(MS(20));
    }
    let before = driver.cwnd();
    driver.round(MS(20));
    assert!(
        (driver.cwnd() / before - 7.0 / 6.0).abs() < 0.002,
        "{}",
        driver.cwnd() / before
    );
}

#[test]
fn slow_start_ends_at_three_quarters_of_the_target() {
    let mut driver = Driver::new("ledbat++", &[]);
    while driver.cwnd() < 50.0 {
        driver.round(MS(50));
    }
    fill(&mut driver, 50 + 45);
    assert_eq!(
        driver.field("state"),
        0.0,
        "45 ms is not above 3/4 of 60 ms"
    );
    fill(&mut driver, 50 + 46);
    assert_eq!(driver.field("state"), 1.0);
    assert_eq!(driver.cwnd(), driver.ssthresh());
}

#[test]
fn below_the_target_the_window_grows_by_gain_a_round_trip() {
    for (base, gain) in [(20, 1.0 / 6.0), (50, 1.0 / 3.0), (150, 1.0)] {
        let mut driver = avoiding(40.0, base);
        // §4.3: independent of the queue, up to the target.
        for queue in [0, 30, 59] {
            fill(&mut driver, base + queue);
            let before = driver.cwnd();
            driver.round(MS(base + queue));
            let change = driver.cwnd() - before;
            assert!(
                (change / gain - 1.0).abs() < 0.05,
                "{change} with {queue} ms of queue on {base} ms"
            );
        }
    }
}

#[test]
fn above_the_target_it_falls_in_proportion_but_never_by_more_than_half() {
    // §4.3 with a base delay of 50 ms: each ACK's share of max(1/3 - W (delay/60 ms - 1), -W/2).
    for (queue, part) in [
        (66, 0.1),
        (70, 1.0 / 6.0),
        (84, 0.4),
        (120, 0.5),
        (600, 0.5),
    ] {
        let mut driver = avoiding(100.0, 50);
        fill(&mut driver, 50 + queue);
        let before = driver.cwnd();
        driver.ack(driver.conn.delivered, SMSS, MS(50 + queue));
        let change = (driver.cwnd() - before) * before;
        let expected = if part < 0.5 {
            1.0 / 3.0 - part * before
        } else {
            -before / 2.0
        };
        assert!(
            (change - expected).abs() < 0.1,
            "{change} with {queue} ms of queue, not {expected}"
        );
    }
}

#[test]
fn two_segments_are_the_least() {
    let mut driver = avoiding(20.0, 50);
    for _ in 0..100 {
        driver.round(MS(500));
    }
    assert_eq!(driver.cwnd(), 2.0);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut driver = avoiding(20.0, 50);
    let before = driver.cwnd();
    driver.conn.cwnd_limited = false;
    driver.round(MS(50));
    assert_eq!(driver.cwnd(), before);
}

#[test]
fn losses_halve_the_window_and_end_slow_start() {
    let mut driver = Driver::new("ledbat++", &[]);
    while driver.cwnd() < 50.0 {
        driver.round(MS(50));
    }
    let before = driver.cwnd();
    driver.lose();
    driver.recover();
    assert!((driver.cwnd() - before / 2.0).abs() < 0.01);
    assert_eq!(
        driver.transitions(),
        ["slow_start>recovery", "recovery>congestion_avoidance"]
    );
}

#[test]
fn the_first_slowdown_comes_two_round_trips_after_slow_start() {
    let mut driver = Driver::new("ledbat++", &[]);
    while driver.cwnd() < 50.0 {
        driver.round(MS(50));
    }
    fill(&mut driver, 96);
    let (end, before) = (driver.now, driver.cwnd());
    while driver.field("state") == 1.0 {
        driver.now += MS(1);
        driver.ack(driver.conn.delivered, fullpipe_units::Bytes::ZERO, MS(96));
    }
    assert_eq!(driver.now - end, MS(2 * 96), "§4.4");
    assert_eq!((driver.cwnd(), driver.ssthresh()), (2.0, 2.0));

    // It holds two segments for two round trips, with or without ACKs.
    let began = driver.now;
    let wake = driver
        .decision()
        .wake_at
        .expect("a slowdown ends by a timer");
    assert_eq!(wake - began, MS(2 * 96));
    driver.round(MS(50));
    assert_eq!(driver.cwnd(), 2.0);
    driver.now = wake;
    driver.call(fullpipe_cc::Controller::on_timer);
    assert_eq!(driver.field("state"), 3.0);

    // Then it grows back to the previous window, and no further.
    while driver.field("state") == 3.0 {
        driver.round(MS(50));
    }
    assert!(
        (driver.cwnd() - before).abs() < 0.1,
        "{} of {before}",
        driver.cwnd()
    );
}

#[test]
fn a_slowdown_ends_with_gain_or_doubling() {
    for (ramp, factor) in [("gain", 4.0 / 3.0), ("full", 2.0)] {
        let mut driver = Driver::new("ledbat++", &[("ramp", word(ramp))]);
        while driver.cwnd() < 400.0 {
            driver.round(MS(50));
        }
        fill(&mut driver, 96);
        while driver.field("state") != 3.0 || driver.cwnd() < 30.0 {
            driver.round(MS(50));
        }
        let before = driver.cwnd();
        driver.round(MS(50));
        assert!(
            (driver.cwnd() / before / factor - 1.0).abs() < 0.03,
            "{ramp}: {}",
            driver.cwnd() / before
        );
    }
}

#[test]
fn a_loss_in_a_slowdown_halves_the_window_to_come_back_to() {
    let mut driver = Driver::new("ledbat++", &[]);
    while driver.cwnd() < 50.0 {
        driver.round(MS(50));
    }
    fill(&mut driver, 96);
    let before = driver.cwnd();
    while driver.field("state") != 2.0 {
        driver.round(MS(50));
    }
    driver.conn.inflight = SMSS * 2;
    driver.lose();
    assert_eq!(
        (driver.cwnd(), driver.ssthresh()),
        (2.0, 2.0),
        "recovery reduces the window to the slowdown's"
    );
    driver.recover();
    while driver.field("state") != 1.0 {
        driver.round(MS(50));
    }
    assert!(
        (driver.cwnd() / before - 0.5).abs() < 0.02,
        "{} of {before}",
        driver.cwnd()
    );
}

#[test]
fn a_timeout_leaves_one_segment_and_slow_start_up_to_half() {
    let mut driver = avoiding(40.0, 50);
    let before = driver.cwnd();
    driver.conn.inflight = SMSS * 40;
    driver.time_out(false);
    assert_eq!(driver.cwnd(), 1.0);
    assert!((driver.ssthresh() - before / 2.0).abs() < 0.01);
    driver.conn.inflight = SMSS;
    while driver.field("state") == 0.0 {
        // This is not the initial slow start: delay does not end it.
        driver.round(MS(110));
    }
    assert!(
        (driver.cwnd() - before / 2.0).abs() < 0.5,
        "{} of {before}",
        driver.cwnd()
    );
}

#[test]
fn a_spurious_loss_is_undone() {
    let mut driver = avoiding(40.0, 50);
    let before = driver.cwnd();
    driver.lose();
    driver.recovery(fullpipe_cc::Recovery::Spurious);
    assert_eq!(driver.cwnd(), before);
}

/// Start and end of each slowdown.
fn slowdowns(path: &Path) -> Vec<(Time, Time)> {
    let begin = path
        .log
        .0
        .iter()
        .filter(|(_, change)| change.to == "slowdown")
        .map(|(at, _)| *at);
    let end = path
        .log
        .0
        .iter()
        .filter(|(_, change)| change.from == "ramp")
        .map(|(at, _)| *at);
    begin.zip(end).collect()
}

#[test]
fn slowdowns_are_nine_times_their_length_apart_and_cost_less_than_a_tenth() {
    for ramp in ["gain", "full"] {
        for base in [20, 50, 100] {
            let delay = MS(base);
            let mut path = Path::new(
                "ledbat++",
                &[("ramp", word(ramp))],
                Rate::from_mbps(20),
                delay,
                1000,
            );
            path.run(Time::ZERO + S(30), |_, _| ());
            let (delivered, mut longest) = (path.conn.delivered, Span::ZERO);
            path.run(Time::ZERO + S(150), |_, rtt| {
                longest = longest.max(rtt - delay)
            });
            let used =
                (path.conn.delivered - delivered).as_f64() * 8.0 * 1500.0 / 1448.0 / 120.0 / 20e6;
            assert!(used > 0.9, "{ramp}, {base} ms: {used}");
            assert!(longest < MS(65), "{ramp}, {base} ms: a queue of {longest}");

            let slowdowns = slowdowns(&path);
            assert!(slowdowns.len() > 5, "{}", slowdowns.len());
            for pair in slowdowns.windows(2) {
                let (length, gap) = (pair[0].1 - pair[0].0, pair[1].0 - pair[0].1);
                let spacing = gap.as_secs_f64() / length.as_secs_f64();
                assert!(
                    (spacing - 9.0).abs() < 1.0,
                    "{ramp}, {base} ms: {gap} after {length}"
                );
            }
        }
    }
}
