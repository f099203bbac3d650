//! Named paths: what a profile says stands in a scenario wherever that says nothing itself.
//!
//! A profile is a file of `profiles/`: each value with its source and the reason of it, so that `explain` and the page
//! are made of it, too.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::{Schema, json_schema};
use serde::Deserialize;
use toml::{Table, Value as Toml};
use units::Span;

use crate::declared::keys;
use crate::error::Error;
use crate::kinds::choose;
use crate::leaf::{Kind, Refusal};
use crate::model::UNRESPONSIVE;
use crate::overrides::literal;
use crate::source::{Source, join, show};

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
    /// The key as declared: `path.rate`, `host.send`, `flow.N.ack_delay`.
    pub key: String,
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
    /// The keys that have its value, as declared, and the value as TOML.
    pub values: Vec<(String, String)>,
}

/// The name of a profile.
#[derive(Debug)]
pub(crate) struct ProfileName(pub(crate) &'static str);

/// The source of what nobody has published.
pub const OUR_CHOICE: &str = "our choice";

/// What names it.
pub(crate) const KEY: &str = "path.profile";

/// One line a file.
const FILES: [(&str, &str); 9] = [
    ("lte", include_str!("../profiles/lte.toml")),
    ("5g", include_str!("../profiles/5g.toml")),
    ("leo", include_str!("../profiles/leo.toml")),
    ("geo", include_str!("../profiles/geo.toml")),
    ("dsl", include_str!("../profiles/dsl.toml")),
    ("cable", include_str!("../profiles/cable.toml")),
    ("wifi", include_str!("../profiles/wifi.toml")),
    ("datacenter", include_str!("../profiles/datacenter.toml")),
    ("loopback", include_str!("../profiles/loopback.toml")),
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
        let File { purpose, about, references, path, host, flow } =
            toml::from_str(text).map_err(|error| error.to_string())?;
        let mut values = Vec::new();
        for (table, entries) in [("path.", path), ("host.", host), ("flow.N.", flow)] {
            for (name, Entry { value, source, why }) in entries {
                values.push(Given { key: format!("{table}{name}"), value: one_line(&value), source, why, toml: value });
            }
        }
        let place = |given: &Given| keys().iter().position(|key| key.key == given.key);
        if let Some(unknown) = values.iter().find(|given| place(given).is_none()) {
            return Err(format!("a scenario has no key {}", unknown.key));
        }
        values.sort_by_key(place);
        Ok(Profile { name, purpose, about, values, references: references.into_iter().collect() })
    }

    /// What its values look like in a scenario; of a flow's, the table of one.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for (table, head) in [("path.", "[path]"), ("host.", "[host]"), ("flow.N.", "[[flow]]\ncc = \"cubic\"")] {
            let inside: Vec<_> =
                self.values.iter().filter_map(|given| Some((given.key.strip_prefix(table)?, &given.toml))).collect();
            if inside.is_empty() && table == "host." {
                continue;
            }
            text += &format!("\n{head}\n");
            for (name, value) in inside {
                text += &match value {
                    Toml::Array(rows) if rows.iter().all(Toml::is_table) => {
                        let rows: String = rows.iter().map(|row| format!("  {},\n", one_line(row))).collect();
                        format!("{name} = [\n{rows}]\n")
                    }
                    value => format!("{name} = {}\n", one_line(value)),
                };
            }
        }
        text.trim_start().to_owned()
    }
}

