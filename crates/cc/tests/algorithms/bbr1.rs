//! BBRv1, as in Linux `net/ipv4/tcp_bbr.c`.

use fullpipe_cc::{Controller, Recovery, Snapshot};
use fullpipe_units::{Bytes, Rate, Span, Time};

use super::driver::{Driver, SMSS};
use super::path::Path;

mod loss;

const RTT: Span = Span::from_millis(40);
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;

/// A path of 40 Mbit/s and 40 ms, with a queue that holds everything that STARTUP sends. BBR
/// measures the payload rate.
fn path() -> Path {
    Path::new("bbr1", &[], Rate::from_mbps(40), RTT, 2_000)
}

/// Payload rate of `path`, in bit/s.
const BANDWIDTH: f64 = 40e6 * 1_448.0 / 1_500.0;

fn seconds(s: u64) -> Time {
    Time::from_nanos(s * 1_000_000_000)
}

/// Returns a flow in PROBE_BW at `rate`.
fn in_probe_bw(rate: Rate) -> Driver {
    in_probe_bw_with(rate, &[])
}

fn in_probe_bw_with(rate: Rate, params: &[(&str, fullpipe_cc::ParamValue)]) -> Driver {
    let mut driver = Driver::new("bbr1", params);
    driver.rate = Some(rate);
    driver.conn.initial_cwnd = SMSS * 10;
    while driver.field("state") != 2.0 {
        // Little inflight, so that the queue counts as drained at the next ACK.
        driver.conn.inflight = SMSS * 20;
        driver.round(RTT);
    }
    driver
}

#[test]
fn before_the_first_rtt_the_rate_assumes_a_millisecond() {
    let driver = Driver::new("bbr1", &[]);
    let rate = HIGH_GAIN * 14_480.0 * 8.0 / 1e-3 * 0.99;
    assert!((driver.decision().pacing_rate.unwrap().as_f64() / rate - 1.0).abs() < 1e-6);
    assert_eq!(driver.cwnd(), 10.0);
}

#[test]
fn with_the_first_rtt_the_rate_starts_anew() {
    let mut driver = Driver::new("bbr1", &[]);
    driver.ack(Bytes::ZERO, SMSS, RTT);
    let rate = HIGH_GAIN * 14_480.0 * 8.0 / 0.04 * 0.99;
    assert!((driver.decision().pacing_rate.unwrap().as_f64() / rate - 1.0).abs() < 1e-6);
}

#[test]
fn the_handshakes_rtt_counts_from_the_first_packet() {
    let mut driver = Driver::new("bbr1", &[]);
    (driver.conn.srtt, driver.conn.min_rtt) = (RTT, RTT);
    let first = Snapshot {
        inflight: SMSS,
        ..driver.packet(Bytes::ZERO)
    };
    driver.call(|cc, cx| cc.on_sent(cx, &first));
    let rate = HIGH_GAIN * 14_480.0 * 8.0 / 0.04 * 0.99;
    assert!((driver.decision().pacing_rate.unwrap().as_f64() / rate - 1.0).abs() < 1e-6);
    assert_eq!(driver.field("min_rtt"), 0.04);
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut driver = Driver::new("bbr1", &[]);
    for (mbps, count) in [
        (10, 0),
        (13, 0),
        (16, 1),
        (16, 2),
        (17, 0),
        (17, 1),
        (17, 2),
    ] {
        driver.rate = Some(Rate::from_mbps(mbps));
        driver.round(RTT);
        assert_eq!(
            (driver.field("state"), driver.field("full_bw_count")),
            (0.0, f64::from(count)),
            "{mbps} Mbit/s"
        );
        assert_eq!(driver.field("pacing_gain"), HIGH_GAIN);
    }
    driver.round(RTT);
    assert_eq!(driver.transitions()[0], "startup>drain");
}

