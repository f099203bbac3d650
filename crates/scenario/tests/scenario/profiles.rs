//! Profiles: the values that they fill in, the source of each value, and the page about them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use fullpipe_path::Loss;
use fullpipe_scenario::{Buffer, OUR_CHOICE, Profile, Scenario, explain, profiles};

const FLOW: &str = "\n[[flow]]\ncc = \"cubic\"\n";

fn with_path(path: &str) -> Scenario {
    Scenario::parse(
        &format!("duration = \"60s\"\n[path]\n{path}{FLOW}"),
        "scenario.toml",
    )
    .unwrap()
}

fn run_with(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Scenario::parse_with(text, "scenario.toml", &overrides, None).unwrap()
}

#[test]
fn every_file_of_the_folder_is_a_profile() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/profiles");
    let file =
        |entry: Result<std::fs::DirEntry, _>| entry.unwrap().file_name().into_string().unwrap();
    let files: BTreeSet<String> = std::fs::read_dir(folder).unwrap().map(file).collect();
    assert_eq!(
        files,
        profiles()
            .iter()
            .map(|profile| format!("{}.toml", profile.name))
            .collect()
    );
}

#[test]
fn every_value_names_its_source_and_every_source_is_used() {
    for profile in profiles() {
        let mut used = BTreeSet::new();
        for given in &profile.values {
            assert!(!given.why.is_empty(), "{}: {}", profile.name, given.key);
            for source in given
                .source
                .split("; ")
                .filter(|source| *source != OUR_CHOICE)
            {
                let short = source.split(',').next().unwrap_or_default();
                let known = profile.references.iter().any(|(name, _)| name == short);
                assert!(
                    known,
                    "{}: {} has a source {short} that the file does not list",
                    profile.name, given.key
                );
                used.insert(short);
            }
        }
        for (name, _) in &profile.references {
            let said = |text: &str| text.contains(name.as_str());
            let mentioned =
                said(&profile.about) || profile.values.iter().any(|given| said(&given.why));
            assert!(
                used.contains(name.as_str()) || mentioned,
                "{}: no value is from {name}",
                profile.name
            );
        }
    }
}

#[test]
fn a_profile_fills_in_what_the_scenario_does_not_say() {
    let scenario = with_path("profile = \"lte\"\nrtt = \"30ms\"");
    assert_eq!(scenario.path.link.rate.to_string(), "12.7mbit");
    assert_eq!(scenario.path.rtt.to_string(), "30ms");
    let applied = scenario.profile.unwrap();
    let keys: Vec<&str> = applied.values.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        (applied.name, keys),
        (
            "lte",
            vec![
                "path.rate_pattern",
                "path.buffer",
                "flow.N.reverse_route",
                "link.uplink.rate",
                "link.uplink.buffer"
            ]
        )
    );
}

#[test]
fn a_profile_brings_hosts_and_what_is_usual_for_flows() {
    let scenario = with_path("profile = \"loopback\"\n[host]\nsend = \"9us\"");
    let host = scenario.host.unwrap();
    assert_eq!(
        (host.send.to_string(), host.receive.to_string()),
        ("9us".to_owned(), "2.8us".to_owned())
    );
    assert_eq!(scenario.flows[0].ack_delay.to_string(), "1ms");
    let text = format!(
        "duration = \"60s\"\n[path]\nprofile = \"loopback\"{FLOW}ack_delay = \"3ms\"\n{}",
        "[[flow]]\ncc = \"none\"\napp_rate = \"1mbit\"\n"
    );
    assert_eq!(
        Scenario::parse(&text, "scenario.toml").unwrap().flows[0]
            .ack_delay
            .to_string(),
        "3ms"
    );
}

