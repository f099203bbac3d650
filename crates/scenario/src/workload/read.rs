//! From the keys of `[[workload]]` to what arrives.

use std::path::{Path, absolute};

use units::Rate;
use workload::Source as Arriving;

use super::{Library, Load, Model, Text, Workload};
use crate::error::Error;
use crate::kinds::Name;
use crate::model::{Flow, Scenario, Table, UNRESPONSIVE, Written};
use crate::raw;
use crate::resolve::{optional, tcp};
use crate::source::Source;

/// What an unnamed one is called.
const USUAL: &str = "workload";

/// Reads all of them; `flows` have their names already.
pub(crate) fn workloads(
    raw: &[raw::Workload],
    flows: &[Flow],
    links: &[&str],
    source: &Source,
    library: &dyn Library,
) -> Result<Vec<Workload>, Error> {
    let unnamed = raw.iter().filter(|raw| raw.name.is_none()).count();
    let mut workloads: Vec<Workload> = Vec::with_capacity(raw.len());
    let mut numbered = 0;
    for (i, raw) in raw.iter().enumerate() {
        let table = Table::Workload(i);
        let name = match optional(&raw.name, source, &table.key("name"))? {
            Some(Name(name)) => name,
            None if unnamed == 1 => USUAL.to_owned(),
            None => {
                numbered += 1;
                format!("{USUAL}-{numbered}")
            }
        };
        if flows.iter().chain(workloads.iter().map(|other| &other.flow)).any(|other| other.name == name) {
            let problem = "a flow or another workload has this name";
            return Err(source.error(&table.key("name"), format_args!("{name:?}"), problem, "give each its own"));
        }
        workloads.push(workload(raw, table, name, links, source, library)?);
    }
    Ok(workloads)
}

fn workload(
    raw: &raw::Workload,
    table: Table,
    name: String,
    links: &[&str],
    source: &Source,
    library: &dyn Library,
) -> Result<Workload, Error> {
    let key = |name: &str| table.key(name);
    let flow = Flow { name, start: raw.start.get(source, &key("start"))?, ..tcp(&raw.cc, &raw.tcp, table, links, source)? };
    if flow.cc == UNRESPONSIVE {
        let problem = "what arrives opens connections, and needs a congestion control";
        return Err(source.error(&key("cc"), raw.cc.show(), problem, "name one, like \"cubic\""));
    }
    let stop = optional(&raw.stop, source, &key("stop"))?;
    if let (Some(_), Some(leaf)) = (stop.filter(|stop| *stop <= flow.start), &raw.stop) {
        let fix = format!("give more than start, \"{}\"", flow.start);
        return Err(source.error(&key("stop"), leaf.show(), "it stops before it starts", fix));
    }
    let Text(file) = raw.source.get(source, &key("source"))?;
    let path = source.folder().join(&file);
    let flows = library
        .flows(&path)
        .map_err(|(problem, fix)| source.error(&key("source"), raw.source.show(), problem, fix))?;
    let fingerprint = format!("{:016x}", flows.fingerprint());
    if let Some(Text(kept)) = optional(&raw.fingerprint, source, &key("fingerprint"))?
        && kept != fingerprint
    {
        let problem = format!("the flows of {file:?} are others now: {fingerprint}");
        let fix = "give the file that the run was made with, or remove this key";
        return Err(source.error(&key("fingerprint"), format_args!("{kept:?}"), problem, fix));
    }
    let model = raw.model.get(source, &key("model"))?;
    let arriving = match model {
        Model::Replay => Arriving::replay(flows),
        Model::Collapsed => Arriving::collapsed(flows),
    };
    Ok(Workload {
        flow,
        source: shown(&path),
        model,
        load: optional(&raw.load, source, &key("load"))?.map(|Load(load)| load),
        stop,
        rtts: raw.rtt.get(source, &key("rtt"))?,
        fingerprint,
        arriving: Written(arriving),
    })
}

/// A path that is the same from wherever the scenario is read again.
fn shown(path: &Path) -> String {
    absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

/// Lets them arrive as often as their load wants it, and refuses more than their links carry.
pub(crate) fn check_loads(scenario: &mut Scenario, raw: &[raw::Workload]) -> Result<(), Error> {
    let mut loads = Vec::with_capacity(scenario.workloads.len());
    for (workload, raw) in scenario.workloads.iter().zip(raw) {
        let capacity = scenario.capacity(workload);
        let slowest = scenario.route(&workload.flow.route).map(crate::Link::sustained).min().unwrap_or(Rate::MAX);
        let arriving = match workload.load {
            Some(load) => workload.arriving().clone().at_load(load, slowest),
            None => workload.arriving().clone(),
        };
        let offered = arriving.offered();
        let all = loads.iter().map(|(_, offered): &(_, f64)| offered).sum::<f64>() + offered;
        if all >= capacity.as_f64() {
            let (key, value) = match &raw.load {
                Some(load) => ("load", load.show()),
                None => ("source", raw.source.show()),
            };
            let rate = |bps: f64| Rate::from_bps(bps as u64);
            let whole = if loads.is_empty() { "its flows bring" } else { "this and the workloads above bring" };
            let problem =
                format!("{whole} {} of applications' bytes, and the link carries {capacity}", rate(all));
            let most = (capacity.as_f64() - (all - offered)) / slowest.as_f64();
            let fix = match most > 0.02 {
                true => format!("give a load below {:.2}, or a faster link", most - 0.005),
                false => "give a faster link".to_owned(),
            };
            return Err(scenario.error(&workload.key(key), value, problem, fix));
        }
        loads.push((arriving, offered));
    }
    for (workload, (arriving, _)) in scenario.workloads.iter_mut().zip(loads) {
        workload.arriving = Written(arriving);
    }
    Ok(())
}

