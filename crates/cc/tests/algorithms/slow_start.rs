//! Slow starts, tested with CUBIC: HyStart++ (RFC 9406), HyStart (Linux), classic.

use fullpipe_cc::Controller;
use fullpipe_units::{Rate, Span};

use super::driver::{Driver, SMSS, word};

const BASE: Span = Span::from_millis(100);

fn cubic_with(slow_start: &str) -> Driver {
    Driver::new("cubic", &[("slow_start", word(slow_start))])
}

/// Makes a round in which all packets see `rtt`, with an ACK per packet, too far apart for an ACK
/// train.
fn round_at(driver: &mut Driver, rtt: Span) {
    let packets = driver.cwnd() as u64;
    driver.round_of(packets, Span::from_millis(3), |_| rtt);
}

#[test]
fn all_double_the_window_every_round_on_a_steady_path() {
    for kind in ["hystart++", "hystart", "hystart-5.16", "classic"] {
        let mut driver = cubic_with(kind);
        for window in [10.0, 20.0, 40.0, 80.0, 160.0] {
            assert_eq!(driver.cwnd(), window, "{kind}");
            round_at(&mut driver, BASE);
        }
        assert!(
            driver.transitions().is_empty(),
            "{kind}: {:?}",
            driver.transitions()
        );
    }
}

#[test]
fn hystart_pp_counts_eight_segments_an_ack_unless_paced() {
    let grown = |paced| {
        let mut driver = cubic_with("hystart++");
        driver.conn.paced = paced;
        driver.ack(driver.conn.delivered, SMSS * 30, BASE);
        driver.cwnd()
    };
    assert_eq!((grown(false), grown(true)), (18.0, 40.0));
}

#[test]
fn hystart_pp_enters_css_at_the_threshold_and_not_below() {
    // RttThresh = lastRoundMinRTT / 8 within 4..16 ms: 12.5 ms at 100 ms, 4 ms at 20 ms, 16 ms at
    // 200 ms.
    for (base, threshold) in [(100_000, 12_500), (20_000, 4_000), (200_000, 16_000)] {
        for (above, enters) in [(0, true), (1, false)] {
            let mut driver = cubic_with("hystart++");
            round_at(&mut driver, Span::from_micros(base));
            round_at(&mut driver, Span::from_micros(base));
            round_at(&mut driver, Span::from_micros(base + threshold - above));
            assert_eq!(
                driver.transitions() == ["slow_start>css"],
                enters,
                "{base} us and {threshold} less {above}"
            );
        }
    }
}

#[test]
fn hystart_pp_wants_eight_samples_of_a_round() {
    let mut driver = cubic_with("hystart++");
    round_at(&mut driver, BASE);
    driver.round_of(7, Span::from_millis(3), |_| BASE * 2);
    assert!(driver.transitions().is_empty());
    let delivered = driver.conn.delivered - SMSS * 7;
    driver.ack(delivered, SMSS, BASE * 2);
    assert_eq!(driver.transitions(), ["slow_start>css"]);
}

#[test]
fn hystart_pp_leaves_after_five_rounds_of_a_quarter_of_the_growth() {
    let mut driver = cubic_with("hystart++");
    for _ in 0..2 {
        round_at(&mut driver, BASE);
    }
    // CSS begins with the eighth sample; that round counts as the first of five.
    round_at(&mut driver, BASE * 2);
    assert_eq!(driver.cwnd(), 40.0 + 7.0 + (40.0 - 7.0) / 4.0);
    for _ in 1..5 {
        let before = driver.cwnd();
        round_at(&mut driver, BASE * 2);
        assert_eq!(driver.transitions(), ["slow_start>css"]);
        assert!(
            (driver.cwnd() - before - before.floor() / 4.0).abs() < 0.01,
            "a quarter of slow start's growth"
        );
    }
    let window = driver.cwnd();
    round_at(&mut driver, BASE * 2);
    assert_eq!(
        driver.transitions(),
        ["slow_start>css", "css>congestion_avoidance"]
    );
    assert_eq!(driver.ssthresh(), window);
}

#[test]
fn hystart_pp_returns_to_slow_start_when_the_delay_was_a_mistake() {
    let mut driver = cubic_with("hystart++");
    for rtt in [100, 100, 200, 150] {
        round_at(&mut driver, Span::from_millis(rtt));
    }
    assert_eq!(driver.transitions(), ["slow_start>css", "css>slow_start"]);
    let before = driver.cwnd();
    round_at(&mut driver, Span::from_millis(150));
    assert_eq!(driver.cwnd(), before + before.floor(), "doubles again");
}

#[test]
fn hystart_pp_works_in_the_first_slow_start_only() {
    let mut driver = cubic_with("hystart++");
    round_at(&mut driver, BASE);
    while driver.cwnd() < 400.0 {
        round_at(&mut driver, BASE);
    }
    driver.time_out(false);
    while driver.cwnd() < driver.ssthresh() {
        let rtt = BASE + Span::from_millis(driver.cwnd() as u64 * 10);
        round_at(&mut driver, rtt);
    }
    assert_eq!(
        driver.transitions(),
        ["slow_start>congestion_avoidance"],
        "at ssthresh, not before"
    );
}

