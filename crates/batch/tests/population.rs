//! Paths are drawn by number, run like any scenario, and reported with the fields of `ss`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fullpipe_batch::population::{Distribution, PRESETS, Population, PopulationRun};
use fullpipe_batch::{Column, Values};
use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_trace::TraceLevel;
use proptest::prelude::*;

const SMALL: &str = r#"
title = "A few paths"
about = "for tests"
references = { study = "their paper" }
scenario = """
duration = "100s"
path = { rate = "10mbit", rtt = "20ms", buffer = "1bdp" }
flow = [{ name = "download", cc = "cubic", bytes = "300kB" }]
"""

[draw.path.rtt]
value = [[0.5, "{5ms..50ms log}"], [0.5, "{lognormal 60ms spread 1.5 in 20ms..200ms}"]]
source = "study"
why = "it is so"

[draw.path.buffer]
value = "{0.1bdp..8bdp log}"
least = "5packets"
source = "our choice"
why = "it may be so"

[class.near]
share = 0.75
source = "study; our choice"
why = "most are"

[class.far]
share = 0.25
source = "study"
why = "some are"
[class.far.draw.path.loss]
value = "{0.1%..2%}"
source = "our choice"
why = "far is bad"

[arm.old]
cc = "cubic"
params = { slow_start = "hystart", fast_convergence = false }
"#;

fn population(set: &[(&str, &str)]) -> Population {
    let set: Vec<_> = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Population::read(SMALL, "small.toml", &set).expect("a good one")
}

fn fleet(arms: &[&str]) -> PopulationRun {
    let arms: Vec<String> = arms.iter().map(|name| (*name).to_owned()).collect();
    PopulationRun::new(population(&[]), &arms, 1, Registry::default()).expect("the arms exist")
}

fn error(text: &str) -> String {
    Population::read(text, "small.toml", &[])
        .expect_err("a bad one")
        .to_string()
}

/// The columns of one shard with all paths.
fn run(fleet: PopulationRun, paths: u64, threads: usize) -> BTreeMap<String, Values> {
    let running = fullpipe_batch::start(
        &Arc::new(fleet),
        std::slice::from_ref(&(0..paths)),
        threads,
        Duration::from_secs(1000),
        fullpipe_batch::Around::NOTHING,
    );
    loop {
        match running.next(Duration::from_secs(1)).expect("no panic") {
            (Some(shard), _) => {
                assert_eq!(shard.runs, 0..paths);
                return shard
                    .columns
                    .into_iter()
                    .map(|Column { name, values }| (name, values))
                    .collect();
            }
            (None, over) => assert!(!over, "the shard comes first"),
        }
    }
}

fn counts<'a>(columns: &'a BTreeMap<String, Values>, name: &str) -> &'a [u64] {
    let Values::Counts(values) = &columns[name] else {
        panic!("{name} has no counts")
    };
    values
}

fn measures<'a>(columns: &'a BTreeMap<String, Values>, name: &str) -> &'a [f64] {
    let Values::Measures(values) = &columns[name] else {
        panic!("{name} has no measures")
    };
    values
}

/// `fullpipe run` with a path's text gives the same result as the fleet with that path.
#[test]
fn a_path_by_itself_is_the_same_to_the_bit() {
    let arms = ["cubic", "bbr1", "old"];
    let columns = run(fleet(&arms), 8, 2);
    let alone = fleet(&arms);
    for path in 0..8 {
        for arm in 0..arms.len() {
            let text = alone.scenario(path, arm).unwrap().to_toml();
            let scenario = Scenario::parse(&text, "path.toml")
                .unwrap_or_else(|error| panic!("{error}\n{text}"));
            let summary = fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Off)
                .unwrap()
                .summary;
            let flow = &summary.flows[0];
            let row = path as usize * arms.len() + arm;
            assert_eq!(counts(&columns, "data_segs_out")[row], flow.sent);
            assert_eq!(
                counts(&columns, "retrans_total_packets")[row],
                flow.retransmits
            );
            assert_eq!(counts(&columns, "bytes_acked")[row], 300_000);
            assert_eq!(
                counts(&columns, "bytes_sent")[row],
                300_000 + 1448 * flow.retransmits
            );
            // The request arrives with the end of the handshake, an RTT after the SYN; ACKs and
            // SYNs take a moment on the access link.
            let handshake = flow.completion_s.unwrap() - measures(&columns, "request_time_s")[row];
            let rtt = scenario.path.rtt.as_secs_f64();
            assert!(
                (rtt..rtt + 1e-3).contains(&handshake),
                "{handshake}, expected {rtt}"
            );
            assert!((rtt..rtt + 2e-3).contains(&measures(&columns, "minrtt_s")[row]));
        }
    }
}