#[test]
fn application_limited_rounds_say_nothing_of_the_pipe() {
    let mut driver = Driver::new("bbr1", &[]);
    driver.rate = Some(Rate::from_mbps(10));
    driver.conn.app_limited = true;
    for _ in 0..10 {
        driver.round(RTT);
    }
    assert_eq!(
        (driver.field("state"), driver.field("full_bw_count")),
        (0.0, 0.0)
    );
}

#[test]
fn an_application_limited_sample_counts_only_upwards() {
    let mut driver = Driver::new("bbr1", &[]);
    driver.rate = Some(Rate::from_mbps(10));
    driver.round(RTT);
    driver.conn.app_limited = true;
    for (mbps, known) in [(5, 10e6), (12, 12e6)] {
        driver.rate = Some(Rate::from_mbps(mbps));
        for _ in 0..20 {
            driver.round(RTT);
        }
        assert_eq!(driver.field("max_bw"), known);
    }
}

#[test]
fn a_bandwidth_sample_counts_for_ten_rounds() {
    let mut driver = in_probe_bw(Rate::from_mbps(20));
    driver.rate = Some(Rate::from_mbps(10));
    let first = driver.field("round");
    while driver.field("max_bw") == 20e6 {
        driver.round(RTT);
    }
    assert_eq!(driver.field("round") - first, 11.0);
}

#[test]
fn startup_fills_the_pipe_and_drain_empties_the_queue() {
    let mut path = path();
    let (mut peak, mut drained_at) = (0, 0);
    path.run(seconds(2), |path, _| {
        peak = peak.max(path.queue());
        if drained_at == 0 && path.field("state") == 2.0 {
            drained_at = path.queue();
        }
        if path.field("state") == 1.0 && path.field("pacing_gain") < 1.0 {
            assert_eq!(
                (path.field("pacing_gain"), path.field("cwnd_gain")),
                (DRAIN_GAIN, HIGH_GAIN)
            );
        }
    });
    let (times, names): (Vec<_>, Vec<_>) = path
        .log
        .0
        .iter()
        .map(|(at, change)| (*at, change.to))
        .unzip();
    assert_eq!(names[..2], ["drain", "probe_bw"]);
    // From ten segments to a BDP of 138 packets takes four doublings; then three rounds without
    // growth.
    assert!(
        (0.25..0.6).contains(&times[0].as_secs_f64()),
        "STARTUP ended at {}",
        times[0]
    );
    let bdp = 137.0;
    // The window gain, less the BDP in flight, plus the allowance for bursts; 2.06 with a real
    // kernel at 100 Mbit/s and 50 ms.
    assert!(
        (1.9..2.2).contains(&(peak as f64 / bdp)),
        "a queue of {peak}"
    );
    assert!(drained_at < 20, "{drained_at} packets left");
    assert!((path.field("max_bw") / BANDWIDTH - 1.0).abs() < 0.01);
}

#[test]
fn a_cycle_has_eight_phases_of_a_minimum_rtt() {
    let mut path = path();
    path.run(seconds(2), |_, _| {});
    let mut phases: Vec<(f64, f64, Time)> = Vec::new();
    path.run(seconds(8), |path, _| {
        let phase = path.field("phase");
        if phases.last().is_none_or(|last| last.0 != phase) {
            phases.push((phase, path.field("pacing_gain"), path.now));
        }
    });
    for pair in phases.windows(2).skip(1) {
        let [(phase, gain, from), (next, _, to)] = [pair[0], pair[1]];
        assert_eq!(next, (phase + 1.0) % 8.0);
        assert_eq!(
            gain,
            [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0][phase as usize]
        );
        let lasted = (to - from).as_secs_f64() / path.conn.min_rtt.as_secs_f64();
        // The probe lasts until the additional data is in flight; the drain may end early.
        let bounds = if phase == 0.0 {
            1.0..2.0
        } else if phase == 1.0 {
            0.0..1.1
        } else {
            1.0..1.1
        };
        assert!(
            bounds.contains(&lasted),
            "phase {phase} lasted {lasted} RTTs"
        );
    }
    assert!(phases.len() > 100);
}

