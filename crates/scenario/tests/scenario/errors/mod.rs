//! The messages about wrong scenarios. `errors.txt` contains all of them, for review.
//!
//! `FULLPIPE_BLESS=1 cargo test` rewrites that file; read the difference before you commit it.

mod flows;
mod path;
mod values;

use std::fmt::Write as _;

use fullpipe_scenario::Scenario;

const BASE: &str = r#"# Two flows
duration = "60s"
measure_from = "5s"
seed = 1

[path]
rate = "100mbit"
rtt = "50ms"
buffer = "8bdp"
loss = "0%"

[[flow]]
name = "a"
cc = "cubic"
start = "0s"

[[flow]]
cc = "none"
app_rate = "5mbit"
"#;

/// Texts of wrong scenarios.
const TEXTS: &[&str] = &[
    "sweep = 3",
    "[sweep]\nrepeat = 0",
    "[sweep]\nsample = \"many\"",
    "[sweep]\nzip = \"path.rate\"",
    "[sweep]\npath.buffer = [\"1bdp\", [\"2bdp\"]]",
    "",
    "duration = \"60s\"",
    "duration = \"60s\"\n[path]",
    "duration = \"60s\"\npath = { rate = \"1mbit\", rtt = \"50ms\", buffer = \"1bdp\" }",
    "duration = \"60s\"\nflow = []\npath = { rate = \"1mbit\", rtt = \"50ms\", buffer = \"9packets\" }",
    "duration = \"60s\"\npath = \"dumbbell\"\nflow = []",
    "duration = \"60s\"\npath = { rate = \"1mbit\", rtt = \"50ms\", buffer = \"9packets\" }\n[flow]\ncc = \"cubic\"",
    "duration = \"60s\"\npath = { rate = \"1mbit\", rtt = \"50ms\", buffer = \"8kB\" }\n[[flow]]\ncc = \"cubic\"\nmss = \"8948B\"",
    "duration = \"60s\"\npath = { rate = \"1mbit\", rtt = \"50ms\", buffer = \"99packets\", shaper = \"1mbit burst 8kB\" }\n[[flow]]\ncc = \"cubic\"\nmss = \"8948B\"",
    "duration = \"60s\"\npath = { rate = \"1mbit\", rtt = \"50ms\", buffer = \"99packets\", change = [{ at = \"9s\", policer = \"1mbit burst 8kB\" }] }\n[[flow]]\ncc = \"cubic\"\nmss = \"8948B\"",
];

/// Overrides of [`BASE`].
const OVERRIDES: &[(&str, &str)] = &[
    ("path.profile", "wlan"),
    ("path.rate", "100"),
    ("path.rat", "1mbit"),
    ("rate", "1mbit"),
    ("path", "fast"),
    ("path.rate.unit", "mbit"),
    ("color", "red"),
    ("", ""),
    ("flow", "cubic"),
    ("flow.cc", "cubic"),
    ("flow.N.cc", "cubic"),
    ("flow.00.cc", "cubic"),
    ("flow.2.cc", "cubic"),
    ("path.change", "50mbit"),
    ("path.change.0.rate", "50mbit"),
    ("path.change.rate", "50mbit"),
    ("path.policer", "10mbit"),
    ("link.0.rate", "5mbit"),
    ("flow.0.route", "[\"bottleneck\", \"uplink\"]"),
    ("flow.0.route", "uplink"),
    ("flow.0.route", "[]"),
    ("flow.0", "cubic"),
    ("flow.0.c", "cubic"),
    ("flow.0.params", "0.7"),
    ("flow.0.params.", "0.7"),
    ("flow.0.params.beta", "inf"),
    ("flow.0.receiver_params.", "0.7"),
    ("flow.0.count", "0"),
    ("flow.1.params.beta", "0.7"),
    ("flow.1.cc", "a b"),
    ("duration", "5s"),
    ("duration", "4s"),
    ("sweep", "1bdp"),
    ("sweep.repeat", "30"),
    ("seed", "-1"),
    ("expect", "jain >= 0.8, jain"),
];

