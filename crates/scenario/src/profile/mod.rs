//! Profiles: named paths, whose values apply wherever a scenario gives none.
//!
//! A profile is a file in `profiles/` that has a source and an explanation for each value.
//! `explain` and the documentation are generated from it.

mod apply;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use schemars::{Schema, json_schema};
use serde::Deserialize;
use toml::Value as Toml;

use crate::enums::choose;
use crate::raw_value::{ReadValue, Refusal};
use crate::schema::keys;

pub(crate) use self::apply::{applied, expand, replace_path, trim};

/// A named path.
#[derive(Debug)]
pub struct Profile {
    /// Name, as in `path.profile`.
    pub name: &'static str,
    /// Description in one line.
    pub purpose: String,
    /// Description in a paragraph.
    pub about: String,
    /// Values, in the order in which files list their keys.
    pub values: Vec<Given>,
    /// Short names used in [`Given::source`], each with its reference.
    pub references: Vec<(String, String)>,
}

/// A value of a profile.
#[derive(Debug)]
pub struct Given {
    /// Key: `path.rate`, `host.send`, `link.uplink.rate`, `flow.N.ack_delay`.
    pub key: String,
    /// Key as declared, with N for the name of a link.
    pub declared: String,
    /// Value as TOML on one line; for a list of tables only their number.
    pub value: String,
    /// Short names of references, with the place in them, or "our choice".
    pub source: String,
    /// Statement of the source, or reason of the choice.
    pub why: String,
    toml: Toml,
}

/// The profile of a scenario, and its values that are in effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// Name of the profile.
    pub name: &'static str,
    /// Keys that have the value of the profile, with the value as TOML.
    pub values: Vec<(String, String)>,
}

/// The name of a profile.
#[derive(Debug)]
pub(crate) struct ProfileName(pub(crate) &'static str);

/// The source of values without a published figure.
pub const OUR_CHOICE: &str = "our choice";

/// The key that names a profile.
pub(crate) const KEY: &str = "path.profile";

/// The profile of two programs on one machine.
const LOOPBACK: &str = "loopback";

/// The key of a kind of path, which implies the profile of the same name.
pub(crate) const KIND: &str = "path.kind";

/// The files of the profiles.
const FILES: [(&str, &str); 9] = [
    ("lte", include_str!("../../profiles/lte.toml")),
    ("5g", include_str!("../../profiles/5g.toml")),
    ("leo", include_str!("../../profiles/leo.toml")),
    ("geo", include_str!("../../profiles/geo.toml")),
    ("dsl", include_str!("../../profiles/dsl.toml")),
    ("cable", include_str!("../../profiles/cable.toml")),
    ("wifi", include_str!("../../profiles/wifi.toml")),
    ("datacenter", include_str!("../../profiles/datacenter.toml")),
    ("loopback", include_str!("../../profiles/loopback.toml")),
];

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    let read = |(name, text): &(&'static str, &str)| {
        Profile::read(name, text).unwrap_or_else(|error| panic!("profiles/{name}.toml: {error}"))
    };
    FILES.iter().map(read).collect()
});

/// Returns all profiles.
pub fn profiles() -> &'static [Profile] {
    &PROFILES
}

/// The file of a profile.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    purpose: String,
    about: String,
    references: BTreeMap<String, String>,
    path: BTreeMap<String, Entry>,
    #[serde(default)]
    host: BTreeMap<String, Entry>,
    #[serde(default)]
    link: BTreeMap<String, BTreeMap<String, Entry>>,
    #[serde(default)]
    flow: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    value: Toml,
    source: String,
    why: String,
}

