//! What good scenarios mean: values, defaults, names, overrides.

use fullpipe_path::{Distribution, Jitter, Limit, Loss, Moments};
use fullpipe_scenario::{
    App, Buffer, On, PACKET, Pacing, ParamValue, Policer, ReceiveWindow, Scenario,
};
use fullpipe_units::{Bytes, Draw, Rate, Span};

/// Every key, none at its default.
pub(crate) const FULL: &str = r#"
# Every key there is
# and a second line
duration = "60s"
measure_from = "5s"
seed = 7
start_jitter = "50ms"
send_jitter = "120us"

[path]
rate = "100mbit"
rtt = "50ms"
buffer = "8bdp"
queue = { kind = "fq_codel", target = "10ms", ce_threshold = "1ms", flows = 64 }
loss = "0.01%"
reverse_loss = "12.5%"
duplicate = "0.1%"
reverse_duplicate = "2%"
policer = "10mbit burst 60kB"
shaper = "20mbit burst 30kB"
ack_filter = "on"
wifi = "frames 32 backoff 100us overhead 200us"
suspend = "200ms every 2s random"
jitter = "5ms reorder"
reverse_jitter = "hold 10ms every 20ms"

[[path.change]]
at = "30s"
rate = "50mbit"
rtt = "80ms"
buffer = "30packets"
loss = "gilbert-elliott p 1% loss-bad 90% r 30%"
reverse_loss = "every 50"
duplicate = "0%"
policer = "off"
jitter = "off"
reverse_jitter = "gamma 2ms sigma 500us correlation 25%"

[[link]]
name = "access"
rate = "1gbit"
delay = "3ms"
buffer = "1bdp"
ecn = "strip"

[[link]]
name = "back"
rate = "1mbit"
queue = { kind = "codel", ce_threshold = "5ms" }
loss = "1%"

[[flow]]
name = "a"
cc = "cubic"
start = "1s"
bytes = "3MB"
app_rate = "5mbit"
app_schedule = "2s 1mbit, 6s pause, 8.5s unlimited"
route = ["access", "bottleneck"]
reverse_route = ["back"]
rtt = "+20ms"
count = 2
pacing = "on"
receive_window = "64KiB"
delayed_ack = 1
quick_acks = 2000
ack_delay = "25ms"
gro = "1ms"
params = { beta = 0.7, friendly = true, mode = "fast", rounds = 3 }
"#;

const LEAST: &str = r#"
duration = "60s"
path = { rate = "100mbit", rtt = "50ms", buffer = "1bdp" }
[[flow]]
cc = "cubic"
"#;

pub(crate) fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "scenario.toml").unwrap()
}

pub(crate) fn with(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Scenario::parse_with(text, "scenario.toml", &overrides, None).unwrap()
}

fn names(text: &str) -> Vec<String> {
    parse(text)
        .flows
        .into_iter()
        .map(|flow| flow.name)
        .collect()
}

