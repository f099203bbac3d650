//! Reading valid scenarios: values, defaults, names, overrides.

use fullpipe_path::{Distribution, Jitter, Loss, Moments};
use fullpipe_scenario::{Buffer, Pacing, ParamValue, Policer, ReceiveWindow, Scenario, Workload};
use fullpipe_units::{Bytes, Rate, Span};

/// A scenario with every key at a value other than its default.
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
delay_trace = "0s 25ms, 2s 40ms every 60s"

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

pub(crate) const LEAST: &str = r#"
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
    assert_eq!(scenario.title(), Some("Every key there is"));
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
    let trace = path.delay_trace.as_ref().unwrap();
    let [at, delay] = [Span::from_secs, Span::from_millis].map(|of| move |n: u64| of(n));
    assert_eq!(
        (&trace.steps[..], trace.every),
        (&[(at(0), delay(25)), (at(2), delay(40))][..], Some(at(60)))
    );
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
        ack_policy = "linux"
        gro = "0s"
        params = {}
    "#;
    assert_eq!(parse(LEAST), parse(written_out));
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
    let read = |top: &str| parse(&format!("{top}{LEAST}"));
    let scenario = read("\n#\n#  One flow  \n# more\n");
    assert_eq!(scenario.title(), Some("One flow"));
    assert_eq!(scenario.comment, ["One flow", "more"]);
    assert_eq!(read("").title(), None);
    assert_eq!(read("seed = 2 # lucky\n# not at the top\n").title(), None);
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
            scenario.title().is_some(),
            "{} has no comment at its top",
            path.display()
        );
        let written = scenario.to_toml();
        assert_eq!(parse(&written).to_toml(), written);
        count += 1;
    }
    assert!(count >= 8, "{count} scenarios found");
}

fn parse_file(path: &std::path::Path) -> Scenario {
    let text = std::fs::read_to_string(path).unwrap();
    Scenario::parse(&text, &path.display().to_string()).unwrap()
}

#[test]
fn a_schedule_with_a_period_begins_anew_at_the_rate_of_the_application() {
    let text = |rate: &str, schedule: &str| {
        let flow = format!("cc = \"cubic\"\n{rate}app_schedule = \"{schedule}\"\n");
        let path = "rate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n";
        format!("duration = \"2500ms\"\n[path]\n{path}[[flow]]\n{flow}")
    };
    let read = |rate: &str, schedule: &str| {
        let scenario = Scenario::parse(&text(rate, schedule), "test.toml").unwrap();
        scenario.flows[0].app_schedule.clone()
    };
    let ms = Span::from_millis;
    let (five, off) = (Some(Rate::from_mbps(5)), Some(Rate::ZERO));
    let five_again = [
        (ms(100), off),
        (ms(1000), five),
        (ms(1100), off),
        (ms(2000), five),
        (ms(2100), off),
    ];
    let app_rate = "app_rate = \"5mbit\"\n";
    assert_eq!(read(app_rate, "100ms pause every 1s"), five_again);
    // Without a rate the application is unlimited, and a change at 0 s replaces it.
    let unlimited = five_again.map(|(at, rate)| (at, if rate == five { None } else { rate }));
    assert_eq!(read("", "100ms pause every 1s"), unlimited);
    let whole: Vec<_> = [(ms(0), five)].into_iter().chain(five_again).collect();
    assert_eq!(read("", "0s 5mbit, 100ms pause every 1s"), whole);
    // Written out, it is the same schedule without a period.
    let again = Scenario::parse(&text(app_rate, "100ms pause every 1s"), "test.toml").unwrap();
    let written = Scenario::parse(&again.to_toml(), "written.toml").unwrap();
    assert_eq!(written.flows[0].app_schedule, five_again);
}

/// The end of the warm-up of a path of 20 Mbit/s, RTT 40 ms and these further keys, measured by `measure_from = "auto"`.
fn warm_up(duration: &str, path: &str, tables: &str) -> Span {
    let text = format!(
        r#"
        duration = "{duration}"
        measure_from = "auto"
        [path]
        rate = "20mbit"
        rtt = "40ms"
        {path}
        [[flow]]
        cc = "cubic"
        {tables}
        "#
    );
    let read = Scenario::parse(&text, "scenario.toml").unwrap();
    let again = Scenario::parse(&read.to_toml(), "scenario.toml").unwrap();
    assert_eq!(
        again.measure_from, read.measure_from,
        "it is written as a time"
    );
    read.measure_from
}

