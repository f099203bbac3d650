//! Arriving flows: their metrics, and the proof that neither reused slots nor the engine's
//! shortcuts change anything.

use std::path::Path;
use std::sync::Arc;

use fullpipe_cc::Registry;
use fullpipe_scenario::{Library, Scenario, Template};
use fullpipe_sim::Simulation;
use fullpipe_trace::{Data, Table, WorkloadSummary};
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::{Bytes, Span, Time};
use fullpipe_workload::{Chunk, Flows};

/// A source with these flows, for any path.
#[derive(Debug)]
struct Given(Arc<Flows>);

impl Library for Given {
    fn flows(&self, _: &Path) -> Result<Arc<Flows>, (String, String)> {
        Ok(self.0.clone())
    }
}

/// A scenario whose workloads' files contain these flows.
fn given(text: &str, flows: Flows) -> Scenario {
    let template = Template::read(
        text,
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/test.toml"),
    )
    .expect("TOML");
    template
        .with_library(Arc::new(Given(Arc::new(flows))))
        .scenario()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A source that names an existing file.
const FILE: &str = "source = \"workloads.rs\"";

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[derive(Clone, Copy, Debug, Default)]
struct How {
    stepping: bool,
    fresh: bool,
}

fn run_as(scenario: &Scenario, level: TraceLevel, how: How) -> Run {
    let mut simulation = Simulation::new(scenario, &Registry::default(), level)
        .unwrap_or_else(|error| panic!("{error}"));
    if how.stepping {
        simulation.step_by_step();
    }
    if how.fresh {
        simulation.with_fresh_state();
    }
    while !simulation.advance(10_000) {}
    simulation.finish()
}

fn run(scenario: &Scenario) -> Run {
    run_as(
        scenario,
        TraceLevel::Every(Span::from_millis(10)),
        How::default(),
    )
}

fn table<'a>(run: &'a Run, name: &str) -> &'a Table {
    run.trace
        .as_ref()
        .expect("traced")
        .tables
        .iter()
        .find(|table| table.name == name)
        .expect("a table of that name")
}