#[test]
fn threads_change_nothing() {
    // Compared as text, since missing values are NaN, which equals nothing.
    let [one, three] =
        [1, 3].map(|threads| format!("{:?}", run(fleet(&["cubic", "bbr3"]), 20, threads)));
    assert!(one == three);
}

#[test]
fn means_lie_between_what_they_are_means_of() {
    let columns = run(fleet(&["cubic", "bbr1"]), 20, 2);
    for row in 0..40 {
        let measure = |name: &str| measures(&columns, name)[row];
        assert!(
            measure("minrtt_s") <= measure("rtt_s_mean")
                && measure("rtt_s_mean") <= measure("rtt_s_max")
        );
        assert!(
            measure("unacked_packets_mean") <= counts(&columns, "unacked_packets_max")[row] as f64
        );
        assert!(measure("unacked_packets_mean") >= 1.0);
        assert!(
            measure("busy_s") >= measure("request_time_s"),
            "the last ACK follows the last byte"
        );
        assert!(counts(&columns, "busy_samples")[row] <= counts(&columns, "samples")[row]);
        let is_bbr = row % 2 == 1;
        assert_eq!(is_bbr, measure("bbr_bw_bps") > 0.0);
        assert_eq!(is_bbr, !measure("bbr_mrtt_s").is_nan());
    }
}

/// Another key, or another distribution of one, does not change the draws of the others.
#[test]
fn each_key_has_a_stream_of_its_own() {
    let plain = population(&[]);
    let other = population(&[
        ("path.reverse_jitter", "hold {1ms..5ms}"),
        ("path.rtt", "10ms"),
    ]);
    for path in 0..50 {
        let (plain, other) = (plain.draw(7, path), other.draw(7, path));
        assert_eq!((plain.class, plain.seed), (other.class, other.seed));
        for (key, value) in plain
            .settings
            .iter()
            .filter(|(key, value)| *key != "path.rtt" && !value.ends_with("packets"))
        {
            let found = other.settings.iter().find(|(known, _)| known == key);
            let (_, now) = found.expect("every key stays");
            assert!(
                now == value || now.ends_with("packets"),
                "{key}: {value} became {now}"
            );
        }
        assert!(
            other
                .settings
                .iter()
                .any(|(key, value)| *key == "path.rtt" && value == "10ms")
        );
    }
}

#[test]
fn classes_have_their_shares_and_what_is_theirs() {
    let population = population(&[]);
    let drawn: Vec<_> = (0..2000).map(|path| population.draw(1, path)).collect();
    let far = drawn.iter().filter(|path| path.class == "far").count();
    assert!(
        (445..555).contains(&far),
        "{far}: 500 +- 2.8 standard deviations"
    );
    for path in &drawn {
        let lossy = path.settings.iter().any(|(key, _)| *key == "path.loss");
        assert_eq!(lossy, path.class == "far");
    }
}

#[test]
fn a_small_buffer_holds_something() {
    // At 10 Mbit/s and 5 ms, a BDP is four packets.
    let population = population(&[("path.rtt", "5ms"), ("path.rate", "10mbit")]);
    for path in 0..100 {
        let drawn = population.draw(1, path);
        let packets = population.scenario(&drawn).unwrap();
        let held = packets.buffer(&packets.path.link).get() / 1500;
        assert!(held >= 5, "{held} packets");
    }
}

#[test]
fn tables_of_paths_have_the_same_columns_whatever_their_classes() {
    let fleet = fleet(&["cubic"]);
    let names = |paths| {
        fleet
            .paths(paths)
            .into_iter()
            .map(|column| column.name)
            .collect::<Vec<_>>()
    };
    let all = names(0..50);
    assert!(
        all.contains(&"path.loss.value".to_owned()),
        "a column of the far class alone: {all:?}"
    );
    for path in 0..50 {
        assert_eq!(names(path..path + 1), all);
    }
}

