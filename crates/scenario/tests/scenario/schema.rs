//! The committed JSON schema is current and agrees with the parser.

use fullpipe_scenario::{Scenario, explain, schema};

/// A scenario in which most values of every key are valid.
const BASE: &str = r#"
duration = "1000s"
path = { rate = "1gbit", rtt = "1s", buffer = "1bdp", change = [{ at = "9s", rate = "1mbit" }] }
host = { wake_min = "1us", wake_median = "20us", wake_max = "2ms" }
[[link]]
name = "uplink"
rate = "1gbit"
buffer = "1bdp"
[[flow]]
cc = "cubic"
[[flow]]
cc = "cubic"
reverse_route = ["uplink"]
[[program]]
name = "mine"
server = "serve {port}"
client = "take {far} {port}"
[[workload]]
model = "lognormal median 1kB sigma 1"
load = 0.001
cc = "cubic"
"#;

#[test]
fn the_committed_schema_is_the_generated_one() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scenario.schema.json");
    if std::env::var_os("FULLPIPE_BLESS").is_some() {
        std::fs::write(file, schema()).unwrap();
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        committed == schema(),
        "scenario.schema.json is out of date; FULLPIPE_BLESS=1 cargo test rewrites it"
    );
}

#[test]
fn every_key_is_explained() {
    for key in explain() {
        assert!(key.meaning.ends_with('.'), "{key:?}");
        assert_eq!(key.required, key.default.is_none(), "{key:?}");
    }
}

#[test]
fn examples_and_defaults_are_accepted() {
    for key in explain().into_iter().filter(settable) {
        let written = key
            .default
            .iter()
            .filter(|default| default.starts_with('"') || default.parse::<u64>().is_ok());
        for value in key.examples.iter().chain(written) {
            // An unresponsive flow needs a rate, too.
            let rate = ("flow.0.app_rate".to_owned(), "5mbit".to_owned());
            let other = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
            // A model may need a source, and a source a model.
            let mut overrides = match (key.key.as_str(), value.as_str()) {
                ("flow.N.cc", _) => vec![rate],
                ("workload.N.source", _) => other("workload.0.model", "replay"),
                ("workload.N.model", "\"cdf\"") => other("workload.0.source", &sizes()),
                ("workload.N.model", "\"replay\"" | "\"collapsed\"" | "\"synthetic\"") => {
                    other("workload.0.source", "mawi-2020-06-10")
                }
                _ => vec![],
            };
            overrides.push((key.key.replace('N', "0"), value.clone()));
            // With a rate pattern, the rate cannot change.
            let base = match key.key.as_str() {
                "path.rate_pattern" => BASE.replace("rate = \"1mbit\"", "rtt = \"1ms\""),
                // On the loopback a BDP is less than a packet.
                "path.kind" => BASE.replace("1bdp", "9packets"),
                // The model of hosts has no datagrams, which media are.
                "flow.N.app" | "flow.N.transport" => without_host(),
                // A recipe has the command lines.
                "program.N.use" => BASE
                    .replace("server = \"serve {port}\"\n", "")
                    .replace("client = \"take {far} {port}\"\n", ""),
                _ => BASE.to_owned(),
            };
            if let Err(error) = Scenario::parse_with(&base, "scenario.toml", &overrides, None) {
                panic!("{} = {value}, from its declaration: {error}", key.key);
            }
        }
    }
}

