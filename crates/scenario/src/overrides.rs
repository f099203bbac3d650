//! `--set key=value`: replaces values of a scenario as if the file contained the new ones.

use toml::{Table, Value as Toml};

use crate::error::Error;
use crate::schema::{Key, keys};
use crate::source::Source;

/// Sets `key` to the value in `text`.
pub(crate) fn set(
    root: &mut Table,
    source: &mut Source,
    key: &str,
    text: &str,
) -> Result<(), Error> {
    source.note_override(key, format!("--set {key}={text}"));
    let (listed, declared) = locate(key);
    let refuse = |problem: String, fix: String| {
        Err(source.error(key, format_args!("{text:?}"), problem, fix))
    };
    if key.starts_with("sweep.") {
        let fix = "use --repeat, --sample or --zip of fullpipe sweep instead";
        return refuse(
            "this key can only be set in the file".to_owned(),
            fix.to_owned(),
        );
    }
    // A key of a flow is valid only with the number of the flow.
    let declared_at_all =
        |known: &&Key| known.key == declared && (listed.is_some() || !declared.contains(".N."));
    let is_text = match keys().iter().find(declared_at_all) {
        Some(known) if known.kind.starts_with("table") => {
            return refuse(
                "this is a table, not a value".to_owned(),
                format!("set one of its keys: {}", inside(key, &declared)),
            );
        }
        Some(known) => known.kind == "name",
        None if (listed.is_some() && is_param(&declared)) || is_option(&declared) => false,
        None => {
            return refuse(
                "unknown key".to_owned(),
                unknown_fix(key, listed.map(|(_, index)| index), &declared),
            );
        }
    };
    if let Some((list, index)) = listed {
        let there = length(root, list);
        let other = |index: usize| declared.replacen('N', &index.to_string(), 1);
        let fix = match there {
            _ if index < there => None,
            0 => Some(format!("add a [[{list}]] to the file")),
            1 => Some(format!("the only one is {}", other(0))),
            _ => Some(format!(
                "count from 0: the last one is {}",
                other(there - 1)
            )),
        };
        if let Some(fix) = fix {
            return refuse(format!("the file has {there} [[{list}]]"), fix);
        }
    }
    insert(root, key, literal(text, is_text));
    Ok(())
}

/// Sets the seed.
pub(crate) fn set_seed(root: &mut Table, source: &mut Source, seed: u64) {
    source.note_override("seed", format!("--seed {seed}"));
    // A seed that TOML can't represent becomes text, which the reader refuses like any other
    // invalid seed.
    let value = i64::try_from(seed).map_or_else(|_| Toml::String(seed.to_string()), Toml::Integer);
    root.insert("seed".to_owned(), value);
}

/// The lists of tables, in which keys choose a table by its number.
const LISTS: [&str; 5] = ["flow", "program", "workload", "link", "path.change"];

