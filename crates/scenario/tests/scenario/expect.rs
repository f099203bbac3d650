//! Conditions: metrics, bounds in their units, and verdicts.

use fullpipe_scenario::{Comparison, Expectation, Measured, Scenario, Verdict};

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
    let of = |condition: &str| (read(condition).quantile, read(condition).comparison);
    assert_eq!(of("jain >= 0.8"), (None, Comparison::AtLeast));
    assert_eq!(of("median of jain > 0.8"), (Some(0.5), Comparison::Above));
    assert_eq!(
        of("p90 of flow.a.drops <= 10"),
        (Some(0.9), Comparison::AtMost)
    );
    assert_eq!(
        of("p2.5 of flow.a.drops < 10"),
        (Some(0.025), Comparison::Below)
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

// --- Verdicts ------------------------------------------------------------------------------------

/// Judges a condition by the values of the seeds from 1 on.
fn judge<'a>(condition: &'a Expectation, values: &[Option<f64>]) -> Verdict<'a> {
    let values: Vec<_> = (1..).zip(values.iter().copied()).collect();
    condition.judge(&condition.measured[0], &values)
}

#[test]
fn every_repetition_has_to_meet_a_condition_unless_it_names_a_quantile() {
    // Seed 10 has the least goodput, 10 Mbit/s, seed 9 the greatest.
    let ten: Vec<_> = (1..=10)
        .map(|seed| Some(10e6 + 1e6 * f64::from(seed % 10)))
        .collect();
    for (condition, met, measured, failed) in [
        ("flow.a.goodput >= 10mbit", true, 10e6, vec![]),
        ("flow.a.goodput > 10mbit", false, 10e6, vec![10]),
        ("flow.a.goodput <= 17.5mbit", false, 19e6, vec![9, 8]),
        // The ninth value is the least one that nine of ten values do not exceed.
        ("p90 of flow.a.goodput <= 18mbit", true, 18e6, vec![9]),
        ("p90 of flow.a.goodput < 18mbit", false, 18e6, vec![9, 8]),
        ("p10 of flow.a.goodput >= 11mbit", false, 10e6, vec![10]),
        ("p0 of flow.a.goodput <= 1gbit", true, 10e6, vec![]),
        ("p100 of flow.a.goodput >= 1mbit", true, 19e6, vec![]),
    ] {
        let read = read(condition);
        let verdict = judge(&read, &ten);
        let found = (verdict.met, verdict.measured, verdict.failed_seeds);
        assert_eq!(found, (met, Some(measured), failed), "{condition}");
        assert_eq!((verdict.least, verdict.most), (Some(10e6), Some(19e6)));
    }
}

#[test]
fn a_missing_value_is_worse_than_any_other() {
    let one_missing = [Some(10e6), None, Some(10e6)];
    for (condition, met, measured) in [
        ("flow.a.goodput >= 10mbit", false, None),
        ("flow.a.goodput <= 10mbit", false, None),
        ("p50 of flow.a.goodput <= 10mbit", true, Some(10e6)),
        ("p100 of flow.a.goodput <= 10mbit", false, None),
        ("p1 of flow.a.goodput >= 10mbit", false, None),
    ] {
        let read = read(condition);
        let verdict = judge(&read, &one_missing);
        assert_eq!(
            (verdict.met, verdict.measured),
            (met, measured),
            "{condition}"
        );
        assert_eq!(verdict.failed_seeds, [2]);
    }
    let condition = read("jain >= 0.1");
    let none = judge(&condition, &[]);
    assert_eq!(
        (none.met, none.measured, none.repetitions),
        (false, None, 0)
    );
}

#[test]
fn among_equal_values_the_least_seed_is_first() {
    let condition = read("flow.a.goodput >= 10mbit");
    let values = [(3, Some(20e6)), (2, Some(1e6)), (1, Some(1e6))];
    let verdict = condition.judge(&condition.measured[0], &values);
    assert_eq!(verdict.failed_seeds, [1, 2]);
}

