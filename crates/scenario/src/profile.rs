//! Named paths: what a profile says stands in a scenario wherever that says nothing itself.
//!
//! A profile is a file of `profiles/`: each value with its source and the reason of it, so that
//! `explain` and the page are made of it, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use fullpipe_units::Span;
use schemars::{Schema, json_schema};
use serde::Deserialize;
use toml::{Table, Value as Toml};

use crate::enums::{PathKind, choose};
use crate::error::Error;
use crate::model::UNRESPONSIVE;
use crate::overrides::literal;
use crate::raw_value::{ReadValue, Refusal};
use crate::schema::keys;
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

/// The profile of the command line takes the place of the file's path, and of what else it says
/// itself. `key` is what names it.
pub(crate) fn replace_path(root: &mut Table, source: &mut Source, key: &str, text: &str) {
    source.forget("path");
    source.note_override(key, format!("--set {key}={text}"));
    let name = literal(text, true);
    let profile = profiles()
        .iter()
        .find(|profile| Some(profile.name) == name.as_str());
    root.remove("path");
    for given in profile.iter().flat_map(|profile| &profile.values) {
        let (table, name) = given.table_and_name();
        for (_, table) in tables(root, table) {
            table.remove(name);
        }
    }
    root.insert(
        "path".to_owned(),
        Toml::Table(Table::from_iter([(key.replace("path.", ""), name)])),
    );
}

/// Fills in what the scenario's profile says and the scenario does not.
pub(crate) fn expand(
    root: &mut Table,
    source: &mut Source,
) -> Result<Option<&'static Profile>, Error> {
    let Some(name) = named(root, source)? else {
        return Ok(None);
    };
    let profile = profiles()
        .iter()
        .find(|profile| profile.name == name)
        .expect("choices are those of the profiles");
    if profile
        .values
        .iter()
        .any(|given| given.key.starts_with("host."))
        && !root.contains_key("host")
    {
        root.insert("host".to_owned(), Toml::Table(Table::new()));
    }
    // The flows first: links that none of them uses are left out.
    let (links, others): (Vec<&Given>, Vec<_>) = profile
        .values
        .iter()
        .partition(|given| given.key.starts_with("link."));
    others
        .into_iter()
        .for_each(|given| fill_in(root, source, profile, given));
    for name in profile
        .links()
        .filter(|name| is_on_a_route(root, name))
        .collect::<Vec<_>>()
    {
        if tables(root, &format!("link.{name}")).is_empty() {
            let link = Table::from_iter([("name".to_owned(), Toml::String(name.to_owned()))]);
            let links = root
                .entry("link")
                .or_insert_with(|| Toml::Array(Vec::new()));
            links
                .as_array_mut()
                .into_iter()
                .for_each(|links| links.push(Toml::Table(link.clone())));
        }
    }
    links
        .into_iter()
        .for_each(|given| fill_in(root, source, profile, given));
    Ok(Some(profile))
}

/// The profile that is named, by itself or as a kind of path.
fn named(root: &Table, source: &Source) -> Result<Option<&'static str>, Error> {
    let Some(path) = root.get("path") else {
        return Ok(None);
    };
    let refused = |key, value, Refusal { problem, fix, .. }: Refusal| {
        source.error(key, show(value), problem, fix)
    };
    let kind = path
        .get("kind")
        .map(|kind| PathKind::read(kind).map_err(|why| refused(KIND, kind, why)))
        .transpose()?;
    let kind = kind.map(|PathKind::Loopback| LOOPBACK);
    let Some(value) = path.get("profile") else {
        return Ok(kind);
    };
    let ProfileName(name) = ProfileName::read(value).map_err(|why| refused(KEY, value, why))?;
    match kind {
        Some(kind) if kind != name => {
            let problem = format!("a path of the kind {kind} is that of the profile {kind}");
            Err(source.error(KEY, show(value), problem, "leave one of the two out"))
        }
        _ => Ok(Some(name)),
    }
}

fn fill_in(root: &mut Table, source: &mut Source, profile: &Profile, given: &Given) {
    let (table, name) = given.table_and_name();
    for (at, table) in tables(root, table) {
        // An unresponsive flow has no use for what a profile says of connections, nor one on
        // another way there for its way back.
        let unresponsive = table.get("cc").and_then(Toml::as_str) == Some(UNRESPONSIVE);
        let on_another_way = name == "reverse_route" && table.contains_key("route");
        if !(unresponsive
            || on_another_way
            || table.contains_key(name)
            || other_rate(name).is_some_and(|other| is_given(table, source, &at, other)))
        {
            table.insert(name.to_owned(), given.toml.clone());
            source.note_profile(&join(&at, name), profile.name);
        }
    }
}

