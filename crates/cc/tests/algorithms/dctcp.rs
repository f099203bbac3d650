//! DCTCP: RFC 8257, and the model of its paper (SIGCOMM 2010 §3.3).

use fullpipe_cc::{EcnCodepoint, ParamValue, PathChange};
use fullpipe_units::{Bytes, Rate, Span, Time};

use super::driver::{Driver, word};
use super::path::Path;

const RTT: Span = Span::from_millis(1);
const S: fn(u64) -> Span = Span::from_secs;

/// Returns a flow in congestion avoidance with about `segments` segments, and with alpha as after a
/// long time without marks.
fn avoiding(segments: f64) -> Driver {
    let mut driver = Driver::new("dctcp", &[("alpha_init", ParamValue::Number(0.0))]);
    while driver.cwnd() < segments {
        driver.round(RTT);
    }
    driver.mark();
    driver.recover();
    driver
}

#[test]
fn data_is_ecn_capable_until_the_path_is_not() {
    let mut driver = Driver::new("dctcp", &[]);
    assert_eq!(driver.decision().ecn, EcnCodepoint::Ect0);
    driver.call(|cc, cx| fullpipe_cc::Controller::on_path(cc, cx, PathChange::EcnFailed));
    assert_eq!(driver.decision().ecn, EcnCodepoint::NotEct);
}

#[test]
fn slow_start_and_increase_are_renos() {
    let mut driver = Driver::new("dctcp", &[]);
    for window in [10.0, 20.0, 40.0] {
        assert_eq!(driver.cwnd(), window);
        driver.round(RTT);
    }
    let mut driver = avoiding(40.0);
    for more in 0..4 {
        assert_eq!(driver.cwnd(), 40.0 + f64::from(more));
        driver.round(RTT);
    }
}

#[test]
fn alpha_follows_its_recursion() {
    // RFC 8257 §3.3, g = 1/16: alpha_n = M + (alpha_0 - M)(15/16)^n. Half of the distance from 1
    // takes 10.7 windows.
    for (marked, windows, expected) in [
        (0.0, 0, 1.0),
        (0.0, 11, 0.4917),
        (0.0, 72, 0.0096),
        (0.2, 16, 0.4848),
        (1.0, 30, 1.0),
    ] {
        let mut driver = Driver::new("dctcp", &[]);
        // The first ACK begins the first window.
        driver.conn.cwnd_limited = false;
        driver.marked = marked;
        (0..windows).for_each(|_| driver.round(RTT));
        driver.ack(driver.conn.delivered, Bytes::new(1), RTT);
        // That first window is a single ACK, with the same fraction marked.
        let n = windows + 1;
        let exact = marked + (1.0 - marked) * libm::pow(15.0 / 16.0, f64::from(n));
        let alpha = driver.field("alpha");
        assert!(
            (alpha - exact).abs() < 2e-3,
            "{marked}, {windows} windows: {alpha}, not {exact}"
        );
        assert!((alpha - expected).abs() < 0.07, "{alpha}, about {expected}");
    }
}

#[test]
fn marks_take_half_of_alpha() {
    let mut driver = Driver::new("dctcp", &[]);
    while driver.cwnd() < 100.0 {
        driver.round(RTT);
    }
    driver.conn.cwnd_limited = false;
    driver.marked = 0.2;
    (0..200).for_each(|_| driver.round(RTT));
    let before = driver.cwnd();
    driver.mark();
    // 20 % of the packets are marked: the window shrinks by 10 %.
    assert!(
        (driver.cwnd() / before - 0.9).abs() < 1e-3,
        "{}",
        driver.cwnd() / before
    );
    assert_eq!(driver.cwnd(), driver.ssthresh());
    driver.round(RTT);
    assert!(
        (driver.cwnd() / before - 0.9).abs() < 1e-3,
        "no growth until the episode is over"
    );
}

#[test]
fn the_first_mark_halves_since_alpha_begins_with_one() {
    let mut driver = Driver::new("dctcp", &[]);
    driver.mark();
    assert_eq!(driver.cwnd(), 5.0);
}

#[test]
fn when_everything_is_marked_two_segments_remain() {
    let mut driver = Driver::new("dctcp", &[]);
    driver.marked = 1.0;
    for _ in 0..20 {
        driver.mark();
        driver.recover();
        driver.round(RTT);
    }
    assert!(driver.cwnd() < 4.0);
    driver.mark();
    assert_eq!(driver.cwnd(), 2.0);
}

#[test]
fn a_loss_halves_whatever_alpha_is_and_can_be_undone() {
    let mut driver = avoiding(80.0);
    assert!(driver.field("alpha") < 0.01);
    let before = driver.cwnd();
    driver.lose();
    assert_eq!(driver.cwnd(), before / 2.0);
    driver.recovery(fullpipe_cc::Recovery::Spurious);
    assert_eq!(driver.cwnd(), before);
}

