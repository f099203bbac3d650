//! Vegas: the rules and numbers of the paper (Brakmo, O'Malley and Peterson, SIGCOMM 1994) and of
//! Linux's `tcp_vegas.c`.

use fullpipe_cc::{Controller, ParamValue, PathChange, Recovery};
use fullpipe_units::{Bytes, Rate, Span, Time};

use super::driver::{Driver, SMSS, word};
use super::path::Path;

const MS: fn(u64) -> Span = Span::from_millis;
/// RTT without a queue.
const BASE: Span = Span::from_millis(100);

type Params<'a> = &'a [(&'a str, ParamValue)];

fn linux() -> (&'static str, ParamValue) {
    ("profile", word("linux"))
}

/// Returns a flow in congestion avoidance with a window of 40 segments and no queue.
fn steady(params: Params<'_>) -> Driver {
    let mut driver = Driver::new("vegas", params);
    let ssthresh = SMSS * 40;
    driver.call(|cc, cx| cc.on_path(cx, PathChange::Threshold { ssthresh }));
    while driver.cwnd() < 40.0 {
        driver.round(BASE);
    }
    driver
}

/// Makes the ACK that ends a round trip and begins the next.
fn end_round(driver: &mut Driver, rtt: Span) {
    driver.now += MS(1);
    driver.ack(driver.conn.delivered, SMSS, rtt);
}

/// RTT with which `queued` of `window` segments wait.
fn rtt_with(queued: f64, window: f64) -> Span {
    BASE.mul_f64(window / (window - queued))
}

/// Windows at the start, and after each round trip without a queue.
fn windows(params: Params<'_>, rounds: usize) -> Vec<f64> {
    let mut driver = Driver::new("vegas", params);
    let mut windows = vec![driver.cwnd()];
    for _ in 0..rounds {
        driver.round(BASE);
        windows.push(driver.cwnd());
    }
    windows
}

#[test]
fn slow_start_doubles_every_other_round_trip() {
    assert_eq!(windows(&[], 6), [10.0, 20.0, 20.0, 40.0, 40.0, 80.0, 80.0]);
}

#[test]
fn linuxs_slow_start_doubles_every_round_trip() {
    assert_eq!(windows(&[linux()], 4), [10.0, 20.0, 40.0, 80.0, 160.0]);
}

#[test]
fn slow_start_ends_with_more_than_gamma_in_the_queue_at_the_window_of_the_actual_rate() {
    for (queued, gamma, ends) in [(0.9, 1.0, false), (1.1, 1.0, true), (5.0, 6.0, false)] {
        let mut driver = Driver::new("vegas", &[("gamma", ParamValue::Number(gamma))]);
        for _ in 0..4 {
            driver.round(BASE);
        }
        assert_eq!(
            driver.cwnd(),
            40.0,
            "at the end of a round trip that did not grow"
        );
        end_round(&mut driver, rtt_with(queued, 40.0));
        if ends {
            // 40 segments per RTT are 38.9 per 100 ms; truncated, and one more.
            assert_eq!((driver.cwnd(), driver.ssthresh()), (39.0, 39.0));
            assert_eq!(driver.transitions(), ["slow_start>congestion_avoidance"]);
        } else {
            assert_eq!((driver.cwnd(), driver.transitions().len()), (41.0, 0));
        }
    }
}

#[test]
fn the_window_moves_by_a_segment_a_round_trip_if_less_than_alpha_or_more_than_beta_waits() {
    for (queued, expected) in [
        (0.0, 1.0),
        (1.9, 1.0),
        (2.1, 0.0),
        (3.9, 0.0),
        (4.1, -1.0),
        (20.0, -1.0),
    ] {
        let mut driver = steady(&[]);
        end_round(&mut driver, rtt_with(queued, 40.0));
        assert!((driver.field("diff") - queued).abs() < 1e-4);
        assert_eq!(driver.cwnd() - 40.0, expected, "{queued} segments wait");
        // Once per round trip.
        driver.ack(Bytes::ZERO, SMSS, rtt_with(queued, 40.0));
        assert_eq!(driver.cwnd() - 40.0, expected);
    }
    let mut driver = steady(&[
        ("alpha", ParamValue::Number(1.0)),
        ("beta", ParamValue::Number(3.0)),
    ]);
    end_round(&mut driver, rtt_with(1.5, 40.0));
    assert_eq!(driver.cwnd(), 40.0, "Vegas-1,3");
}

#[test]
fn linux_takes_the_least_rtt_of_a_round_trip_and_whole_segments_of_the_base_rtt() {
    // 41 segments with 8 ms of queue: 41 · 8 / 100 = 3.28, between α and β.
    for (queue, diff, expected) in [
        (4, 1.0, 1.0),
        (8, 3.0, 0.0),
        (12, 4.0, 0.0),
        (13, 5.0, -1.0),
    ] {
        let mut driver = steady(&[linux()]);
        end_round(&mut driver, BASE);
        assert_eq!(driver.cwnd(), 41.0);
        for ms in [300, queue, 200] {
            driver.ack(Bytes::ZERO, SMSS, BASE + MS(ms));
        }
        end_round(&mut driver, BASE + MS(400));
        assert_eq!(
            (driver.field("diff"), driver.cwnd() - 41.0),
            (diff, expected)
        );
        assert_eq!(driver.field("rtt"), (BASE + MS(queue)).as_secs_f64());
    }
}

#[test]
fn round_trips_with_fewer_than_three_samples_are_newrenos() {
    for params in [&[][..], &[linux()]] {
        let mut driver = steady(params);
        end_round(&mut driver, BASE);
        let (before, compared) = (driver.cwnd(), driver.field("rtt"));
        driver.ack(Bytes::ZERO, SMSS * 20, BASE + MS(50));
        end_round(&mut driver, BASE + MS(50));
        assert_eq!((driver.cwnd(), driver.field("rtt")), (before, compared));
        // NewReno counts the data of the ACK that ends each of them: 42 segments for one more.
        for _ in 0..before as usize {
            end_round(&mut driver, BASE + MS(50));
        }
        assert_eq!(driver.cwnd() - before, 1.0);
    }
}

#[test]
fn losses_and_timeouts_are_newrenos() {
    let mut driver = steady(&[]);
    driver.lose();
    assert_eq!((driver.cwnd(), driver.ssthresh()), (20.0, 20.0));
    driver.round(BASE + MS(50));
    assert_eq!(driver.cwnd(), 20.0, "the transport owns the window");
    driver.recover();
    driver.round(BASE);
    assert_eq!(driver.cwnd(), 20.0, "the first round trip measures");
    driver.round(BASE);
    assert_eq!(driver.cwnd(), 21.0);

    let mut driver = steady(&[]);
    driver.conn.inflight = SMSS * 40;
    driver.time_out(false);
    assert_eq!((driver.cwnd(), driver.ssthresh()), (1.0, 20.0));
    driver.recover();
    let mut windows = vec![];
    for _ in 0..9 {
        driver.round(BASE);
        windows.push(driver.cwnd());
    }
    // With fewer than three samples as NewReno, then every other round trip.
    let expected = [2.0, 4.0, 8.0, 8.0, 16.0, 16.0, 20.0, 21.0, 22.0];
    assert_eq!(windows, expected);

    let mut driver = steady(&[]);
    driver.lose();
    driver.recovery(Recovery::Spurious);
    assert_eq!((driver.cwnd(), driver.ssthresh()), (40.0, 40.0));
}

#[test]
fn linux_measures_anew_after_idle_and_the_paper_keeps_its_base_rtt() {
    for (params, expected) in [(&[][..], 0.1), (&[linux()], 0.15)] {
        let mut driver = steady(params);
        let packet = fullpipe_cc::Snapshot {
            inflight: SMSS,
            ..driver.packet(driver.conn.delivered)
        };
        let now = driver.now;
        assert!(driver.cc.wants_sent(now, true) && !driver.cc.wants_sent(now, false));
        driver.call(|cc, cx| cc.on_sent(cx, &packet));
        driver.ack(driver.conn.delivered, SMSS, MS(150));
        assert_eq!(driver.field("base_rtt"), expected);
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut driver = steady(&[]);
    driver.conn.cwnd_limited = false;
    for _ in 0..5 {
        driver.round(BASE);
    }
    assert_eq!(driver.cwnd(), 40.0);
}

#[test]
fn however_long_the_queue_beta_segments_remain_and_with_linuxs_diff_two() {
    for (params, least) in [(&[][..], 4.0), (&[linux()], 2.0)] {
        let mut driver = steady(params);
        for _ in 0..60 {
            driver.round_of(4, MS(10), |_| BASE * 20);
        }
        assert_eq!(driver.cwnd(), least);
    }
}

#[test]
fn alone_it_fills_the_link_with_alpha_to_beta_segments_in_the_queue() {
    for params in [&[][..], &[linux()]] {
        // 10 Mbit/s: a packet takes 1.2 ms.
        let mut path = Path::new("vegas", params, Rate::from_mbps(10), MS(40), 400);
        path.run(Time::ZERO + Span::from_secs(20), |_, _| ());
        let delivered = path.conn.delivered;
        let (mut least, mut most) = (u64::MAX, 0);
        path.run(Time::ZERO + Span::from_secs(40), |path, _| {
            least = least.min(path.queue());
            most = most.max(path.queue());
        });
        assert!((1..=5).contains(&least) && most <= 5, "{least} to {most}");
        let rate = (path.conn.delivered - delivered).as_f64() * 8.0 * 1500.0 / 1448.0 / 20.0;
        assert!(rate > 0.99 * 10e6, "{rate}");
        assert_eq!(path.conn.lost, Bytes::ZERO);
    }
}
