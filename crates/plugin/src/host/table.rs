//! A library's table as a descriptor.

use fullpipe_cc::{
    AnyController, Default, Descriptor, Domain, Field, Marks, Param, Profile, RecoveryOwner,
    Shared, Signals, Specification,
};

use super::controller::PluginController;
use crate::abi::{self, Plugin, Text};

/// # Safety
/// The table must be valid until the process ends.
pub(super) unsafe fn text(text: Text, what: &str) -> Result<&'static str, String> {
    // SAFETY: the caller vouches for it.
    unsafe { text.read() }.ok_or_else(|| format!("{what} is not text in UTF-8"))
}

/// # Safety
/// The table must be valid until the process ends.
unsafe fn texts(list: abi::List<Text>, what: &str) -> Result<&'static [&'static str], String> {
    // SAFETY: the caller vouches for it.
    let read = unsafe { list.read() };
    // SAFETY: as above.
    let words = read.iter().map(|each| unsafe { text(*each, what) });
    Ok(words.collect::<Result<Vec<_>, _>>()?.leak())
}

/// # Safety
/// The table must be valid until the process ends.
pub(super) unsafe fn descriptor(
    name: &str,
    plugin: &'static Plugin,
) -> Result<&'static Descriptor, String> {
    let (create, decision, on_ack) = (plugin.create, plugin.decision, plugin.on_ack);
    for (function, there) in [
        ("create", create.is_some()),
        ("destroy", plugin.destroy.is_some()),
        ("decision", decision.is_some()),
        ("on_ack", on_ack.is_some()),
    ] {
        if !there {
            return Err(format!("has no function {function}"));
        }
    }
    let needs = u16::try_from(plugin.needs)
        .ok()
        .and_then(Signals::from_bits);
    let needs = needs.ok_or("needs signals that this version does not know")?;
    let mut params = Vec::new();
    // SAFETY: the caller vouches for the table, here and below.
    for each in unsafe { plugin.params.read() } {
        // SAFETY: as above.
        let (key, words) = unsafe {
            (
                text(each.name, "a parameter's name")?,
                texts(each.words, "a keyword")?,
            )
        };
        if params.iter().any(|other: &Param| other.name == key) {
            return Err(format!("declares the parameter {key} twice"));
        }
        let domain = match each.kind {
            0 if each.least <= each.usual && each.usual <= each.most => Domain::Number {
                default: each.usual,
                min: each.least,
                max: each.most,
            },
            0 => {
                return Err(format!(
                    "the default of {key} is not from {} to {}",
                    each.least, each.most
                ));
            }
            1 => Domain::Flag {
                default: each.usual != 0.0,
            },
            2 if !words.is_empty() => Domain::Choice(words),
            _ => return Err(format!("the parameter {key} is no number, flag or choice")),
        };
        // SAFETY: as above.
        let (unit, purpose, section) = unsafe {
            (
                text(each.unit, "a unit")?,
                text(each.purpose, "a purpose")?,
                text(each.section, "a section")?,
            )
        };
        params.push(Param {
            name: key,
            unit,
            domain,
            purpose,
            section,
        });
    }
    let mut profiles = Vec::new();
    // SAFETY: as above.
    for each in unsafe { plugin.profiles.read() } {
        let mut defaults = Vec::new();
        // SAFETY: as above.
        for usual in unsafe { each.defaults.read() } {
            // SAFETY: as above.
            let (key, word) = unsafe {
                (
                    text(usual.name, "a parameter's name")?,
                    text(usual.word, "a keyword")?,
                )
            };
            let declared = params.iter().find(|param| param.name == key);
            let value = match declared.map(|param| param.domain) {
                Some(Domain::Number { min, max, .. }) if (min..=max).contains(&usual.value) => {
                    Default::Number(usual.value)
                }
                Some(Domain::Flag { .. }) => Default::Flag(usual.value != 0.0),
                Some(Domain::Choice(words)) if words.contains(&word) => Default::Word(word),
                Some(_) => {
                    return Err(format!(
                        "a profile sets {key} to a value that it can't have"
                    ));
                }
                None => return Err(format!("a profile sets {key}, which is no parameter")),
            };
            defaults.push((key, value));
        }
        // SAFETY: as above.
        let name = unsafe { text(each.name, "a profile's name")? };
        let keywords = params.iter().find(|param| param.name == "profile");
        match keywords.map(|param| param.domain) {
            Some(Domain::Choice(words)) if words.contains(&name) => {}
            _ => {
                return Err(format!(
                    "has a profile {name}, which is no keyword of its parameter profile"
                ));
            }
        }
        profiles.push(Profile {
            name,
            defaults: defaults.leak(),
        });
    }
    let mut fields = Vec::new();
    // SAFETY: as above.
    for each in unsafe { plugin.fields.read() } {
        // SAFETY: as above.
        fields.push(unsafe {
            Field {
                name: text(each.name, "a field's name")?,
                unit: text(each.unit, "a unit")?,
                purpose: text(each.purpose, "a purpose")?,
                labels: texts(each.labels, "a label")?,
            }
        });
    }
    if !fields.is_empty() && plugin.observe.is_none() {
        return Err("has fields, and no function observe".to_owned());
    }
    let mut specifications = Vec::new();
    // SAFETY: as above.
    for each in unsafe { plugin.specifications.read() } {
        // SAFETY: as above.
        specifications.push(unsafe {
            Specification {
                name: text(each.name, "a specification")?,
                note: text(each.note, "a note")?,
            }
        });
    }
    // SAFETY: as above.
    let purpose = unsafe { text(plugin.purpose, "the purpose")? };
    let made: Descriptor = Descriptor {
        name: name.to_owned().leak(),
        purpose,
        specifications: specifications.leak(),
        params: params.leak(),
        profiles: profiles.leak(),
        preset_of: None,
        fields: fields.leak(),
        recovery: if plugin.owns_recovery == 0 {
            RecoveryOwner::Prr
        } else {
            RecoveryOwner::Own
        },
        needs,
        marks: if plugin.answers_marks != 0 {
            |_| Marks::Answered
        } else {
            |_| Marks::Ignored
        },
        random: plugin.random != 0,
        build: |config, _: &mut Shared| {
            AnyController::User(Box::new(PluginController::new(config)))
        },
    };
    Ok(Box::leak(Box::new(made)))
}
