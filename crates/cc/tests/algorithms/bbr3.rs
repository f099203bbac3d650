//! BBRv3, as in draft-ietf-ccwg-bbr-06 and google/bbr v3. Expected numbers are those of the draft
//! and of Linux, or are derived from them.

use fullpipe_cc::{Controller, LossCause, Lost, ParamValue, Recovery, Snapshot};
use fullpipe_units::{Bytes, Rate, Span, Time};

use super::driver::{Driver, SMSS, word};
use super::path::Path;

mod delay;
mod filters;
mod loss;
mod marks;
mod probe_rtt;

const RTT: Span = Span::from_millis(40);
const PROFILES: [&str; 2] = ["draft", "linux"];
/// Codes of the states in the trace.
const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

fn seconds(s: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(s)
}

fn flow(profile: &str) -> Driver {
    Driver::new("bbr3", &[("profile", word(profile))])
}

/// Returns a flow in CRUISE at `rate`, without a queue, and with ProbeRTT postponed.
fn cruising(params: &[(&str, ParamValue)], rate: Rate) -> Driver {
    let mut params = params.to_vec();
    params.push(("probe_rtt_interval", ParamValue::Number(1e3)));
    let mut driver = Driver::new("bbr3", &params);
    driver.rate = Some(rate);
    while driver.field("state") != CRUISE {
        driver.conn.inflight = SMSS * 20;
        driver.round(RTT);
    }
    driver
}

fn cruising_as(profile: &str, rate: Rate) -> Driver {
    cruising(&[("profile", word(profile))], rate)
}

/// Advances to UP: waits until the next probe, and refills for a round.
fn go_up(driver: &mut Driver) {
    driver.now += Span::from_secs(3);
    while driver.field("state") != UP {
        assert!(driver.field("state") == CRUISE || driver.field("state") == REFILL);
        driver.round_of(4, Span::from_millis(1), |_| RTT);
    }
}

/// Acknowledges packets, one per round, with sixty segments in flight, until the flow is in
/// `state`.
fn step_into(driver: &mut Driver, state: f64) {
    while driver.field("state") != state {
        driver.conn.inflight = SMSS * 60;
        driver.round_of(1, RTT, |_| RTT);
    }
}

/// Loses a burst of `segments` that left with `inflight` in flight; since then `lost` segments were
/// lost, including the burst.
fn lose_burst(driver: &mut Driver, inflight: u64, segments: u64, lost: u64) {
    let size = SMSS * segments;
    let packet = Snapshot {
        inflight: SMSS * inflight,
        size: size.get() as u16,
        ..driver.packet(driver.conn.delivered)
    };
    driver.conn.lost += size;
    let lost = Lost {
        packet,
        lost_since_sent: SMSS * lost,
        new_range: true,
        cause: LossCause::Rack,
    };
    driver.call(|cc, cx| cc.on_lost(cx, &lost));
}

fn segments(driver: &Driver, field: &str) -> f64 {
    driver.field(field) / SMSS.as_f64()
}

#[test]
fn the_first_rate_is_the_startup_gain_times_the_initial_window_each_rtt() {
    // §5.6.2 InitPacingRate has no margin; Linux has 1 %.
    for (profile, gain) in [("draft", 2.77), ("linux", 710.0 / 256.0 * 0.99)] {
        let mut driver = flow(profile);
        let before = gain * 14_480.0 * 8.0 / 1e-3;
        assert!(
            (driver.decision().pacing_rate.unwrap().as_f64() / before - 1.0).abs() < 1e-6,
            "{profile}"
        );
        driver.ack(Bytes::ZERO, SMSS, RTT);
        let after = gain * 14_480.0 * 8.0 / 0.04;
        assert!(
            (driver.decision().pacing_rate.unwrap().as_f64() / after - 1.0).abs() < 1e-6,
            "{profile}"
        );
    }
}

#[test]
fn three_rounds_without_a_quarter_more_end_startup() {
    for profile in PROFILES {
        let mut driver = flow(profile);
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
            let found = (driver.field("state"), driver.field("full_bw_count"));
            assert_eq!(
                found,
                (STARTUP, f64::from(count)),
                "{profile}, {mbps} Mbit/s"
            );
        }
        driver.round(RTT);
        assert_eq!(driver.transitions()[0], "startup>drain", "{profile}");
        assert_eq!(driver.log.0[0].1.reason, "bandwidth plateau");
    }
}

#[test]
fn a_flow_that_the_application_limits_never_leaves_startup() {
    for profile in PROFILES {
        let mut driver = flow(profile);
        driver.rate = Some(Rate::from_mbps(10));
        driver.conn.app_limited = true;
        for _ in 0..50 {
            driver.round(RTT);
        }
        assert_eq!(driver.field("state"), STARTUP, "{profile}");
    }
}

