//! The parts of flows in a queue, in the trace.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_sim::Simulation;
use fullpipe_trace::{Data, TraceLevel};
use fullpipe_units::{Span, Time};

/// Returns the numbers of the table of parts, by column. With `each`, packets are logged, so that each is counted
/// from the start, even while all of them are of one flow.
fn parts(path: &str, flows: &str, each: bool) -> Vec<Vec<u64>> {
    let text = format!("duration = \"3s\"\n[path]\n{path}\n{flows}");
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let level = TraceLevel::Every(Span::from_millis(1));
    let mut simulation =
        Simulation::new(&scenario, &Registry::default(), level).expect("it can be built");
    if each {
        simulation.log_packets(Time::ZERO, Time::ZERO);
    }
    while !simulation.advance(u64::MAX) {}
    let trace = simulation.finish().trace.expect("traced");
    let table = trace.table("queues").expect("the parts are recorded");
    let numbers = |data: &Data| match data {
        Data::U64(values) => values.to_vec(),
        Data::U32(values) => values.iter().map(|value| u64::from(*value)).collect(),
        Data::F32(_) | Data::Label { .. } => panic!("all of its columns are whole numbers"),
    };
    let columns = table.columns.iter();
    columns.map(|column| numbers(&column.data)).collect()
}

const PATH: &str = "rate = \"20mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"";

#[test]
fn a_flow_has_the_same_part_whether_it_is_alone_or_each_packet_is_counted() {
    let alone = "[[flow]]\ncc = \"cubic\"\nparams = { slow_start = \"classic\" }\n";
    // The second flow comes while the first one fills the queue, after it has lost packets.
    let joined = format!("{alone}[[flow]]\ncc = \"newreno\"\nstart = \"1.2345s\"\n");
    let varying =
        "rate_pattern = \"sine 10mbit..20mbit every 1s\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"";
    for (path, flows) in [(PATH, alone), (PATH, &joined), (varying, &joined)] {
        let whole = parts(path, flows, false);
        assert_eq!(whole, parts(path, flows, true), "{path}\n{flows}");
        let [bytes, drops] = [3, 4].map(|column| whole[column].iter().max().copied());
        assert!(
            bytes > Some(0) && drops > Some(0),
            "packets waited and were dropped"
        );
    }
}
