//! Reading conditions: metrics, and bounds in their units.

use fullpipe_scenario::{Comparison, Expectation, Over, Scenario};

const BASE: &str = r#"
duration = "60s"
path = { rate = "100mbit", rtt = "50ms", buffer = "8bdp" }
[[flow]]
name = "a"
cc = "cubic"
[[flow]]
name = "a.far"
cc = "cubic"
rtt = "+150ms"
"#;

fn read(condition: &str) -> Expectation {
    let text = format!("expect = [{condition:?}]{BASE}");
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    scenario.expectations().unwrap().remove(0)
}

/// Returns (flow, column, bound) of a condition on one metric.
fn one(condition: &str) -> (Option<usize>, String, f64) {
    let mut read = read(condition);
    assert_eq!(read.measured.len(), 1, "{condition}");
    let measured = read.measured.remove(0);
    (measured.flow, measured.column, measured.bound)
}

#[test]
fn a_metric_is_called_as_in_the_results_with_or_without_its_unit() {
    for condition in [
        "flow.a.goodput >= 90mbit",
        "flow.a.goodput_bps >= 90 Mbit/s",
    ] {
        assert_eq!(one(condition), (Some(0), "goodput_bps".to_owned(), 90e6));
    }
    for condition in [
        "link.bottleneck.queue_delay.p95<=20ms",
        "link.bottleneck.queue_delay_s.p95 <= 20ms",
    ] {
        assert_eq!(
            one(condition),
            (None, "link.bottleneck.queue_delay_s.p95".to_owned(), 0.02)
        );
    }
    assert_eq!(
        one("flow.a.loss <= 0.1%"),
        (Some(0), "loss_fraction".to_owned(), 0.001)
    );
    assert_eq!(
        one("flow.a.limited_by.cwnd > 0.5"),
        (Some(0), "limited_by.cwnd".to_owned(), 0.5)
    );
    assert_eq!(
        one("flow.a.completion < 3s"),
        (Some(0), "completion_s".to_owned(), 3.0)
    );
    assert_eq!(one("jain >= 80%"), (None, "jain".to_owned(), 0.8));
}

#[test]
fn an_rtt_is_the_flows_own_and_a_bdp_the_paths() {
    assert_eq!(one("flow.a.rtt.p95 <= 2rtt").2, 0.1);
    assert_eq!(
        one("flow.a.far.rtt.p95 <= 2 rtt"),
        (Some(1), "rtt_s.p95".to_owned(), 0.4)
    );
    assert_eq!(one("link.bottleneck.queue_delay.max <= 1 rtt").2, 0.05);
    // 100 Mbit/s x 50 ms are 625 kB, 416.7 packets of 1500 bytes.
    assert!((one("link.bottleneck.drops <= 2bdp").2 - 2.0 * 625_000.0 / 1500.0).abs() < 1e-9);
    assert_eq!(one("link.bottleneck.drops <= 100 packets").2, 100.0);
}

const WEB: &str = "[[workload]]\nname = \"web\"\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\n";

#[test]
fn a_workload_is_numbered_behind_the_flows() {
    let of = |condition: &str| {
        let scenario =
            Scenario::parse(&format!("expect = [{condition:?}]{BASE}{WEB}"), "test.toml");
        scenario.map(|scenario| {
            scenario
                .expectations()
                .unwrap()
                .remove(0)
                .measured
                .remove(0)
        })
    };
    for (condition, column, bound, unit) in [
        (
            "workload.web.slowdown.p99 < 10",
            "slowdown.all.flows.p99",
            10.0,
            "",
        ),
        (
            "workload.*.slowdown.mean <= 1.5",
            "slowdown.all.flows.mean",
            1.5,
            "",
        ),
        (
            "workload.web.completion.p95 <= 2rtt",
            "completion_s.p95",
            0.1,
            "s",
        ),
        (
            "workload.web.completed_bytes > 20MB",
            "completed_bytes",
            20e6,
            "B",
        ),
        ("workload.web.refused <= 0", "refused", 0.0, ""),
        (
            "workload.web.limited_by.cwnd < 50%",
            "limited_by.cwnd",
            0.5,
            "",
        ),
    ] {
        let measured = of(condition).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((measured.flow, measured.column.as_str()), (Some(2), column));
        assert_eq!((measured.bound, measured.unit), (bound, unit));
    }
    for (condition, problem, fix) in [
        (
            "workload.wep.slowdown.p99 < 10",
            "there is no workload \"wep\"",
            "did you mean \"web\"?",
        ),
        (
            "workload.web.slowdon.p99 < 10",
            "a workload has no metric \"slowdon.p99\"",
            "did you mean \"slowdown.p99\"?",
        ),
        (
            "workload.web.slowdown < 10",
            "a workload has no metric \"slowdown\"",
            "slowdown.mean, slowdown.p50, slowdown.p95, slowdown.p99",
        ),
        (
            "workload.web.slowdown.p99 < 10ms",
            "\"10ms\" is not a number",
            "write it like \"100\"",
        ),
        (
            "flow.web.goodput > 1mbit",
            "there is no flow \"web\"",
            "use one of a, *",
        ),
    ] {
        let error = of(condition).expect_err(condition).to_string();
        assert!(error.contains(problem) && error.contains(fix), "{error}");
    }
}

#[test]
fn a_condition_is_about_every_repetition_or_a_quantile_of_them() {
    let of = |condition: &str| (read(condition).over, read(condition).comparison);
    assert_eq!(of("jain >= 0.8"), (Over::Every, Comparison::AtLeast));
    assert_eq!(
        of("median of jain > 0.8"),
        (Over::Quantile(0.5), Comparison::Above)
    );
    assert_eq!(
        of("p90 of flow.a.drops <= 10"),
        (Over::Quantile(0.9), Comparison::AtMost)
    );
    assert_eq!(
        of("p2.5 of flow.a.drops < 10"),
        (Over::Quantile(0.025), Comparison::Below)
    );
}

#[test]
fn a_star_is_each_flow_with_a_bound_of_its_own() {
    let read = read("flow.*.rtt.max <= 1rtt");
    let bounds: Vec<_> = read
        .measured
        .iter()
        .map(|measured| (measured.flow, measured.bound))
        .collect();
    assert_eq!(bounds, [(Some(0), 0.05), (Some(1), 0.2)]);
}

#[test]
fn conditions_are_written_back_and_go_with_the_flow_that_they_are_about() {
    let text = format!("expect = [\"flow.a.goodput >= 1mbit\"]{BASE}");
    let scenario = Scenario::parse(&text, "test.toml").unwrap();
    assert_eq!(
        Scenario::parse(&scenario.to_toml(), "again.toml")
            .unwrap()
            .expect,
        scenario.expect
    );
    let renamed = [("flow.0.name".to_owned(), "b".to_owned())];
    let renamed = Scenario::parse_with(&text, "test.toml", &renamed, None).unwrap();
    assert_eq!(renamed.expectations().unwrap(), []);
    assert_eq!(
        Scenario::parse(&renamed.to_toml(), "again.toml").unwrap(),
        renamed
    );
}

#[test]
fn the_command_line_has_a_list_with_commas() {
    let set = [(
        "expect".to_owned(),
        "jain >= 0.8, flow.a.sent > 5".to_owned(),
    )];
    let scenario = Scenario::parse_with(&BASE[1..], "test.toml", &set, None).unwrap();
    assert_eq!(scenario.expectations().unwrap().len(), 2);
}