#[test]
fn gains_are_the_tables() {
    // §5.6.1, and Linux's values as multiples of 1/256.
    let linux = [710.0 / 256.0, 88.0 / 256.0, 232.0 / 256.0];
    for (profile, [startup, drain, down]) in [("draft", [2.77, 0.5, 0.9]), ("linux", linux)] {
        let mut path = Path::new(
            "bbr3",
            &[("profile", word(profile))],
            Rate::from_mbps(40),
            RTT,
            2_000,
        );
        path.run(seconds(12.0), |path, _| {
            let gains = (path.field("pacing_gain"), path.field("cwnd_gain"));
            let state = path.field("state");
            let expected = match state {
                STARTUP => (startup, 2.0),
                DRAIN => (drain, 2.0),
                DOWN => (down, 2.0),
                UP => (1.25, 2.25),
                PROBE_RTT => (1.0, if profile == "draft" { 0.5 } else { 1.0 }),
                _ => (1.0, 2.0),
            };
            assert_eq!(gains, expected, "{profile}, state {state}");
        });
    }
}

#[test]
fn drain_ends_when_the_queue_is_gone_or_in_the_draft_after_three_rounds() {
    // By the strict comparison of §5.3.2 CheckDrainDone, Drain ends when the fourth round begins.
    for (profile, rounds) in [("draft", Some(4.0)), ("linux", None)] {
        let mut driver = flow(profile);
        driver.rate = Some(Rate::from_mbps(20));
        while driver.field("state") == STARTUP {
            driver.round(RTT);
        }
        let from = driver.field("round");
        for _ in 0..20 {
            driver.conn.inflight = SMSS * 1_000;
            driver.now += RTT;
            driver.ack(driver.conn.delivered, SMSS, RTT);
            driver.conn.inflight = SMSS * 1_000;
            if driver.field("state") != DRAIN {
                break;
            }
        }
        match rounds {
            Some(rounds) => assert_eq!(
                (driver.field("state"), driver.field("round") - from),
                (DOWN, rounds)
            ),
            None => assert_eq!(driver.field("state"), DRAIN, "Linux waits for the queue"),
        }
    }
}

#[test]
fn a_bandwidth_counts_for_this_cycle_and_the_next() {
    for profile in PROFILES {
        let mut driver = cruising_as(profile, Rate::from_mbps(20));
        driver.rate = Some(Rate::from_mbps(15));
        let mut cycles = 0;
        while driver.field("max_bw") == 20e6 && cycles < 10 {
            go_up(&mut driver);
            while driver.field("state") != CRUISE {
                driver.conn.inflight = SMSS * 20;
                driver.round_of(4, Span::from_millis(1), |_| RTT);
            }
            cycles += 1;
        }
        assert_eq!(cycles, 2, "{profile}");
    }
}

#[test]
fn probes_come_every_two_to_three_seconds_or_after_as_many_rounds_as_the_bdp_has_segments() {
    // 138 segments: 62 or 63 rounds of 40 ms pass first. 14 segments: as many rounds.
    for profile in PROFILES {
        for (mbps, rtt_ms, least, most) in [
            (40, 40, 2.0, 2.7),
            (40, 200, 2.0, 3.2),
            (20, 10, 0.14, 0.26),
        ] {
            let rtt = Span::from_millis(rtt_ms);
            let params = [
                ("profile", word(profile)),
                ("probe_rtt_interval", ParamValue::Number(1e3)),
            ];
            let mut path = Path::new("bbr3", &params, Rate::from_mbps(mbps), rtt, 5_000);
            path.run(seconds(20.0), |_, _| {});
            let of = |state: &str| -> Vec<f64> {
                let entered = path.log.0.iter().filter(|(_, change)| change.to == state);
                entered.map(|(at, _)| at.as_secs_f64()).collect()
            };
            let (downs, refills) = (of("probe_bw_down"), of("probe_bw_refill"));
            assert!(refills.len() > 4);
            for (down, refill) in downs.iter().zip(&refills) {
                let wait = refill - down;
                assert!(
                    (least..most).contains(&wait),
                    "{profile}, {mbps} Mbit/s, {rtt_ms} ms: {wait}"
                );
            }
        }
    }
}

#[test]
fn the_queue_is_what_a_fluid_makes_of_it() {
    // A fluid model: growth by 1.25 * 0.99 in each of three rounds gives a queue of 0.9 BDP when UP
    // ends; a cycle has about 55 rounds.
    for profile in PROFILES {
        let mut path = Path::new(
            "bbr3",
            &[("profile", word(profile))],
            Rate::from_mbps(100),
            Span::from_millis(50),
            3_332,
        );
        path.run(seconds(2.0), |_, _| {});
        assert_eq!(path.conn.lost, Bytes::ZERO);
        let before = path.conn.delivered;
        let mut queues = Vec::new();
        path.run(seconds(17.0), |_, rtt| {
            queues.push((rtt.as_secs_f64() - 0.05) / 0.05)
        });
        let goodput = (path.conn.delivered - before).as_f64() * 8.0 / 15.0;
        queues.sort_by(f64::total_cmp);
        let mean = queues.iter().sum::<f64>() / queues.len() as f64;
        let p99 = queues[queues.len() * 99 / 100];
        assert_eq!(path.conn.lost, Bytes::ZERO, "{profile}");
        assert!(
            goodput / (100e6 * 1_448.0 / 1_500.0) > 0.96,
            "{profile}: {goodput}"
        );
        assert!(
            p99 < 1.1 && mean < 0.2,
            "{profile}: a queue of {mean} BDPs, p99 {p99}"
        );
        let (link, max_bw) = (100e6 * 1_448.0 / 1_500.0, path.field("max_bw"));
        assert!((max_bw / link - 1.0).abs() < 0.02, "{profile}: {max_bw}");
    }
}
