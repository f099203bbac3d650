//! Segment sizes and initial windows in whole runs: figures computed by hand.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_trace::{Summary, TraceLevel};

fn run(path: &str, flows: &str) -> Summary {
    let text = format!("duration = \"10s\"\n[path]\n{path}\n{flows}\n");
    let scenario =
        Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap_or_else(|error| panic!("{error}"))
        .summary
}

fn close(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value / expected - 1.0).abs() < tolerance,
        "{value}, not {expected}"
    );
}

#[test]
fn a_full_link_carries_the_payload_of_its_packets() {
    let path = "rate = \"100mbit\"\nrtt = \"20ms\"\nbuffer = \"4bdp\"";
    for cc in ["cubic", "newreno", "bbr1", "bbr3"] {
        for mss in [88_u32, 536, 1_448, 8_948, 65_483] {
            let flow = format!("[[flow]]\ncc = \"{cc}\"\nmss = \"{mss}B\"");
            let goodput = run(path, &flow).flows[0].goodput_bps;
            // The start, and the time in which BBR probes the RTT.
            close(goodput, 100e6 * f64::from(mss) / f64::from(mss + 52), 0.06);
        }
    }
}

#[test]
fn unresponsive_traffic_has_small_packets_too() {
    let path = "rate = \"100mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"";
    let flow = "[[flow]]\ncc = \"none\"\nmss = \"200B\"\napp_rate = \"16mbit\"";
    let summary = run(path, flow);
    close(summary.flows[0].sent as f64, 10.0 * 16e6 / 1_600.0, 0.001);
    close(summary.links[0].utilization, 0.16 * 252.0 / 200.0, 0.001);
}

#[test]
fn a_buffer_in_bdp_holds_as_many_bytes_whatever_the_size_of_packets() {
    // 1 BDP of 250 kB: 166 packets of 1500, 27 of 9000.
    let path = "rate = \"100mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"";
    for (mss, packets) in [(1_448_u32, 166.0), (8_948, 27.0)] {
        let summary = run(
            path,
            &format!("[[flow]]\ncc = \"newreno\"\nmss = \"{mss}B\""),
        );
        let wait = packets * f64::from(mss + 52) * 8.0 / 100e6;
        close(summary.flows[0].queue_delay_s.max.unwrap(), wait, 0.05);
    }
}

/// Time until the last byte of a transfer arrives, without serialization: the link is fast.
fn completion(flow: &str) -> f64 {
    let path = "rate = \"100gbit\"\nrtt = \"100ms\"\nbuffer = \"1MB\"";
    let summary = run(path, &format!("[[flow]]\ncc = \"newreno\"\n{flow}"));
    summary.flows[0].completion_s.expect("it ends")
}

#[test]
fn an_initial_window_leaves_in_the_first_round_trip() {
    // The handshake takes one round trip, the last flight half of one.
    for (window, segments, trips) in [
        (10, 10, 1.5),
        (10, 11, 2.5),
        (32, 32, 1.5),
        (32, 33, 2.5),
        (1, 1, 1.5),
        (1, 2, 2.5),
        // RFC 7323 §2.2: 65535 bytes until the first ACK, which are 45 segments.
        (50, 45, 1.5),
        (50, 46, 2.5),
    ] {
        let flow = format!(
            "initial_window = {window}\nbytes = \"{}B\"",
            segments * 1448
        );
        close(completion(&flow), trips * 0.1, 0.001);
    }
    // Seven segments of 8948 bytes.
    for (segments, trips) in [(7, 1.5), (8, 2.5)] {
        let flow = format!("mss = \"8948B\"\nbytes = \"{}B\"", segments * 8948);
        close(completion(&flow), trips * 0.1, 0.001);
    }
}

#[test]
fn small_segments_take_more_round_trips() {
    // 10 segments of 536 bytes in the first flight, then 20 and 40: 37520 bytes.
    for (bytes, trips) in [(5_360, 1.5), (16_080, 2.5), (37_520, 3.5), (37_521, 4.5)] {
        let flow = format!("mss = \"536B\"\nbytes = \"{bytes}B\"");
        close(completion(&flow), trips * 0.1, 0.001);
    }
}

#[test]
fn applications_write_segments_of_the_flows_size() {
    let path = "rate = \"100mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"";
    // 20 segments of 536 bytes in answers of 10,720 bytes, and a rate of 2 Mbit/s.
    for app in [
        "app = \"request 10720B think 80ms\"",
        "app = \"on 10720B off 80ms\"",
        "app_rate = \"2mbit\"",
        "app = \"on 1s off 1s\"\napp_rate = \"2mbit\"",
        "app_schedule = \"0s 2mbit, 1s pause, 3s 2mbit\"",
    ] {
        let count = |mss: u32| {
            let flow = format!("[[flow]]\ncc = \"newreno\"\nmss = \"{mss}B\"\n{app}");
            let flow = &run(path, &flow).flows[0];
            (flow.sent as f64, flow.goodput_bps)
        };
        let ((small, slow), (large, fast)) = (count(536), count(5_360));
        close(slow, fast, 0.03);
        close(small / large, 10.0, 0.04);
    }
}