#[test]
fn every_key_is_read() {
    let scenario = parse(FULL);
    assert_eq!(scenario.title.as_deref(), Some("Every key there is"));
    assert_eq!(
        (scenario.duration, scenario.measure_from, scenario.seed),
        (Span::from_secs(60), Span::from_secs(5), 7)
    );
    assert_eq!(
        (scenario.start_jitter, scenario.send_jitter),
        (Span::from_millis(50), Span::from_micros(120))
    );
    let path = &scenario.path;
    assert_eq!(
        (path.link.rate, path.rtt),
        (Rate::from_mbps(100), Span::from_millis(50))
    );
    assert_eq!(
        (path.link.buffer, path.link.queue.descriptor().name),
        (Buffer::Bdp(8.0), "fq_codel")
    );
    assert_eq!(path.link.queue.time("target"), Some(Span::from_millis(10)));
    assert_eq!(
        (path.link.queue.count("flows"), path.link.queue.flag("ecn")),
        (Some(64), true)
    );
    assert_eq!(
        (&path.link.loss, &path.reverse_loss),
        (&Loss::Random(0.0001), &Loss::Random(0.125))
    );
    let policer = Policer {
        rate: Rate::from_mbps(10),
        burst: Bytes::new(60_000),
    };
    let random = Jitter::uniform(Span::from_millis(5), true);
    let hold = Jitter::Hold {
        hold: Span::from_millis(10),
        every: Span::from_millis(20),
    };
    assert_eq!(
        (path.link.policer, &path.jitter, &path.reverse_jitter),
        (Some(policer), &random, &hold)
    );
    assert_eq!((path.duplicate, path.reverse_duplicate), (0.001, 0.02));
    let [change] = &path.changes[..] else {
        panic!("{:?}", path.changes)
    };
    assert_eq!(
        (change.at, change.rate),
        (Span::from_secs(30), Some(Rate::from_mbps(50)))
    );
    assert_eq!(
        (change.rtt, change.buffer),
        (Some(Span::from_millis(80)), Some(Buffer::Packets(30)))
    );
    let ge = Loss::GilbertElliott {
        p: 0.01,
        r: 0.3,
        bad: 0.9,
        good: 0.0,
    };
    assert_eq!(
        (&change.loss, &change.reverse_loss),
        (&Some(ge), &Some(Loss::Every(50)))
    );
    let moments = Moments {
        mean: Span::from_millis(2),
        sigma: Span::from_micros(500),
    };
    let random = Jitter::Random {
        of: Distribution::Gamma(moments),
        correlation: 0.25,
        reorder: false,
    };
    assert_eq!(
        (change.policer, &change.jitter),
        (Some(None), &Some(Jitter::Off))
    );
    assert_eq!(change.reverse_jitter, Some(random));
    let [flow, second] = &scenario.flows[..] else {
        panic!("{:?}", scenario.flows)
    };
    assert_eq!(
        (flow.name.as_str(), second.name.as_str(), flow.cc.as_str()),
        ("a-1", "a-2", "cubic")
    );
    assert_eq!(
        (flow.start, flow.extra_rtt),
        (Span::from_secs(1), Span::from_millis(20))
    );
    assert_eq!(
        (flow.bytes, flow.app_rate),
        (Some(Bytes::new(3_000_000)), Some(Rate::from_mbps(5)))
    );
    let changes = [
        (2_000, Some(Rate::from_mbps(1))),
        (6_000, Some(Rate::ZERO)),
        (8_500, None),
    ];
    assert_eq!(
        flow.app_schedule,
        changes.map(|(ms, rate)| (Span::from_millis(ms), rate))
    );
    assert_eq!(
        (flow.pacing, flow.receive_window),
        (Pacing::On, Some(ReceiveWindow::Fixed(Bytes::new(65_536))))
    );
    assert_eq!((flow.delayed_ack, flow.quick_acks), (1, 2000));
    assert_eq!(
        (flow.ack_delay, flow.gro),
        (Span::from_millis(25), Span::from_millis(1))
    );
    let params: Vec<_> = flow
        .params
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let expected = [
        ("beta", ParamValue::Number(0.7)),
        ("friendly", ParamValue::Flag(true)),
        ("mode", ParamValue::Word("fast".to_owned())),
        ("rounds", ParamValue::Number(3.0)),
    ];
    assert_eq!(params, expected);
    assert_eq!(second.key("cc"), "flow.0.cc", "both come from one table");
}

#[test]
fn without_a_rate_it_is_the_mean_of_its_pattern() {
    let rate = |pattern: &str| {
        let text = LEAST.replace(
            "rate = \"100mbit\"",
            &format!("rate_pattern = \"{pattern}\""),
        );
        Scenario::parse(&text, "tests/scenario/it.toml")
            .unwrap()
            .path
            .link
            .rate
    };
    assert_eq!(rate("sine 20mbit..100mbit every 10s"), Rate::from_mbps(60));
    assert_eq!(
        rate("schedule file files/rates.csv"),
        Rate::from_mbps(30),
        "(5 · 20 + 2.5 · 50) / 7.5, and then the last"
    );
    assert_eq!(
        rate("mahimahi file files/short.trace"),
        Rate::from_mbps(6),
        "5 packets of 12000 bit in 10 ms"
    );
}

#[test]
fn a_buffer_in_time_is_what_the_shaper_lets_go_in_it() {
    let text = LEAST.replace("\"1bdp\"", "\"60ms\", shaper = \"10mbit burst 30kB\"");
    let scenario = Scenario::parse(&text, "it.toml").unwrap();
    assert_eq!(scenario.path.link.limit, fullpipe_path::Limit::Packets(50));
}

