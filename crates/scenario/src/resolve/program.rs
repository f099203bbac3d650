//! Resolving `[[program]]` to a flow.

use fullpipe_units::Span;
use toml::Table as TomlTable;

use super::flow::tcp;
use super::{Ground, optional};
use crate::error::Error;
use crate::model::{Flow, Pacing, Table, Transport, UNRESPONSIVE};
use crate::program::Program;
use crate::raw;
use crate::raw_value::RawValue;
use crate::values::{Algorithm, Extra, Name};
use crate::workload::Text;

/// Reads one `[[program]]`. Returns the flow, which has the recipe's name if it is unnamed, and
/// whether it is named.
pub(super) fn program(
    raw: &raw::Program,
    i: usize,
    ground: Ground<'_>,
) -> Result<(Flow, bool), Error> {
    let (source, table) = (ground.source, Table::Program(i));
    let key = |name: &str| table.key(name);
    let text = |leaf, name: &str| -> Result<Option<String>, Error> {
        Ok(optional(leaf, source, &key(name))?.map(|Text(text)| text))
    };
    let recipe = optional(&raw.recipe, source, &key("use"))?.map(|Name(name)| name);
    let name = optional(&raw.name, source, &key("name"))?.map(|Name(name)| name);
    let program = Program {
        recipe,
        server: text(&raw.server, "server")?,
        client: text(&raw.client, "client")?,
        qlog: text(&raw.qlog, "qlog")?,
    };
    check(&program, raw, table, ground)?;
    let named = name.is_some();
    let Some(name) = name.or_else(|| program.recipe.clone()) else {
        let fix = "add name = \"my-quic\"";
        return Err(source.error(&key("name"), "", "missing", fix));
    };
    if name == UNRESPONSIVE {
        let fix = "give another name";
        let problem = "this word means a flow without a congestion control";
        return Err(source.error(&key("name"), "\"none\"", problem, fix));
    }
    // Every other key of a connection has its default and no effect.
    let defaults: raw::Tcp = TomlTable::new()
        .try_into()
        .expect("every key of a connection has a default");
    let cc = RawValue::of(&Algorithm::from(name));
    let Extra(extra_rtt) = raw.rtt.get(source, &key("rtt"))?;
    let mut params = std::collections::BTreeMap::new();
    for (name, leaf) in &raw.params {
        let value = leaf.get(source, &key(&format!("params.{name}")))?;
        params.insert(name.clone(), value);
    }
    let flow = Flow {
        params,
        start: raw.start.get(source, &key("start"))?,
        extra_rtt,
        program: Some(program),
        ..tcp(&cc, &defaults, table, Transport::Tcp, ground)?
    };
    Ok((flow, named))
}

/// Refuses a program without command lines, and one with two sources of them.
fn check(
    program: &Program,
    raw: &raw::Program,
    table: Table,
    ground: Ground<'_>,
) -> Result<(), Error> {
    let refuse = |name: &str, value: String, problem: &str, fix: &str| {
        Err(ground.source.error(&table.key(name), value, problem, fix))
    };
    let shown = |leaf: &Option<RawValue<Text>>| leaf.as_ref().map(RawValue::show);
    let given = [
        ("server", shown(&raw.server)),
        ("client", shown(&raw.client)),
    ];
    if let Some(recipe) = &program.recipe {
        let twice = given.into_iter().find_map(|(name, it)| Some((name, it?)));
        let Some((name, value)) = twice else {
            return Ok(());
        };
        let problem = format!("use = {recipe:?} already gives the command lines");
        return refuse(name, value, &problem, "remove one of the two");
    }
    if let Some((name, leaf)) = raw.params.iter().next() {
        let (key, problem) = (
            format!("params.{name}"),
            "only a recipe has parameters, and there is no use",
        );
        return refuse(&key, leaf.show(), problem, "write it in the command lines");
    }
    for (name, value) in given {
        if value.is_none() {
            let fix = format!(
                "add {name} = \"…\", or a recipe: use = \"iperf3\"; `fullpipe list programs` has them"
            );
            return refuse(name, String::new(), "missing", &fix);
        }
    }
    Ok(())
}

/// Refuses the keys of a `[[flow]]` whose `cc` names a recipe that need a TCP of the runner.
pub(super) fn check_flow(flow: &Flow, raw: &raw::Flow, ground: Ground<'_>) -> Result<(), Error> {
    if flow.program.is_none() {
        return Ok(());
    }
    let tcp = &raw.tcp;
    let is_default = |leaf: &str, written: &str| leaf == written;
    let defaults: raw::Tcp = TomlTable::new()
        .try_into()
        .expect("every key of a connection has a default");
    let given = [
        raw.app.as_ref().map(|app| ("app", app.show())),
        raw.app_rate.as_ref().map(|rate| ("app_rate", rate.show())),
        raw.app_schedule
            .as_ref()
            .map(|it| ("app_schedule", it.show())),
        raw.group.as_ref().map(|group| ("group", group.show())),
        tcp.receiver.as_ref().map(|it| ("receiver", it.show())),
        (!is_default(&tcp.ecn.show(), &defaults.ecn.show())).then(|| ("ecn", tcp.ecn.show())),
        tcp.pacing
            .as_ref()
            .filter(|_| flow.pacing != Pacing::Auto)
            .map(|pacing| ("pacing", pacing.show())),
        (flow.gro != Span::ZERO).then(|| ("gro", tcp.gro.show())),
        (flow.optimistic_acks != Span::ZERO)
            .then(|| ("optimistic_acks", tcp.optimistic_acks.show())),
    ];
    let Some((name, value)) = given.into_iter().flatten().next() else {
        return Ok(());
    };
    let problem = "no effect: a program has its own transport and application";
    let fix = format!("remove {name}, or name an algorithm as cc");
    Err(ground.source.error(&flow.key(name), value, problem, fix))
}