fn refusal(text: &str, overrides: &[(String, String)]) -> String {
    match Scenario::parse_with(text, "scenario.toml", overrides, None) {
        Ok(scenario) => panic!("accepted:\n{text}\n{overrides:?}\n{scenario:?}"),
        Err(error) => error.to_string(),
    }
}

/// Returns `text` with `mark` in front of each line.
fn marked(mark: &str, text: &str) -> String {
    text.lines()
        .map(|line| format!("{mark}{line}").trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn every_message_is_as_reviewed() {
    let mut report = format!(
        "The wrong scenarios of errors/, each with its message.\n\nThe scenario:\n{}",
        marked("  ", BASE)
    );
    report.push_str("\nWith the lines + instead of -\n");
    for (old, new) in values::EDITS.iter().chain(path::EDITS).chain(flows::EDITS) {
        assert_eq!(BASE.matches(&format!("{old}\n")).count(), 1, "{old}");
        let error = refusal(&BASE.replace(&format!("{old}\n"), &format!("{new}\n")), &[]);
        write!(
            report,
            "\n{}{}{error}\n",
            marked("- ", old),
            marked("+ ", new)
        )
        .unwrap();
    }
    report.push_str("\nOther scenarios\n");
    for text in TEXTS {
        write!(report, "\n{}{}\n", marked("+ ", text), refusal(text, &[])).unwrap();
    }
    report.push_str("\nWith --set\n");
    for (key, value) in OVERRIDES {
        let error = refusal(BASE, &[((*key).to_owned(), (*value).to_owned())]);
        write!(report, "\n--set {key}={value}\n{error}\n").unwrap();
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenario/errors.txt");
    if std::env::var_os("FULLPIPE_BLESS").is_some() {
        std::fs::write(file, &report).unwrap();
    }
    let reviewed = std::fs::read_to_string(file).unwrap_or_default();
    for (line, (now, before)) in report.lines().zip(reviewed.lines()).enumerate() {
        assert_eq!(
            now,
            before,
            "errors.txt, line {}; FULLPIPE_BLESS=1 rewrites it",
            line + 1
        );
    }
    assert_eq!(report, reviewed, "FULLPIPE_BLESS=1 rewrites errors.txt");
}

#[test]
fn the_seed_of_the_command_line_is_checked_too() {
    let error = Scenario::parse_with(BASE, "scenario.toml", &[], Some(u64::MAX)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("scenario.toml with --seed 18446744073709551615: seed = "),
        "{error}"
    );
}

#[test]
fn an_error_tells_its_parts() {
    let text = BASE.replace("100mbit", "100");
    let error = Scenario::parse(&text, "scenario.toml").unwrap_err();
    assert_eq!(
        (error.file(), error.line(), error.key(), error.value()),
        ("scenario.toml", Some(7), "path.rate", "\"100\"")
    );
    assert_eq!(error.problem(), "a rate needs a unit, like \"100mbit\"");
    assert_eq!(error.fix(), "write \"100kbit\", \"100mbit\" or \"100gbit\"");
}

#[test]
fn who_knows_the_algorithms_raises_the_same_errors() {
    let scenario = Scenario::parse(BASE, "scenario.toml").unwrap();
    let flow = &scenario.flows[0];
    let error = scenario.error(
        &flow.key("cc"),
        format_args!("{:?}", flow.cc),
        "no such algorithm",
        "did you mean cubic?",
    );
    assert_eq!(
        error.to_string(),
        "scenario.toml:14: flow.0.cc = \"cubic\": no such algorithm\n  fix: did you mean cubic?"
    );
    // An error about a parameter that the file does not contain has the line of the flow.
    let error = scenario.error(
        &scenario.flows[1].key("params.beta"),
        "",
        "missing",
        "give it",
    );
    assert_eq!(error.line(), Some(17));
}