#[test]
fn what_a_file_holds_is_part_of_the_scenario() {
    // Named as seen from the scenario's folder; the tests run in the crate's.
    let file = "tests/scenario/it.toml";
    let text = LEAST.replace(
        "\"1bdp\"",
        "\"1bdp\", loss = \"list file files/losses.txt\"",
    );
    let scenario = Scenario::parse(&text, file).unwrap();
    assert_eq!(scenario.path.link.loss, Loss::List([3, 40, 41].into()));
    assert!(
        scenario.to_toml().contains("loss = \"list 3, 40, 41\""),
        "it needs the file no more"
    );

    let text = LEAST.replace(
        "\"1bdp\"",
        "\"1bdp\", jitter = \"histogram file files/delays.csv reorder\"",
    );
    let written = Scenario::parse(&text, file).unwrap().to_toml();
    assert!(
        written.contains("jitter = \"histogram 0s 60, 2ms 30, 5ms 10, 20ms 0 reorder\""),
        "{written}"
    );
}

#[test]
fn every_default_is_filled_in() {
    let written_out = r#"
        duration = "60s"
        measure_from = "0s"
        seed = 1
        start_jitter = "0s"
        send_jitter = "0s"
        [path]
        rate = "100mbit"
        rtt = "50ms"
        buffer = "1bdp"
        queue = "pfifo"
        loss = "0%"
        reverse_loss = "0%"
        duplicate = "0%"
        reverse_duplicate = "0%"
        policer = "off"
        wifi = "off"
        suspend = "off"
        jitter = "off"
        reverse_jitter = "off"
        change = []
        [[flow]]
        name = "cubic"
        cc = "cubic"
        start = "0s"
        rtt = "+0s"
        count = 1
        pacing = "auto"
        delayed_ack = 2
        quick_acks = 16
        ack_delay = "40ms"
        gro = "0s"
        params = {}
    "#;
    assert_eq!(parse(LEAST), parse(written_out));
}

#[test]
fn changes_come_in_order_of_time_and_leave_alone_what_they_do_not_name() {
    let changes = "[[path.change]]\nat = \"9s\"\nrate = \"1mbit\"\n\
                   [[path.change]]\nat = \"3s\"\nrate = \"2mbit\"\nrtt = \"9ms\"\n";
    let path =
        "duration = \"10s\"\n[path]\nrate = \"8mbit\"\nrtt = \"5ms\"\nbuffer = \"9packets\"\n";
    let path = parse(&format!("{path}{changes}[[flow]]\ncc = \"cubic\"\n")).path;
    let rates: Vec<_> = path.schedule(|change| change.rate).collect();
    let at = Span::from_secs;
    assert_eq!(
        rates,
        [(at(3), Rate::from_mbps(2)), (at(9), Rate::from_mbps(1))]
    );
    assert_eq!(
        path.schedule(|change| change.rtt).collect::<Vec<_>>(),
        [(at(3), Span::from_millis(9))]
    );
    assert_eq!(path.fastest(), Rate::from_mbps(8));
}

#[test]
fn jitter_is_read_in_every_form_and_none_at_all_is_off() {
    let jitter = |text: &str| with(LEAST, &[("path.jitter", text)]).path.jitter;
    let ms = Span::from_millis;
    assert_eq!(
        jitter("hold 20ms every 100 ms"),
        Jitter::Hold {
            hold: ms(20),
            every: ms(100)
        }
    );
    assert_eq!(
        jitter("hold 10ms"),
        Jitter::Hold {
            hold: ms(10),
            every: ms(10)
        }
    );
    assert_eq!(jitter("5ms"), Jitter::uniform(ms(5), false));
    assert_eq!(jitter("0ms"), Jitter::Off);
}

#[test]
fn flows_without_a_name_are_called_by_their_cc() {
    let path =
        "duration = \"9s\"\npath = { rate = \"1mbit\", rtt = \"1ms\", buffer = \"9packets\" }\n";
    let flows = |lines: &[&str]| {
        names(&lines.iter().fold(path.to_owned(), |text, line| {
            text + "[[flow]]\n" + line + "\n"
        }))
    };
    assert_eq!(
        flows(&["cc = \"cubic\"", "cc = \"bbr1\""]),
        ["cubic", "bbr1"]
    );
    assert_eq!(
        flows(&["cc = \"cubic\"", "cc = \"bbr1\"", "cc = \"cubic\""]),
        ["cubic-1", "bbr1", "cubic-2"]
    );
    assert_eq!(
        flows(&["cc = \"cubic\"", "cc = \"cubic\"\ncount = 2"]),
        ["cubic-1", "cubic-2", "cubic-3"]
    );
    assert_eq!(
        flows(&["cc = \"cubic\"\nname = \"a\"", "cc = \"cubic\""]),
        ["a", "cubic"]
    );
    assert_eq!(
        flows(&["cc = \"cubic\"\nname = \"a\"\ncount = 3"]),
        ["a-1", "a-2", "a-3"]
    );
}