#[test]
fn presets_are_sourced_and_can_be_run() {
    for (name, text) in PRESETS {
        let population =
            Population::read(text, name, &[]).unwrap_or_else(|error| panic!("{error}"));
        let arms = ["cubic", "bbr1", "bbr2", "bbr3"].map(str::to_owned);
        let columns = run(
            PopulationRun::new(population, &arms, 1, Registry::default()).unwrap(),
            5,
            2,
        );
        assert_eq!(counts(&columns, "pair").len(), 20);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let without = |text: &str, with: &str| {
        assert!(SMALL.contains(text));
        error(&SMALL.replacen(text, with, 1))
    };
    let errors = [
        without("title = \"A few paths\"\n", ""),
        without("about =", "abuot ="),
        without(
            "\"study\"\nwhy = \"it is so\"",
            "\"unknown\"\nwhy = \"it is so\"",
        ),
        without("why = \"it is so\"", ""),
        without("[[0.5, \"{5ms", "[[0.6, \"{5ms"),
        without("{5ms..50ms log}", "{5ms..50mbit log}"),
        without("draw.path.rtt", "draw.path.rrt"),
        without("share = 0.25", "share = 0.3"),
        without("least = \"5packets\"", "least = \"5ms\""),
        without("{0.1%..2%}", "{0.1%..200%}"),
        without("[arm.old]\ncc", "[arm.old]\nccc"),
    ];
    let expected = [
        "small.toml: title: this key is required\n  fix: add title = \"…\"",
        "small.toml:3: abuot = \"for tests\": unknown key\n  fix: did you mean about?",
        "small.toml:13: draw.path.rtt.source = \"unknown\": \"unknown\" is not among the references\n  fix: add it to [references], or write \"our choice\"",
        "small.toml:11: draw.path.rtt.why: this key is required\n  fix: add why = \"…\"",
        "small.toml:12: draw.path.rtt.value = […]: the shares add up to 1.1, not to 1\n  fix: write \"TEXT\", or [[SHARE, \"TEXT\"], …], with ranges in braces: \"{1ms..20ms log}\"",
        "small.toml:12: draw.path.rtt.value = […]: {5ms..50mbit log}: 5ms and 50mbit have different units\n  fix: write \"TEXT\", or [[SHARE, \"TEXT\"], …], with ranges in braces: \"{1ms..20ms log}\"",
        "small.toml, scenario with --set path.rrt=35.4422ms, a path of class far: unknown key\n  fix: did you mean path.rtt?",
        "small.toml:22: class: the shares of the classes add up to 1.05, not to 1\n  fix: make the shares of all classes add up to 1",
        "small.toml:18: draw.path.buffer.least = \"5ms\": not a number of packets\n  fix: write a number of packets, like \"10packets\"",
        "small.toml, scenario with --set path.loss=200%, a path of class far: must be below 100%\n  fix: give less than \"100%\"",
        "small.toml:37: arm.old.ccc = \"cubic\": unknown key\n  fix: did you mean cc?",
    ];
    for (error, expected) in errors.iter().zip(expected) {
        assert_eq!(error, expected);
    }
    let nobody = PopulationRun::new(
        population(&[]),
        &["cubik".to_owned()],
        1,
        Registry::default(),
    );
    assert_eq!(
        nobody.unwrap_err().to_string(),
        "small.toml: cc = \"cubik\": neither an arm of this population nor an algorithm\n  fix: did you mean \"cubic\"?"
    );
}

#[test]
fn keys_that_each_arm_sets_are_refused() {
    let error = |key: &str, value: &str| {
        let set = [(key.to_owned(), value.to_owned())];
        Population::read(SMALL, "small.toml", &set)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("flow.0.params.beta", "0.6"),
        "small.toml: flow.0.params.beta = \"0.6\": the arms have the algorithm of the download, and its parameters\n  \
         fix: write it behind an arm's name: --cc NAME:beta=0.6"
    );
    assert!(error("flow.0.cc", "bbr3").ends_with("fix: name it as an arm: --cc bbr3"));
}

proptest! {
    #[test]
    fn what_is_drawn_is_within_its_bounds(seed: u64) {
        let rtt = Distribution::read(&[(0.4, "{5ms..40ms log}"), (0.6, "{lognormal 60ms spread 3 in 20ms..200ms}")]).unwrap();
        let drawn = rtt.draw(&mut fullpipe_units::Rng::stream(seed, "path 1", "path.rtt"));
        let value = fullpipe_batch::quantity(&drawn).unwrap().value;
        prop_assert!((0.004_999..0.200_01).contains(&value), "{}", drawn);
    }
}
