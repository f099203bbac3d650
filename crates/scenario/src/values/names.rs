//! Names, and names of algorithms.

use std::collections::BTreeMap;

use fullpipe_units::ParamValue;
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::program;
use crate::raw_value::{ReadValue, Refusal};

/// A name that can be used in file and column names.
#[derive(Debug)]
pub(crate) struct Name(pub(crate) String);
/// The name of an algorithm, or the Python class of a user's own, `"my.module:Mine"`; with
/// parameters, `"bbr3:profile=draft"`.
#[derive(Debug)]
pub(crate) struct Algorithm {
    pub(crate) name: String,
    pub(crate) params: BTreeMap<String, ParamValue>,
}

/// Returns the name of an algorithm without the parameters behind it, and these.
pub fn with_params(text: &str) -> (&str, Option<&str>) {
    if text.starts_with(POLICY) {
        return (text, None);
    }
    let begins = text.match_indices(':').find(|(at, _)| {
        let part = text[at + 1..].split(':').next().unwrap_or_default();
        part.contains('=')
    });
    match begins {
        Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// Returns the name and the parameters of an algorithm as written; `None` if it can't be one.
pub fn algorithm_of(text: &str) -> Option<(String, BTreeMap<String, ParamValue>)> {
    let read = Algorithm::read(&Toml::String(text.to_owned())).ok()?;
    Some((read.name, read.params))
}

/// Reads parameters, `profile=draft:beta=0.5`.
fn params_of(text: &str) -> Result<BTreeMap<String, ParamValue>, Refusal> {
    let fix = "write parameters like \"bbr3:profile=draft\" or \"cubic:c=0.2:beta=0.5\"";
    let mut params = BTreeMap::new();
    for part in text.split(':') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || value.is_empty() {
            let problem = format!("{part:?} is no parameter with a value");
            return Err(Refusal::new(problem, fix));
        }
        let number = value.parse().ok().filter(|number: &f64| number.is_finite());
        let value = match (value, number) {
            ("true" | "false", _) => ParamValue::Flag(value == "true"),
            (_, Some(number)) => ParamValue::Number(number),
            (word, None) => ParamValue::Word(word.to_owned()),
        };
        if params.insert(key.to_owned(), value).is_some() {
            return Err(Refusal::new(format!("{key} is given twice"), fix));
        }
    }
    Ok(params)
}

impl Name {
    /// Largest number of characters. File systems allow 255, and file names of results contain
    /// more than the name.
    pub(crate) const LONGEST: usize = 64;
}

impl ReadValue for Name {
    fn read(value: &Toml) -> Result<Name, Refusal> {
        let fix = "use 1 to 64 letters, digits, \"-\", \"_\", \".\" and \"+\", starting with a letter or digit, like \"cubic-1\"";
        let Toml::String(name) = value else {
            return Err(Refusal::new("a name must be text", fix));
        };
        let fit = (1..=Name::LONGEST).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
        if fit {
            Ok(Name(name.clone()))
        } else {
            Err(Refusal::new("cannot be used in file and column names", fix))
        }
    }

    fn write(&self) -> Toml {
        Toml::String(self.0.clone())
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "name",
            "type": "string",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$",
            "examples": ["cubic"],
        })
    }
}

impl Algorithm {
    /// Returns the name of a flow that has none of its own: that of the algorithm, the class, the
    /// recipe, or the policy's file without its directory and ending, if that can be a name.
    pub(crate) fn short(&self) -> String {
        let bare = self.bare();
        let mut parts = vec![bare.clone()];
        parts.extend(self.params.iter().map(|(key, value)| match value {
            ParamValue::Word(word) => word.clone(),
            other => format!("{key}-{other}"),
        }));
        let whole = parts.join("-");
        let is_name = Name::read(&Toml::String(whole.clone())).is_ok();
        if is_name { whole } else { bare }
    }