/// Returns the list and the index in `key`, if it has them, and the key as declared, with N for the
/// index.
fn locate(key: &str) -> (Option<(&'static str, usize)>, String) {
    for list in LISTS {
        let rest = key
            .strip_prefix(list)
            .and_then(|rest| rest.strip_prefix('.'));
        if let Some((index, name)) = rest.and_then(|rest| rest.split_once('.'))
            && let Some(index) = parse_index(index)
        {
            return (Some((list, index)), format!("{list}.N.{name}"));
        }
    }
    (None, key.to_owned())
}

/// Returns the number of tables in a list.
fn length(root: &Table, list: &str) -> usize {
    let mut names = list.split('.');
    let first = names.next().and_then(|name| root.get(name));
    names
        .try_fold(first, |value, name| Some(value?.get(name)))
        .flatten()
        .and_then(Toml::as_array)
        .map_or(0, Vec::len)
}

/// Reads the number of a table as keys contain it: without a sign or leading zeros.
fn parse_index(text: &str) -> Option<usize> {
    text.parse()
        .ok()
        .filter(|index: &usize| index.to_string() == text)
}

fn is_option(declared: &str) -> bool {
    let option = QUEUES
        .iter()
        .find_map(|queue| declared.strip_prefix(queue))
        .and_then(|name| name.strip_prefix('.'));
    option.is_some_and(|name| !name.is_empty())
}

/// The keys whose values may be tables with options.
const QUEUES: [&str; 2] = ["path.queue", "link.N.queue"];

fn is_param(declared: &str) -> bool {
    let flow = declared
        .strip_prefix("flow.N.")
        .or_else(|| declared.strip_prefix("program.N."))
        .or_else(|| declared.strip_prefix("workload.N."));
    let of = |table: &str| flow?.strip_prefix(table)?.strip_prefix('.');
    of("params")
        .or_else(|| of("receiver_params"))
        .is_some_and(|name| !name.is_empty())
}

/// Returns keys that can be set inside a table, as the user would write them.
fn inside(key: &str, declared: &str) -> String {
    match declared {
        "flow" => "flow.0.cc, flow.0.start…".to_owned(),
        "program" => "program.0.use, program.0.start…".to_owned(),
        "workload" => "workload.0.load, workload.0.cc…".to_owned(),
        "path" => "path.rate, path.rtt…".to_owned(),
        "link" => "link.0.rate, link.0.delay…".to_owned(),
        "sweep" => "path.rate, flow.0.cc…; for several values use fullpipe sweep".to_owned(),
        "path.change" => "path.change.0.at, path.change.0.rate…".to_owned(),
        _ => format!("{key}.beta, for example"),
    }
}

/// Returns the fix for an unknown key: the key that was probably meant, which may lack its table or
/// the flow's number, or be misspelled.
fn unknown_fix(key: &str, index: Option<usize>, declared: &str) -> String {
    let known: Vec<&str> = keys()
        .iter()
        .filter(|known| !known.kind.starts_with("table"))
        .map(|known| known.key.as_str())
        .collect();
    let bare = key.strip_prefix("flow.").unwrap_or(key);
    let in_tables = ["path.", "flow.N.", ""].map(|table| format!("{table}{bare}"));
    let meant = known
        .iter()
        .find(|known| known.rsplit('.').next() == Some(bare))
        .copied()
        .or_else(|| {
            in_tables
                .iter()
                .find_map(|key| fullpipe_units::synonym(key, &known))
        });
    match meant.or_else(|| fullpipe_units::nearest(declared, &known)) {
        Some(meant) => format!(
            "did you mean {}?",
            meant.replacen('N', &index.unwrap_or(0).to_string(), 1)
        ),
        None => "fullpipe explain scenario lists the keys".to_owned(),
    }
}

/// Reads `text` as TOML if it is a number, true, false, quoted text or a list, else as plain text.
pub(crate) fn literal(text: &str, is_text: bool) -> Toml {
    match text.parse::<Toml>() {
        Ok(value @ Toml::String(_)) => value,
        Ok(value @ (Toml::Integer(_) | Toml::Float(_) | Toml::Boolean(_) | Toml::Array(_)))
            if !is_text =>
        {
            value
        }
        _ => Toml::String(text.to_owned()),
    }
}

/// Sets `key`, creating tables on the way. A value that should be a table is left unchanged, so
/// that it is refused later.
fn insert(root: &mut Table, key: &str, value: Toml) {
    // The name of a parameter may contain points.
    let most = if locate(key).0.is_some() { 4 } else { 3 };
    let mut parts = key.splitn(most, '.').peekable();
    let mut table = root;
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            table.insert(part.to_owned(), value);
            return;
        }
        let mut inner = table
            .entry(part)
            .or_insert_with(|| Toml::Table(Table::new()));
        if let Toml::Array(flows) = inner {
            let Some(flow) = parts
                .next()
                .and_then(|index| flows.get_mut(parse_index(index)?))
            else {
                return;
            };
            inner = flow;
        }
        // The name of a queue is short for a table with that kind.
        if let Toml::String(kind) = inner
            && is_option(&locate(key).1)
        {
            *inner = Toml::Table(Table::from_iter([(
                "kind".to_owned(),
                Toml::String(kind.clone()),
            )]));
        }
        let Some(next) = inner.as_table_mut() else {
            return;
        };
        table = next;
    }
}
