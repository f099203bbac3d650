//! Names, and algorithms by theirs.

use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::raw_value::{ReadValue, Refusal};

/// A name that is fit for file and column names.
#[derive(Debug)]
pub(crate) struct Name(pub(crate) String);
/// The name of an algorithm, or where a user's own is in Python: `"my.module:Mine"`.
#[derive(Debug)]
pub(crate) struct Algorithm(pub(crate) String);

impl Name {
    /// In characters; file systems allow 255, and results put more around a name.
    pub(crate) const LONGEST: usize = 64;
}

impl ReadValue for Name {
    fn read(value: &Toml) -> Result<Name, Refusal> {
        let fix = "use 1 to 64 letters, digits, \"-\", \"_\", \".\" and \"+\", starting with a letter or digit, like \"cubic-1\"";
        let Toml::String(name) = value else {
            return Err(Refusal::new("a name is text", fix));
        };
        let fit = (1..=Name::LONGEST).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
        if fit {
            Ok(Name(name.clone()))
        } else {
            Err(Refusal::new("unfit for file and column names", fix))
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
    /// What a flow is called that has no name: the algorithm's, or the class's.
    pub(crate) fn short(&self) -> &str {
        self.0.rsplit(':').next().unwrap_or_default()
    }
}

impl ReadValue for Algorithm {
    fn read(value: &Toml) -> Result<Algorithm, Refusal> {
        let Some((module, class)) = value.as_str().and_then(|text| text.split_once(':')) else {
            return Name::read(value).map(|Name(name)| Algorithm(name));
        };
        let is_word = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if module.split('.').all(is_word) && is_word(class) && class.len() <= Name::LONGEST {
            return Ok(Algorithm(format!("{module}:{class}")));
        }
        let fix =
            "write it like \"my.module:Mine\": a module that Python imports, and a class in it";
        Err(Refusal::new("no class of a Python module", fix))
    }

    fn write(&self) -> Toml {
        Toml::String(self.0.clone())
    }

    fn schema() -> Schema {
        let word = "[A-Za-z_][A-Za-z0-9_]*";
        json_schema!({
            "title": "name",
            "type": "string",
            "pattern": format!("^([A-Za-z0-9][A-Za-z0-9._+-]{{0,63}}|{word}([.]{word})*:{word})$"),
            "examples": ["cubic"],
        })
    }
}
