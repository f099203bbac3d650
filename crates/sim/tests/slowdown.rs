//! Slowdowns of arriving flows, and the ideal servers to compare with.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_trace::WorkloadSummary;
use fullpipe_trace::slowdown::Decade;

fn run(text: &str) -> Vec<WorkloadSummary> {
    let scenario =
        Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut simulation = Simulation::new(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap_or_else(|error| panic!("{error}"));
    while !simulation.advance(10_000) {}
    simulation.finish().summary.workloads
}

fn all(summary: &WorkloadSummary) -> &Decade {
    summary.slowdown.all.as_ref().expect("flows arrived")
}

const PATH: &str =
    "duration = \"60s\"\n[path]\nrate = \"100mbit\"\nrtt = \"20ms\"\nbuffer = \"4bdp\"\n";
const FLOWS: &str = "model = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nstop = \"50s\"\n";

#[test]
fn nobody_is_faster_than_alone_and_the_shortest_first_is_the_fastest_in_the_mean() {
    for cc in ["cubic", "bbr3"] {
        let workload = format!("{PATH}[[workload]]\ncc = \"{cc}\"\nload = 0.7\n{FLOWS}");
        let [summary] = &run(&workload)[..] else {
            panic!("one workload")
        };
        let (flows, srpt, ps) = (
            all(summary).flows.unwrap(),
            all(summary).srpt.unwrap(),
            all(summary).ps.unwrap(),
        );
        assert_eq!((flows.count, summary.unfinished), (summary.arrived, 0));
        assert_eq!((srpt.count, ps.count), (flows.count, flows.count));
        assert!(
            1.0 <= srpt.mean && srpt.mean < ps.mean && ps.mean < flows.mean,
            "{srpt:?} {ps:?} {flows:?}"
        );
        let counts: u64 = summary
            .slowdown
            .decades
            .iter()
            .map(|decade| decade.flows.unwrap().count)
            .sum();
        assert_eq!(counts, flows.count);
        assert!(
            summary
                .slowdown
                .decades
                .iter()
                .all(|decade| decade.flows.unwrap().p50 >= 1.0)
        );
    }
}

#[test]
fn flows_that_hardly_meet_take_as_long_as_alone() {
    // One packet per flow, one flow every 20 ms.
    let flows = "model = \"bounded_pareto shape 1 min 500B max 501B\"\n";
    let [summary] = &run(&format!(
        "{PATH}[[workload]]\ncc = \"cubic\"\nload = 0.002\n{flows}"
    ))[..] else {
        panic!("one")
    };
    let (flows, srpt) = (all(summary).flows.unwrap(), all(summary).srpt.unwrap());
    assert!(flows.count > 1_000, "{flows:?}");
    assert!(
        (flows.p95 - 1.0).abs() < 0.001 && (srpt.p95 - 1.0).abs() < 1e-9,
        "{flows:?} {srpt:?}"
    );
}

#[test]
fn several_workloads_share_one_server_and_none_stands_for_a_rate_that_changes() {
    let two = format!(
        "{PATH}[[workload]]\ncc = \"cubic\"\nload = 0.4\n{FLOWS}[[workload]]\nname = \"b\"\ncc = \"bbr1\"\nload = 0.4\n{FLOWS}"
    );
    let both = run(&two);
    let alone = run(&format!(
        "{PATH}[[workload]]\ncc = \"cubic\"\nload = 0.4\n{FLOWS}"
    ));
    let mean = |summaries: &[WorkloadSummary]| all(&summaries[0]).ps.unwrap().mean;
    assert!(
        mean(&both) > mean(&alone),
        "{} {}",
        mean(&both),
        mean(&alone)
    );
    let changing = two.replace(
        "rtt = ",
        "change = [{ at = \"5s\", rate = \"200mbit\" }]\nrtt = ",
    );
    let changing = run(&changing);
    assert!(all(&changing[0]).flows.is_some() && all(&changing[0]).ps.is_none());
}

#[test]
fn what_arrives_does_not_depend_on_the_algorithm() {
    let of = |cc: &str| {
        let summaries = run(&format!(
            "{PATH}[[workload]]\nname = \"a\"\ncc = \"{cc}\"\nload = 0.6\n{FLOWS}"
        ));
        (
            all(&summaries[0]).srpt.unwrap(),
            all(&summaries[0]).ps.unwrap(),
        )
    };
    assert_eq!(of("cubic"), of("bbr3"));
}
