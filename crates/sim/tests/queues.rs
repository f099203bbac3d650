//! The purposes of the queues, at a bottleneck with real senders.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_trace::TraceLevel;
use fullpipe_trace::{FlowSummary, Summary};

const PATH: &str = "rate = \"10mbit\"\nrtt = \"40ms\"";
const PAYLOAD: f64 = 1448.0 / 1500.0;

fn run(path: &str, flows: &[&str]) -> Summary {
    let flows: String = flows
        .iter()
        .map(|flow| format!("[[flow]]\n{flow}\n"))
        .collect();
    let text = format!(
        "duration = \"60s\"\nmeasure_from = \"20s\"\nstart_jitter = \"40ms\"\n[path]\n{path}\n{flows}"
    );
    let scenario =
        Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap_or_else(|error| panic!("{error}"))
        .summary
}

fn with(queue: &str, flows: &[&str]) -> Summary {
    run(&format!("{PATH}\nqueue = {queue}"), flows)
}

fn mbps(flow: &FlowSummary) -> f64 {
    flow.goodput_bps / 1e6
}

fn mean_ms(summary: &Summary) -> f64 {
    summary.links[0].queue_delay_s.mean.expect("samples") * 1e3
}

fn p99_ms(flow: &FlowSummary) -> f64 {
    flow.queue_delay_s.p99.expect("samples") * 1e3
}

const CUBIC: &str = "cc = \"cubic\"";
const NEWRENO: &str = "cc = \"newreno\"";

#[test]
fn each_holds_the_delay_that_it_aims_at() {
    let full = run(&format!("{PATH}\nbuffer = \"8bdp\""), &[CUBIC; 4]);
    assert!(
        mean_ms(&full) > 200.0,
        "drop-tail fills the buffer: {}",
        mean_ms(&full)
    );
    for (queue, least, most) in [
        ("\"codel\"", 2.0, 15.0),
        ("\"fq_codel\"", 2.0, 15.0),
        ("\"cake\"", 2.0, 15.0),
        ("\"pie\"", 8.0, 20.0),
        ("\"dualpi2\"", 8.0, 20.0),
        ("{ kind = \"pie\", target = \"5ms\" }", 2.0, 9.0),
    ] {
        let summary = with(queue, &[CUBIC; 4]);
        let mean = mean_ms(&summary);
        assert!((least..most).contains(&mean), "{queue}: {mean} ms");
        assert!(
            summary.links[0].utilization > 0.9,
            "{queue}: {}",
            summary.links[0].utilization
        );
        assert!(
            summary.links[0].drops > 0 && summary.links[0].marks == 0,
            "no packet is ECN-capable"
        );
        assert_eq!(
            summary.flows.iter().map(|flow| flow.drops).sum::<u64>(),
            summary.links[0].drops
        );
    }
}

/// One NewReno, 10 Mbit/s and 100 ms: CoDel keeps the standing queue short.
#[test]
fn codel_keeps_a_lone_flows_queue_short() {
    let summary = run(
        "rate = \"10mbit\"\nrtt = \"100ms\"\nqueue = \"codel\"",
        &[NEWRENO],
    );
    assert!(mean_ms(&summary) < 10.0, "{} ms", mean_ms(&summary));
    assert!(
        summary.links[0].utilization > 0.7,
        "{}",
        summary.links[0].utilization
    );
}

#[test]
fn fq_codel_gives_each_its_half_and_a_sparse_flow_no_wait() {
    let flood = "cc = \"none\"\napp_rate = \"20mbit\"";
    let steady = "cc = \"none\"\napp_rate = \"7mbit\"";
    let call = "cc = \"cubic\"\napp_rate = \"500kbit\"";
    let summary = with("\"fq_codel\"", &[flood, steady, call]);
    let [flood, steady, call] = &summary.flows[..] else {
        unreachable!("three flows")
    };
    assert!(
        (mbps(flood) / mbps(steady) - 1.0).abs() < 0.02,
        "{} and {}",
        mbps(flood),
        mbps(steady)
    );
    assert!((mbps(call) - 0.5).abs() < 0.01, "{}", mbps(call));
    assert!(
        p99_ms(call) < 2.0 * 1.2,
        "at most one packet of each other flow: {} ms",
        p99_ms(call)
    );
    let fifo = run(
        &format!("{PATH}\nbuffer = \"1bdp\""),
        &[CUBIC, "cc = \"cubic\"\napp_rate = \"500kbit\""],
    );
    assert!(
        p99_ms(&fifo.flows[1]) > 35.0,
        "with drop-tail it waits for all packets: {} ms",
        p99_ms(&fifo.flows[1])
    );
}

#[test]
fn sfq_gives_a_congestion_control_its_share_beside_a_flood() {
    let flood = "cc = \"none\"\napp_rate = \"20mbit\"";
    let share = |queue: &str| {
        let buffer = "buffer = \"127packets\"";
        let summary = run(
            &format!("{PATH}\nqueue = {queue}\n{buffer}"),
            &[flood, CUBIC],
        );
        let drops = [0, 1].map(|flow: usize| summary.flows[flow].drops);
        (mbps(&summary.flows[1]) / 10.0, drops)
    };
    let (of_fifo, _) = share("\"pfifo\"");
    assert!(
        of_fifo < 0.02,
        "drop-tail leaves it almost nothing: {of_fifo}"
    );
    // Its half without headers is 0.483.
    let (of_sfq, [flood, cubic]) = share("\"sfq\"");
    assert!((0.45..0.49).contains(&of_sfq), "{of_sfq}");
    assert!(
        flood > 100 * cubic,
        "the longest queue is the flood's: it loses {flood}, the other queue {cubic}"
    );
}

