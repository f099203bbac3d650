//! Overrides, as with `--set`.

use crate::reading::{FULL, LEAST, parse, with};
use fullpipe_path::Loss;
use fullpipe_scenario::{ParamValue, Scenario};
#[test]
fn an_override_counts_as_written() {
    for (key, value, written, instead) in [
        (
            "path.rate",
            "20mbit",
            "rate = \"100mbit\"",
            "rate = \"20mbit\"",
        ),
        (
            "path.rate",
            "\"20mbit\"",
            "rate = \"100mbit\"",
            "rate = \"20mbit\"",
        ),
        ("flow.0.cc", "bbr1", "cc = \"cubic\"", "cc = \"bbr1\""),
        ("flow.0.name", "1", "name = \"a\"", "name = \"1\""),
        ("flow.0.name", "true", "name = \"a\"", "name = \"true\""),
        ("flow.0.count", "10", "count = 2", "count = 10"),
        ("flow.0.rtt", "+0s", "rtt = \"+20ms\"", "rtt = \"+0s\""),
        ("flow.0.params.beta", "0.5", "beta = 0.7", "beta = 0.5"),
        ("flow.0.params.beta", "off", "beta = 0.7", "beta = \"off\""),
        (
            "flow.0.params.friendly",
            "false",
            "friendly = true",
            "friendly = false",
        ),
        (
            "flow.0.params.mode",
            "slow",
            "mode = \"fast\"",
            "mode = \"slow\"",
        ),
        ("seed", "3", "seed = 7", "seed = 3"),
        ("path.loss", "2%", "loss = \"0.01%\"", "loss = \"2%\""),
    ] {
        assert_eq!(FULL.matches(written).count(), 1, "{written}");
        assert_eq!(
            with(FULL, &[(key, value)]),
            parse(&FULL.replace(written, instead)),
            "{key}={value}"
        );
    }
}

#[test]
fn overrides_add_what_is_not_there_and_the_last_one_counts() {
    let scenario = with(
        LEAST,
        &[
            ("seed", "2"),
            ("flow.0.params.beta", "0.5"),
            ("seed", "3"),
            ("path.loss", "1%"),
        ],
    );
    assert_eq!(
        (scenario.seed, &scenario.path.link.loss),
        (3, &Loss::Random(0.01))
    );
    assert_eq!(scenario.flows[0].params["beta"], ParamValue::Number(0.5));
    let overrides = [("seed".to_owned(), "2".to_owned())];
    assert_eq!(
        Scenario::parse_with(LEAST, "scenario.toml", &overrides, Some(4))
            .unwrap()
            .seed,
        4
    );
    let without_path = LEAST
        .lines()
        .filter(|line| !line.starts_with("path"))
        .collect::<Vec<_>>()
        .join("\n");
    let path = [
        ("path.rate", "100mbit"),
        ("path.rtt", "50ms"),
        ("path.buffer", "1bdp"),
    ];
    assert_eq!(with(&without_path, &path), parse(LEAST));
}