/// A value as TOML writes it in one line; of several tables only their number.
fn one_line(value: &Toml) -> String {
    match value {
        Toml::Table(table) => {
            let pairs: Vec<String> =
                table.iter().map(|(name, value)| format!("{name} = {}", one_line(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Toml::Array(values) if values.iter().all(Toml::is_table) => format!("{} tables", values.len()),
        Toml::Array(values) => format!("[{}]", values.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

impl Kind for ProfileName {
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

/// The profile of the command line takes the place of the file's path, and of what else it says itself.
pub(crate) fn replace_path(root: &mut Table, source: &mut Source, text: &str) {
    source.forget("path");
    source.note_override(KEY, format!("--set {KEY}={text}"));
    let name = literal(text, true);
    let profile = profiles().iter().find(|profile| Some(profile.name) == name.as_str());
    root.insert("path".to_owned(), Toml::Table(Table::from_iter([("profile".to_owned(), name)])));
    let Some(profile) = profile else { return };
    for given in &profile.values {
        let (table, name) = given.key.rsplit_once('.').expect("a profile has no key at the top");
        for (_, table) in tables(root, table) {
            table.remove(name);
        }
    }
}

/// Fills in what the scenario's profile says and the scenario does not.
pub(crate) fn expand(root: &mut Table, source: &mut Source) -> Result<Option<&'static Profile>, Error> {
    let Some(name) = root.get("path").and_then(|path| path.get("profile")) else { return Ok(None) };
    let ProfileName(name) =
        ProfileName::read(name).map_err(|Refusal { problem, fix, .. }| source.error(KEY, show(name), problem, fix))?;
    let profile = profiles().iter().find(|profile| profile.name == name).expect("choices are those of the profiles");
    if profile.values.iter().any(|given| given.key.starts_with("host.")) && !root.contains_key("host") {
        root.insert("host".to_owned(), Toml::Table(Table::new()));
    }
    for given in &profile.values {
        let (table, name) = given.key.rsplit_once('.').expect("a profile has no key at the top");
        for (at, table) in tables(root, table) {
            // An unresponsive flow has no use for what a profile says of connections.
            let unresponsive = table.get("cc").and_then(Toml::as_str) == Some(UNRESPONSIVE);
            if !(unresponsive || table.contains_key(name)) {
                table.insert(name.to_owned(), given.toml.clone());
                source.note_profile(&join(&at, name), profile.name);
            }
        }
    }
    Ok(Some(profile))
}

/// Leaves out the profile's changes that would come after the run's end.
pub(crate) fn trim(root: &mut Table, source: &Source) {
    let duration = root.get("duration").and_then(|duration| Span::read(duration).ok());
    let changes = root.get_mut("path").and_then(|path| path.get_mut("change")).and_then(Toml::as_array_mut);
    if let (Some(duration), Some(changes), true) = (duration, changes, source.is_of_profile("path.change")) {
        changes.retain(|change| change.get("at").and_then(|at| Span::read(at).ok()).is_none_or(|at| at < duration));
    }
}

/// What of the profile is in force.
pub(crate) fn applied(profile: &Profile, root: &mut Table, source: &Source) -> Applied {
    let mut in_force = |given: &Given| {
        let (table, name) = given.key.rsplit_once('.').expect("a profile has no key at the top");
        let of_profile = |(at, table): (String, &mut Table)| {
            source.is_of_profile(&join(&at, name)).then(|| table.get(name).map(one_line)).flatten()
        };
        tables(root, table).into_iter().find_map(of_profile).map(|value| (given.key.clone(), value))
    };
    Applied { name: profile.name, values: profile.values.iter().filter_map(&mut in_force).collect() }
}

/// The tables that `declared` stands for, `path`, `host` or `flow.N`, each with its key.
fn tables<'a>(root: &'a mut Table, declared: &str) -> Vec<(String, &'a mut Table)> {
    match declared.strip_suffix(".N") {
        None => root
            .get_mut(declared)
            .and_then(Toml::as_table_mut)
            .map(|table| (declared.to_owned(), table))
            .into_iter()
            .collect(),
        Some(list) => {
            let items = root.get_mut(list).and_then(Toml::as_array_mut).into_iter().flatten();
            items.enumerate().filter_map(|(i, item)| Some((format!("{list}.{i}"), item.as_table_mut()?))).collect()
        }
    }
}
