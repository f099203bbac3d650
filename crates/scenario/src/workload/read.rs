//! Resolving `[[workload]]` to a source of arrivals.

use std::fs;
use std::path::{Path, absolute};
use std::sync::Arc;

use fullpipe_units::{Rate, Span, nearest};
use fullpipe_workload::{ArrivalSource, Cdf, CdfError, Input, Model, Needs, PRESETS, Preset};

use super::{Library, Load, Rtts, Text, Workload, kinds};
use crate::error::Error;
use crate::model::{Flow, Scenario, Table, Transport, UNRESPONSIVE, Written};
use crate::raw;
use crate::resolve::{Ground, optional, tcp};
use crate::source::Source;
use crate::values::Name;

/// Name of an unnamed workload.
const USUAL: &str = "workload";

/// Reads all workloads; `flows` already have their names.
pub(crate) fn workloads(
    raw: &[raw::Workload],
    flows: &[Flow],
    ground: Ground<'_>,
    library: &dyn Library,
) -> Result<Vec<Workload>, Error> {
    let source = ground.source;
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
        if flows
            .iter()
            .chain(workloads.iter().map(|other| &other.flow))
            .any(|other| other.name == name)
        {
            let problem = "a flow or another workload has this name";
            return Err(source.error(
                &table.key("name"),
                format_args!("{name:?}"),
                problem,
                "give each flow and workload its own name",
            ));
        }
        workloads.push(workload(raw, table, name, ground, library)?);
    }
    Ok(workloads)
}

fn workload(
    raw: &raw::Workload,
    table: Table,
    name: String,
    ground: Ground<'_>,
    library: &dyn Library,
) -> Result<Workload, Error> {
    let source = ground.source;
    let key = |name: &str| table.key(name);
    let (flow, stop) = flow(raw, table, name, ground)?;
    let model = raw.model.get(source, &key("model"))?;
    let refuse = |problem: String, fix: String| {
        let (key, shown) = match &raw.source {
            Some(leaf) => (key("source"), leaf.show()),
            None => (key("model"), raw.model.show()),
        };
        source.error(&key, shown, problem, fix)
    };
    let named = optional(&raw.source, source, &key("source"))?
        .map(|Text(name)| input(&model, &name, source, library))
        .transpose()
        .map_err(|Refused { problem, fix }| refuse(problem, fix))?;
    let (input, written, fingerprint) = match named {
        Some(named) => (Some(named.input), Some(named.written), named.fingerprint),
        None => (None, None, None),
    };
    check_fingerprint(raw, table, fingerprint.as_deref(), source)?;
    let as_seen = matches!(model.model, Model::Replay | Model::Collapsed)
        && matches!(input, Some(Input::Flows(_)));
    let rtts: Rtts = raw.rtt.get(source, &key("rtt"))?;
    let arriving = ArrivalSource::new(&model.model, input)
        .map_err(|refusal| refuse(refusal.problem, refusal.fix))?;
    let load = optional(&raw.load, source, &key("load"))?.map(|Load(load)| load);
    if load.is_none() && arriving.needs_load() {
        let problem = format!(
            "missing: {} does not determine how often flows arrive",
            raw.model.show()
        );
        return Err(source.error(&key("load"), "", problem, "add load = 0.7"));
    }
    let is_random = !as_seen || rtts.is_random();
    let arriving = Written(arriving);
    Ok(Workload {
        flow,
        source: written,
        model,
        load,
        stop,
        rtts,
        fingerprint,
        is_random,
        arriving,
    })
}

/// Reads the connection and start of a workload's flows, and the time at which arrivals end.
fn flow(
    raw: &raw::Workload,
    table: Table,
    name: String,
    ground: Ground<'_>,
) -> Result<(Flow, Option<Span>), Error> {
    let source = ground.source;
    let key = |name: &str| table.key(name);
    let flow = Flow {
        name,
        start: raw.start.get(source, &key("start"))?,
        ..tcp(&raw.cc, &raw.tcp, table, Transport::Tcp, ground)?
    };
    if flow.program.is_some() {
        let problem = "a workload opens its own connections, and a program makes one transfer";
        let fix = "name a congestion control, like \"cubic\", or use [[program]]";
        return Err(source.error(&key("cc"), raw.cc.show(), problem, fix));
    }
    if flow.cc == UNRESPONSIVE {
        let problem = "the flows of a workload open connections and need a congestion control";
        return Err(source.error(
            &key("cc"),
            raw.cc.show(),
            problem,
            "name a congestion control, like \"cubic\"",
        ));
    }
    let stop = optional(&raw.stop, source, &key("stop"))?;
    if let (Some(_), Some(leaf)) = (stop.filter(|stop| *stop <= flow.start), &raw.stop) {
        let fix = format!("give more than start, \"{}\"", flow.start);
        return Err(source.error(&key("stop"), leaf.show(), "must be after start", fix));
    }
    Ok((flow, stop))
}

