//! Links, and the routes of flows over them.

use fullpipe_units::Bytes;
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::error::Error;
use crate::model::{BOTTLENECK, Flow, Written};
use crate::path_keys::{Link, Path};
use crate::raw;
use crate::raw_value::{RawValue, ReadValue, Refusal};
use crate::resolve::link;
use crate::source::{Source, show};
use crate::values::{Delay, Name};

/// Largest number of links. The number of a hop is one byte, and a larger network is probably a
/// mistake.
const MOST_LINKS: usize = 100;

/// Names of links in the order in which packets cross them: `["uplink", "bottleneck"]`.
#[derive(Debug)]
pub(crate) struct Route(pub(crate) Vec<String>);

impl ReadValue for Route {
    fn read(value: &Toml) -> Result<Route, Refusal> {
        let Toml::Array(names) = value else {
            let name = value
                .as_str()
                .filter(|name| !name.contains(','))
                .unwrap_or(BOTTLENECK);
            return Err(Refusal::new(
                "a route is a list of links",
                format!("write it like [{name:?}]"),
            ));
        };
        let name = |(i, name): (usize, &Toml)| {
            Name::read(name)
                .map(|Name(name)| name)
                .map_err(|refusal| refusal.about(&i.to_string(), show(name)))
        };
        names
            .iter()
            .enumerate()
            .map(name)
            .collect::<Result<_, _>>()
            .map(Route)
    }

    fn write(&self) -> Toml {
        Toml::Array(self.0.iter().cloned().map(Toml::String).collect())
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "list of links",
            "type": "array",
            "items": { "type": "string" },
            "examples": [["uplink", BOTTLENECK]],
        })
    }
}

/// Reads the `[[link]]` tables.
pub(crate) fn links(
    raw: &[raw::NamedLink],
    path: &Path,
    packet: Bytes,
    source: &Source,
) -> Result<Vec<Link>, Error> {
    let mut links: Vec<Link> = Vec::with_capacity(raw.len());
    for (i, raw) in raw.iter().enumerate() {
        let at = format!("link.{i}");
        let key = format!("{at}.name");
        let Name(name) = raw.name.get(source, &key)?;
        let refuse =
            |problem: &str, fix: &str| Err(source.error(&key, raw.name.show(), problem, fix));
        if name == BOTTLENECK {
            return refuse("the link of [path] has this name", "give another name");
        }
        if links.iter().any(|link| link.name == name) {
            return refuse("another link has this name", "give each link its own name");
        }
        if i == MOST_LINKS {
            return refuse(&format!("more than {MOST_LINKS} links"), "remove links");
        }
        let Delay(delay) = raw.delay.get(source, &format!("{at}.delay"))?;
        links.push(Link {
            name,
            delay,
            table: Some(Written(i)),
            ..link(&raw.link, &at, (path.rtt, packet), source)?
        });
    }
    Ok(links)
}

/// Reads a route as the numbers of its links.
pub(crate) fn route(
    leaf: &RawValue<Route>,
    key: &str,
    links: &[&str],
    source: &Source,
) -> Result<Vec<usize>, Error> {
    let Route(names) = leaf.get(source, key)?;
    let mut route = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        let refuse = |problem: &str, fix: String| {
            Err(source.error(
                &format!("{key}.{i}"),
                format_args!("{name:?}"),
                problem,
                fix,
            ))
        };
        match links.iter().position(|link| link == name) {
            None => {
                let fix = match fullpipe_units::nearest(name, links) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("add a [[link]] of this name, or use {}", links.join(", ")),
                };
                return refuse("no link of this name", fix);
            }
            Some(link) if route.contains(&link) => {
                return refuse(
                    "the route contains this link twice",
                    "name each link once".to_owned(),
                );
            }
            Some(link) => route.push(link),
        }
    }
    Ok(route)
}

/// Refuses a link on no route, since its metrics would look like results.
pub(crate) fn check_used<'a>(
    links: impl Iterator<Item = &'a Link>,
    flows: impl Iterator<Item = &'a Flow>,
    source: &Source,
) -> Result<(), Error> {
    let mut used = vec![false; MOST_LINKS + 1];
    flows
        .flat_map(|flow| flow.route.iter().chain(&flow.reverse_route))
        .for_each(|link| used[*link] = true);
    match links.zip(used).find(|(_, used)| !used) {
        None => Ok(()),
        Some((Link { name, table, .. }, _)) => {
            let problem = format!("no flow's route or reverse_route contains the link {name:?}");
            let (key, fix) = match table {
                Some(Written(i)) => (format!("link.{i}"), "add it to a route, or remove the link"),
                None => ("path".to_owned(), "add it to the route of a flow"),
            };
            Err(source.error(&key, "", problem, fix))
        }
    }
}
