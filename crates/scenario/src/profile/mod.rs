//! Named paths: what a profile says stands in a scenario wherever that says nothing itself.
//!
//! A profile is a file of `profiles/`: each value with its source and the reason of it, so that
//! `explain` and the page are made of it, too.

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

/// A path by its name.
#[derive(Debug)]
pub struct Profile {
    /// What `path.profile` calls it.
    pub name: &'static str,
    /// What it is, in one line.
    pub purpose: String,
    /// What to know of it.
    pub about: String,
    /// What it says, in the order in which one writes it.
    pub values: Vec<Given>,
    /// Short names in [`Given::source`], and what they stand for.
    pub references: Vec<(String, String)>,
}

/// A value of a profile.
#[derive(Debug)]
pub struct Given {
    /// The key: `path.rate`, `host.send`, `link.uplink.rate`, `flow.N.ack_delay`.
    pub key: String,
    /// The key as declared, where the name of a link is N.
    pub declared: String,
    /// The value as TOML, on one line; of several tables only their number.
    pub value: String,
    /// Short names of references with the place in them, or "our choice".
    pub source: String,
    /// What the source says, or why it was chosen.
    pub why: String,
    toml: Toml,
}

/// The profile of a scenario, and what of it is in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// Its name.
    pub name: &'static str,
    /// The keys that have its value, as the profile has them, and the value as TOML.
    pub values: Vec<(String, String)>,
}

/// The name of a profile.
#[derive(Debug)]
pub(crate) struct ProfileName(pub(crate) &'static str);

/// The source of what nobody has published.
pub const OUR_CHOICE: &str = "our choice";

/// What names it.
pub(crate) const KEY: &str = "path.profile";

/// The profile of two programs on one machine.
const LOOPBACK: &str = "loopback";

/// What stands for the profile of its word.
pub(crate) const KIND: &str = "path.kind";

/// One line a file.
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

/// All profiles.
pub fn profiles() -> &'static [Profile] {
    &PROFILES
}

/// A profile's file.
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

    /// What its values look like in a scenario; of a flow's, the table of one.
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

    /// The names of its links.
    fn links(&self) -> impl Iterator<Item = &str> {
        let names: BTreeSet<&str> = self
            .values
            .iter()
            .filter_map(|given| given.key.strip_prefix("link.")?.split('.').next())
            .collect();
        names.into_iter()
    }
}

/// A value as TOML writes it in one line; of several tables only their number.
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
