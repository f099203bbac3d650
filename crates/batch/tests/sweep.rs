//! Plans and the threads that run them, through the public interface.

use std::slice;
use std::sync::Arc;
use std::time::Duration;

use fullpipe_batch::sweep::{Mode, Plan, Request};
use fullpipe_batch::{Around, Column, PATIENCE, Values};
use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_trace::TraceLevel;

const BASE: &str = "duration = \"1s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n[[flow]]\ncc = \"cubic\"\n\
                    [[flow]]\ncc = \"newreno\"\n";

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn request(set: &[(&str, &str)]) -> Request {
    Request {
        set: pairs(set),
        ..Request::default()
    }
}

fn plan(text: &str, request: &Request) -> Plan {
    Plan::new(text, "base.toml", request, Registry::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str, request: &Request) -> String {
    Plan::new(text, "base.toml", request, Registry::default())
        .and_then(|plan| plan.simulated().map(|()| plan.points()))
        .map(|points| panic!("{points} points"))
        .unwrap_err()
        .to_string()
}

/// The settings of each point, as text.
fn points(plan: &Plan) -> Vec<String> {
    let point = |point| {
        plan.settings(point)
            .map(|(_, value)| value.to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    (0..plan.points()).map(point).collect()
}

/// All rows of a plan, in the order of the runs.
fn rows(plan: Plan, threads: usize, shard: Duration) -> Vec<Vec<Column>> {
    let runs = plan.runs();
    let running =
        Arc::new(plan).start(slice::from_ref(&(0..runs)), threads, shard, Around::NOTHING);
    let mut shards = Vec::new();
    loop {
        match running
            .next(Duration::from_secs(60))
            .expect("no run panics")
        {
            (Some(shard), _) => shards.push(shard),
            (None, true) => break,
            (None, false) => panic!("nothing happens"),
        }
    }
    assert_eq!(running.runs(), runs);
    shards.sort_by_key(|shard| shard.runs.start);
    let ends: Vec<u64> = shards.iter().map(|shard| shard.runs.end).collect();
    let starts: Vec<u64> = shards.iter().map(|shard| shard.runs.start).collect();
    assert_eq!((starts[0], ends[ends.len() - 1]), (0, runs));
    assert_eq!(starts[1..], ends[..ends.len() - 1], "shards are adjacent");
    shards.into_iter().map(|shard| shard.columns).collect()
}

#[test]
fn every_combination_with_the_last_axis_changing_fastest() {
    let plan = plan(
        BASE,
        &request(&[
            ("path.buffer", "1bdp,2bdp"),
            ("flow.0.cc", "cubic,bbr1,bbr3"),
        ]),
    );
    assert_eq!(plan.mode(), Mode::Cartesian);
    assert_eq!(
        points(&plan),
        [
            "1bdp cubic",
            "1bdp bbr1",
            "1bdp bbr3",
            "2bdp cubic",
            "2bdp bbr1",
            "2bdp bbr3"
        ]
    );
}

#[test]
fn zipped_keys_change_together_and_combine_with_the_others() {
    let set = [
        ("path.rate", "10mbit,20mbit"),
        ("flow.0.cc", "cubic,bbr1"),
        ("path.rtt", "20ms,10ms"),
    ];
    let zip = vec!["path.rate".to_owned(), "path.rtt".to_owned()];
    let plan = plan(
        BASE,
        &Request {
            zip,
            ..request(&set)
        },
    );
    assert_eq!(plan.mode(), Mode::Zip);
    assert_eq!(
        points(&plan),
        [
            "10mbit cubic 20ms",
            "10mbit bbr1 20ms",
            "20mbit cubic 10ms",
            "20mbit bbr1 10ms"
        ]
    );
}

#[test]
fn zipped_keys_have_as_many_values_each() {
    let zip = vec!["path.rate".to_owned(), "path.rtt".to_owned()];
    let error = refusal(
        BASE,
        &Request {
            zip: zip.clone(),
            ..request(&[("path.rate", "1mbit,2mbit"), ("path.rtt", "1ms,2ms,3ms")])
        },
    );
    assert!(
        error.contains("path.rtt: 3 values, and path.rate has 2"),
        "{error}"
    );
    let error = refusal(
        BASE,
        &Request {
            zip,
            ..request(&[("path.rate", "1mbit,2mbit")])
        },
    );
    assert!(
        error.contains("path.rtt = \"20ms\"") || error.contains("path.rtt: is zipped"),
        "{error}"
    );
}

#[test]
fn samples_are_drawn_from_ranges_and_lists_and_another_axis_changes_nothing_of_them() {
    let draw = |set: &[(&str, &str)]| {
        plan(
            BASE,
            &Request {
                sample: Some(50),
                ..request(set)
            },
        )
    };
    let one = draw(&[("path.rtt", "5ms..1s log")]);
    let two = draw(&[("path.rtt", "5ms..1s log"), ("flow.0.cc", "cubic,bbr1")]);
    assert_eq!(one.mode(), Mode::Sample);
    assert_eq!(one.points(), 50);
    assert_eq!(one.axes()[0], two.axes()[0]);
    let ccs: Vec<String> = points(&two)
        .iter()
        .map(|point| point.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert!(ccs.iter().any(|cc| cc == "cubic") && ccs.iter().any(|cc| cc == "bbr1"));
    let other = plan(
        BASE,
        &Request {
            sample: Some(50),
            seed: Some(2),
            ..request(&[("path.rtt", "5ms..1s log")])
        },
    );
    assert_ne!(one.axes(), other.axes(), "another seed draws other values");
}

#[test]
fn a_file_says_what_is_varied_and_the_command_line_has_the_last_word() {
    let text = format!(
        "{BASE}[sweep]\nrepeat = 3\npath.rtt = [\"10ms\", \"20ms\"]\npath.buffer = [\"1bdp\", \"2bdp\"]\n\
         flow.0.params.beta = [0.7, 0.8]\n"
    );
    let whole = plan(&text, &Request::default());
    let keys: Vec<&str> = whole.axes().iter().map(|axis| axis.key.as_str()).collect();
    assert_eq!(
        keys,
        ["path.rtt", "path.buffer", "flow.0.params.beta"],
        "in the order of the file"
    );
    assert_eq!((whole.points(), whole.runs()), (8, 24));
    let less = plan(
        &text,
        &Request {
            repeat: Some(1),
            ..request(&[("path.rtt", "5ms"), ("path.buffer", "1bdp,4bdp,8bdp")])
        },
    );
    assert_eq!((less.points(), less.runs()), (6, 6));
    assert_eq!(points(&less)[5], "8bdp 0.8");
    // A run of one scenario ignores the sweep.
    assert_eq!(
        Scenario::parse(&text, "base.toml").unwrap(),
        Scenario::parse(BASE, "base.toml").unwrap()
    );
}

#[test]
fn a_wrong_value_is_refused_before_anything_runs_naming_its_point() {
    let error = refusal(
        BASE,
        &request(&[("path.buffer", "1bdp,2bdp"), ("flow.0.cc", "cubic,qubic")]),
    );
    assert_eq!(
        error.lines().next().unwrap(),
        "base.toml with --set flow.0.cc=qubic, point 1 of 4 (path.buffer=1bdp, flow.0.cc=qubic): no algorithm of this name"
    );
    for (set, words) in [
        (("path.buffer", "1bdp,"), "point 1 of 2 (path.buffer=)"),
        (("path.buffer", "1bdp,1bdp"), "this value is given twice"),
        (("path.rtt", "1ms..1s"), "a range needs --sample"),
        (
            ("path.rtt", "1ms..2ms,5ms"),
            "a range allows no other values",
        ),
        (("path.rtt", "9ms..1ms"), "9ms is not below 1ms"),
        (("seed", "1,2"), "seeds cannot be swept"),
        (("path.rat", "1mbit,2mbit"), "did you mean path.rate?"),
    ] {
        let error = refusal(BASE, &request(&[set]));
        assert!(error.contains(words), "{set:?}: {error}");
    }
}

#[test]
fn an_algorithm_that_only_other_runners_have_is_refused_by_the_simulator_alone() {
    let set = request(&[("flow.0.cc", "cubic,htcp")]);
    let plan = plan(BASE, &set);
    assert_eq!(plan.points(), 2);
    let error = plan.simulated().unwrap_err().to_string();
    assert!(
        error.contains("point 1 of 2 (flow.0.cc=htcp): no algorithm of this name"),
        "{error}"
    );
}

#[test]
fn repetitions_get_jitter_where_the_scenario_does_not_say_how_much() {
    let repeated = Request {
        repeat: Some(3),
        ..request(&[("path.rate", "10mbit,20mbit")])
    };
    let plan = plan(BASE, &repeated);
    let added: Vec<String> = plan
        .added_jitter()
        .iter()
        .map(|(key, least, most)| format!("{key} {least} {most}"))
        .collect();
    assert_eq!(
        added,
        ["send_jitter 600us 1.2ms", "start_jitter 20ms 20ms"],
        "1500 B at 20 and 10 Mbit/s; one RTT"
    );
    assert_eq!(plan.scenario(1).send_jitter.to_string(), "600us");
    assert_eq!(
        (plan.place(1), plan.place(2), plan.place(5)),
        ((1, 1), (0, 2), (1, 3)),
        "seed by seed"
    );

    let given = plan_with(&format!("start_jitter = \"5ms\"\n{BASE}"), &repeated);
    assert_eq!(given.added_jitter().len(), 1);
    assert_eq!(given.scenario(0).start_jitter.to_string(), "5ms");

    let error = refusal(
        &format!("start_jitter = \"0s\"\nsend_jitter = \"0s\"\n{BASE}"),
        &repeated,
    );
    assert!(
        error
            .contains("nothing in this scenario is random: every repetition would be the same run"),
        "{error}"
    );
}

fn plan_with(text: &str, request: &Request) -> Plan {
    plan(text, request)
}

#[test]
fn rows_are_those_of_single_runs_whatever_the_threads_and_shards() {
    let make = || {
        plan(
            BASE,
            &Request {
                repeat: Some(4),
                ..request(&[("path.buffer", "0.5bdp,2bdp")])
            },
        )
    };
    let whole = rows(make(), 1, Duration::from_secs(600));
    assert_eq!(whole.len(), 1);
    let cut = rows(make(), 3, Duration::ZERO);
    assert!(cut.len() > 1, "a shard of zero length ends with each run");
    for Column { name, values } in &whole[0] {
        let numbers: Vec<f64> = cut.iter().flat_map(|shard| numbers(shard, name)).collect();
        if !matches!(values, Values::Words { .. }) {
            assert!(
                numbers
                    .iter()
                    .zip(self::numbers(&whole[0], name))
                    .all(|(a, b)| a.to_bits() == b.to_bits()),
                "{name}"
            );
        }
    }
    let made = make();
    for run in 0..made.runs() {
        let summary = fullpipe_sim::run(&made.scenario(run), &Registry::default(), TraceLevel::Off)
            .unwrap()
            .summary;
        for (flow, metrics) in summary.flows.iter().enumerate() {
            let row = run as usize * 2 + flow;
            assert_eq!(numbers(&whole[0], "seed")[row], summary.seed as f64);
            assert_eq!(numbers(&whole[0], "point")[row], (run % 2) as f64);
            assert_eq!(numbers(&whole[0], "goodput_bps")[row], metrics.goodput_bps);
            assert_eq!(
                numbers(&whole[0], "queue_delay_s.p95")[row],
                metrics.queue_delay_s.p95.unwrap()
            );
            assert_eq!(
                numbers(&whole[0], "limited_by.cwnd")[row],
                metrics.limited_by["cwnd"]
            );
            assert_eq!(
                numbers(&whole[0], "link.bottleneck.drops")[row],
                summary.links[0].drops as f64
            );
            assert!(numbers(&whole[0], "completion_s")[row].is_nan());
        }
    }
}

fn numbers(columns: &[Column], name: &str) -> Vec<f64> {
    match &columns
        .iter()
        .find(|column| column.name == name)
        .unwrap_or_else(|| panic!("no column {name}"))
        .values
    {
        Values::Counts(values) => values.iter().map(|value| *value as f64).collect(),
        Values::Measures(values) => values.clone(),
        Values::Words { .. } => Vec::new(),
    }
}

#[test]
fn listed_points_may_set_different_keys() {
    let points = vec![
        pairs(&[("path.rate", "5mbit")]),
        pairs(&[("path.rate", "8mbit"), ("flow.1.cc", "bbr1")]),
    ];
    let plan = plan(
        BASE,
        &Request {
            points: Some(points),
            ..Request::default()
        },
    );
    assert_eq!(plan.mode(), Mode::Listed);
    assert_eq!(self::points(&plan), ["5mbit", "8mbit bbr1"]);
    assert_eq!(plan.scenario(1).flows[1].cc, "bbr1");
}

#[test]
fn what_stops_leaves_whole_shards() {
    let text = BASE
        .replace("\"1s\"", "\"600s\"")
        .replace("10mbit", "10gbit");
    let plan = Arc::new(plan(
        &text,
        &Request {
            repeat: Some(100),
            ..Request::default()
        },
    ));
    let running = plan.start(
        slice::from_ref(&(0..100)),
        2,
        Duration::from_secs(1),
        Around::NOTHING,
    );
    assert!(running.stop(PATIENCE));
    assert_eq!(running.runs(), 0, "stops within a slice");
    assert!(
        running
            .next(Duration::ZERO)
            .expect("no run panics")
            .0
            .is_none()
    );
}