#[test]
fn each_change_of_state_is_reported() {
    let mut driver = cubic_with("classic");
    driver.time_out(false);
    while driver.cwnd() < driver.ssthresh() {
        round_at(&mut driver, BASE);
    }
    driver.lose();
    driver.recover();
    driver.time_out(false);
    driver.conn.state = fullpipe_cc::CaState::Open;
    driver.recovery(fullpipe_cc::Recovery::Spurious);
    let expected = [
        "slow_start>congestion_avoidance",
        "congestion_avoidance>recovery",
        "recovery>congestion_avoidance",
        "congestion_avoidance>slow_start",
        "slow_start>congestion_avoidance",
    ];
    assert_eq!(driver.transitions(), expected);
}

#[test]
fn hystart_leaves_when_the_delay_has_grown_by_an_eighth() {
    for (base, threshold) in [(100_000, 12_500), (20_000, 4_000), (200_000, 16_000)] {
        for (above, leaves) in [(0, false), (1, true)] {
            let mut driver = cubic_with("hystart");
            round_at(&mut driver, Span::from_micros(base));
            round_at(&mut driver, Span::from_micros(base));
            let window = driver.cwnd();
            driver.round_of(8, Span::from_millis(3), |_| {
                Span::from_micros(base + threshold + above)
            });
            assert_eq!(driver.cwnd(), window + 8.0, "eight samples are not enough");
            round_at(&mut driver, Span::from_micros(base + threshold + above));
            assert_eq!(
                driver.transitions() == ["slow_start>congestion_avoidance"],
                leaves,
                "{base}, {above}"
            );
        }
    }
}

#[test]
fn hystart_leaves_when_a_train_of_acks_fills_the_pipe() {
    // Unpaced, a train of half the minimum RTT is enough; paced, it must span the whole RTT. 0.5 ms
    // or 1 ms is the allowance for offload.
    for (paced, longest) in [(false, 50.5), (true, 101.0)] {
        let mut driver = cubic_with("hystart");
        driver.conn.paced = paced;
        round_at(&mut driver, BASE);
        round_at(&mut driver, BASE);
        let start = driver.now;
        let packets = (longest / 0.5) as u64 + 40;
        driver.now += BASE;
        driver.round_of(packets, Span::from_micros(500), |_| BASE);
        let (at, _) = driver.log.0[0];
        // The round begins with its first ACK.
        let train = (at - start - BASE - Span::from_micros(500)).as_secs_f64() * 1e3;
        assert!(
            (train - longest).abs() <= 0.5 && train > longest,
            "paced {paced}: left after {train} ms"
        );
    }
}

#[test]
fn hystart_trusts_fast_links_to_offload_less() {
    let mut driver = cubic_with("hystart");
    driver.conn.pace(Some(Rate::from_mbps(10_000)));
    let base = Span::from_millis(10);
    round_at(&mut driver, base);
    round_at(&mut driver, base);
    // 262144 bytes take 0.21 ms at 10 Gbit/s: the train is long enough after 10.21 ms.
    driver.round_of(200, Span::from_micros(100), |_| base);
    let (at, _) = driver.log.0[0];
    let train = (at.as_nanos() - (driver.now.as_nanos() - 199 * 100_000)) as f64 / 1e6;
    assert!((10.2..10.4).contains(&train), "{train} ms");
}

#[test]
fn hystart_ends_another_slow_start_only_after_a_timeout() {
    for (timeout, ends) in [(false, 1), (true, 2)] {
        let mut driver = cubic_with("hystart");
        let end_by_delay = |driver: &mut Driver| {
            for _ in 0..3 {
                round_at(driver, Span::from_millis(100));
            }
            for _ in 0..3 {
                driver.round_of(20, Span::from_millis(3), |_| Span::from_millis(200));
            }
        };
        end_by_delay(&mut driver);
        if timeout {
            driver.time_out(false);
            driver.recover();
        } else {
            // As after a pause.
            driver.call(|cc, cx| cc.on_unused(cx, SMSS * 10));
        }
        assert!(driver.cwnd() < driver.ssthresh());
        end_by_delay(&mut driver);
        let found = driver
            .log
            .0
            .iter()
            .filter(|(_, change)| change.reason.starts_with("RTT above"));
        assert_eq!(found.count(), ends, "{:?}", driver.transitions());
    }
}

/// From 10 segments the window passes 16 with the sixth ACK of a flight. There, the first round of Linux 5.16 began: the
/// train of the flight lacks the ACKs before, and ends slow start six segments later.
#[test]
fn hystart_of_linux_5_16_measures_trains_from_where_the_window_passes_sixteen() {
    let windows = ["hystart", "hystart-5.16"].map(|kind| {
        let mut driver = cubic_with(kind);
        driver.round_of(300, Span::from_micros(300), |_| BASE);
        assert_eq!(driver.transitions().len(), 1);
        driver.ssthresh()
    });
    assert_eq!(windows[1] - windows[0], 6.0, "{windows:?}");
}

#[test]
fn hystart_looks_at_no_window_below_sixteen_segments() {
    let mut driver = cubic_with("hystart");
    driver.round_of(5, Span::from_millis(3), |_| BASE);
    assert_eq!(driver.cwnd(), 15.0);
    // A train and an RTT that would end slow start immediately.
    driver.conn.cwnd_limited = false;
    driver.round_of(300, Span::from_millis(1), |_| BASE * 3);
    assert!(driver.transitions().is_empty());
}

#[test]
fn classic_leaves_at_the_threshold_alone() {
    let mut driver = cubic_with("classic");
    for rtt in 1..6 {
        round_at(&mut driver, BASE * rtt);
    }
    assert_eq!(driver.cwnd(), 320.0);
}