fn seconds(table: &Table, name: &str) -> Vec<f32> {
    match &table
        .columns
        .iter()
        .find(|column| column.name == name)
        .expect("a column of that name")
        .data
    {
        Data::F32(values) => values.to_vec(),
        other => panic!("{name} is {other:?}"),
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

const SLOW: &str =
    "duration = \"60s\"\n[path]\nrate = \"12mbit\"\nrtt = \"40ms\"\nbuffer = \"100packets\"\n";

#[test]
fn a_trace_changes_no_metric_of_a_workload() {
    let queues = ["pfifo", "fq_codel", "pie"];
    let receivers = ["", "receiver = \"rledbat\"\n", "gro = \"300us\"\n"];
    for (seed, (queue, receiver)) in (1..).zip(
        queues
            .iter()
            .flat_map(|queue| receivers.map(|each| (queue, each))),
    ) {
        let text = format!(
            "duration = \"4s\"\nseed = {seed}\nsend_jitter = \"200us\"\n[path]\nrate = \"8mbit\"\nrtt = \"30ms\"\n\
             buffer = \"20packets\"\nqueue = \"{queue}\"\nloss = \"1%\"\njitter = \"2ms\"\nreverse_loss = \"1%\"\n\
             [[workload]]\nmodel = \"lognormal median 10kB sigma 2 max 2MB\"\nload = 0.8\ncc = \"cubic\"\n{receiver}"
        );
        let scenario = scenario(&text);
        let metrics = |level| {
            let mut summary = run_as(&scenario, level, How::default()).summary;
            summary.events = 0; // samples are events
            format!("{summary:?}")
        };
        let plain = metrics(TraceLevel::Off);
        for level in [TraceLevel::Every(Span::from_millis(1)), TraceLevel::Acks] {
            assert_eq!(plain, metrics(level), "{text}");
        }
    }
}

#[test]
fn the_flows_of_a_workload_share_a_cache_of_metrics() {
    // The second transfer begins after the first one, which lost packets in slow start.
    let flows = Flows::new(vec![ms(0), ms(20_000)], vec![Bytes::new(6_000_000); 2]).expect("flows");
    let drops = |cache: &str| {
        let text =
            format!("{SLOW}[[workload]]\ncc = \"newreno\"\nmetrics_cache = \"{cache}\"\n{FILE}\n");
        let run = run(&given(&text, flows.clone()));
        run.summary.links[0].drops
    };
    let (without, with) = (drops("off"), drops("ssthresh"));
    assert!(with > 0 && with <= without / 2 + 1, "{with} of {without}");
}

#[test]
fn a_flow_that_is_alone_takes_a_handshake_its_bytes_and_the_way() {
    // 1, 10 and 100 segments; 1 ms per packet, so that a window of ten fills the path only later.
    let sizes = [1_448, 14_480, 144_800].map(Bytes::new);
    let flows = Flows::new(vec![ms(0), ms(10_000), ms(20_000)], sizes.to_vec()).expect("flows");
    let workload = format!("{SLOW}[[workload]]\ncc = \"newreno\"\n{FILE}\n");
    let run = run(&given(&workload, flows));
    let transfers = table(&run, "transfers");
    let (took, alone) = (
        seconds(transfers, "completion"),
        seconds(transfers, "alone"),
    );
    let near = |ours: f32, ms: f64| {
        assert!(
            (f64::from(ours) * 1e3 - ms).abs() < 0.2,
            "{ours} s, not {ms} ms"
        )
    };
    near(alone[0], 40.0 + 1.0 + 20.0);
    near(alone[1], 40.0 + 10.0 + 20.0);
    near(alone[2], 40.0 + 100.0 + 20.0);
    // The SYN takes about 0.04 ms at the links, each packet 0.1 ms at the access link.
    near(took[0], 61.1);
    near(took[1], 70.1);
    assert!(
        took[2] > alone[2] + 0.03,
        "slow start takes round trips: {} s",
        took[2]
    );
    let web = &run.summary.workloads[0];
    assert_eq!(
        (
            web.arrived,
            web.completed,
            web.unfinished,
            web.most_concurrent
        ),
        (3, 3, 0, 1)
    );
    assert_eq!(web.completed_bytes, 160_728);
    assert_eq!(web.sent, 111);
    assert_eq!(run.summary.flows.len(), 0);
    assert_eq!(run.summary.jain, None);
}

#[test]
fn pauses_are_kept_in_a_replay_and_left_out_in_what_is_collapsed() {
    let chunk = |offset, bytes| Chunk {
        offset: Span::from_millis(offset),
        bytes: Bytes::new(bytes),
    };
    let chunks = vec![chunk(0, 2_000), chunk(500, 100), chunk(2_000, 3_000)];
    let flows = Flows::with_chunks(vec![ms(0)], vec![Bytes::new(5_100)], vec![0, 3], chunks)
        .expect("flows");
    let completion = |model: &str| {
        let text = format!("{SLOW}[[workload]]\ncc = \"cubic\"\nmodel = \"{model}\"\n{FILE}\n");
        let run = run(&given(&text, flows.clone()));
        assert_eq!(run.summary.workloads[0].completed_bytes, 5_100, "{model}");
        seconds(table(&run, "transfers"), "completion")[0]
    };
    // The last chunk: three packets that take 1, 1 and 0.1 ms, and 20 ms to the receiver.
    assert!(
        (completion("replay") - 2.022_2).abs() < 0.000_3,
        "{}",
        completion("replay")
    );
    assert!(
        (completion("collapsed") - 0.064).abs() < 0.001,
        "{}",
        completion("collapsed")
    );
}

#[test]
fn what_did_not_end_is_unfinished_and_none_arrives_after_the_stop() {
    let flows = Flows::new(
        vec![ms(0), ms(30_000), ms(59_990), ms(70_000)],
        vec![Bytes::new(1_000_000); 4],
    )
    .expect("flows");
    let text = format!("{SLOW}[[workload]]\ncc = \"cubic\"\n{FILE}\n");
    let web = |text: &str| run(&given(text, flows.clone())).summary.workloads[0].clone();
    let whole = web(&text);
    assert_eq!(
        (whole.arrived, whole.completed, whole.unfinished),
        (3, 2, 1),
        "the fourth flow is after the end"
    );
    let stopped = web(&format!("{text}stop = \"20s\"\n"));
    assert_eq!(
        (stopped.arrived, stopped.completed, stopped.unfinished),
        (1, 1, 0)
    );
    let late = web(&format!("{text}start = \"15s\"\n"));
    assert_eq!(
        (late.arrived, late.completed),
        (2, 2),
        "arrivals at 15 s and at 45 s"
    );
    let measured = web(&text.replace("duration", "measure_from = \"10s\"\nduration"));
    assert_eq!(
        (measured.arrived, measured.completed, measured.unfinished),
        (2, 1, 1)
    );
}

#[test]
fn a_load_is_what_the_link_carries_of_it() {
    let text = format!(
        "{SLOW}[[workload]]\ncc = \"cubic\"\nload = 0.6\nmodel = \"bounded_pareto shape 1.5 min 2kB max 200kB\"\n"
    )
    .replace("60s", "600s");
    let run = run_as(&scenario(&text), TraceLevel::Off, How::default());
    let link = &run.summary.links[0];
    // About 9,000 flows with a coefficient of variation of 2: sigma is 2 %. SYNs and short last
    // packets add to the load.
    assert!(
        (link.utilization - 0.6).abs() < 0.05,
        "{}",
        link.utilization
    );
    let web = &run.summary.workloads[0];
    assert!(
        web.arrived > 5_000 && web.completed + web.unfinished == web.arrived,
        "{web:?}"
    );
    assert!(web.most_concurrent < 200, "{web:?}");
}

/// All features of flows on a path with all features; `{}` is its queue.
const WILD: &str = r#"
    duration = "4s"
    measure_from = "1s"
    send_jitter = "200us"
    [path]
    rate = "20mbit"
    rtt = "30ms"
    buffer = "60packets"
    loss = "0.5%"
    reverse_loss = "0.5%"
    duplicate = "0.5%"
    reverse_duplicate = "0.5%"
    {}
    [[path.change]]
    at = "2s"
    rate = "15mbit"
    rtt = "50ms"
    [[link]]
    name = "uplink"
    rate = "2mbit"
    buffer = "20packets"
    queue = "codel"
    ack_filter = "on"
    [[link]]
    name = "next"
    rate = "30mbit"
    buffer = "20packets"
    [[flow]]
    cc = "cubic"
    [[workload]]
    name = "web"
    model = "lognormal median 20kB sigma 1.5 max 1MB"
    load = 0.3
    cc = "bbr3"
    rtt = "uniform +0ms..+60ms"
    reverse_route = ["uplink"]
    [[workload]]
    name = "small"
    model = "bounded_pareto shape 1.2 min 100B max 50kB"
    load = 0.2
    cc = "cubic"
    route = ["bottleneck", "next"]
    start = "500ms"
"#;

fn hash(run: &Run) -> u64 {
    run.trace.as_ref().expect("traced").hash()
}

#[test]
fn slots_that_are_used_again_and_short_cuts_change_nothing() {
    let hosts = "[host]\nsend = \"20us\"\nreceive = \"20us\"\nack = \"5us\"\nwake_min = \"5us\"\nwake_median = \"20us\"\nwake_max = \"1ms\"\n";
    for queue in [
        "",
        "queue = \"fq_codel\"",
        "queue = \"codel\"",
        "jitter = \"3ms reorder\"",
        "jitter = \"hold 10ms every 30ms\"",
    ] {
        for host in ["", hosts] {
            let text = WILD
                .replace("{}", queue)
                .replace("    [[flow]]", &format!("{host}    [[flow]]"));
            let scenario = scenario(&text);
            let level = if queue.is_empty() {
                TraceLevel::Acks
            } else {
                TraceLevel::Every(Span::from_millis(10))
            };
            let plain = run_as(&scenario, level, How::default());
            let [web, small] = &plain.summary.workloads[..] else {
                panic!("two workloads")
            };
            assert!(
                web.completed > 10 && small.completed > 20,
                "{web:?} {small:?}"
            );
            for how in [
                How {
                    stepping: false,
                    fresh: true,
                },
                How {
                    stepping: true,
                    fresh: false,
                },
            ] {
                let other = run_as(&scenario, level, how);
                assert_eq!(
                    hash(&other),
                    hash(&plain),
                    "{queue} {host} {level:?} {how:?}"
                );
                assert_eq!(
                    counted(&other),
                    counted(&plain),
                    "{queue} {host} {level:?} {how:?}"
                );
            }
        }
    }
}

/// All metrics of the workloads.
fn counted(run: &Run) -> &[WorkloadSummary] {
    &run.summary.workloads
}

#[test]
fn an_arrival_draws_the_same_whatever_else_there_is() {
    let text = format!(
        "{SLOW}[[workload]]\ncc = \"cubic\"\nload = 0.1\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nrtt = \"uniform +0ms..+50ms\"\n"
    );
    let alone = run(&scenario(&text));
    let beside = run(&scenario(&format!("{text}[[flow]]\ncc = \"cubic\"\n")));
    for column in ["rtt", "alone"] {
        assert_eq!(
            seconds(table(&alone, "transfers"), column),
            seconds(table(&beside, "transfers"), column)
        );
    }
    let slower = beside.summary.workloads[0].completion_s.mean
        > alone.summary.workloads[0].completion_s.mean;
    assert!(slower, "but a full queue costs them time");
}

#[test]
fn the_trace_says_how_many_are_under_way() {
    let flows = Flows::new(vec![ms(0), ms(100)], vec![Bytes::new(3_000_000); 2]).expect("flows");
    let run = run(&given(
        &format!("{SLOW}[[workload]]\ncc = \"cubic\"\n{FILE}\n"),
        flows,
    ));
    let Data::U64(active) = &table(&run, "workloads").columns[2].data else {
        panic!("counts")
    };
    assert_eq!(
        (active[0], active[50], active[5_000]),
        (1, 2, 0),
        "at 10 ms, 510 ms and 50 s"
    );
    let concurrent = run.summary.workloads[0].concurrent;
    let mean = active.iter().sum::<u64>() as f64 / active.len() as f64;
    assert!((concurrent - mean).abs() < 0.002, "{concurrent} {mean}");
}

#[test]
fn the_memory_of_a_million_arrivals_is_estimated() {
    let text = "duration = \"900s\"\n[path]\nrate = \"3gbit\"\nrtt = \"20ms\"\nbuffer = \"8bdp\"\n\
                [[workload]]\nsource = \"mawi-2020-06-10\"\nmodel = \"collapsed\"\nload = 0.73\ncc = \"cubic\"\n";
    let estimate = fullpipe_sim::memory_needed(&scenario(text), TraceLevel::Off).get();
    // docs/evidence/performance.md has the measured amount.
    assert!((170_000_000..700_000_000).contains(&estimate), "{estimate}");
}

/// Recorded arrivals are the same for every seed, unless packets or RTTs are random.
#[test]
fn start_jitter_is_of_flows_that_do_not_arrive() {
    let flows = Flows::new(
        (0..40).map(|n| ms(50 * n)).collect(),
        vec![Bytes::new(30_000); 40],
    )
    .expect("flows");
    let hashes = |more: &str, rest: &str| {
        let scenarios = [1, 2].map(|seed| {
            let text = format!(
                "seed = {seed}\n{more}\n{SLOW}[[workload]]\ncc = \"cubic\"\n{FILE}\n{rest}"
            );
            given(&text, flows.clone())
        });
        let random = fullpipe_setup::is_random(&scenarios[0], &Registry::default());
        let hashes = scenarios.map(|scenario| run(&scenario).trace.expect("traced").hash());
        assert_eq!(random, hashes[0] != hashes[1], "{more} {rest}");
        random
    };
    assert!(!hashes("start_jitter = \"10ms\"", ""));
    assert!(hashes(
        "start_jitter = \"10ms\"",
        "[[flow]]\ncc = \"cubic\"\n"
    ));
    assert!(hashes("send_jitter = \"1ms\"", ""));
    assert!(hashes("", "rtt = \"uniform +0ms..+30ms\"\n"));
    let mut repeated = given(
        &format!("{SLOW}[[workload]]\ncc = \"cubic\"\n{FILE}\n"),
        flows.clone(),
    );
    let added: Vec<&str> = repeated.add_jitter().iter().map(|(key, _)| *key).collect();
    assert_eq!(added, ["send_jitter"]);
}

/// Detects changes of arrivals or of sending, as the hash in README's example does without
/// workloads.
#[test]
fn a_trace_of_arrivals_has_the_hash_that_it_had() {
    let text = "duration = \"6s\"\nmeasure_from = \"1s\"\nseed = 7\n\
        [path]\nrate = \"40mbit\"\nrtt = \"30ms\"\nbuffer = \"1bdp\"\n\
        [[flow]]\ncc = \"bbr3\"\n\
        [[workload]]\nname = \"trace\"\nsource = \"mawi-2020-06-10\"\nmodel = \"replay\"\nload = 0.4\ncc = \"cubic\"\n\
        [[workload]]\nname = \"law\"\nmodel = \"lognormal median 10kB sigma 2 max 20MB\"\nload = 0.2\ncc = \"bbr1\"\n\
        rtt = \"uniform +0ms..+40ms\"\n";
    let trace = run(&scenario(text)).trace.expect("traced");
    let transfers = trace
        .tables
        .iter()
        .find(|table| table.name == "transfers")
        .expect("flows arrive")
        .clone();
    // Hash of everything, and of the arrivals with their completion times.
    let hashes = [
        trace.hash(),
        fullpipe_trace::Trace {
            tables: vec![transfers],
        }
        .hash(),
    ];
    assert_eq!(
        hashes.map(|hash| format!("{hash:016x}")),
        ["88ad861e4e552ae2", "49754efc2a7e539f"]
    );
}