#[test]
fn on_the_command_line_it_replaces_the_path_and_every_other_override_is_one_of_it() {
    let text = format!(
        "duration = \"60s\"\n[path]\nrate = \"1gbit\"\nrtt = \"1ms\"\nbuffer = \"1bdp\"\nloss = \"3%\"\n[[path.change]]\nat = \"1s\"\nloss = \"5%\"\n[host]\nsend = \"9us\"\nack = \"8us\"\n{FLOW}"
    );
    let lte = run_with(&text, &[("path.rtt", "30ms"), ("path.profile", "lte")]);
    assert_eq!(
        (lte.path.link.rate.to_string(), lte.path.rtt.to_string()),
        ("12.7mbit".to_owned(), "30ms".to_owned())
    );
    assert_eq!(
        (lte.path.link.loss, lte.path.changes.len()),
        (Loss::NONE, 0)
    );
    assert_eq!(lte.host.unwrap().send.to_string(), "9us");
    let loopback = run_with(&text, &[("path.profile", "loopback"), ("host.ack", "7us")]);
    let host = loopback.host.unwrap();
    assert_eq!(
        (host.send.to_string(), host.ack.to_string()),
        ("3.8us".to_owned(), "7us".to_owned())
    );
}

#[test]
fn changes_after_the_end_of_a_run_are_left_out() {
    let scenario = with_path("profile = \"leo\"");
    assert_eq!(scenario.path.changes.len(), 3);
    let longer = run_with(
        &format!("duration = \"60s\"\n[path]\nprofile = \"leo\"{FLOW}"),
        &[("duration", "76s")],
    );
    assert_eq!(longer.path.changes.len(), 5);
}

#[test]
fn the_links_of_a_profile_are_there_for_who_has_them_on_a_route() {
    let scenario = |flows: &str| {
        let text = format!("duration = \"60s\"\n[path]\nprofile = \"lte\"\n{flows}");
        Scenario::parse(&text, "scenario.toml").unwrap()
    };
    let uplink = |scenario: &Scenario| scenario.links().nth(1).map(|link| link.rate.to_string());
    assert_eq!(uplink(&scenario(FLOW)).as_deref(), Some("5.6mbit"));
    assert_eq!(
        uplink(&scenario("[[flow]]\ncc = \"cubic\"\nreverse_route = []\n")),
        None
    );
    assert_eq!(
        uplink(&scenario("[[flow]]\ncc = \"none\"\napp_rate = \"1mbit\"\n")),
        None
    );
    let own = scenario(&format!(
        "[[link]]\nname = \"uplink\"\nrate = \"2mbit\"\n{FLOW}"
    ));
    assert_eq!(uplink(&own).as_deref(), Some("2mbit"));
    assert_eq!(
        own.links().nth(1).map(|link| link.buffer),
        Some(Buffer::Bdp(1.0))
    );
    let upload = scenario(
        "[[flow]]\ncc = \"cubic\"\nroute = [\"uplink\"]\nreverse_route = [\"bottleneck\"]\n",
    );
    assert_eq!(uplink(&upload).as_deref(), Some("5.6mbit"));
    let another =
        scenario("[[flow]]\ncc = \"cubic\"\nroute = [\"uplink\"]\n[[flow]]\ncc = \"bbr3\"\n");
    assert_eq!(
        another
            .flows
            .iter()
            .map(|flow| flow.reverse_route.len())
            .collect::<Vec<_>>(),
        [0, 1]
    );
}

#[test]
fn what_the_scenario_says_stands_in_the_profiles_changes_too() {
    let scenario = with_path("profile = \"leo\"\nrtt = \"30ms\"");
    assert!(
        scenario
            .path
            .changes
            .iter()
            .all(|change| change.rtt.is_none() && change.rate.is_some())
    );
    let text = format!("duration = \"60s\"\n[path]\nprofile = \"leo\"{FLOW}");
    assert_eq!(
        run_with(&text, &[("path.rate", "50mbit"), ("path.rtt", "30ms")])
            .path
            .changes,
        []
    );
}

#[test]
fn what_is_written_needs_no_profile() {
    for profile in profiles() {
        let scenario = with_path(&format!("profile = {:?}", profile.name));
        let text = scenario.to_toml();
        assert!(text.contains(&format!("# The path is the profile {}.", profile.name)));
        let again = Scenario::parse(&text, "scenario.toml").unwrap();
        assert_eq!(
            (&again.path, &again.host, &again.flows),
            (&scenario.path, &scenario.host, &scenario.flows)
        );
        assert_eq!(again.profile, None);
        assert_eq!(again.to_toml(), text);
    }
}

