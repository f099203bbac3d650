//! Compares the simulator with a real kernel: every row of `published/kernel-2026.toml`, run from
//! its scenario. A cell with a note is known to differ, and the note says why; it is printed and
//! does not fail. To print both values of each cell:
//!
//! `cargo test -p fullpipe-sim kernel_oracle:: -- --nocapture`

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_trace::Trace;
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::Span;
use toml::{Table, Value};

use crate::transitions::entered;

static ORACLE: LazyLock<Table> = LazyLock::new(|| {
    read("published/kernel-2026.toml")
        .parse()
        .expect("published/kernel-2026.toml is TOML")
});

/// A file of the project.
fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn number(value: &Value) -> f64 {
    value
        .as_float()
        .or(value.as_integer().map(|n| n as f64))
        .expect("a number")
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(|text| text.as_str().expect("a text"))
}

fn tables(key: &str) -> impl Iterator<Item = &'static Table> {
    ORACLE[key]
        .as_array()
        .expect("a list")
        .iter()
        .map(|table| table.as_table().expect("a table"))
}

/// The runs for a row, one per seed.
fn runs(row: &str) -> Vec<Run> {
    let groups = ORACLE["runs"].as_table().expect("groups of runs");
    let group = groups[row].as_table().expect("a group");
    let base = group.get("like").map_or(group, |name| {
        groups[name.as_str().expect("a name")]
            .as_table()
            .expect("one")
    });
    let key = |name: &str| group.get(name).or(base.get(name));
    let file = key("scenario")
        .and_then(Value::as_str)
        .expect("a scenario")
        .trim_start_matches("../");
    let text = read(file);
    let set = group
        .get("set")
        .and_then(Value::as_table)
        .into_iter()
        .flatten();
    let overrides: Vec<(String, String)> = set
        .map(|(key, value)| (key.clone(), value.to_string()))
        .collect();
    let level = match key("trace").and_then(Value::as_str) {
        None | Some("off") => TraceLevel::Off,
        Some(_) => TraceLevel::Every(Span::from_secs(1)),
    };
    let seeds = key("seeds")
        .unwrap_or(&ORACLE["seeds"])
        .as_integer()
        .expect("a whole number");
    let run = |seed: i64| {
        let scenario = Scenario::parse_with(&text, file, &overrides, Some(seed as u64));
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        fullpipe_sim::run(&scenario, &Registry::default(), level)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    (1..=seeds).map(run).collect()
}

/// Same measures as in `python/fullpipe/study/reproduce/measures/`.
fn measure(name: &str, run: &Run, flow: usize) -> f64 {
    let metrics = &run.summary.flows[flow];
    let sum: f64 = run.summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    let states = || states(run.trace.as_ref().expect("the group has a trace"), flow);
    let entries = |state: &str| -> Vec<f64> {
        states()
            .into_iter()
            .filter(|(_, to)| *to == state)
            .map(|(time, _)| time)
            .collect()
    };
    let stays = |state: &str| -> Vec<f64> {
        let pairs = states()
            .windows(2)
            .map(|pair| (pair[0].1, pair[1].0 - pair[0].0))
            .collect::<Vec<_>>();
        pairs
            .into_iter()
            .filter(|(to, _)| *to == state)
            .map(|(_, stay)| stay * 1e3)
            .collect()
    };
    let mean_stay = |state: &str| stays(state).iter().sum::<f64>() / stays(state).len() as f64;
    match name {
        "goodput_mbps" => metrics.goodput_bps / 1e6,
        "goodput_sum_mbps" => sum / 1e6,
        "goodput_share" => metrics.goodput_bps / sum,
        "rtt_mean_ms" => metrics.rtt_s.mean.expect("RTT samples") * 1e3,
        "rtt_p95_ms" => metrics.rtt_s.p95.expect("RTT samples") * 1e3,
        "rtt_p99_ms" => metrics.rtt_s.p99.expect("RTT samples") * 1e3,
        "retransmits" => metrics.retransmits as f64,
        "up_interval_s" => {
            let ups = entries("probe_bw_up");
            (ups[ups.len() - 1] - ups[0]) / (ups.len() - 1) as f64
        }
        "probe_rtt_first_s" => entries("probe_rtt").first().copied().unwrap_or(f64::NAN),
        "probe_rtt_last_s" => entries("probe_rtt").last().copied().unwrap_or(f64::NAN),
        "probe_rtts" => entries("probe_rtt").len() as f64,
        "startup_end_ms" => entries("drain")[0] * 1e3,
        "drain_ms" => mean_stay("drain"),
        "longest_up_ms" => stays("probe_bw_up").into_iter().fold(f64::NAN, f64::max),
        "longest_down_ms" => stays("probe_bw_down").into_iter().fold(f64::NAN, f64::max),
        "cruise_ms" => mean_stay("probe_bw_cruise"),
        "refill_ms" => mean_stay("probe_bw_refill"),
        "probe_rtt_ms" => mean_stay("probe_rtt"),
        _ => panic!("there is no measure {name}"),
    }
}

/// The states that flow `index` entered, with times in seconds.
fn states(trace: &Trace, index: usize) -> Vec<(f64, &str)> {
    entered(trace)
        .into_iter()
        .filter(|entered| entered.flow as usize == index)
        .map(|entered| (entered.at as f64 * 1e-9, entered.state))
        .collect()
}

/// The least and the greatest value that agree with the kernel's.
fn close_enough(tolerance: &Value, kernel: f64) -> (f64, f64) {
    let key = |name: &str| tolerance.get(name).map(number);
    match key("factor") {
        Some(_) if kernel == 0.0 => (0.0, key("zero").unwrap_or(0.0)),
        Some(factor) => (kernel / factor, kernel * factor),
        None => {
            let off = key("absolute")
                .unwrap_or(0.0)
                .max(key("relative").unwrap_or(0.0) * kernel);
            (kernel - off, kernel + off)
        }
    }
}

/// Whether a name matches a pattern of `*` and `?`.
fn fits(pattern: &str, name: &str) -> bool {
    let mut rest = name.chars();
    match pattern.chars().next() {
        None => name.is_empty(),
        Some('*') => name
            .char_indices()
            .map(|(at, _)| at)
            .chain([name.len()])
            .any(|at| fits(&pattern[1..], &name[at..])),
        Some(first) => {
            let next = rest.next();
            (first == '?' && next.is_some() || next == Some(first))
                && fits(&pattern[1..], rest.as_str())
        }
    }
}

/// The exceptions for a cell, in their order.
fn exceptions<'a>(row: &'a str, metric: &'a str) -> impl Iterator<Item = &'static Table> + 'a {
    tables("exception").filter(move |rule| {
        texts(&rule["cases"]).any(|pattern| fits(pattern, row))
            && texts(&rule["metrics"]).any(|name| name == metric)
    })
}

