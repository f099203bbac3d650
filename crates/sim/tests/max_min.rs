//! The max-min fair rates on which `max_min_share` is based, compared with tables derived by hand.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_sim::run;
use fullpipe_trace::{FlowSummary, TraceLevel};

/// Payload of a full packet over its size.
const PAYLOAD: f64 = 1448.0 / 1500.0;

fn flows(text: &str) -> Vec<FlowSummary> {
    let head = "duration = \"20s\"\nmeasure_from = \"0s\"\n";
    let scenario = Scenario::parse(&format!("{head}{text}"), "test.toml").unwrap();
    run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap()
        .summary
        .flows
}

/// Fair rate of each flow in Mbit/s of payload; `None` where there is no share.
fn fair(flows: &[FlowSummary]) -> Vec<Option<f64>> {
    let rate = |flow: &FlowSummary| Some(flow.goodput_bps / flow.max_min_share? / 1e6);
    flows.iter().map(rate).collect()
}

#[track_caller]
fn assert_fair(text: &str, expected: &[Option<f64>]) {
    let flows = flows(text);
    let found = fair(&flows);
    let same = |(found, expected): (&Option<f64>, &Option<f64>)| match (found, expected) {
        (Some(found), Some(expected)) => (found / expected - 1.0).abs() < 1e-6,
        (found, expected) => found.is_none() && expected.is_none(),
    };
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(same),
        "{found:?} for {expected:?}"
    );
}

const PATH: &str = "[path]\nrate = \"20mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n";

#[test]
fn a_parking_lot() {
    // The long flow gets half of the second link; the flow on the first link gets what the long one
    // leaves.
    let text = format!(
        "{PATH}[[link]]\nname = \"second\"\nrate = \"8mbit\"\nbuffer = \"50packets\"\n\
         [[flow]]\ncc = \"cubic\"\nroute = [\"bottleneck\", \"second\"]\n\
         [[flow]]\ncc = \"cubic\"\n\
         [[flow]]\ncc = \"cubic\"\nroute = [\"second\"]\n"
    );
    assert_fair(
        &text,
        &[
            Some(4.0 * PAYLOAD),
            Some(16.0 * PAYLOAD),
            Some(4.0 * PAYLOAD),
        ],
    );
}

#[test]
fn a_late_start() {
    // Alone for 15 s, with the other flow for 5 s.
    let text =
        format!("{PATH}[[flow]]\ncc = \"cubic\"\n[[flow]]\ncc = \"cubic\"\nstart = \"15s\"\n");
    let first = (15.0 * 20.0 + 5.0 * 10.0) / 20.0;
    assert_fair(&text, &[Some(first * PAYLOAD), Some(10.0 * PAYLOAD)]);
}

#[test]
fn an_applications_limit() {
    // The application offers 3 Mbit/s from the start, and 12 from 10 s on, when the fair share is
    // 10.
    let text = format!(
        "{PATH}[[flow]]\ncc = \"cubic\"\n\
         [[flow]]\ncc = \"cubic\"\napp_rate = \"3mbit\"\napp_schedule = \"10s 12mbit\"\n"
    );
    let link = 20.0 * PAYLOAD;
    assert_fair(
        &text,
        &[
            Some((link - 3.0 + link / 2.0) / 2.0),
            Some((3.0 + link / 2.0) / 2.0),
        ],
    );
}

#[test]
fn unresponsive_flows_are_served_first() {
    let none = "[[flow]]\ncc = \"none\"\napp_rate = \"15mbit\"\n";
    let two = "[[flow]]\ncc = \"cubic\"\n[[flow]]\ncc = \"cubic\"\n";
    let left = (20.0 * PAYLOAD - 15.0) / 2.0;
    assert_fair(
        &format!("{PATH}{two}{none}"),
        &[Some(left), Some(left), None],
    );
    // Bursts count in their times: a fifth of the time here.
    let bursts = none.to_owned() + "app_schedule = \"200ms pause every 1s\"\n";
    let left = (20.0 * PAYLOAD - 0.2 * 15.0) / 2.0;
    assert_fair(
        &format!("{PATH}{two}{bursts}"),
        &[Some(left), Some(left), None],
    );
    // 20 Mbit/s of payload exceed the link's rate: the other flows get nothing.
    let all = none.replace("15", "20");
    assert_fair(&format!("{PATH}{two}{all}"), &[None, None, None]);
}

#[test]
fn a_rate_that_changes_a_shaper_and_a_policer() {
    let flow = "[[flow]]\ncc = \"cubic\"\n";
    let change = "[[path.change]]\nat = \"5s\"\nrate = \"4mbit\"\n";
    assert_fair(
        &format!("{PATH}{change}{flow}"),
        &[Some((5.0 * 20.0 + 15.0 * 4.0) / 20.0 * PAYLOAD)],
    );
    let slower = PATH.replace("buffer", "shaper = \"8mbit burst 100kB\"\nbuffer");
    let change = "[[path.change]]\nat = \"10s\"\npolicer = \"2mbit burst 100kB\"\n";
    assert_fair(
        &format!("{slower}{change}{flow}"),
        &[Some((8.0 + 2.0) / 2.0 * PAYLOAD)],
    );
}

#[test]
fn flows_that_come_and_go_and_one_alone() {
    // A transfer's share counts while it lasts: alone it gets the whole link except the loss of
    // slow start.
    let text = format!("{PATH}[[flow]]\ncc = \"cubic\"\nbytes = \"5MB\"\n");
    let alone = &flows(&text)[0];
    assert_eq!(alone.completion_s.map(|at| at < 3.0), Some(true));
    assert!(
        alone
            .max_min_share
            .is_some_and(|share| share > 0.8 && share < 1.0),
        "{:?}",
        alone.max_min_share
    );
}

#[test]
fn demands_that_nobody_knows() {
    let paused = "[[flow]]\ncc = \"cubic\"\napp = \"on 1s off 1s\"\n";
    let flow = "[[flow]]\ncc = \"cubic\"\n";
    assert_fair(&format!("{PATH}{flow}{paused}"), &[None, None]);
    let arrive = "[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 100B max 1kB\"\nload = 0.1\n";
    assert_fair(&format!("{PATH}{flow}{arrive}"), &[None]);
}
