//! Writing scenarios, and reading them back.

use fullpipe_scenario::Scenario;
use proptest::prelude::*;

use crate::reading::{FULL, parse, with};

#[test]
fn a_scenario_is_written_with_every_default() {
    let expected = r#"# Every key there is
# and a second line
duration = "60s"
measure_from = "5s"
seed = 7
stack = "linux"
start_jitter = "50ms"
send_jitter = "120us"

[path]
rate = "100mbit"
buffer = "8bdp"
loss = "0.01%"
policer = "10mbit burst 60kB"
shaper = "20mbit burst 30kB"
ecn = "keep"
ack_filter = "on"
rtt = "50ms"
reverse_loss = "12.5%"
duplicate = "0.1%"
reverse_duplicate = "2%"
wifi = "frames 32 overhead 200us bytes 65.535kB backoff 100us"
suspend = "200ms every 2s random"
jitter = "5ms reorder"
reverse_jitter = "hold 10ms every 20ms"
delay_trace = "0s 25ms, 2s 40ms every 60s"
reverse_delay_trace = "off"

[path.queue]
ce_threshold = "1ms"
drop_batch = 64
ecn = true
flows = 64
interval = "100ms"
kind = "fq_codel"
memory_limit = "33554.432kB"
quantum = "1500B"
target = "10ms"

[[path.change]]
at = "30s"
rate = "50mbit"
rtt = "80ms"
buffer = "30packets"
loss = "gilbert-elliott p 1% r 30% loss-bad 90% loss-good 0%"
reverse_loss = "every 50"
duplicate = "0%"
policer = "off"
jitter = "off"
reverse_jitter = "gamma 2ms sigma 500us correlation 25%"

[[link]]
name = "access"
rate = "1gbit"
buffer = "1bdp"
queue = "pfifo"
loss = "0%"
policer = "off"
shaper = "off"
ecn = "strip"
ack_filter = "off"
delay = "3ms"

[[link]]
name = "back"
rate = "1mbit"
buffer = "1000packets"
loss = "1%"
policer = "off"
shaper = "off"
ecn = "keep"
ack_filter = "off"
delay = "0s"

[link.queue]
ce_threshold = "5ms"
ecn = false
interval = "100ms"
kind = "codel"
target = "5ms"

[[flow]]
name = "a"
cc = "cubic"
start = "1s"
bytes = "3MB"
app_rate = "5mbit"
app_schedule = "2s 1mbit, 6s pause, 8.5s unlimited"
rtt = "+20ms"
count = 1
ecn = "auto"
ecn_feedback = "accurate"
route = ["access", "bottleneck"]
reverse_route = ["back"]
pacing = "on"
mss = "1448B"
initial_window = 10
receive_window = "65.536kB"
delayed_ack = 1
quick_acks = 2000
ack_delay = "25ms"
gro = "1ms"
optimistic_acks = "0s"
cwnd_validation = "linux"
send_buffer = "auto max 4194.304kB"
tso = "on"
rto_in_recovery = "keep"
loss_detection = "linux"
ack_policy = "fixed"
sack_compression = "5%"
metrics_cache = "linux"

[flow.params]
beta = 0.7
friendly = true
mode = "fast"
rounds = 3.0
"#;
    assert_eq!(with(FULL, &[("flow.0.count", "1")]).to_toml(), expected);
}

