//! What every algorithm says of itself is complete and true.

use std::collections::BTreeSet;

use cc::{Config, Controller, Domain, Registry};

#[test]
fn descriptors_are_complete() {
    for descriptor in Registry::default().iter() {
        let name = descriptor.name;
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{name}");
        assert!(descriptor.purpose.ends_with('.'), "{name}: {}", descriptor.purpose);
        assert!(!descriptor.specifications.is_empty(), "{name} follows nothing");
        assert!(
            descriptor.specifications.iter().all(|document| !document.name.is_empty() && !document.note.is_empty())
        );
        for param in descriptor.params {
            assert!(!param.purpose.is_empty() && !param.section.is_empty(), "{name}.{}", param.name);
        }
        for field in descriptor.fields {
            assert!(!field.purpose.is_empty(), "{name}.{}", field.name);
            assert!(field.labels.is_empty() || field.unit.is_empty(), "{name}.{}: a state has no unit", field.name);
        }
    }
}

#[test]
fn names_are_unique() {
    let mut algorithms = BTreeSet::new();
    for descriptor in Registry::default().iter() {
        assert!(algorithms.insert(descriptor.name), "{} is there twice", descriptor.name);
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
                    assert!((min..=max).contains(&default), "{}.{}", descriptor.name, param.name);
                }
                Domain::Choice(words) => assert!(words.len() > 1, "{}.{}", descriptor.name, param.name),
                Domain::Flag { .. } => {}
            }
        }
    }
}

#[test]
fn every_choice_can_be_built() {
    for descriptor in Registry::default().iter() {
        for param in descriptor.params {
            let Domain::Choice(words) = param.domain else { continue };
            for word in words {
                let given = [(param.name.to_owned(), cc::ParamValue::Word((*word).to_owned()))].into();
                let defaults = Config::defaults(descriptor);
                let config = Config::new(descriptor, &given, defaults.smss, defaults.initial_cwnd).unwrap();
                let _ = (descriptor.build)(&config);
            }
        }
    }
}

#[test]
fn a_row_has_a_value_for_every_field() {
    for descriptor in Registry::default().iter() {
        let controller = (descriptor.build)(&Config::defaults(descriptor));
        let mut row = Vec::new();
        controller.observe(&mut row);
        assert_eq!(row.len(), descriptor.fields.len(), "{}", descriptor.name);
        for (field, value) in descriptor.fields.iter().zip(&row) {
            let labelled = field.labels.is_empty() || field.labels.len() > *value as usize;
            assert!(value.is_finite() && labelled, "{}.{} is {value}", descriptor.name, field.name);
        }
    }
}
