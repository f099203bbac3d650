//! Checks that a file has the right keys in the right tables, before any value is read.

use toml::{Table, Value as Toml};

use crate::error::Error;
use crate::schema::{Name, keys, names};
use crate::source::{Source, join, show};

/// Refuses unknown and missing keys, and values where tables should be.
pub(crate) fn check(root: &Table, source: &Source) -> Result<(), Error> {
    check_names(root, "", "", source)?;
    let path = table(root, "path", "path", "start it with a line [path]", source)?;
    check_names(path, "path", "path.", source)?;
    if let Some(changes) = path.get("change") {
        let fix = "start each change with a line [[path.change]], in double brackets";
        let changes = tables(
            changes,
            "path.change",
            "changes must be a list of tables",
            fix,
            source,
        )?;
        for (i, change) in changes.enumerate() {
            check_names(
                change,
                &format!("path.change.{i}"),
                "path.change.N.",
                source,
            )?;
        }
    }
    for name in ["host", "quic"]
        .into_iter()
        .filter(|name| root.contains_key(*name))
    {
        let fix = format!("start it with a line [{name}]");
        let table = table(root, name, name, &fix, source)?;
        check_names(table, name, &format!("{name}."), source)?;
    }
    if let Some(links) = root.get("link") {
        let fix = "start each link with a line [[link]], in double brackets";
        let links = tables(links, "link", "links must be a list of tables", fix, source)?;
        for (i, link) in links.enumerate() {
            check_names(link, &format!("link.{i}"), "link.N.", source)?;
        }
    }
    let sources = ["flow", "program", "workload"];
    if !sources.iter().any(|kind| root.contains_key(*kind)) {
        return Err(source.error("flow", "", "missing", "add a [[flow]] with its cc"));
    }
    sources
        .iter()
        .try_for_each(|kind| check_flows(root, kind, source))
}

/// Checks the keys of the tables `[[flow]]`, `[[program]]` or `[[workload]]`, if there are any.
fn check_flows(root: &Table, kind: &str, source: &Source) -> Result<(), Error> {
    let Some(found) = root.get(kind) else {
        return Ok(());
    };
    let fix = format!("start each {kind} with a line [[{kind}]], in double brackets");
    let problem = format!("{kind}s must be a list of tables");
    let mut found = tables(found, kind, &problem, &fix, source)?
        .enumerate()
        .peekable();
    let others = ["program", "workload"];
    if found.peek().is_none() && !others.iter().any(|kind| root.contains_key(*kind)) {
        return Err(source.error(
            "flow",
            "[]",
            "a scenario needs at least one flow",
            "add a [[flow]] with its cc",
        ));
    }
    for (i, flow) in found {
        let at = format!("{kind}.{i}");
        check_names(flow, &at, &format!("{kind}.N."), source)?;
        for (name, example) in [("params", "beta = 0.7"), ("receiver_params", "target = 40")] {
            if flow.contains_key(name) {
                let fix = format!("write it like {name} = {{ {example} }}");
                table(flow, name, &join(&at, name), &fix, source)?;
            }
        }
    }
    Ok(())
}

/// Checks the keys of the table at `at`, which is declared as `declared`.
fn check_names(table: &Table, at: &str, declared: &str, source: &Source) -> Result<(), Error> {
    let known = names(declared);
    if let Some((name, value)) = table
        .iter()
        .find(|(name, _)| known.iter().all(|(known, _)| known != name))
    {
        let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        return Err(source.error(
            &join(at, name),
            show(value),
            "unknown key",
            unknown_fix(name, &known),
        ));
    }
    let missing = |(name, required): &&Name| *required && !table.contains_key(*name);
    match known.iter().find(missing) {
        None => Ok(()),
        Some((name, _)) => Err(source.error(
            &join(at, name),
            "",
            "missing",
            missing_fix(&format!("{declared}{name}")),
        )),
    }
}

fn tables<'a>(
    value: &'a Toml,
    key: &str,
    problem: &str,
    fix: &str,
    source: &Source,
) -> Result<impl Iterator<Item = &'a Table>, Error> {
    match value {
        Toml::Array(items) if items.iter().all(Toml::is_table) => {
            Ok(items.iter().filter_map(Toml::as_table))
        }
        other => Err(source.error(key, show(other), problem, fix)),
    }
}

fn table<'a>(
    outer: &'a Table,
    name: &str,
    key: &str,
    fix: &str,
    source: &Source,
) -> Result<&'a Table, Error> {
    outer[name]
        .as_table()
        .ok_or_else(|| source.error(key, show(&outer[name]), "must be a table", fix))
}

/// Returns the fix for a missing required key.
fn missing_fix(declared: &str) -> String {
    let example = keys()
        .iter()
        .find(|key| key.key == declared)
        .and_then(|key| key.examples.first());
    match (declared, example) {
        ("path", _) => "add a table [path] with rate, rtt and buffer, or with a profile".to_owned(),
        (_, Some(example)) => format!(
            "add {} = {example}",
            declared.rsplit('.').next().unwrap_or(declared)
        ),
        (_, None) => "add this key".to_owned(),
    }
}

/// Returns the fix for an unknown key: the table that it belongs in, the nearest known name, or all
/// known names.
fn unknown_fix(name: &str, known: &[&str]) -> String {
    if let Some(meant) = fullpipe_units::synonym(name, known) {
        return format!("did you mean {meant}?");
    }
    let elsewhere = keys()
        .iter()
        .find(|key| key.key.rsplit('.').next() == Some(name));
    match (
        elsewhere.map(|key| key.key.as_str()),
        fullpipe_units::nearest(name, known),
    ) {
        (Some(key), _) if key.starts_with("path.change.") => {
            "it belongs in a [[path.change]]".to_owned()
        }
        (Some(key), _) if key.starts_with("path.") => "it belongs in [path]".to_owned(),
        (Some(key), _) if key.starts_with("host.") => "it belongs in [host]".to_owned(),
        (Some(key), _) if key.starts_with("quic.") => "it belongs in [quic]".to_owned(),
        (Some(key), _) if key.starts_with("link.") => "it belongs in a [[link]]".to_owned(),
        (Some(key), _) if key.starts_with("flow.") => "it belongs in a [[flow]]".to_owned(),
        (Some(key), _) if key.starts_with("program.") => "it belongs in a [[program]]".to_owned(),
        (Some(key), _) if key.starts_with("workload.") => "it belongs in a [[workload]]".to_owned(),
        (Some(_), _) => "it belongs at the top, above the first line in brackets".to_owned(),
        (None, Some(near)) => format!("did you mean {near}?"),
        (None, None) => format!("use one of {}", known.join(", ")),
    }
}
