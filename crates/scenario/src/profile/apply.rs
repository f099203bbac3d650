//! Applying a profile to a scenario.

use fullpipe_units::Span;
use toml::{Table, Value as Toml};

use super::{Applied, Given, KEY, KIND, LOOPBACK, Profile, ProfileName, one_line, profiles};
use crate::enums::PathKind;
use crate::error::Error;
use crate::model::UNRESPONSIVE;
use crate::overrides::literal;
use crate::program;
use crate::raw_value::{ReadValue, Refusal};
use crate::source::{Source, join, show};

/// Replaces the path of the file with the profile of the command line, which `key` names, and
/// removes other keys for which the profile has a value.
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

/// Fills in the values of the scenario's profile for keys that the scenario does not set.
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
    // The flows come first, since links on no route are omitted.
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

/// Returns the name of the profile, given as a profile or as a kind of path.
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
            let problem = format!("a path of the kind {kind} has the profile {kind}");
            Err(source.error(
                KEY,
                show(value),
                problem,
                "remove path.kind or path.profile",
            ))
        }
        _ => Ok(Some(name)),
    }
}

fn fill_in(root: &mut Table, source: &mut Source, profile: &Profile, given: &Given) {
    let (table, name) = given.table_and_name();
    for (at, table) in tables(root, table) {
        // The flow keys of a profile are for connections, so an unresponsive flow or a program gets none. A flow
        // with its own route gets no reverse_route.
        let cc = table.get("cc").and_then(Toml::as_str);
        let unresponsive = cc.is_some_and(|cc| cc == UNRESPONSIVE || program::of_cc(cc).is_some());
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

/// Returns the key that excludes `name`: a link has a rate or a rate pattern, so giving one removes
/// the other from the profile.
fn other_rate(name: &str) -> Option<&'static str> {
    match name {
        "rate" => Some("rate_pattern"),
        "rate_pattern" => Some("rate"),
        _ => None,
    }
}

/// Returns whether the scenario itself gives the key.
fn is_given(table: &Table, source: &Source, at: &str, name: &str) -> bool {
    table.contains_key(name) && !source.is_of_profile(&join(at, name))
}

/// Removes values of the profile that contradict the scenario: a rate pattern if the scenario has a
/// rate and vice versa, changes of keys that the scenario sets, and changes after the end of the
/// run.
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

/// Returns the values of the profile that are in effect.
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

/// Returns the tables that `name` refers to, each with its key: `path`, `host`, `link.uplink`, or
/// for `flow.N` all flows and workloads.
fn tables<'a>(root: &'a mut Table, name: &str) -> Vec<(String, &'a mut Table)> {
    let Some((list, which)) = name.split_once('.') else {
        return root
            .get_mut(name)
            .and_then(Toml::as_table_mut)
            .map(|table| (name.to_owned(), table))
            .into_iter()
            .collect();
    };
    // The flow keys of a profile also apply to workloads.
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
