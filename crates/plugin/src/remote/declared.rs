//! The declaration of an algorithm on its way between the processes: JSON.
//!
//! The side of the simulator does not trust it: a declaration that a library could not make, either, is
//! refused.

use fullpipe_cc::{
    AnyController, Config, Default as Usual, Descriptor, Domain, Marks, Param, Profile,
    RecoveryOwner, Shared, Signals,
};
use serde_json::{Value, json};

type Build = fn(&Config, &mut Shared) -> AnyController;
const MOST_PARAMS: usize = 256;

/// Returns the text of a declaration.
pub(super) fn written(descriptor: &Descriptor) -> String {
    let params: Vec<Value> = descriptor
        .params
        .iter()
        .map(|param| {
            let domain = match param.domain {
                Domain::Number { default, min, max } => json!([default, bound(min), bound(max)]),
                Domain::Flag { default } => json!(default),
                Domain::Choice(words) => json!(words),
            };
            json!({ "name": param.name, "unit": param.unit, "purpose": param.purpose, "domain": domain })
        })
        .collect();
    let profiles: Vec<Value> = descriptor
        .profiles
        .iter()
        .map(|profile| {
            let usual = |(name, usual): &(&str, Usual)| match usual {
                Usual::Number(number) => json!([name, number]),
                Usual::Flag(flag) => json!([name, flag]),
                Usual::Word(word) => json!([name, word]),
            };
            let defaults: Vec<Value> = profile.defaults.iter().map(usual).collect();
            json!({ "name": profile.name, "defaults": defaults })
        })
        .collect();
    json!({
        "purpose": descriptor.purpose,
        "params": params,
        "profiles": profiles,
        "own": descriptor.recovery == RecoveryOwner::Own,
        "needs": descriptor.needs.bits(),
        "marks": (descriptor.marks)(&Config::defaults(descriptor)) == Marks::Answered,
        "random": descriptor.random,
    })
    .to_string()
}

/// Infinity is no number of JSON.
fn bound(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

fn answered(_: &Config) -> Marks {
    Marks::Answered
}

fn ignored(_: &Config) -> Marks {
    Marks::Ignored
}

/// Returns the descriptor of a declaration, which lives as long as the process.
pub(super) fn read(name: &str, text: &str, build: Build) -> Result<&'static Descriptor, String> {
    let it: Value = serde_json::from_str(text).map_err(|_| "its declaration is no JSON")?;
    if let Some(words) = it["refused"].as_str() {
        return Err(words.to_owned());
    }
    let word = |value: &Value| -> &'static str { value.as_str().unwrap_or("").to_owned().leak() };
    let list = |key: &str| it[key].as_array().cloned().unwrap_or_default();
    let params: Vec<Param> = list("params")
        .iter()
        .take(MOST_PARAMS)
        .map(|param| {
            let domain = domain(&param["domain"]).ok_or("declares a parameter without values")?;
            Ok(Param {
                name: word(&param["name"]),
                unit: word(&param["unit"]),
                domain,
                purpose: word(&param["purpose"]),
                section: "",
            })
        })
        .collect::<Result<_, String>>()?;
    let profiles = list("profiles");
    let profiles: Vec<Profile> = profiles
        .iter()
        .map(|profile| Profile {
            name: word(&profile["name"]),
            defaults: usuals(&profile["defaults"], &params),
        })
        .collect();
    let needs = it["needs"]
        .as_u64()
        .and_then(|bits| u16::try_from(bits).ok());
    let needs = needs.and_then(Signals::from_bits);
    Ok(Box::leak(Box::new(Descriptor {
        name: name.to_owned().leak(),
        purpose: word(&it["purpose"]),
        specifications: &[],
        params: params.leak(),
        profiles: profiles.leak(),
        preset_of: None,
        fields: &[],
        recovery: if it["own"] == true {
            RecoveryOwner::Own
        } else {
            RecoveryOwner::Prr
        },
        needs: needs.ok_or("needs signals that this version does not know")?,
        marks: if it["marks"] == true {
            answered
        } else {
            ignored
        },
        random: it["random"] == true,
        build,
    })))
}

fn domain(value: &Value) -> Option<Domain> {
    if let Some(default) = value.as_bool() {
        return Some(Domain::Flag { default });
    }
    let values = value.as_array()?;
    let words: Option<Vec<&'static str>> = values
        .iter()
        .map(|each| {
            each.as_str()
                .map(|word| -> &'static str { word.to_owned().leak() })
        })
        .collect();
    if let Some(words) = words {
        return (!words.is_empty()).then(|| Domain::Choice(words.leak()));
    }
    let [default, min, max] = values.as_slice() else {
        return None;
    };
    let default = default.as_f64()?;
    let min = min.as_f64().unwrap_or(f64::NEG_INFINITY);
    let max = max.as_f64().unwrap_or(f64::INFINITY);
    (min <= default && default <= max).then_some(Domain::Number { default, min, max })
}

/// Returns the defaults of a profile that are values of their parameters.
fn usuals(value: &Value, params: &[Param]) -> &'static [(&'static str, Usual)] {
    let mut found = Vec::new();
    for each in value.as_array().into_iter().flatten() {
        let name = each[0].as_str().unwrap_or_default();
        let Some(param) = params.iter().find(|param| param.name == name) else {
            continue;
        };
        let usual = match param.domain {
            Domain::Number { min, max, .. } => each[1]
                .as_f64()
                .filter(|number| (min..=max).contains(number))
                .map(Usual::Number),
            Domain::Flag { .. } => each[1].as_bool().map(Usual::Flag),
            Domain::Choice(words) => each[1]
                .as_str()
                .and_then(|word| words.iter().find(|known| **known == word))
                .map(|word| Usual::Word(word)),
        };
        found.extend(usual.map(|usual| (param.name, usual)));
    }
    found.leak()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::Registry;

    fn never(_: &Config, _: &mut Shared) -> AnyController {
        unreachable!("no connection is made")
    }

    #[test]
    fn a_declaration_reads_back_as_it_was() {
        let registry = Registry::default();
        for declared in registry.iter() {
            let read = read("mine", &written(declared), never).expect("a declaration");
            assert_eq!(read.name, "mine");
            let (read, declared): (Vec<_>, Vec<_>) = (
                read.params.iter().map(|it| (it.name, it.domain)).collect(),
                declared
                    .params
                    .iter()
                    .map(|it| (it.name, it.domain))
                    .collect(),
            );
            assert_eq!(read, declared);
        }
    }

    #[test]
    fn a_declaration_that_makes_no_sense_is_refused() {
        for wrong in [
            "no JSON",
            "{}",
            r#"{"needs": 99999999}"#,
            r#"{"needs": 0, "params": [{"name": "a", "domain": [5, 0, 1]}]}"#,
            r#"{"needs": 0, "params": [{"name": "a", "domain": []}]}"#,
            r#"{"refused": "no class Mine"}"#,
        ] {
            assert!(read("mine", wrong, never).is_err(), "{wrong}");
        }
    }
}
