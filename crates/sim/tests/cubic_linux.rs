//! CUBIC's profile "linux": the end of slow start.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_trace::{Data, Run, Trace, TraceLevel};

use crate::transitions::entered;

fn run(path: &str, flow: &str) -> Run {
    let text = format!("duration = \"2s\"\n[path]\n{path}\n[[flow]]\ncc = \"cubic\"\n{flow}");
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Acks);
    run.unwrap_or_else(|error| panic!("{error}"))
}

/// The largest window up to the end of slow start, in segments, and the reason of that end.
fn end_of_slow_start(trace: &Trace) -> (u64, String) {
    let states = entered(trace);
    let end = states
        .iter()
        .find(|entry| entry.state == "congestion_avoidance")
        .expect("slow start ends");
    let column = |name: &str| {
        let mut columns = trace.tables[0].columns.iter();
        &columns.find(|column| column.name == name).expect(name).data
    };
    let (Data::U64(times), Data::U64(windows)) = (column("time"), column("cwnd")) else {
        panic!("time and cwnd are whole numbers")
    };
    let rows = times.iter().zip(windows);
    let until = rows.take_while(|(time, _)| **time <= end.at);
    let largest = until.map(|(_, cwnd)| *cwnd).max().expect("a row");
    (largest / 1448, end.reason.to_owned())
}

#[test]
fn the_profile_alone_has_linuxs_slow_start() {
    let path = "rate = \"50mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"";
    let hash = |flow: &str| run(path, flow).trace.expect("traced").hash();
    let with = |slow_start: &str| {
        hash(&format!(
            "params = {{ profile = \"linux\", slow_start = \"{slow_start}\" }}"
        ))
    };
    let alone = hash("params = { profile = \"linux\" }");
    assert_eq!(alone, with("hystart"));
    assert_ne!(alone, with("hystart++"), "it can still be chosen");
}

/// `hystart_ack_delay` and `tcp_update_pacing_rate`: the allowance for offload is four bursts of
/// 64 KiB at two windows per RTT, whether or not the flow is paced. At 10 Gbit/s and 1 ms a round
/// of 640 segments has an allowance of 0.14 ms, so that slow start ends after a train of half of
/// 1.14 ms: 475 segments, which have grown the window to 1115. The growing window shortens the
/// allowance to 0.08 ms, and the train by 25 segments. With an allowance of 1 ms, the next round
/// would end slow start, at more than twice the BDP of 833 segments.
#[test]
fn an_unpaced_trains_allowance_shrinks_with_the_rate() {
    let path = "rate = \"10gbit\"\nrtt = \"1ms\"\nbuffer = \"4bdp\"";
    let linux = "params = { profile = \"linux\", slow_start = \"hystart\" }\n";
    let run = run(path, linux);
    let (window, reason) = end_of_slow_start(&run.trace.expect("traced"));
    assert_eq!(reason, "ACK train as long as the minimum RTT");
    assert!((1_070..1_130).contains(&window), "{window} segments");
}