impl Profile {
    fn read(name: &'static str, text: &str) -> Result<Profile, String> {
        let File {
            purpose,
            about,
            references,
            path,
            host,
            link,
            flow,
        } = toml::from_str(text).map_err(|error| error.to_string())?;
        let links = link
            .into_iter()
            .map(|(name, entries)| (format!("link.{name}."), "link.N.", entries));
        let others = [("path.", path), ("host.", host), ("flow.N.", flow)];
        let others = others.map(|(table, entries)| (table.to_owned(), table, entries));
        let mut values = Vec::new();
        for (table, declared, entries) in links.chain(others) {
            for (name, Entry { value, source, why }) in entries {
                let (key, declared) = (format!("{table}{name}"), format!("{declared}{name}"));
                values.push(Given {
                    key,
                    declared,
                    value: one_line(&value),
                    source,
                    why,
                    toml: value,
                });
            }
        }
        let place = |given: &Given| keys().iter().position(|key| key.key == given.declared);
        if let Some(unknown) = values.iter().find(|given| place(given).is_none()) {
            return Err(format!("a scenario has no key {}", unknown.declared));
        }
        values.sort_by_key(place);
        Ok(Profile {
            name,
            purpose,
            about,
            values,
            references: references.into_iter().collect(),
        })
    }

    /// Returns the values as they look in a scenario, with one flow.
    pub fn to_toml(&self) -> String {
        let links = self.links().map(|name| {
            (
                format!("link.{name}."),
                format!("[[link]]\nname = {name:?}"),
            )
        });
        let before = [("path.", "[path]"), ("host.", "[host]")];
        let flow = [("flow.N.", "[[flow]]\ncc = \"cubic\"")];
        let owned = |(table, head): (&str, &str)| (table.to_owned(), head.to_owned());
        let mut text = String::new();
        for (table, head) in before
            .map(owned)
            .into_iter()
            .chain(links)
            .chain(flow.map(owned))
        {
            let inside: Vec<_> = self
                .values
                .iter()
                .filter_map(|given| Some((given.key.strip_prefix(&table)?, &given.toml)))
                .collect();
            if inside.is_empty() && table == "host." {
                continue;
            }
            text += &format!("\n{head}\n");
            for (name, value) in inside {
                text += &match value {
                    Toml::Array(rows) if !rows.is_empty() && rows.iter().all(Toml::is_table) => {
                        let rows: String = rows
                            .iter()
                            .map(|row| format!("  {},\n", one_line(row)))
                            .collect();
                        format!("{name} = [\n{rows}]\n")
                    }
                    value => format!("{name} = {}\n", one_line(value)),
                };
            }
        }
        text.trim_start().to_owned()
    }

    /// Returns the names of the profile's links.
    fn links(&self) -> impl Iterator<Item = &str> {
        let names: BTreeSet<&str> = self
            .values
            .iter()
            .filter_map(|given| given.key.strip_prefix("link.")?.split('.').next())
            .collect();
        names.into_iter()
    }
}

/// Returns a value as TOML on one line; for a list of tables only their number.
fn one_line(value: &Toml) -> String {
    match value {
        Toml::Table(table) => {
            let pairs: Vec<String> = table
                .iter()
                .map(|(name, value)| format!("{name} = {}", one_line(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Toml::Array(values) if !values.is_empty() && values.iter().all(Toml::is_table) => {
            format!("{} tables", values.len())
        }
        Toml::Array(values) => format!(
            "[{}]",
            values.iter().map(one_line).collect::<Vec<_>>().join(", ")
        ),
        other => other.to_string(),
    }
}

impl Given {
    fn table_and_name(&self) -> (&str, &str) {
        self.key
            .rsplit_once('.')
            .expect("a profile has no key at the top")
    }
}

impl ReadValue for ProfileName {
    fn read(value: &Toml) -> Result<ProfileName, Refusal> {
        choose(value, &choices()).map(ProfileName)
    }

    fn write(&self) -> Toml {
        Toml::String(self.0.to_owned())
    }

    fn schema() -> Schema {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        json_schema!({ "title": "choice", "type": "string", "enum": names })
    }
}

fn choices() -> Vec<(&'static str, &'static str)> {
    FILES.iter().map(|(name, _)| (*name, *name)).collect()
}