/// Generates valid scenarios, with values of every kind and size.
fn scenarios() -> impl Strategy<Value = String> {
    let duration = (2_u64..1_000_000_000_000_000).prop_map(|ns| format!("{ns}ns"));
    let buffer = prop_oneof![
        (1_u64..1_000_000).prop_map(|n| format!("{n}packets")),
        (1_500_u64..10_000_000_000).prop_map(|n| format!("{n}B")),
        (1.0..1e3_f64).prop_map(|n| format!("{n}bdp")),
        (15_u64..1_000_000).prop_map(|n| format!("{n}ms")),
    ];
    let loss = prop_oneof![
        Just("0".to_owned()),
        (0.0..99.9_f64).prop_map(|p| p.to_string()),
        Just("0.000001".to_owned())
    ];
    let share = || (0.1..100.0_f64).prop_map(|p| format!("{p}%"));
    let loss = prop_oneof![
        loss.prop_map(|p| format!("{p}%")),
        (share(), share(), share(), any::<bool>()).prop_map(|(p, r, bad, brief)| match brief {
            true => format!("gilbert-elliott loss-good 0.5% p {p}"),
            false => format!("gilbert-elliott p {p} r {r} loss-bad {bad} loss-good 99%"),
        }),
        (1..u64::MAX).prop_map(|n| format!("every {n}")),
        prop::collection::btree_set(1..u64::MAX, 1..9).prop_map(|numbers| {
            let numbers: Vec<String> = numbers.iter().rev().map(u64::to_string).collect();
            format!("list {}", numbers.join(","))
        }),
    ];
    let value = prop_oneof![
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(|n| format!("{n:e}")),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        "[^'\\p{C}]*".prop_map(|word| format!("'{word}'")),
    ];
    let param = ("[^'\\p{C}]{0,8}", value);
    let flow = (
        prop_oneof!["cubic", "bbr1"],
        0_u64..=1 << 62,
        1..4,
        1..=64,
        0_u64..100_000,
        prop::option::of(param),
    );
    let flow = flow.prop_map(|(cc, bytes, count, delayed_ack, us, param)| {
        let bytes = if bytes == 0 { String::new() } else { format!("bytes = \"{bytes}B\"\n") };
        let params = param.map_or(String::new(), |(name, value)| format!("params = {{ '{name}' = {value} }}\n"));
        let times = format!("rtt = \"+{us}us\"\nack_delay = \"{us}us\"\ngro = \"{us}us\"\n");
        format!("[[flow]]\ncc = \"{cc}\"\n{bytes}count = {count}\ndelayed_ack = {delayed_ack}\n{times}{params}")
    });
    let ns = 1_u64..100_000_000_000;
    let jitter = prop_oneof![
        Just("off".to_owned()),
        (ns.clone(), any::<bool>())
            .prop_map(|(ns, reorder)| format!("{ns}ns{}", if reorder { " reorder" } else { "" })),
        (ns.clone(), ns.clone()).prop_map(|(a, b)| format!(
            "hold {}ns every {}ns",
            a.min(b),
            a.max(b)
        )),
        (
            ns.clone(),
            ns.clone(),
            0_u32..100,
            any::<bool>(),
            0_usize..3
        )
            .prop_map(|(mean, sigma, c, reorder, of)| {
                let name = ["normal", "pareto", "paretonormal"][of];
                let word = if reorder { "reorder" } else { "" };
                format!("{name} {mean}ns {word} correlation {c}.5% sigma {sigma}ns")
            }),
        (ns, 1..1_000_u64)
            .prop_map(|(ns, n)| format!("histogram 0s {n},{ns}ns 4 , 100s 0 reorder")),
    ];
    let policer = prop_oneof![
        Just("off".to_owned()),
        (1_u64..9_999, 1_500_u64..1_000_000_000_000)
            .prop_map(|(r, b)| format!("{r}kbit burst {b}B"))
    ];
    let path = (
        1_000_000_u64..10_000_000_000,
        12_u64..100_000,
        buffer,
        loss,
        jitter,
        policer,
    );
    let path = path.prop_map(|(bps, ms, buffer, loss, jitter, policer)| {
        let again =
            format!("buffer = \"{buffer}\"\nloss = \"{loss}\"\njitter = \"{jitter}\"\npolicer = \"{policer}\"\n");
        let start = format!("[path]\nrate = \"{bps}bit\"\nrtt = \"{ms}ms\"\n{again}");
        format!("{start}[[path.change]]\nat = \"1ns\"\nrate = \"{ms}mbit\"\n{again}")
    });
    let top = ("[^\\p{C}]*", duration, 0..=i64::MAX);
    (top, path, prop::collection::vec(flow, 1..5)).prop_map(
        |((title, duration, seed), path, flows)| {
            format!(
                "# {title}\nduration = \"{duration}\"\nseed = {seed}\n{path}{}",
                flows.concat()
            )
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_reads_back(text in scenarios()) {
        let scenario = Scenario::parse(&text, "scenario.toml").map_err(|error| TestCaseError::fail(error.to_string()))?;
        let written = scenario.to_toml();
        prop_assert_eq!(&parse(&written), &scenario, "{}", &written);
        prop_assert_eq!(parse(&written).to_toml(), written);
    }
}

#[test]
fn how_quic_is_run_is_written_where_it_is_given() {
    let quic = "[quic]\nserver_cpu = 1\nbusy_poll = \"on\"\n\n[[flow]]\nname";
    let scenario = parse(&FULL.replacen("[[flow]]\nname", quic, 1));
    assert_eq!(
        (
            scenario.quic.server_cpu,
            scenario.quic.client_cpu,
            scenario.quic.busy_poll
        ),
        (Some(1), None, true)
    );
    assert_eq!(parse(&scenario.to_toml()).quic, scenario.quic);
    assert!(!parse(FULL).to_toml().contains("[quic]"));
}