#[test]
fn the_title_is_the_first_comment_line() {
    let title = |top: &str| parse(&format!("{top}{LEAST}")).title;
    assert_eq!(
        title("\n#\n#  One flow  \n# more\n").as_deref(),
        Some("One flow")
    );
    assert_eq!(title(""), None);
    assert_eq!(title("seed = 2 # lucky\n# not at the top\n"), None);
}

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
    // Whatever tenth of a BDP of 300 packets: never one short because the factor is not exact in
    // binary.
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
fn a_path_may_have_no_delay() {
    assert_eq!(
        with(LEAST, &[("path.rtt", "0s"), ("path.buffer", "10packets")])
            .path
            .rtt,
        Span::ZERO
    );
}

#[test]
fn an_override_counts_as_written() {
    for (key, value, written, instead) in [
        (
            "path.rate",
            "20mbit",
            "rate = \"100mbit\"",
            "rate = \"20mbit\"",
        ),
        (
            "path.rate",
            "\"20mbit\"",
            "rate = \"100mbit\"",
            "rate = \"20mbit\"",
        ),
        ("flow.0.cc", "bbr1", "cc = \"cubic\"", "cc = \"bbr1\""),
        ("flow.0.name", "1", "name = \"a\"", "name = \"1\""),
        ("flow.0.name", "true", "name = \"a\"", "name = \"true\""),
        ("flow.0.count", "10", "count = 2", "count = 10"),
        ("flow.0.rtt", "+0s", "rtt = \"+20ms\"", "rtt = \"+0s\""),
        ("flow.0.params.beta", "0.5", "beta = 0.7", "beta = 0.5"),
        ("flow.0.params.beta", "off", "beta = 0.7", "beta = \"off\""),
        (
            "flow.0.params.friendly",
            "false",
            "friendly = true",
            "friendly = false",
        ),
        (
            "flow.0.params.mode",
            "slow",
            "mode = \"fast\"",
            "mode = \"slow\"",
        ),
        ("seed", "3", "seed = 7", "seed = 3"),
        ("path.loss", "2%", "loss = \"0.01%\"", "loss = \"2%\""),
    ] {
        assert_eq!(FULL.matches(written).count(), 1, "{written}");
        assert_eq!(
            with(FULL, &[(key, value)]),
            parse(&FULL.replace(written, instead)),
            "{key}={value}"
        );
    }
}

#[test]
fn overrides_add_what_is_not_there_and_the_last_one_counts() {
    let scenario = with(
        LEAST,
        &[
            ("seed", "2"),
            ("flow.0.params.beta", "0.5"),
            ("seed", "3"),
            ("path.loss", "1%"),
        ],
    );
    assert_eq!(
        (scenario.seed, &scenario.path.link.loss),
        (3, &Loss::Random(0.01))
    );
    assert_eq!(scenario.flows[0].params["beta"], ParamValue::Number(0.5));
    let overrides = [("seed".to_owned(), "2".to_owned())];
    assert_eq!(
        Scenario::parse_with(LEAST, "scenario.toml", &overrides, Some(4))
            .unwrap()
            .seed,
        4
    );
    let without_path = LEAST
        .lines()
        .filter(|line| !line.starts_with("path"))
        .collect::<Vec<_>>()
        .join("\n");
    let path = [
        ("path.rate", "100mbit"),
        ("path.rtt", "50ms"),
        ("path.buffer", "1bdp"),
    ];
    assert_eq!(with(&without_path, &path), parse(LEAST));
}

#[test]
fn the_scenarios_of_the_project_are_read_and_say_what_they_are() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let scenario = parse_file(&path);
        assert!(
            scenario.title.is_some(),
            "{} has no comment at its top",
            path.display()
        );
        let written = scenario.to_toml();
        // That it was a profile is said in a comment, once.
        let profile = scenario
            .profile
            .map(|profile| format!("# The path is that of the profile {}.\n", profile.name));
        assert_eq!(
            parse(&written).to_toml(),
            written.replace(&profile.unwrap_or_default(), "")
        );
        count += 1;
    }
    assert!(count >= 8, "{count} scenarios found");
}

fn parse_file(path: &std::path::Path) -> Scenario {
    let text = std::fs::read_to_string(path).unwrap();
    Scenario::parse(&text, &path.display().to_string()).unwrap()
}