#[test]
fn the_usual_warm_up_is_100_rtts_with_full_buffers() {
    // 66 packets of 1,500 bytes are 1 BDP, rounded down: 39.6 ms.
    assert_eq!(
        warm_up("60s", r#"buffer = "4bdp""#, ""),
        Span::from_millis(4_000 + 15_960)
    );
    assert_eq!(
        warm_up("60s", r#"buffer = "1bdp""#, ""),
        Span::from_secs(10),
        "at least 10 s: 100 RTTs are 8 s"
    );
    assert_eq!(
        warm_up("60s", r#"buffer = "16bdp""#, ""),
        Span::from_secs(30),
        "at most half of the run"
    );
    assert_eq!(
        warm_up("5s", r#"buffer = "1bdp""#, ""),
        Span::from_millis(2_500)
    );
    assert_eq!(
        warm_up("60s", r#"queue = "fq_codel""#, ""),
        Span::from_secs(10),
        "an AQM keeps its buffer from filling"
    );
    assert_eq!(
        warm_up("60s", "buffer = \"1bdp\"\nqueue = \"sfq\"", ""),
        Span::from_secs(10)
    );
    assert_eq!(
        warm_up(
            "60s",
            "buffer = \"66packets\"\nshaper = \"10mbit burst 60kB\"",
            ""
        ),
        Span::from_millis(4_000 + 2 * 3_960),
        "a shaper drains the buffer at its rate"
    );
    let far = "rtt = \"+100ms\"\n[[flow]]\ncc = \"cubic\"";
    assert_eq!(
        warm_up("60s", r#"buffer = "1bdp""#, far),
        Span::from_millis(14_000 + 3_960),
        "the flow with the longest RTT decides"
    );
    let uplink = r#"
        reverse_route = ["uplink"]
        [[link]]
        name = "uplink"
        rate = "1mbit"
        buffer = "10packets"
    "#;
    assert_eq!(
        warm_up("60s", r#"buffer = "1bdp""#, uplink),
        Span::from_millis(4_000 + 3_960 + 12_000),
        "links of both directions count"
    );
}

/// The mean rates of the flows of each workload, in bit/s.
fn offered(rest: &str) -> Vec<f64> {
    let read = parse(&format!(
        "duration = \"20s\"\n[path]\nrate = \"50mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n{rest}"
    ));
    let rate = |workload: &Workload| workload.arriving().offered();
    read.workloads.iter().map(rate).collect()
}

fn link(name: &str, rate: &str) -> String {
    format!("[[link]]\nname = \"{name}\"\nrate = \"{rate}\"\nbuffer = \"1bdp\"\n")
}

fn web(load: f64, rest: &str) -> String {
    let model = "lognormal median 10kB sigma 1";
    format!("[[workload]]\ncc = \"cubic\"\nmodel = \"{model}\"\nload = {load}\n{rest}\n")
}

#[test]
fn a_load_is_a_share_of_the_slowest_link_of_the_route() {
    let lot = link("second", "40mbit")
        + &link("third", "30mbit")
        + &web(0.4, "")
        + &web(0.4, r#"route = ["second"]"#)
        + &web(0.4, r#"route = ["third"]"#)
        + &web(0.4, r#"route = ["bottleneck", "second", "third"]"#);
    let payload = 1448.0 / 1500.0;
    for (offered, rate) in offered(&lot).iter().zip([50e6, 40e6, 30e6, 30e6]) {
        assert!(
            (offered / (0.4 * rate * payload) - 1.0).abs() < 1e-6,
            "{offered} {rate}"
        );
    }
}

#[test]
fn only_workloads_that_share_a_link_at_one_time_share_its_capacity() {
    let second = link("second", "50mbit");
    let apart = web(0.6, "") + &web(0.6, r#"route = ["second"]"#);
    assert_eq!(offered(&(second.clone() + &apart)).len(), 2);
    let acks = web(0.6, r#"reverse_route = ["second"]"#) + &web(0.6, r#"route = ["second"]"#);
    assert_eq!(offered(&(second + &acks)).len(), 2, "ACKs do not count");
    let one_after_the_other = web(0.6, r#"stop = "10s""#) + &web(0.6, r#"start = "10s""#);
    assert_eq!(offered(&one_after_the_other).len(), 2);
}