/// With two hash values for three flows, two flows share one, and the third gets half of the link.
/// A new hash each second makes the flows take turns.
#[test]
fn sfq_is_fair_over_collisions_where_it_is_perturbed() {
    // With equal rates, the flow whose packets are always late would lose all of them.
    let flows = ["9mbit", "9.31mbit", "8.87mbit"]
        .map(|rate| format!("cc = \"none\"\napp_rate = \"{rate}\""));
    let flows: Vec<&str> = flows.iter().map(String::as_str).collect();
    let jain = |perturb: &str| {
        let queue = format!("{{ kind = \"sfq\", divisor = 2, perturb = \"{perturb}\" }}");
        let path = format!("{PATH}\nqueue = {queue}\nbuffer = \"127packets\"");
        let summary = run(&path, &flows);
        let rates: Vec<f64> = summary.flows.iter().map(mbps).collect();
        let (sum, squares) = (
            rates.iter().sum::<f64>(),
            rates.iter().map(|rate| rate * rate).sum::<f64>(),
        );
        sum * sum / (rates.len() as f64 * squares)
    };
    let (fixed, perturbed) = (jain("0s"), jain("1s"));
    assert!(
        perturbed > 0.97 && fixed < 0.9,
        "{perturbed}, and without {fixed}"
    );
}

#[test]
fn dualpi2_gives_l4s_a_millisecond_and_classic_its_target() {
    let l4s = "cc = \"none\"\napp_rate = \"4mbit\"\necn = \"ect1\"";
    let summary = with("\"dualpi2\"", &[CUBIC, CUBIC, l4s]);
    let [cubic, _, l4s] = &summary.flows[..] else {
        unreachable!("three flows")
    };
    assert!(p99_ms(l4s) < 3.0, "{} ms", p99_ms(l4s));
    assert_eq!(l4s.drops, 0);
    assert!(
        l4s.marks > 0 && l4s.marks == summary.links[0].marks,
        "{}",
        l4s.marks
    );
    let classic = cubic.queue_delay_s.mean.expect("samples") * 1e3;
    assert!((8.0..22.0).contains(&classic), "{classic} ms");
    assert!((mbps(l4s) - 4.0).abs() < 0.05, "{}", mbps(l4s));
}

/// 20 % more ECN-capable traffic than the link carries: the queue stays at its limit, so all
/// packets that pass are marked.
#[test]
fn step_ecn_marks_all_of_a_standing_queue() {
    let flood = "cc = \"none\"\napp_rate = \"12mbit\"\necn = \"ect0\"";
    let path = format!(
        "{PATH}\nbuffer = \"100packets\"\nqueue = {{ kind = \"step_ecn\", threshold = \"20packets\" }}"
    );
    let summary = run(&path, &[flood]);
    let passed = (40.0 * 10e6 / 12_000.0) as u64;
    assert!(
        summary.links[0].marks.abs_diff(passed) <= 1,
        "{} of {passed}",
        summary.links[0].marks
    );
    let too_much = (12.0 / PAYLOAD - 10.0) / 12e-3 * 40.0;
    assert!(
        (summary.links[0].drops as f64 / too_much - 1.0).abs() < 0.001,
        "{}",
        summary.links[0].drops
    );
}

#[test]
fn red_holds_the_average_between_its_thresholds() {
    let path = format!("{PATH}\nbuffer = \"240kB\"\nqueue = \"red\"");
    let summary = run(&path, &[CUBIC; 4]);
    // min 20 kB and max 60 kB at 10 Mbit/s are 16 and 48 ms.
    assert!(
        (10.0..48.0).contains(&mean_ms(&summary)),
        "{} ms",
        mean_ms(&summary)
    );
    assert!(summary.links[0].utilization > 0.95);
}

#[test]
fn cake_leaves_the_link_what_its_shaper_does_not_use() {
    let cake = "{ kind = \"cake\", bandwidth = \"8mbit\" }";
    let flood = with(cake, &["cc = \"none\"\napp_rate = \"12mbit\""]);
    assert!(
        (flood.links[0].utilization - 0.8).abs() < 1e-4,
        "{}",
        flood.links[0].utilization
    );
    let summary = with(cake, &[CUBIC; 4]);
    assert!(
        (0.76..0.8).contains(&summary.links[0].utilization),
        "{}",
        summary.links[0].utilization
    );
    assert!(mean_ms(&summary) < 15.0, "{} ms", mean_ms(&summary));
}

/// The rate changes under every queue as it does under drop-tail.
#[test]
fn a_full_link_carries_the_sum_of_its_rates_whatever_the_queue() {
    let flood = "cc = \"none\"\napp_rate = \"30mbit\"";
    for queue in fullpipe_path::QUEUES {
        let changes = "[[path.change]]\nat = \"30s\"\nrate = \"4mbit\"\n[[path.change]]\nat = \"50s\"\nrate = \"16mbit\"";
        let buffer = "buffer = \"200packets\"";
        let summary = run(
            &format!("{PATH}\n{buffer}\nqueue = \"{}\"\n{changes}", queue.name),
            &[flood],
        );
        // 30 s at 10, 20 s at 4 and 10 s at 16 Mbit/s, in packets of 12000 bit, after the first 40
        // ms.
        let expected = (30.0 * 10e6 + 20.0 * 4e6 + 10.0 * 16e6) / 12_000.0;
        let short = expected - summary.packets as f64;
        assert!(
            (0.0..40.0).contains(&short),
            "{}: {} of {expected}",
            queue.name,
            summary.packets
        );
        assert!(summary.links[0].utilization > 0.999, "{}", queue.name);
    }
}
