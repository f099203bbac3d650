//! The descriptor of every algorithm is complete and correct.

#[path = "../../../tests/blessed.rs"]
mod blessed;

use blessed::check_table;
use std::collections::BTreeSet;

use fullpipe_cc::{
    Config, Controller, Descriptor, Domain, Field, Param, ParamValue, Profile, Registry, Rules,
    Shared,
};

#[test]
fn descriptors_are_complete() {
    Registry::default().iter().for_each(is_complete);
    Registry::default().receivers().for_each(is_complete);
}

fn is_complete<Build>(descriptor: &Descriptor<Build>) {
    let name = descriptor.name;
    assert!(
        name.chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-+".contains(c)),
        "{name}"
    );
    assert!(
        descriptor.purpose.ends_with('.'),
        "{name}: {}",
        descriptor.purpose
    );
    assert!(
        !descriptor.specifications.is_empty(),
        "{name} has no specification"
    );
    assert!(
        descriptor
            .specifications
            .iter()
            .all(|document| !document.name.is_empty() && !document.note.is_empty())
    );
    for param in descriptor.params {
        assert!(
            !param.purpose.is_empty() && !param.section.is_empty(),
            "{name}.{}",
            param.name
        );
    }
    for field in descriptor.fields {
        assert!(!field.purpose.is_empty(), "{name}.{}", field.name);
        assert!(
            field.labels.is_empty() || field.unit.is_empty(),
            "{name}.{}: a state has no unit",
            field.name
        );
    }
}

#[test]
fn names_are_unique() {
    let mut algorithms = BTreeSet::new();
    for descriptor in Registry::default().iter() {
        assert!(
            algorithms.insert(descriptor.name),
            "{} is registered twice",
            descriptor.name
        );
        let params: BTreeSet<_> = descriptor.params.iter().map(|param| param.name).collect();
        let fields: BTreeSet<_> = descriptor.fields.iter().map(|field| field.name).collect();
        assert_eq!(
            (params.len(), fields.len()),
            (descriptor.params.len(), descriptor.fields.len()),
            "{}",
            descriptor.name
        );
    }
}

#[test]
fn defaults_are_within_their_range() {
    for descriptor in Registry::default().iter() {
        for param in descriptor.params {
            match param.domain {
                Domain::Number { default, min, max } => {
                    assert!(
                        (min..=max).contains(&default),
                        "{}.{}",
                        descriptor.name,
                        param.name
                    );
                }
                Domain::Choice(words) => {
                    assert!(words.len() > 1, "{}.{}", descriptor.name, param.name)
                }
                Domain::Flag { .. } => {}
            }
        }
    }
}

#[test]
fn profiles_change_declared_parameters_within_their_range() {
    for descriptor in Registry::default().iter() {
        let words = descriptor
            .params
            .iter()
            .find(|param| param.name == "profile")
            .map(|param| param.domain);
        for Profile { name, defaults } in descriptor.profiles {
            assert!(
                matches!(words, Some(Domain::Choice(words)) if words.contains(name)),
                "{name} is not a profile"
            );
            for (key, _) in *defaults {
                let param = descriptor
                    .params
                    .iter()
                    .find(|param| param.name == *key)
                    .expect("a declared parameter");
                let default = descriptor.default_of(param, name);
                let within = match (param.domain, &default) {
                    (
                        Domain::Number {
                            min,
                            max,
                            default: usual,
                        },
                        ParamValue::Number(n),
                    ) => (min..=max).contains(n) && *n != usual,
                    (Domain::Flag { default: usual }, ParamValue::Flag(flag)) => *flag != usual,
                    (Domain::Choice(words), ParamValue::Word(word)) => {
                        words[1..].contains(&word.as_str())
                    }
                    _ => false,
                };
                assert!(within, "{}.{key} with {name}: {default}", descriptor.name);
            }
        }
    }
}

#[test]
fn a_given_value_stands_above_the_profiles_default() {
    let descriptor = Registry::default()
        .get("bbr3")
        .expect("a built-in algorithm");
    let config = |given: &[(&str, ParamValue)]| {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        Config::new(
            descriptor,
            &given,
            fullpipe_units::Bytes::new(1_448),
            fullpipe_units::Bytes::new(14_480),
        )
        .expect("declared")
    };
    let drain_pacing_gain = |config: &Config| {
        let value = config
            .params()
            .find(|(name, _)| *name == "drain_pacing_gain");
        match value {
            Some((_, ParamValue::Number(number))) => *number,
            other => panic!("{other:?}"),
        }
    };
    let linux = ("profile", ParamValue::Word("linux".to_owned()));
    assert_eq!(drain_pacing_gain(&config(&[])), 0.5);
    assert_eq!(
        drain_pacing_gain(&config(std::slice::from_ref(&linux))),
        88.0 / 256.0
    );
    let given = ("drain_pacing_gain", ParamValue::Number(0.4));
    assert_eq!(drain_pacing_gain(&config(&[linux, given])), 0.4);
}

#[test]
fn every_choice_can_be_built() {
    for descriptor in Registry::default().iter() {
        for param in descriptor.params {
            let Domain::Choice(words) = param.domain else {
                continue;
            };
            for word in words {
                let given = [(
                    param.name.to_owned(),
                    fullpipe_cc::ParamValue::Word((*word).to_owned()),
                )]
                .into();
                let defaults = Config::defaults(descriptor);
                let config =
                    Config::new(descriptor, &given, defaults.smss, defaults.initial_cwnd).unwrap();
                let _ = (descriptor.build)(&config, &mut Shared::default());
            }
        }
    }
}