#[test]
fn what_explain_shows_is_the_profile() {
    for profile in profiles() {
        let shown = format!("duration = \"600s\"\n\n{}", profile.to_toml());
        let scenario = Scenario::parse(&shown, "shown.toml")
            .unwrap_or_else(|error| panic!("{shown}\n{error}"));
        let named = with_path(&format!("profile = {:?}", profile.name));
        assert_eq!(
            (&scenario.host, &scenario.flows),
            (&named.host, &named.flows),
            "{}",
            profile.name
        );
        assert_eq!(
            (scenario.path.link.rate, &scenario.path.link.queue),
            (named.path.link.rate, &named.path.link.queue)
        );
    }
}

/// Returns the section of the page about a profile.
fn part(profile: &Profile) -> String {
    let mut text = format!(
        "### {}\n\n{}\n\n{}\n\n",
        profile.name,
        profile.purpose,
        profile.about.trim()
    );
    text += "| Key | Value | Source | Explanation |\n|---|---|---|---|\n";
    for given in &profile.values {
        let value = if given.value.ends_with(" tables") {
            given.value.clone()
        } else {
            format!("`{}`", given.value)
        };
        writeln!(
            text,
            "| `{}` | {value} | {} | {} |",
            given.key, given.source, given.why
        )
        .unwrap();
    }
    text += "\n";
    for (name, reference) in &profile.references {
        writeln!(text, "- {name}: {reference}").unwrap();
    }
    text
}

#[test]
fn the_page_has_every_profile() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/models/profiles.md"
    );
    let page = std::fs::read_to_string(file).unwrap();
    let (before, rest) = page
        .split_once("<!-- profiles -->\n")
        .expect("a mark where the profiles begin");
    let (_, after) = rest
        .split_once("<!-- end of profiles -->\n")
        .expect("a mark where the profiles end");
    let parts: Vec<String> = profiles().iter().map(part).collect();
    let generated = format!(
        "{before}<!-- profiles -->\n\n{}\n<!-- end of profiles -->\n{after}",
        parts.join("\n")
    );
    if std::env::var_os("FULLPIPE_BLESS").is_some() {
        std::fs::write(file, &generated).unwrap();
        return;
    }
    assert!(
        page == generated,
        "docs/reference/models/profiles.md is out of date; FULLPIPE_BLESS=1 cargo test rewrites it"
    );
}

#[test]
fn a_profile_says_only_what_a_scenario_can() {
    let known: BTreeSet<String> = explain().into_iter().map(|key| key.key).collect();
    for profile in profiles() {
        assert!(
            profile
                .values
                .iter()
                .all(|given| known.contains(&given.declared)),
            "{}",
            profile.name
        );
        let keys: Vec<&str> = profile
            .values
            .iter()
            .map(|given| given.key.as_str())
            .collect();
        assert!(
            keys.contains(&"path.rate") || keys.contains(&"path.rate_pattern"),
            "{}",
            profile.name
        );
        assert!(
            keys.contains(&"path.rtt") && keys.contains(&"path.buffer"),
            "{}",
            profile.name
        );
    }
}

#[test]
fn the_loopback_is_a_kind_of_path_and_a_profile() {
    let [kind, profile] =
        ["kind", "profile"].map(|key| with_path(&format!("{key} = \"loopback\"")));
    assert!(kind.path.loopback && kind.path == profile.path && kind.host == profile.host);
    assert_eq!(kind.flows[0].ack_delay, profile.flows[0].ack_delay);
    let again = Scenario::parse(&kind.to_toml(), "again.toml").unwrap();
    assert!(
        again.path.loopback && again.profile.is_none(),
        "the written scenario names no profile: {:?}",
        again.profile
    );
    assert_eq!(again.path, kind.path);
    assert!(!with_path("profile = \"lte\"").path.loopback);

    let lte = format!("duration = \"60s\"\n[path]\nprofile = \"lte\"{FLOW}");
    assert!(
        run_with(&lte, &[("path.kind", "loopback")]).path == kind.path,
        "it replaces the file's path"
    );
    let both = Scenario::parse(
        &lte.replace("\"lte\"", "\"lte\"\nkind = \"loopback\""),
        "both.toml",
    );
    let error = both.expect_err("one path of two kinds").to_string();
    assert!(
        error.contains("path.profile = \"lte\": a path of the kind loopback has the profile"),
        "{error}"
    );
}