#[test]
fn in_probe_bw_two_bdps_and_the_hosts_share_are_the_limit() {
    let driver = {
        let mut driver = in_probe_bw(Rate::from_mbps(20));
        for _ in 0..30 {
            driver.round(RTT);
        }
        driver
    };
    let bdp = 20e6 * 0.04 / 8.0 / 1_448.0;
    // Three bursts of two segments, rounded to an even number, plus two in the probing phase.
    let target = ((2.0 * bdp + 6.0 + driver.field("extra_acked") / 1_448.0) / 2.0_f64).ceil() * 2.0;
    let probing = if driver.field("phase") == 0.0 {
        2.0
    } else {
        0.0
    };
    assert_eq!(driver.cwnd(), target + probing);
}

/// Kernels before 5.1 had no such term.
#[test]
fn without_a_gain_aggregated_acks_add_nothing() {
    let target = |gain: f64| {
        let mut driver = in_probe_bw_with(
            Rate::from_mbps(20),
            &[("extra_acked_gain", fullpipe_cc::ParamValue::Number(gain))],
        );
        for _ in 0..30 {
            driver.round(RTT);
        }
        let probing = if driver.field("phase") == 0.0 {
            2.0
        } else {
            0.0
        };
        (
            driver.field("extra_acked") / 1_448.0,
            driver.cwnd() - probing,
        )
    };
    let bdp = 20e6 * 0.04 / 8.0 / 1_448.0;
    let ((none, without), (some, with)) = (target(0.0), target(1.0));
    assert_eq!(
        (none, without),
        (0.0, ((2.0 * bdp + 6.0) / 2.0_f64).ceil() * 2.0)
    );
    // The aggregation by this driver's bursts is capped at 100 ms of the bandwidth.
    assert!(
        (some - 20e6 * 0.1 / 8.0 / 1_448.0).abs() < 1e-6 && with > without + 100.0,
        "{some} {with}"
    );
}

#[test]
fn the_minimum_rtt_is_probed_every_ten_seconds_for_200_ms_at_four_packets() {
    let mut path = path();
    let mut least = Bytes::MAX;
    path.run(seconds(45), |path, _| {
        if path.field("state") == 3.0 {
            assert!(path.cc.decision().cwnd <= SMSS * 4);
            assert!(path.cc.decision().mark_app_limited);
            least = least.min(path.conn.inflight);
        }
    });
    let dips: Vec<_> = path
        .log
        .0
        .iter()
        .filter(|(_, change)| change.to == "probe_rtt")
        .map(|(at, _)| *at)
        .collect();
    let ends: Vec<_> = path
        .log
        .0
        .iter()
        .filter(|(_, change)| change.from == "probe_rtt")
        .map(|(at, _)| *at)
        .collect();
    assert!(dips.len() >= 4 && least <= SMSS * 4);
    for (dip, end) in dips.iter().zip(&ends) {
        // Inflight first falls to four packets within an RTT; then 200 ms and the rest of a round
        // pass.
        assert!(
            (0.2..0.3).contains(&(*end - *dip).as_secs_f64()),
            "{}",
            *end - *dip
        );
    }
    for (dip, next) in ends.iter().zip(&dips[1..]) {
        assert!(
            (10.0..10.1).contains(&(*next - *dip).as_secs_f64()),
            "{}",
            *next - *dip
        );
    }
}

#[test]
fn an_equal_rtt_renews_the_minimum_only_when_told_to() {
    for (renew, dips) in [(false, 1), (true, 0)] {
        let mut driver = Driver::new(
            "bbr1",
            &[(
                "min_rtt_refresh_on_equal",
                fullpipe_cc::ParamValue::Flag(renew),
            )],
        );
        driver.rate = Some(Rate::from_mbps(10));
        while driver.now < seconds(11) {
            driver.round(RTT);
        }
        let seen = driver
            .transitions()
            .iter()
            .filter(|change| change.ends_with(">probe_rtt"))
            .count();
        assert_eq!(seen, dips, "refresh on equal: {renew}");
    }
}