fn is_on_a_route(root: &Table, link: &str) -> bool {
    let flows = ["flow", "workload"]
        .into_iter()
        .filter_map(|list| root.get(list)?.as_array())
        .flatten();
    let routes = flows.flat_map(|flow| {
        ["route", "reverse_route"].map(|name| flow.get(name).and_then(Toml::as_array))
    });
    routes
        .flatten()
        .flatten()
        .any(|name| name.as_str() == Some(link))
}

/// A link has one rate or a pattern of it: who gives the one means that the profile's other does
/// not hold.
fn other_rate(name: &str) -> Option<&'static str> {
    match name {
        "rate" => Some("rate_pattern"),
        "rate_pattern" => Some("rate"),
        _ => None,
    }
}

/// Whether the scenario itself gives the key.
fn is_given(table: &Table, source: &Source, at: &str, name: &str) -> bool {
    table.contains_key(name) && !source.is_of_profile(&join(at, name))
}

/// Once all is given, leaves out of the profile what that contradicts: a pattern beside a rate,
/// changes of what the scenario says itself, and those that would come after the run's end.
pub(crate) fn trim(root: &mut Table, source: &Source) {
    let duration = root
        .get("duration")
        .and_then(|duration| Span::read(duration).ok());
    for name in ["rate", "rate_pattern"] {
        for (at, table) in tables(root, "path") {
            let given = other_rate(name).is_some_and(|other| is_given(table, source, &at, other));
            if given && source.is_of_profile(&join(&at, name)) {
                table.remove(name);
            }
        }
    }
    let Some(path) = root.get_mut("path").and_then(Toml::as_table_mut) else {
        return;
    };
    let given: Vec<String> = path
        .keys()
        .filter(|name| is_given(path, source, "path", name))
        .cloned()
        .collect();
    let Some(changes) = path.get_mut("change").and_then(Toml::as_array_mut) else {
        return;
    };
    if !source.is_of_profile("path.change") {
        return;
    }
    changes.retain_mut(|change| {
        let Some(change) = change.as_table_mut() else {
            return true;
        };
        given.iter().for_each(|name| drop(change.remove(name)));
        let at = change.get("at").and_then(|at| Span::read(at).ok());
        change.len() > 1 && at.zip(duration).is_none_or(|(at, duration)| at < duration)
    });
}

/// What of the profile is in force.
pub(crate) fn applied(profile: &Profile, root: &mut Table, source: &Source) -> Applied {
    let mut in_force = |given: &Given| {
        let (table, name) = given.table_and_name();
        let of_profile = |(at, table): (String, &mut Table)| {
            source
                .is_of_profile(&join(&at, name))
                .then(|| table.get(name).map(one_line))
                .flatten()
        };
        tables(root, table)
            .into_iter()
            .find_map(of_profile)
            .map(|value| (given.key.clone(), value))
    };
    Applied {
        name: profile.name,
        values: profile.values.iter().filter_map(&mut in_force).collect(),
    }
}

/// The tables that `name` stands for: `path`, `host`, `link.uplink`, or all of `flow.N`, with those
/// of workloads; each with its key.
fn tables<'a>(root: &'a mut Table, name: &str) -> Vec<(String, &'a mut Table)> {
    let Some((list, which)) = name.split_once('.') else {
        return root
            .get_mut(name)
            .and_then(Toml::as_table_mut)
            .map(|table| (name.to_owned(), table))
            .into_iter()
            .collect();
    };
    // What a profile says of flows is meant for those that arrive, too.
    let lists = root
        .iter_mut()
        .filter(|(key, _)| *key == list || which == "N" && list == "flow" && *key == "workload");
    let items = lists.flat_map(|(list, items)| {
        let items = items.as_array_mut().into_iter().flatten().enumerate();
        items.map(move |(i, item)| (format!("{list}.{i}"), item))
    });
    let tables = items.filter_map(|(at, item)| Some((at, item.as_table_mut()?)));
    tables
        .filter(|(_, table)| {
            which == "N" || table.get("name").and_then(Toml::as_str) == Some(which)
        })
        .collect()
}
