//! Background traffic in whole runs: what it leaves to others, and how several of it share.

use cc::Registry;
use scenario::Scenario;
use sim::{TraceLevel, run};
use trace::Summary;

/// A run of 180 s at 20 Mbit/s and 40 ms with a buffer of 400 ms; figures are those of the last 60 s.
fn summary(flows: &str) -> Summary {
    let path = "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"400ms\"";
    let text = format!("duration = \"180s\"\nmeasure_from = \"120s\"\n[path]\n{path}\n{flows}");
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, &Registry::default(), TraceLevel::Off).unwrap_or_else(|error| panic!("{error}")).summary
}

/// What each flow gets of all that is delivered.
fn shares(summary: &Summary) -> Vec<f64> {
    let all: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    summary.flows.iter().map(|flow| flow.goodput_bps / all).collect()
}

#[test]
fn ledbat_alone_fills_the_link_at_its_target() {
    let summary = summary("[[flow]]\ncc = \"ledbat\"\n");
    assert!(summary.links[0].utilisation > 0.99, "{}", summary.links[0].utilisation);
    let queue = summary.links[0].queue_delay_s.mean.expect("there is one");
    assert!((queue - 0.1).abs() < 0.01, "RFC 6817 §2.5 TARGET: {queue}");
}

#[test]
fn ledbat_yields_to_cubic() {
    let shares = shares(&summary("[[flow]]\ncc = \"ledbat\"\n[[flow]]\ncc = \"cubic\"\nstart = \"30s\"\n"));
    assert!(shares[0] < 0.05, "{shares:?}");
}

#[test]
fn a_latecomer_starves_ledbat() {
    let shares = shares(&summary("[[flow]]\ncc = \"ledbat\"\n[[flow]]\ncc = \"ledbat\"\nstart = \"60s\"\n"));
    assert!(shares[1] > 0.8, "{shares:?}");
}