/// Refuses a source other than the one with which a saved scenario was run.
fn check_fingerprint(
    raw: &raw::Workload,
    table: Table,
    now: Option<&str>,
    source: &Source,
) -> Result<(), Error> {
    let key = table.key("fingerprint");
    let Some(Text(kept)) = optional(&raw.fingerprint, source, &key)? else {
        return Ok(());
    };
    if now == Some(kept.as_str()) {
        return Ok(());
    }
    let now = now.map_or_else(
        || "it has none".to_owned(),
        |now| format!("it is now {now}"),
    );
    let problem = format!("the fingerprint of the source differs: {now}");
    let fix = "give the file with which the run was made, or remove this key";
    Err(source.error(&key, format_args!("{kept:?}"), problem, fix))
}

/// The source of a workload.
struct Named {
    input: Input,
    /// Name of the source in a saved scenario.
    written: String,
    fingerprint: Option<String>,
}

struct Refused {
    problem: String,
    fix: String,
}

impl Refused {
    fn new(problem: impl Into<String>, fix: impl Into<String>) -> Refused {
        Refused {
            problem: problem.into(),
            fix: fix.into(),
        }
    }
}

/// Returns the source `name`: a preset, or a file.
fn input(
    model: &kinds::Model,
    name: &str,
    source: &Source,
    library: &dyn Library,
) -> Result<Named, Refused> {
    if let Some(preset) = Preset::named(name) {
        return Ok(Named {
            input: Input::Preset(preset),
            written: name.to_owned(),
            fingerprint: None,
        });
    }
    let path = source.folder().join(name);
    if !path.is_file() {
        let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let fix = match nearest(name, &presets) {
            Some(near) => format!("did you mean the preset \"{near}\"?"),
            None => format!(
                "give a file, relative to the scenario's folder, or a preset, like \"{}\"",
                presets.first().copied().unwrap_or_default()
            ),
        };
        return Err(Refused::new("no file or preset of this name", fix));
    }
    if model.model.described().source == Needs::Cdf {
        return cdf(&path);
    }
    let flows = library
        .flows(&path)
        .map_err(|(problem, fix)| Refused { problem, fix })?;
    let fingerprint = Some(hex(flows.fingerprint()));
    Ok(Named {
        input: Input::Flows(flows),
        written: shown(&path),
        fingerprint,
    })
}

/// Reads the distribution in a file.
fn cdf(path: &Path) -> Result<Named, Refused> {
    let text = match fs::metadata(path) {
        Ok(file) if !file.is_file() => {
            return Err(Refused::new(
                "not a file",
                "give a file of lines \"BYTES SHARE\"",
            ));
        }
        Ok(file) if file.len() > LONGEST => {
            return Err(Refused::new(
                "the file exceeds 64 MiB",
                "give a shorter file",
            ));
        }
        _ => fs::read_to_string(path),
    };
    let text = text.map_err(|_| {
        Refused::new(
            "not a readable text file",
            "give a file of lines \"BYTES SHARE\"",
        )
    })?;
    let cdf = Cdf::parse(&text).map_err(|CdfError { line, problem, fix }| {
        let place = line.map_or_else(String::new, |line| format!("line {line}: "));
        Refused::new(format!("{place}{problem}"), fix)
    })?;
    let fingerprint = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    Ok(Named {
        input: Input::Cdf(Arc::new(cdf)),
        written: shown(path),
        fingerprint: Some(hex(fingerprint)),
    })
}

/// Largest size of a file with a distribution, in bytes.
const LONGEST: u64 = 64 << 20;