/// Returns a flow with Linux's rules.
fn linux(alpha: f64) -> Driver {
    let params = [
        ("profile", word("linux")),
        ("alpha_init", ParamValue::Number(alpha)),
    ];
    Driver::new("dctcp", &params)
}

#[test]
fn linux_reduces_in_whole_segments_so_small_windows_stay() {
    // dctcp_ssthresh: cwnd - ((cwnd * alpha) >> 11). The first window makes alpha 240 of 256.
    let mut driver = linux(0.25);
    let mut marked = || {
        driver.mark();
        driver.recover();
        driver.cwnd()
    };
    let windows: Vec<f64> = (0..4).map(|_| marked()).collect();
    assert_eq!(windows, [9.0, 8.0, 8.0, 8.0]);
    driver.round(RTT);
    // dctcp_react_to_loss: cwnd >> 1.
    assert_eq!(driver.cwnd(), 9.0);
    driver.lose();
    assert_eq!(driver.cwnd(), 4.0);
}

#[test]
fn linux_counts_alpha_in_parts_of_1024() {
    let mut driver = linux(1.0);
    while driver.cwnd() < 100.0 {
        driver.round(RTT);
    }
    driver.conn.cwnd_limited = false;
    // The values of alpha over some ACKs.
    let mut alphas = |marked: f64, acks: u32| {
        driver.marked = marked;
        let smss = driver.conn.smss;
        let mut seen: Vec<f64> = (0..acks)
            .map(|_| {
                driver.ack(driver.conn.delivered, smss, RTT);
                driver.field("alpha") * 1024.0
            })
            .collect();
        seen.dedup();
        seen
    };
    // dctcp_update_alpha: alpha - (alpha >> 4), and zero below 16.
    for pair in alphas(0.0, 20_000).windows(2) {
        let expected = match pair[0] {
            small if small < 16.0 => 0.0,
            alpha => alpha - (alpha / 16.0).floor(),
        };
        assert_eq!(pair[1], expected);
    }
    assert_eq!(alphas(0.0, 1), [0.0]);
    // A window with a fifth marked adds 12, and takes 12 away.
    assert_eq!(alphas(0.2, 40_000).last(), Some(&12.0));
    // A sixteenth of an alpha from 192 on is 12, too.
    assert!(*alphas(1.0, 3_000).last().unwrap() > 600.0);
    assert_eq!((alphas(0.2, 40_000).last().unwrap() / 16.0).floor(), 12.0);
}

/// Runs one flow through a queue that marks above `k` packets. Returns, over a few seconds of
/// steady state: mean alpha, shortest and longest queue, and utilization.
fn steady(rate: Rate, delay: Span, k: u64) -> (f64, u64, u64, f64) {
    let mut path = Path::new("dctcp", &[], rate, delay, 10_000).marking(k);
    path.run(Time::ZERO + S(40), |_, _| ());
    let (mut least, mut most, mut alpha, mut acks, delivered) =
        (u64::MAX, 0, 0.0, 0.0, path.conn.delivered);
    path.run(Time::ZERO + S(80), |path, _| {
        (least, most) = (least.min(path.queue()), most.max(path.queue()));
        alpha += path.field("alpha");
        acks += 1.0;
    });
    let used =
        (path.conn.delivered - delivered).as_f64() * 8.0 * 1500.0 / 1448.0 / 40.0 / rate.as_f64();
    assert_eq!(path.conn.lost, Bytes::ZERO);
    (alpha / acks, least, most, used)
}

#[test]
fn alone_it_holds_the_queue_at_the_threshold() {
    // W* = C RTT + K in packets, with C = 8333 packets per second.
    for (delay, k) in [(4, 20), (10, 20), (10, 40), (40, 65)] {
        let (rate, delay) = (Rate::from_mbps(100), Span::from_millis(delay));
        let (alpha, least, most, used) = steady(rate, delay, k);
        let full = rate.as_f64() / 12_000.0 * delay.as_secs_f64() + k as f64;
        // §3.3: alpha is sqrt(2 / W*); the window oscillates around K by D = (W* + 1) alpha / 2.
        let expected = (2.0 / full).sqrt();
        assert!(
            (alpha / expected - 1.0).abs() < 0.2,
            "W* = {full}: alpha {alpha}, not {expected}"
        );
        let swing = (full + 1.0) * expected / 2.0;
        assert!(most as f64 <= k as f64 + 4.0, "W* = {full}: {most} of {k}");
        assert!(
            least as f64 >= k as f64 - swing - 2.0,
            "W* = {full}: {least}, not {k} - {swing}"
        );
        // K > C RTT / 7 keeps the link busy.
        assert!(used > 0.98, "W* = {full}: {used}");
    }
}
