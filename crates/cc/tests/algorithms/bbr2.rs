//! BBRv2, as in google/bbr v2alpha `net/ipv4/tcp_bbr2.c`, where it differs from v3.

use fullpipe_cc::ParamValue;
use fullpipe_units::{Bytes, Rate, Span, Time};

use super::driver::Driver;
use super::path::Path;

const RTT: Span = Span::from_millis(40);
const HIGH_GAIN: f64 = 739.0 / 256.0;

fn seconds(s: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(s)
}

fn path(params: &[(&str, ParamValue)]) -> Path {
    Path::new("bbr2", params, Rate::from_mbps(40), RTT, 2_000)
}

#[test]
fn gains_are_v2s() {
    path(&[]).run(seconds(12.0), |path, _| {
        let expected = match path.field("state") as u8 {
            0 => (HIGH_GAIN, HIGH_GAIN),
            1 => (88.0 / 256.0, HIGH_GAIN),
            2 => (0.75, 2.0),
            5 => (1.25, 2.0),
            6 => (1.0, 1.0),
            _ => (1.0, 2.0),
        };
        assert_eq!(
            (path.field("pacing_gain"), path.field("cwnd_gain")),
            expected
        );
    });
}

#[test]
fn startup_queues_what_its_window_gain_allows() {
    let mut peak = 0;
    path(&[]).run(seconds(1.0), |path, _| peak = peak.max(path.queue()));
    // 2.887 BDPs in flight, one of them in transit; 2.94 with a kernel at 100 Mbit/s and 50 ms.
    assert!((1.8..2.2).contains(&(peak as f64 / 137.0)), "{peak}");
}

#[test]
fn up_ends_with_a_quarter_of_a_bdp_queued() {
    let mut path = path(&[("probe_rtt_interval", ParamValue::Number(1e3))]);
    path.run(seconds(2.0), |_, _| {});
    let mut peak = 0;
    path.run(seconds(30.0), |path, _| peak = peak.max(path.queue()));
    assert!((0.2..0.35).contains(&(peak as f64 / 137.0)), "{peak}");
    assert_eq!(path.conn.lost, Bytes::ZERO);
    let ups: Vec<f64> = path
        .log
        .0
        .windows(2)
        .filter(|pair| pair[0].1.to == "probe_bw_up")
        .map(|pair| (pair[1].0 - pair[0].0).as_secs_f64() / 0.04)
        .collect();
    // The queue grows by 0.2375 BDP per minimum RTT.
    assert!(
        ups.len() > 5 && ups.iter().all(|rtts| (1.0..1.4).contains(rtts)),
        "{ups:?}"
    );
}

#[test]
fn an_rtt_as_low_as_the_lowest_puts_probe_rtt_off() {
    for (renew, dips) in [(true, 0), (false, 1)] {
        let mut driver = Driver::new(
            "bbr2",
            &[("probe_rtt_renewed_by_equal", ParamValue::Flag(renew))],
        );
        driver.rate = Some(Rate::from_mbps(10));
        while driver.now < seconds(6.0) {
            driver.round(RTT);
        }
        let seen = driver
            .transitions()
            .iter()
            .filter(|change| change.ends_with(">probe_rtt"))
            .count();
        assert_eq!(seen, dips, "renewed by equal: {renew}");
    }
}

#[test]
fn the_pipe_is_full_once() {
    let mut driver = Driver::new("bbr2", &[]);
    driver.rate = Some(Rate::from_mbps(10));
    for _ in 0..4 {
        driver.round(RTT);
    }
    assert_eq!(driver.transitions()[0], "startup>drain");
    for _ in 0..200 {
        driver.round(RTT);
    }
    assert_eq!(driver.field("full_bw"), 10e6, "UP takes no baseline");
}

/// tcp_bbr2.c, `bbr2_update_ecn_alpha`: the average is updated every round, whether or not marks
/// count; not so in v3.
#[test]
fn the_average_of_marks_moves_on_paths_too_long_for_them_to_count() {
    let linux = ("profile", ParamValue::Word("linux".into()));
    let ecn = ("ecn", ParamValue::Flag(true));
    for (name, params, rounds) in [
        ("bbr2", vec![ecn.clone()], 5),
        ("bbr3", vec![ecn, linux], 0),
    ] {
        let mut driver = Driver::new(name, &params);
        driver.rate = Some(Rate::from_mbps(10));
        driver.round(RTT);
        let alpha = driver.field("ecn_alpha");
        for _ in 0..5 {
            driver.round(RTT);
        }
        let left = driver.field("ecn_alpha") / alpha;
        assert!(
            (left - libm::pow(15.0 / 16.0, f64::from(rounds))).abs() < 1e-9,
            "{name}: {left}"
        );
    }
}
