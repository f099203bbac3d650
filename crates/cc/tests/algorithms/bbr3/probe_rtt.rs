//! ProbeRTT, idle, and a path with a BDP of less than a packet.

use super::*;

#[test]
fn probe_rtt_comes_every_five_seconds_for_200_ms_at_half_a_bdp() {
    for profile in PROFILES {
        let mut path = Path::new(
            "bbr3",
            &[("profile", word(profile))],
            Rate::from_mbps(40),
            RTT,
            2_000,
        );
        let mut least = f64::MAX;
        path.run(seconds(32.0), |path, _| {
            if path.field("state") == PROBE_RTT {
                assert!(path.cc.decision().mark_app_limited);
                assert!(path.cc.decision().cwnd <= SMSS * 69, "half of 137 segments");
                least = least.min(path.conn.inflight.as_f64());
            }
        });
        let of = |pick: fn(&fullpipe_cc::Transition) -> bool| -> Vec<f64> {
            path.log
                .0
                .iter()
                .filter(|(_, change)| pick(change))
                .map(|(at, _)| at.as_secs_f64())
                .collect()
        };
        let dips = of(|change| change.to == "probe_rtt");
        let ends = of(|change| change.from == "probe_rtt");
        assert!(dips.len() >= 5 && ends.len() >= 5, "{profile}: {dips:?}");
        for (dip, end) in dips.iter().zip(&ends) {
            // Half a window must drain first, which takes at most an RTT; then 200 ms and the rest
            // of a round pass.
            assert!(
                (0.2..0.3).contains(&(end - dip)),
                "{profile}: {dip} to {end}"
            );
        }
        for (end, next) in ends.iter().zip(&dips[1..]) {
            assert!(
                (5.0..5.05).contains(&(next - end)),
                "{profile}: {end} to {next}"
            );
        }
        assert!(least > 0.4 * 137.0 * 1_448.0, "{profile}: {least}");
    }
}

#[test]
fn probe_rtt_in_startup_leads_back_to_startup() {
    for profile in PROFILES {
        let mut driver = flow(profile);
        driver.conn.app_limited = true;
        driver.rate = Some(Rate::from_mbps(5));
        while driver.now < seconds(7.0) {
            driver.round(RTT);
        }
        assert_eq!(
            driver.transitions(),
            ["startup>probe_rtt", "probe_rtt>startup"],
            "{profile}"
        );
    }
}

#[test]
fn after_idle_there_is_no_probe_rtt_and_the_pace_is_the_bandwidth() {
    for profile in PROFILES {
        let mut driver = cruising_as(profile, Rate::from_mbps(20));
        go_up(&mut driver);
        driver.now += Span::from_secs(20);
        driver.conn.app_limited = true;
        let first = Snapshot {
            inflight: SMSS,
            ..driver.packet(driver.conn.delivered)
        };
        driver.call(|cc, cx| cc.on_sent(cx, &first));
        assert_eq!(
            driver.decision().pacing_rate,
            Some(Rate::from_bps(19_800_000)),
            "{profile}"
        );
        driver.ack(driver.conn.delivered, SMSS, RTT);
        assert_ne!(driver.field("state"), PROBE_RTT, "{profile}");
    }
}

#[test]
fn a_path_of_less_than_a_packet_keeps_four_in_flight() {
    for profile in PROFILES {
        let mut path = Path::new(
            "bbr3",
            &[("profile", word(profile))],
            Rate::from_bps(200_000),
            Span::from_millis(10),
            100,
        );
        path.run(seconds(20.0), |path, _| {
            assert!(path.cc.decision().cwnd >= SMSS * 4)
        });
        let goodput = path.conn.delivered.as_f64() * 8.0 / 20.0;
        assert!(
            goodput > 0.9 * 200e3 * 1_448.0 / 1_500.0,
            "{profile}: {goodput}"
        );
    }
}
