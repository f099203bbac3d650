//! A path whose one-way delays follow traces.

use fullpipe_cc::Registry;
use fullpipe_trace::Data;
use fullpipe_trace::{Run, TraceLevel};

use crate::users::of_specifications;

const PATH: &str = "rate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"";
const FORWARD: &str = "delay_trace = \"0s 20ms, 2s 50ms, 4s 10ms every 6s\"";
const REVERSE: &str = "reverse_delay_trace = \"0s 15ms, 3s 30ms\"";
/// A segment now and then, each acknowledged: no packet waits for another.
const SPARSE: &str = "cc = \"cubic\"\napp_rate = \"1mbit\"\ndelayed_ack = 1";

fn run(path: &str, flow: &str) -> Run {
    let text = format!("duration = \"20s\"\n[path]\n{PATH}\n{path}\n[[flow]]\n{flow}\n");
    let scenario = of_specifications(&text);
    fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Acks)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Time and RTT sample of each ACK, in s.
fn samples(run: &Run) -> Vec<(f64, f64)> {
    let columns = &run.trace.as_ref().expect("traced").tables[0].columns;
    let data = |name: &str| {
        let column = columns.iter().find(|column| column.name == name);
        &column.expect("the table has this column").data
    };
    let (Data::U64(times), Data::F32(rtts)) = (data("time"), data("rtt")) else {
        panic!("other kinds of numbers")
    };
    let rows = times.iter().zip(rtts);
    rows.filter(|(_, rtt)| rtt.is_finite())
        .map(|(ns, rtt)| (*ns as f64 / 1e9, f64::from(*rtt)))
        .collect()
}

fn forward(at: f64) -> f64 {
    match at % 6.0 {
        into if into < 2.0 => 0.020,
        into if into < 4.0 => 0.050,
        _ => 0.010,
    }
}

fn reverse(at: f64) -> f64 {
    if at < 3.0 { 0.015 } else { 0.030 }
}

/// Transmission time of 1500 bytes on the link, and on the access link of ten times the rate.
const TRANSMISSIONS: f64 = 132e-6;

#[test]
fn rtts_are_those_of_the_traces_at_their_time() {
    for more in [0.0, 0.020] {
        let flow = format!("{SPARSE}\nrtt = \"+{}ms\"", more * 1e3);
        let run = run(&format!("{FORWARD}\n{REVERSE}"), &flow);
        let (mut steady, all) = (0, samples(&run).len());
        for (at, rtt) in samples(&run) {
            let left = at - rtt + TRANSMISSIONS;
            let arrived = left + forward(left) + more / 2.0;
            // Behind a delay that has just become shorter, packets arrive together.
            if forward(left - 0.1) > forward(left) {
                assert!(rtt < TRANSMISSIONS + 0.080 + more, "{rtt} at {at}");
                continue;
            }
            let expected = TRANSMISSIONS + forward(left) + reverse(arrived) + more;
            assert!(
                (rtt - expected).abs() < 1e-6,
                "{rtt} at {at}, not {expected}"
            );
            steady += 1;
        }
        assert!(all > 1_500 && steady > all * 9 / 10, "{steady} of {all}");
        assert_eq!(run.summary.flows[0].retransmits, 0, "nobody overtakes");
    }
}

#[test]
fn the_other_direction_keeps_half_of_the_rtt_and_its_changes() {
    let change = "[[path.change]]\nat = \"10s\"\nrtt = \"80ms\"";
    let run = run(&format!("{FORWARD}\n{change}"), SPARSE);
    for (at, rtt) in samples(&run) {
        let left = at - rtt + TRANSMISSIONS;
        let (back, settled) = match left + forward(left) {
            arrived if arrived < 10.0 => (0.020, true),
            arrived => (0.040, arrived > 10.1),
        };
        if settled && forward(left - 0.1) <= forward(left) {
            let expected = TRANSMISSIONS + forward(left) + back;
            assert!(
                (rtt - expected).abs() < 1e-6,
                "{rtt} at {at}, not {expected}"
            );
        }
    }
}

#[test]
fn all_flows_follow_one_trace() {
    let two = format!("{SPARSE}\n[[flow]]\n{}", SPARSE.replace("cubic", "bbr3"));
    let run = run(FORWARD, &two);
    for flow in &run.summary.flows {
        let (least, most) = (flow.rtt_s.min, flow.rtt_s.max);
        let (least, most) = (least.expect("samples"), most.expect("samples"));
        assert!((0.030..0.031).contains(&least), "{least}");
        assert!((0.070..0.0715).contains(&most), "{most}");
    }
}