#[test]
fn what_was_measured_has_the_unit_of_the_larger_of_it_and_the_bound() {
    for (condition, values, shown) in [
        (
            "flow.a.goodput >= 1mbit",
            vec![2.5e6, 3.784e6],
            "2.50 – 3.78 Mbit/s",
        ),
        ("flow.a.goodput >= 1gbit", vec![3e6], "0.003 Gbit/s"),
        ("flow.a.goodput >= 1kbit", vec![0.0], "0 kbit/s"),
        ("flow.a.goodput >= 10bit", vec![20.0], "20.00 bit/s"),
        ("flow.a.rtt.p95 <= 12s", vec![0.03], "0.030 s"),
        ("flow.a.rtt.p95 <= 1rtt", vec![0.2005], "200.5 ms"),
        (
            "link.bottleneck.drops <= 5",
            vec![418.0, 1685.0],
            "418.0 – 1685 packets",
        ),
        ("jain >= 80%", vec![0.94, 0.9401], "94.00 – 94.01 %"),
        ("jain >= 0.8", vec![0.94, 0.94], "0.940"),
        ("median of jain >= 0.8", vec![0.9, 0.94], "median 0.900"),
        ("p7 of jain >= 0.8", vec![0.9, 0.94], "p7 0.900"),
        ("p99.9 of jain <= 80%", vec![0.9, 0.94], "p99.9 94.00 %"),
    ] {
        let values: Vec<_> = values.into_iter().map(Some).collect();
        assert_eq!(judge(&read(condition), &values).shown, shown, "{condition}");
    }
    assert_eq!(judge(&read("flow.a.completion < 3s"), &[None]).shown, "–");
    assert_eq!(
        judge(&read("p90 of flow.a.completion < 3s"), &[None]).shown,
        "p90 –"
    );
    let some = [None, Some(2.0)];
    assert_eq!(
        judge(&read("flow.a.completion < 3s"), &some).shown,
        "2000 ms"
    );
}

#[test]
fn a_condition_on_several_flows_names_each() {
    let condition = read("flow.*.sent > 5");
    let names = condition.measured.iter().map(|of| {
        let verdict = condition.judge(of, &[]);
        (verdict.of.of.clone(), verdict.name)
    });
    let named = |name: &str| (name.to_owned(), format!("flow.*.sent > 5 ({name})"));
    assert!(names.eq([named("flow a"), named("flow a.far")]));
    assert_eq!(judge(&read("flow.a.sent > 5"), &[]).name, "flow.a.sent > 5");
}

#[test]
fn a_value_is_found_in_the_metrics_of_a_run() {
    let metrics = serde_json::json!({
        "jain": 0.5,
        "flows": [{ "sent": 7, "rtt_s": { "p95": 0.25 } }, { "sent": 8 }],
        "workloads": [{ "slowdown": { "all": { "flows": { "p95": 3.5 } } } }],
        "links": [{ "name": "b", "drops": 1 }, { "name": "b.c", "drops": 2 }],
    });
    for (flow, column, value) in [
        (None, "jain", Some(0.5)),
        (Some(0), "sent", Some(7.0)),
        (Some(1), "sent", Some(8.0)),
        (Some(0), "rtt_s.p95", Some(0.25)),
        (Some(1), "rtt_s.p95", None),
        (Some(2), "slowdown.all.flows.p95", Some(3.5)),
        (Some(3), "sent", None),
        (None, "link.b.drops", Some(1.0)),
        (None, "link.b.c.drops", Some(2.0)),
        (None, "link.d.drops", None),
    ] {
        let of = Measured {
            flow,
            of: String::new(),
            column: column.to_owned(),
            bound: 0.0,
            unit: "",
        };
        assert_eq!(of.value(&metrics), value, "{column} of {flow:?}");
    }
}
