//! From keys to meaning: reads every value, then refuses what contradicts.

mod flow;
mod host;
mod link;

use fullpipe_units::Span;

use self::flow::flows;
pub(crate) use self::flow::tcp;
use self::host::{host, quic};
pub(crate) use self::link::link;
use self::link::path;
use crate::error::Error;
use crate::expect::Conditions;
use crate::model::{Scenario, Table, Written};
use crate::profile::Applied;
use crate::raw;
use crate::raw_value::{RawValue, ReadValue};
use crate::source::Source;
use crate::topology;
use crate::values::{Delay, Whole};
use crate::workload::{Library, check_loads, workloads};

pub(crate) fn resolve(
    raw: &raw::Scenario,
    source: Source,
    title: Option<String>,
    profile: Option<Applied>,
    library: &dyn Library,
) -> Result<Scenario, Error> {
    let Whole(seed) = raw.seed.get(&source, "seed")?;
    let Delay(send_jitter) = raw.send_jitter.get(&source, "send_jitter")?;
    let path = path(&raw.path, &source)?;
    let more_links = topology::links(&raw.link, &path, &source)?;
    let names: Vec<&str> = std::iter::once(&path.link)
        .chain(&more_links)
        .map(|link| link.name.as_str())
        .collect();
    let flows = flows(&raw.flow, &names, &source)?;
    let workloads = workloads(&raw.workload, &flows, &names, &source, library)?;
    let all = || {
        flows
            .iter()
            .chain(workloads.iter().map(|workload| &workload.flow))
    };
    topology::check_used(
        std::iter::once(&path.link).chain(&more_links),
        all(),
        &source,
    )?;
    let mut scenario = Scenario {
        title,
        profile,
        duration: raw.duration.get(&source, "duration")?,
        measure_from: raw.measure_from.get(&source, "measure_from")?,
        seed,
        start_jitter: raw.start_jitter.get(&source, "start_jitter")?,
        send_jitter,
        expect: optional(&raw.expect, &source, "expect")?
            .map_or_else(Vec::new, |Conditions(texts)| texts),
        path,
        more_links,
        host: raw
            .host
            .as_ref()
            .map(|raw| host(raw, &source))
            .transpose()?,
        quic: raw
            .quic
            .as_ref()
            .map(|raw| quic(raw, &source))
            .transpose()?
            .unwrap_or_default(),
        flows,
        workloads,
        written: Written(source),
    };
    check_times(&scenario, raw)?;
    check_loads(&mut scenario, &raw.workload)?;
    Ok(scenario)
}

fn check_times(scenario: &Scenario, raw: &raw::Scenario) -> Result<(), Error> {
    let Scenario {
        duration,
        measure_from,
        start_jitter,
        ..
    } = *scenario;
    let refuse = |key: &str, leaf: &RawValue<Span>, problem: &str, fix: String| {
        Err(scenario.error(key, leaf.show(), problem, fix))
    };
    if duration == Span::ZERO {
        let fix = "give more, like \"60s\"".to_owned();
        return refuse(
            "duration",
            &raw.duration,
            "a run of no time shows nothing",
            fix,
        );
    }
    let before_end = format!("give less than the duration, \"{duration}\", or a longer duration");
    if measure_from >= duration {
        return refuse(
            "measure_from",
            &raw.measure_from,
            "nothing is left to measure",
            before_end,
        );
    }
    for change in &scenario.path.changes {
        let at = &raw.path.change[change.table.0].at;
        let key = format!("path.change.{}.at", change.table.0);
        if change.at == Span::ZERO {
            let fix = "put it into [path] itself, or give a later time".to_owned();
            return refuse(&key, at, "a change at the start is none", fix);
        }
        if change.at >= duration {
            return refuse(
                &key,
                at,
                "the run is over before the path changes",
                before_end,
            );
        }
    }
    for workload in &scenario.workloads {
        let (start, Table::Workload(i)) = (workload.flow.start, workload.flow.table.0) else {
            continue;
        };
        if start >= duration {
            let written = &raw.workload[i].start;
            return refuse(
                &workload.key("start"),
                written,
                "the run is over before a flow arrives",
                before_end,
            );
        }
    }
    for flow in &scenario.flows {
        let Table::Flow(i) = flow.table.0 else {
            continue;
        };
        if flow.start >= duration {
            let start = &raw.flow[i].start;
            return refuse(
                &flow.key("start"),
                start,
                "the run is over before the flow starts",
                before_end,
            );
        }
        if let Some((at, _)) = flow.app_schedule.last().filter(|(at, _)| *at >= duration) {
            let problem = format!("the run is over before {at}");
            let written = raw.flow[i]
                .app_schedule
                .as_ref()
                .map_or_else(String::new, RawValue::show);
            return Err(scenario.error(&flow.key("app_schedule"), written, problem, before_end));
        }
        if flow.start + start_jitter > duration {
            let problem = format!("flow {} may start after the end of the run", flow.name);
            let fix = format!(
                "give at most \"{}\", or a longer duration",
                duration - flow.start
            );
            return refuse("start_jitter", &raw.start_jitter, &problem, fix);
        }
    }
    Ok(())
}

pub(crate) fn optional<T: ReadValue>(
    leaf: &Option<RawValue<T>>,
    source: &Source,
    key: &str,
) -> Result<Option<T>, Error> {
    leaf.as_ref().map(|leaf| leaf.get(source, key)).transpose()
}