fn without_host() -> String {
    let lines = BASE.lines().filter(|line| !line.starts_with("host"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Writes a file of sizes with shares, and returns its name.
fn sizes() -> String {
    let file = format!("{}/sizes.txt", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&file, "1000 0.5\n2000 1\n").expect("cargo's folder exists");
    file
}

#[test]
fn patterns_agree_with_the_parser() {
    let root: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let texts = [
        "1s",
        "1.5 s",
        "+20ms",
        "2min",
        "128µs",
        "20ns",
        "1",
        "s",
        "1 hour",
        "-1s",
        "100mbit",
        "2.5Gbit/s",
        "20mbps",
        "64bit",
        "100MB",
        "64KiB",
        "1500b",
        "1.5kB",
        "8bdp",
        "8BDP",
        "400packets",
        "1Packet",
        "0.01%",
        "5 %",
        "0.5",
        "a-1",
        "a b",
        "",
        "auto",
        "Auto",
        "off",
        "pfifo",
        "none!",
        "10mbit burst 60kB",
        "10mbit burst",
        "gilbert-elliott p 1%",
        "gilbert-elliott r 30% p 1% loss-bad 100%",
        "gilbert-elliott 1%",
        "every 100",
        "every",
        "list 10,11, 57",
        "list",
        "lost 1",
        "frames 32 overhead 200us",
        "overhead 1ms frames 1 backoff 5us bytes 3kB",
        "frames",
        "200ms every 2s",
        "200ms every 2s random",
        "random",
        "normal 10ms sigma 2ms",
        "normal 10ms correlation 25% sigma 2ms reorder",
        "normal sigma 2ms",
        "pareto 10ms sigma",
        "histogram 0ms 5, 1.5ms 2,3ms 0 correlation 10%",
        "histogram 1ms",
        "5ms reorder",
        "reorder",
        "hold 20ms every 100ms",
        "hold 10 ms",
        "hold every",
        "on 2s off 1s",
        "on exp 2s off pareto 100ms shape 1.5",
        "on 500kB off exp 1s",
        "on 2s",
        "on 2s off 1kB",
        "request 100kB",
        "request pareto 100kB shape 1.2 think exp 1s",
        "request 1s think 1s",
        "request 1kB think",
        "auto max 6MB",
        "auto 6MB",
        "replay",
        "synthetic now",
        "lognormal median 1kB sigma 1",
        "uniform +1ms..+3ms",
        "uniform 1ms..3ms",
        "lognormal +1ms sigma 0.5",
        "one of +1ms, +2ms,+3ms",
        "one of 1ms",
    ];
    for key in explain().into_iter().filter(is_text) {
        let (table, name) = key.key.rsplit_once('.').unwrap_or(("", &key.key));
        let table = match table {
            "" => &root,
            "path" => &root["properties"]["path"],
            "path.change.N" => &root["properties"]["path"]["properties"]["change"]["items"],
            "host" => &root["properties"]["host"],
            "quic" => &root["properties"]["quic"],
            "link.N" => &root["properties"]["link"]["items"],
            "program.N" => &root["properties"]["program"]["items"],
            "workload.N" => &root["properties"]["workload"]["items"],
            _ => &root["properties"]["flow"]["items"],
        };
        let property = &table["properties"][name];
        for text in texts {
            // A queue may be a table, too.
            let words = property["enum"]
                .as_array()
                .or(property["anyOf"][0]["enum"].as_array());
            let by_schema = match (property["pattern"].as_str(), words) {
                (Some(pattern), _) => regex_lite::Regex::new(pattern).unwrap().is_match(text),
                (None, Some(words)) => words.iter().any(|word| word == text),
                (None, None) => false,
            };
            let overrides = vec![
                ("flow.0.app_rate".to_owned(), "5mbit".to_owned()),
                (key.key.replace('N', "0"), format!("{text:?}")),
            ];
            let refused = Scenario::parse_with(BASE, "scenario.toml", &overrides, None).err();
            // The parser also refuses values out of range, and contradictions between keys.
            let fits = |error: fullpipe_scenario::Error| {
                error.fix().starts_with("give ") || error.key() != overrides[1].0
            };
            let by_parser = refused.is_none_or(fits);
            assert_eq!(by_schema, by_parser, "{} = {text:?}", key.key);
        }
    }
}

/// Returns whether the value of the key is text, not a table or a list.
fn is_text(key: &fullpipe_scenario::Key) -> bool {
    settable(key) && !key.kind.starts_with("table") && !key.kind.starts_with("list")
}

/// Returns whether `--set` accepts the key. Keys of `[sweep]` can only be set in the file.
fn settable(key: &fullpipe_scenario::Key) -> bool {
    !key.key.starts_with("sweep.")
}
