//! No text makes reading panic, and every error names the file.

use fullpipe_scenario::Scenario;
use proptest::prelude::*;

const VALID: &str = include_str!("../../../../scenarios/paced-app.toml");

/// Texts to the right of a key, valid or not.
const VALUES: &[&str] = &[
    "0",
    "-1",
    "1e300",
    "nan",
    "true",
    "1979-05-27",
    "[]",
    "[[1]]",
    "\"1\\n0m\\u001bbit\"",
    "{}",
    "{ a = { b = 1 } }",
    "''",
    "\"é\"",
    "\"8bdp\"",
    "\"99999999999999999999bdp\"",
    "\"18446744073709551614packets\"",
    "\"18446744073709551614ns\"",
    "\"0s\"",
    "\"+1s\"",
    "\"9999gbit\"",
    "\"1bit\"",
    "\"100%\"",
    "\"0.%\"",
    "\"%\"",
    "\"none\"",
    "9223372036854775807",
    "9223372036854775808",
];

fn check(text: &str, overrides: &[(String, String)]) {
    match Scenario::parse_with(text, "the-file.toml", overrides, None) {
        Ok(scenario) => {
            let written = scenario.to_toml();
            assert_eq!(
                Scenario::parse(&written, "written.toml").unwrap(),
                scenario,
                "{written}"
            );
        }
        Err(error) => {
            assert_eq!(error.file(), "the-file.toml");
            assert!(error.to_string().starts_with("the-file.toml"), "{error}");
            assert!(
                !error.problem().is_empty() && !error.fix().is_empty(),
                "{error}"
            );
            assert_eq!(
                error.to_string().matches('\n').count(),
                1,
                "two lines: {error}"
            );
        }
    }
}

/// Generates keys that exist, that nearly exist and that do not exist.
fn keys() -> impl Strategy<Value = String> {
    let known: Vec<String> = fullpipe_scenario::explain()
        .into_iter()
        .map(|key| key.key)
        .collect();
    prop_oneof![
        (prop::sample::select(known), 0..3_u8)
            .prop_map(|(key, n)| key.replace('N', &n.to_string())),
        "[a-z0-9.N]{0,12}",
        "flow\\.[0-9.]{1,3}(params)?\\.?.{0,3}",
        "\\PC*",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text, &[]);
    }

    #[test]
    fn text_of_the_right_characters(text in "[a-z0-9 =\"'\\[\\]{}.,#+%\\n-]{0,80}") {
        check(&text, &[]);
    }

    #[test]
    fn bytes_changed(edits in prop::collection::vec((0..3, any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = VALID.as_bytes().to_vec();
        for (kind, index, byte) in edits {
            let at = index.index(bytes.len());
            match kind {
                0 => bytes[at] ^= 1 << (byte % 8),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        check(&String::from_utf8_lossy(&bytes), &[]);
    }

    #[test]
    fn values_swapped(lines in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4)) {
        let mut text: Vec<String> = VALID.lines().map(str::to_owned).collect();
        let donors: Vec<&str> = VALID.lines().filter_map(|line| Some(line.split_once(" = ")?.1)).collect();
        for (line, value) in lines {
            let line = line.index(text.len());
            let all = donors.len() + VALUES.len();
            let value = *donors.iter().chain(VALUES).nth(value.index(all)).unwrap();
            if let Some((key, _)) = text[line].split_once(" = ") {
                text[line] = format!("{key} = {value}");
            }
        }
        check(&text.join("\n"), &[]);
    }

    #[test]
    fn overridden(set in prop::collection::vec((keys(), prop_oneof![prop::sample::select(VALUES).prop_map(str::to_owned), "\\PC*"]), 1..4)) {
        check(VALID, &set);
    }
}

#[test]
fn deep_nesting_is_refused_not_followed() {
    check(&format!("x = {}", "[".repeat(100_000)), &[]);
    check(&format!("{}x = 1", "a.".repeat(100_000)), &[]);
    check(
        &format!("{}{}", "[a]\n".repeat(10_000), "[[flow]]\n".repeat(10_000)),
        &[],
    );
}
