//! Reading buffers, queues, windows and applications.

use crate::reading::{LEAST, parse, with};
use fullpipe_path::Limit;
use fullpipe_scenario::{App, Buffer, On, PACKET, Scenario};
use fullpipe_units::{Bytes, Draw, Rate, Span};
#[test]
fn a_buffer_counts_whole_packets() {
    let limit = |buffer: &str| {
        let scenario = with(LEAST, &[("path.buffer", buffer)]);
        scenario
            .path
            .link
            .buffer
            .limit(scenario.path.link.rate, scenario.path.rtt, PACKET)
    };
    assert_eq!(
        limit("8bdp"),
        Limit::Packets(3_333),
        "8 x 625000 B are 3333.3 packets"
    );
    assert_eq!(
        limit("100ms"),
        Limit::Packets(833),
        "1.25 MB are 833.3 packets"
    );
    assert_eq!(limit("400packets"), Limit::Packets(400));
    assert_eq!(limit("1.5MB"), Limit::Bytes(Bytes::new(1_500_000)));
    assert_eq!(limit("1500B"), Limit::Bytes(PACKET));
    assert_eq!(limit("0.0024bdp"), Limit::Packets(1), "1500 B exactly");
    // Every tenth of a BDP of 300 packets is exact, although most factors are not exact in binary.
    for tenths in 1..=1_000 {
        let buffer = Buffer::Bdp(f64::from(tenths) / 10.0);
        let limit = buffer.limit(Rate::from_mbps(36), Span::from_millis(100), PACKET);
        assert_eq!(limit, Limit::Packets(30 * u64::from(tenths as u32)));
    }
}

#[test]
fn a_queue_that_counts_bytes_rounds_nothing() {
    let limit = |queue: &str, buffer: &str| {
        let path = with(LEAST, &[("path.queue", queue), ("path.buffer", buffer)]).path;
        path.link.limit
    };
    assert_eq!(limit("codel", "1bdp"), Limit::Packets(416));
    assert_eq!(limit("bfifo", "1bdp"), Limit::Bytes(Bytes::new(625_000)));
    assert_eq!(
        limit("red", "400packets"),
        Limit::Bytes(Bytes::new(600_000))
    );
}

#[test]
fn the_default_buffer_is_the_queues_own_limit_or_one_bdp() {
    for queue in fullpipe_path::QUEUES {
        let settings = [("path.queue", queue.name), ("path.buffer", "default")];
        let buffer = with(LEAST, &settings).path.link.buffer;
        let own = queue.limit.map(Buffer::Packets);
        assert_eq!(buffer, own.unwrap_or(Buffer::Bdp(1.0)), "{}", queue.name);
    }
}

#[test]
fn a_queue_has_its_options_and_its_limit_from_tc() {
    let text = LEAST.replace(
        "buffer = \"1bdp\"",
        "queue = { kind = \"pie\", target = \"20ms\" }",
    );
    let pie = parse(&text).path.link;
    assert_eq!(
        (pie.buffer, pie.queue.time("target")),
        (Buffer::Packets(1_000), Some(Span::from_millis(20)))
    );
    assert_eq!(
        pie.queue.time("tupdate"),
        Some(Span::from_millis(15)),
        "its default"
    );
    let set = with(
        LEAST,
        &[
            ("path.queue", "codel"),
            ("path.queue.interval", "50ms"),
            ("path.queue.ecn", "true"),
        ],
    );
    let codel = set.path.link.queue;
    assert_eq!(
        (codel.time("interval"), codel.flag("ecn")),
        (Some(Span::from_millis(50)), true)
    );
}

#[test]
fn the_receive_window_follows_the_flows_own_rtt() {
    let scenario = with(LEAST, &[("flow.0.rtt", "+50ms")]);
    // 2 x (100 Mbit/s x 100 ms + 416 packets)
    assert_eq!(
        scenario.receive_window(&scenario.flows[0]),
        Bytes::new(2 * (1_250_000 + 416 * 1_500))
    );
    let scenario = with(LEAST, &[("flow.0.receive_window", "1MB")]);
    assert_eq!(
        scenario.receive_window(&scenario.flows[0]),
        Bytes::new(1_000_000)
    );
    for (auto, most) in [("auto", 3 << 20), ("auto max 1MB", 500_000)] {
        let scenario = with(LEAST, &[("flow.0.receive_window", auto)]);
        assert_eq!(
            scenario.receive_window(&scenario.flows[0]),
            Bytes::new(most),
            "half of the buffer"
        );
    }
}

#[test]
fn applications_are_read_and_written_as_they_are_meant() {
    let time = |ms| Draw::Constant(Span::from_millis(ms));
    let size = |bytes| Draw::Constant(Bytes::new(bytes));
    let exponential = Draw::Exponential {
        mean: Span::from_secs(1),
    };
    let pareto = Draw::Pareto {
        mean: Bytes::new(100_000),
        shape: 1.2,
    };
    for (text, app, written) in [
        (
            "on 2s off 1s",
            App::OnOff {
                on: On::Time(time(2_000)),
                off: time(1_000),
            },
            "on 2s off 1s",
        ),
        (
            "on exp 1s off 10 ms",
            App::OnOff {
                on: On::Time(exponential),
                off: time(10),
            },
            "on exp 1s off 10ms",
        ),
        (
            "on 500kB off exp 1s",
            App::OnOff {
                on: On::Size(size(500_000)),
                off: exponential,
            },
            "on 500kB off exp 1s",
        ),
        (
            "on pareto 100kB shape 1.2 off 1s",
            App::OnOff {
                on: On::Size(pareto),
                off: time(1_000),
            },
            "on pareto 100kB shape 1.2 off 1s",
        ),
        (
            "request 1KiB",
            App::Request {
                size: size(1_024),
                think: time(0),
            },
            "request 1024B think 0s",
        ),
        (
            "request pareto 100kB shape 1.2 think exp 1s",
            App::Request {
                size: pareto,
                think: exponential,
            },
            "request pareto 100kB shape 1.2 think exp 1s",
        ),
    ] {
        let scenario = with(LEAST, &[("flow.0.app", text)]);
        assert_eq!(scenario.flows[0].app, Some(app), "{text}");
        let again = scenario.to_toml();
        assert!(again.contains(&format!("app = \"{written}\"")), "{again}");
        assert_eq!(parse(&again).flows[0].app, Some(app), "{text}");
    }
}

#[test]
fn a_buffer_is_counted_in_the_largest_packets() {
    let text = |flows: &str| {
        format!(
            "duration = \"9s\"\n[path]\nrate = \"100mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n{flows}"
        )
    };
    let jumbo = "[[flow]]\ncc = \"cubic\"\nmss = \"8948B\"\n";
    let small = "[[flow]]\ncc = \"cubic\"\nmss = \"536B\"\n";
    for (flows, packet, packets) in [
        (jumbo.to_owned(), 9_000, 27),
        (small.to_owned(), 588, 425),
        (format!("{small}{jumbo}"), 9_000, 27),
    ] {
        let scenario = Scenario::parse(&text(&flows), "test.toml").unwrap();
        assert_eq!(scenario.packet, Bytes::new(packet));
        assert_eq!(scenario.path.link.limit, Limit::Packets(packets));
        let again = Scenario::parse(&scenario.to_toml(), "test.toml").unwrap();
        assert_eq!(again, scenario);
    }
}
