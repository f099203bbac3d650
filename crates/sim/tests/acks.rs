//! Effects of the receiver's rules for ACKs on whole runs.

use fullpipe_cc::Registry;
use fullpipe_trace::{Data, Run, TraceLevel};

use crate::users::of_specifications;

fn run(path: &str, flow: &str) -> Run {
    let text = format!("duration = \"10s\"\n[path]\n{path}\n[[flow]]\ncc = \"newreno\"\n{flow}\n");
    let scenario = of_specifications(&text);
    fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Acks)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Times in ms at which the sender received ACKs.
fn acks(run: &Run) -> Vec<f64> {
    let tables = &run.trace.as_ref().expect("traced").tables;
    let flows = tables.iter().find(|table| table.name == "flows").unwrap();
    let time = flows.columns.iter().find(|column| column.name == "time");
    match &time.unwrap().data {
        Data::U64(times) => times.iter().map(|time| *time as f64 / 1e6).collect(),
        other => panic!("times are {other:?}"),
    }
}

fn between(times: &[f64], from: f64, to: f64) -> usize {
    times
        .iter()
        .filter(|time| (from..to).contains(*time))
        .count()
}

const LINUX: &str = "ack_policy = \"linux\"\n";

#[test]
fn after_a_pause_acks_are_quick_only_with_linuxs_rules() {
    // 40 segments of answer each, 1 s after the last: the second begins at about 1.1 s.
    let path = "rate = \"50mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"";
    let flow = "app = \"request 57920B think 1s\"\nreceive_window = \"65kB\"\n";
    let count = |rules: &str| {
        between(
            &acks(&run(path, &format!("{flow}{rules}"))),
            1_100.0,
            2_000.0,
        )
    };
    // One for two segments, and the request.
    assert_eq!(count(""), 20 + 1);
    // 16 quick ACKs, one for two of the other 24, and the request.
    assert_eq!(count(LINUX), 16 + 12 + 1);
}

#[test]
fn a_slow_flow_gets_half_the_acks_with_linuxs_rules() {
    // A segment each 45 ms: with a constant delay of 40 ms each is acknowledged alone; Linux' delay
    // grows to 90 ms, if the RTT allows for it.
    let path = |rtt| format!("rate = \"10mbit\"\nrtt = \"{rtt}ms\"\nbuffer = \"100packets\"");
    let flow = "app_rate = \"257422bit\"\nreceive_window = \"65kB\"\n";
    let count = |rtt, rules: &str| {
        let times = acks(&run(&path(rtt), &format!("{flow}{rules}")));
        between(&times, 5_500.0, 9_550.0)
    };
    assert_eq!([count(100, ""), count(100, LINUX)], [90, 45]);
    assert_eq!([count(20, ""), count(20, LINUX)], [90, 90]);
}

#[test]
fn one_ack_stands_for_many_segments_out_of_order() {
    // One segment of a constant window of 207 is lost. The other 206, 0.12 ms apart on the link,
    // are out of order. With compression three of their ACKs leave at once, and then one each 1.1
    // ms, which stands for 10 segments.
    let path = "rate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"300packets\"\nloss = \"list 20000\"";
    let flow = "receive_window = \"300kB\"\n";
    let count = |rules: &str| {
        let run = run(path, &format!("{flow}{rules}"));
        assert_eq!(run.summary.flows[0].retransmits, 1);
        acks(&run).len()
    };
    let fewer = count("") - count("sack_compression = \"5%\"");
    assert_eq!(fewer, 206 - (3 + 203_usize.div_ceil(10)));
}

#[test]
fn coalescing_lets_linuxs_rules_see_one_large_segment() {
    // 100 segments of a constant window arrive back to back, 0.12 ms apart, behind a loss and
    // without one. Those of 1 ms are one segment for Linux' rules, which acknowledge it at once.
    let path = "rate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"300packets\"";
    let flow = format!("{LINUX}receive_window = \"145kB\"\n");
    let count = |path: &str, keys: &str| {
        let run = run(path, &format!("{flow}{keys}"));
        let flow = &run.summary.flows[0];
        (acks(&run).len() as f64, flow.sent as f64, flow.retransmits)
    };
    let (single, segments, _) = count(path, "");
    assert!(
        (0.48..0.55).contains(&(single / segments)),
        "{single} of {segments}"
    );
    let (merged, segments, _) = count(path, "gro = \"1ms\"\n");
    let each = segments / merged;
    assert!((8.0..9.5).contains(&each), "{merged} of {segments}: {each}");
    let (_, _, resent) = count(&format!("{path}\nloss = \"1%\""), "gro = \"1ms\"\n");
    assert!(
        resent > 20,
        "{resent} losses, whose segments behind are merged"
    );
}