/// Compares a row with the kernel.
fn compare(row: &str) {
    let (columns, figures) = tables("table")
        .find_map(|table| {
            let rows = table["rows"]
                .as_array()
                .expect("rows")
                .iter()
                .map(|row| row.as_array().expect("a row"));
            let mut named = rows.filter(|figures| figures[0].as_str() == Some(row));
            named
                .next()
                .map(|figures| (texts(&table["columns"]), figures))
        })
        .expect("the row is in a table");
    let runs = runs(row);
    let (mut line, mut outside) = (format!("{row:22}"), Vec::new());
    for (metric, figure) in columns
        .zip(figures)
        .skip(1)
        .filter(|(_, figure)| figure.as_str() != Some(""))
    {
        let declared = &ORACLE["metrics"][metric];
        let flow = declared
            .get("flow")
            .map_or(0, |flow| number(flow) as usize - 1);
        let name = declared["measure"].as_str().expect("a measure");
        let values: Vec<f64> = runs.iter().map(|run| measure(name, run, flow)).collect();
        let ours = values.iter().sum::<f64>() / values.len() as f64;
        let kernel = number(figure);
        let tolerance = exceptions(row, metric)
            .filter_map(|rule| rule.get("tolerance"))
            .last();
        let (least, most) = close_enough(tolerance.unwrap_or(&declared["tolerance"]), kernel);
        let _ = write!(line, "  {metric} {ours:.2} | {kernel}");
        if !(least..=most).contains(&ours) {
            match exceptions(row, metric).find_map(|rule| rule.get("note")) {
                Some(why) => drop(write!(
                    line,
                    " (known: {})",
                    why.as_str().expect("a reason")
                )),
                None => outside.push(format!(
                    "{metric} {ours:.3} | {kernel}: not within {least:.3} to {most:.3}"
                )),
            }
        }
    }
    println!("{line}");
    assert!(
        outside.is_empty(),
        "{row}: ours | kernel\n{}",
        outside.join("\n")
    );
}

/// Compares every row whose name matches one of these patterns.
fn compare_all(patterns: &[&str]) {
    let rows: Vec<&str> = rows()
        .filter(|row| patterns.iter().any(|pattern| fits(pattern, row)))
        .collect();
    assert!(!rows.is_empty(), "no row matches {patterns:?}");
    rows.into_iter().for_each(compare);
}

fn rows() -> impl Iterator<Item = &'static str> {
    let rows = tables("table").flat_map(|table| table["rows"].as_array().expect("rows"));
    rows.map(|row| row[0].as_str().expect("a name"))
}

macro_rules! cells {
    ($($test:ident: $($pattern:literal),+;)*) => {
        $(
            #[test]
            fn $test() {
                compare_all(&[$($pattern),+]);
            }
        )*

        #[test]
        fn every_row_has_its_test() {
            let tested = [$($($pattern),+),*];
            for row in rows() {
                assert!(tested.iter().any(|pattern| fits(pattern, row)), "no test covers {row}");
            }
        }
    };
}

cells! {
    reno: "a_reno*", "b_reno*", "c_reno*", "d0_reno*", "e_reno*";
    cubic: "a_cubic*", "b_cubic*", "c_cubic*", "d0_cubic*", "e_cubic*";
    bbr1: "a_bbr1*", "b_bbr1*", "c_bbr1*", "d0_bbr1*", "e_bbr1*";
    bbr2: "a_bbr2*", "b_bbr2*", "c_bbr2*", "d0_bbr2*", "e_bbr2*";
    bbr3: "?_bbr3", "?_bbr3 whole", "?_bbr3 phases", "d0_bbr3", "d0_bbr3 whole", "d0_bbr3 phases";
    bbr3_sending_one_segment_at_a_time: "*_gso1*";
    bbr3_pacing_itself: "*_nofq*";
    bbr3_draining_at_half_the_bandwidth: "*_drain05*";
    random_loss_cubic: "k_loss*_cubic*";
    random_loss_bbr1: "k_loss*_bbr1*";
    random_loss_bbr2: "k_loss*_bbr2*";
    random_loss_bbr3: "k_loss*_bbr3*";
    two_flows_of_bbr1: "gb_bbr1*";
    two_flows_of_bbr2: "gb_bbr2*";
    two_flows_of_bbr3: "gb_bbr3*";
}

#[test]
fn every_scenario_of_the_oracle_has_its_row() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/oracle");
    for file in fs::read_dir(folder).expect("the scenarios") {
        let path = file.expect("a file").path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        assert!(rows().any(|row| row == name), "no row of {name}");
    }
}