fn hex(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

/// Returns an absolute path, which stays valid wherever the scenario is read again.
fn shown(path: &Path) -> String {
    absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .to_string_lossy()
        .into_owned()
}

/// Scales the arrivals of each workload to its load, and refuses more than a link of its route can carry: all
/// workloads whose data cross it, while they arrive at the same time. ACKs take no part.
pub(crate) fn check_loads(scenario: &mut Scenario, raw: &[raw::Workload]) -> Result<(), Error> {
    let mut all: Vec<(ArrivalSource, f64)> = Vec::with_capacity(scenario.workloads.len());
    for (workload, raw) in scenario.workloads.iter().zip(raw) {
        let capacity = scenario.wire(workload).capacity();
        let (key, value) = match (&raw.load, &raw.source) {
            (Some(load), _) => ("load", load.show()),
            (None, Some(source)) => ("source", source.show()),
            (None, None) => ("model", raw.model.show()),
        };
        let refuse = |problem: String, fix: String| {
            Err(scenario.error(&workload.key(key), &value, problem, fix))
        };
        let arriving = match workload
            .load
            .map(|load| workload.arriving().clone().at_load(load, capacity))
        {
            None => workload.arriving().clone(),
            Some(Ok(arriving)) => arriving,
            Some(Err(refusal)) => return refuse(refusal.problem, refusal.fix),
        };
        let mut offered = arriving.offered();
        if workload.load.is_none() && offered >= capacity.as_f64() {
            // Recorded flows may arrive faster than the link can carry them, although it can carry
            // those that arrive during the run.
            let lasts = scenario.duration - workload.flow.start;
            let arrive = arriving.arrivals(scenario.seed, &workload.flow.name, lasts);
            offered = arrive
                .map(|arrival| arrival.bytes.as_f64() * 8.0)
                .sum::<f64>()
                / lasts.as_secs_f64();
        }
        all.push((arriving, offered));
        if let Some(full) = scenario.fullest(workload, &all) {
            let problem = full.problem(workload);
            let carried = full.carries / capacity.as_f64();
            let most = (1.0 - full.others) * carried;
            let fix = match most > 0.02 {
                true => format!(
                    "give a load below {:.2}, or a faster link",
                    down(most.min(1.0))
                ),
                false => "give a faster link, or the workloads smaller loads".to_owned(),
            };
            return refuse(problem, fix);
        }
    }
    for (workload, (arriving, _)) in scenario.workloads.iter_mut().zip(all) {
        workload.arriving = Written(arriving);
    }
    Ok(())
}

/// Rounds down to two digits after the point.
fn down(share: f64) -> f64 {
    (share * 100.0 + 1e-6).floor() / 100.0
}

/// A link whose workloads offer more than it carries.
struct Full<'a> {
    link: &'a str,
    /// Payload in full packets of the last workload that it carries, in bit/s.
    carries: f64,
    /// Shares of it that the last workload offers, and the others.
    own: f64,
    others: f64,
    /// Names of the others.
    names: Vec<&'a str>,
}

impl Full<'_> {
    fn problem(&self, workload: &Workload) -> String {
        let own = workload.flow.name.as_str();
        let names = self.names.iter().copied().chain([own]);
        let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
        let those = match names.as_slice() {
            [first, .., last] if names.len() > MOST_NAMED => {
                let others = names.len() - 2;
                format!("the flows of {first}, {last} and {others} more workloads")
            }
            [rest @ .., last] if !rest.is_empty() => {
                format!("the flows of {} and {last}", rest.join(", "))
            }
            _ => "the flows of this workload".to_owned(),
        };
        format!(
            "{those} offer {} to link {:?}, which carries {} without headers",
            to_a_thousandth((self.others + self.own) * self.carries),
            self.link,
            to_a_thousandth(self.carries)
        )
    }
}

/// Largest number of workloads that an error names.
const MOST_NAMED: usize = 4;

impl Scenario {
    /// Returns the link of the last workload's route that leaves it the least share, if the workloads up to it
    /// offer more than it carries; `all` has the rates that they offer.
    fn fullest(&self, last: &Workload, all: &[(ArrivalSource, f64)]) -> Option<Full<'_>> {
        let all: Vec<_> = self
            .workloads
            .iter()
            .zip(all.iter().map(|(_, offered)| *offered))
            .collect();
        let (&(_, offered), before) = all.split_last()?;
        // The sum is largest when one of them begins.
        let begins = before.iter().map(|(other, _)| other.flow.start);
        let times: Vec<Span> = begins
            .chain([last.flow.start])
            .filter(|at| last.arrives_at(*at))
            .collect();
        let route = last.flow.route.iter();
        let each =
            route.flat_map(|index| times.iter().map(move |at| (index, self.link(*index), at)));
        let full = each.filter_map(|(index, link, at)| {
            let carries = |workload: &Workload| workload.on(link).capacity().as_f64();
            let here = before
                .iter()
                .filter(|(other, _)| other.flow.route.contains(index) && other.arrives_at(*at));
            let full = Full {
                link: &link.name,
                carries: carries(last),
                own: offered / carries(last),
                others: here
                    .clone()
                    .map(|(other, rate)| rate / carries(other))
                    .sum(),
                names: here.map(|(other, _)| other.flow.name.as_str()).collect(),
            };
            (full.others + full.own >= 1.0).then_some(full)
        });
        full.min_by(|a, b| {
            let left = |full: &Full<'_>| (1.0 - full.others) * full.carries;
            left(a).total_cmp(&left(b))
        })
    }
}

/// Rounds a rate to a thousandth of itself.
fn to_a_thousandth(bps: f64) -> Rate {
    let bps = bps as u64;
    let unit = 10_u64.pow(bps.max(1).ilog10().saturating_sub(3));
    Rate::from_bps((bps + unit / 2) / unit * unit)
}