    /// Returns the name with the parameters behind it.
    pub(crate) fn written(&self) -> String {
        let params = self.params.iter().map(|(key, value)| match value {
            ParamValue::Word(word) => format!(":{key}={word}"),
            other => format!(":{key}={other}"),
        });
        self.name.clone() + &params.collect::<String>()
    }

    fn bare(&self) -> String {
        if let Some(name) = program::short(&self.name) {
            return name;
        }
        if let Some(file) = self.name.strip_prefix(POLICY) {
            let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
            let name = name.strip_suffix(".json").unwrap_or(name);
            let is_name = Name::read(&Toml::String(name.to_owned())).is_ok();
            return if is_name { name } else { "policy" }.to_owned();
        }
        self.name.rsplit(':').next().unwrap_or_default().to_owned()
    }
}

/// Beginning of the name of a trained policy: its file follows, which is data and has no code.
const POLICY: &str = "policy:";

/// Whether a name is that of a shared library or of a crate. Loading one runs its code, so only the
/// user's command does so, and a scenario of unknown origin never.
fn is_library(name: &str) -> bool {
    if name.starts_with(POLICY) {
        return false;
    }
    name.contains(['/', '\\'])
        || [".so", ".dylib", ".dll"]
            .iter()
            .any(|end| name.ends_with(end))
}

impl From<String> for Algorithm {
    fn from(name: String) -> Algorithm {
        Algorithm {
            name,
            params: BTreeMap::new(),
        }
    }
}

impl ReadValue for Algorithm {
    fn read(value: &Toml) -> Result<Algorithm, Refusal> {
        if let Some(file) = value.as_str().filter(|name| is_library(name)) {
            let fix = format!(
                "write the name of its algorithm, and load it yourself if you trust it: --plugin {file}"
            );
            return Err(Refusal::new("a scenario can't load a library", fix));
        }
        if let Some(file) = value.as_str().and_then(|text| text.strip_prefix(POLICY)) {
            if file.is_empty() || file.contains(char::is_control) {
                let fix = "write policy: and the file that fullpipe.gym.save_policy wrote";
                return Err(Refusal::new("not the file of a policy", fix));
            }
            return Ok(format!("{POLICY}{file}").into());
        }
        if let Some(fits) = value.as_str().and_then(program::is_well_formed) {
            let fix = "write it like \"program:iperf3\" or \"program:iperf3:bbr\"; \
                       `fullpipe list programs` has the names";
            return match value.as_str().filter(|_| fits) {
                Some(text) => Ok(text.to_owned().into()),
                None => Err(Refusal::new("not the name of a recipe", fix)),
            };
        }
        if let Some((name, Some(params))) = value.as_str().map(with_params) {
            let Algorithm { name, .. } = Algorithm::read(&Toml::String(name.to_owned()))?;
            let params = params_of(params)?;
            return Ok(Algorithm { name, params });
        }
        let Some((module, class)) = value.as_str().and_then(|text| text.split_once(':')) else {
            return Name::read(value).map(|Name(name)| name.into());
        };
        let is_word = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if module.split('.').all(is_word) && is_word(class) && class.len() <= Name::LONGEST {
            return Ok(format!("{module}:{class}").into());
        }
        let fix = "write it like \"my.module:Mine\": a module that Python can import, and a class in it; \
                   or a parameter like \"bbr3:profile=draft\"";
        Err(Refusal::new("not a class of a Python module", fix))
    }

    fn write(&self) -> Toml {
        Toml::String(self.written())
    }

    fn schema() -> Schema {
        let word = "[A-Za-z_][A-Za-z0-9_]*";
        json_schema!({
            "title": "name",
            "type": "string",
            "pattern": format!("^([A-Za-z0-9][A-Za-z0-9._+-]{{0,63}}|{word}([.]{word})*:{word}|program:[A-Za-z0-9][A-Za-z0-9._-]*(:[A-Za-z0-9][A-Za-z0-9._-]*)?)(:[^:=]+=[^:]+)*$"),
            "examples": ["cubic"],
        })
    }
}
