//! The metrics on which conditions may be placed are the metrics of a run.

use std::collections::BTreeSet;

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_scenario::quantities::{FLOW, LIMITS, LINK, Metrics, RUN, WORKLOAD};
use fullpipe_sim::run;
use fullpipe_trace::TraceLevel;
use fullpipe_trace::metrics::{Form, SLOWDOWN, STATISTICS};
use serde_json::Value as Json;

/// Entries of a run's metrics that are not measured.
const GIVEN: [&str; 15] = [
    "steadiness",
    "drift",
    "name",
    "cc",
    "version",
    "runner",
    "host",
    "warnings",
    "seed",
    "duration_s",
    "measure_from_s",
    "events",
    "flows",
    "links",
    "workloads",
];

fn names(value: &Json) -> BTreeSet<String> {
    let Json::Object(metrics) = value else {
        panic!("metrics have names: {value}")
    };
    metrics
        .keys()
        .filter(|name| !GIVEN.contains(&name.as_str()))
        .cloned()
        .collect()
}

fn known(metrics: Metrics) -> BTreeSet<String> {
    metrics.all().map(|metric| metric.name.to_owned()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_metric_of_a_run_can_be_expected_and_nothing_else() {
    let text = "duration = \"1s\"\npath = { rate = \"1mbit\", rtt = \"20ms\", buffer = \"1bdp\" }\n[[flow]]\ncc = \"cubic\"\n\
         [[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 100B max 1kB\"\nload = 0.3\n";
    let scenario = Scenario::parse(text, "test.toml").unwrap();
    let summary = run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap()
        .summary;
    let json = serde_json::to_value(&summary).unwrap();
    let (flow, link) = (&json["flows"][0], &json["links"][0]);
    assert_eq!(names(&json), known(RUN));
    assert_eq!(names(link), known(LINK));
    for (of, metrics) in [(flow, FLOW), (&json["workloads"][0], WORKLOAD)] {
        let mut names_of = names(of);
        assert!(names_of.remove("limited_by"));
        assert_eq!(names_of, known(metrics));
        // `host` is a limit here, and an input there.
        let limits = of["limited_by"].as_object().unwrap();
        assert_eq!(limits.keys().cloned().collect::<BTreeSet<_>>(), set(LIMITS));
        for metric in metrics
            .all()
            .filter(|metric| metric.form == Form::Distribution)
        {
            assert_eq!(names(&of[metric.name]), set(STATISTICS), "{}", metric.name);
        }
    }
    assert_eq!(names(&link["queue_delay_s"]), set(STATISTICS));
    let mut slowdown = names(&json["workloads"][0]["slowdown"]["all"]["flows"]);
    assert!(slowdown.remove("count"));
    assert_eq!(slowdown, set(SLOWDOWN));
}