#[test]
fn a_window_can_be_built_and_has_a_value_for_every_field() {
    for descriptor in Registry::default().receivers() {
        let controller = (descriptor.build)(&Config::defaults(descriptor));
        let mut row = Vec::new();
        controller.observe(&mut row);
        assert_eq!(row.len(), descriptor.fields.len(), "{}", descriptor.name);
        assert!(
            controller
                .decision()
                .window
                .is_none_or(|window| window > fullpipe_units::Bytes::ZERO)
                && controller.tick() > fullpipe_units::Span::ZERO
        );
        assert!(
            Registry::default().get(descriptor.name).is_none(),
            "{}: the name is ambiguous for cc",
            descriptor.name
        );
    }
}

#[test]
fn a_row_has_a_value_for_every_field() {
    for descriptor in Registry::default().iter() {
        let config = Config::defaults(descriptor);
        let controller = (descriptor.build)(&config, &mut Shared::default());
        let mut row = Vec::new();
        controller.observe(&mut row);
        assert_eq!(row.len(), descriptor.fields.len(), "{}", descriptor.name);
        for (field, value) in descriptor.fields.iter().zip(&row) {
            let labeled = field.labels.is_empty() || field.labels.len() > *value as usize;
            assert!(
                value.is_finite() && labeled,
                "{}.{} is {value}",
                descriptor.name,
                field.name
            );
        }
    }
}

/// The tables of the documentation page, generated from the descriptor.
fn tables<Build>(descriptor: &Descriptor<Build>) -> [String; 2] {
    let mut params = String::from(
        "| Parameter | Default | Range | Unit | Purpose | Section |\n|---|---|---|---|---|---|\n",
    );
    for param in descriptor.params {
        let (mut default, range) = match param.domain {
            Domain::Number { default, min, max } => {
                (default.to_string(), format!("{min} to {max}"))
            }
            Domain::Flag { default } => (default.to_string(), "true, false".to_owned()),
            Domain::Choice(words) => (words[0].to_owned(), words.join(", ")),
        };
        let linux = descriptor.usual_profile(Rules::Linux);
        if param.name == "profile" && default != linux {
            default = format!("{linux}; {default} with `stack = \"rfc\"`");
        }
        for Profile {
            name: profile,
            defaults,
        } in descriptor.profiles
        {
            if defaults.iter().any(|(name, _)| *name == param.name) {
                let other = match descriptor.default_of(param, profile) {
                    ParamValue::Word(word) => word,
                    other => other.to_string(),
                };
                default += &format!("; {profile} {other}");
            }
        }
        let Param {
            name,
            unit,
            purpose,
            section,
            ..
        } = param;
        params += &format!("| `{name}` | {default} | {range} | {unit} | {purpose} | {section} |\n");
    }
    let mut fields = String::from("| Field | Unit | Meaning |\n|---|---|---|\n");
    for Field {
        name,
        unit,
        purpose,
        labels,
    } in descriptor.fields
    {
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!(": {}", labels.join(", "))
        };
        fields += &format!("| `{name}` | {unit} | {purpose}{labels} |\n");
    }
    [params, fields]
}

#[test]
fn every_algorithm_has_its_page_with_its_tables_and_a_row_in_the_index() {
    for descriptor in Registry::default().iter() {
        // A preset has no page of its own.
        if let Some(of) = descriptor.preset_of {
            assert!(
                Registry::default()
                    .get(of)
                    .is_some_and(|known| known.preset_of.is_none()),
                "{of}"
            );
            continue;
        }
        check_page(descriptor);
    }
    Registry::default().receivers().for_each(check_page);
    check_index();
}

/// The path of a page of the models.
fn page_of(name: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    format!("{root}/../../docs/reference/models/{name}.md")
}

fn text_of(page: &str) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{page}: {error}"))
}

fn check_index() {
    let registry = Registry::default();
    let senders = registry.iter().filter(|known| known.preset_of.is_none());
    let mut rows: Vec<String> = senders.map(row).collect();
    rows.extend(registry.receivers().map(row));
    rows.sort_by_key(|row| row.to_lowercase());
    let header = "| Algorithm | Purpose | Specification |\n|---|---|---|\n";
    check_table(&page_of("index"), &(header.to_owned() + &rows.concat()));
}

/// The row of an algorithm: its page by its title, purpose and specifications.
fn row<Build>(descriptor: &Descriptor<Build>) -> String {
    let (name, purpose) = (descriptor.name, descriptor.purpose);
    let text = text_of(&page_of(name));
    let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
    let title = title.unwrap_or_else(|| panic!("{name}: the page has no title"));
    let documents = descriptor.specifications.iter().map(|known| known.name);
    let documents = documents.collect::<Vec<_>>().join("; ");
    format!("| [{title}]({name}.md) | {purpose} | {documents} |\n")
}

fn check_page<Build>(descriptor: &Descriptor<Build>) {
    let page = page_of(descriptor.name);
    let text = text_of(&page);
    let sections = [
        "Description",
        "Specification",
        "Deviations",
        "Parameters",
        "Trace fields",
        "Validation",
        "References",
    ];
    for section in sections {
        assert!(
            text.contains(&format!("\n## {section}\n")),
            "{page} has no section {section}"
        );
    }
    for table in tables(descriptor) {
        check_table(&page, &table);
    }
}
