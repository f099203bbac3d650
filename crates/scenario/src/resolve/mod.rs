//! Resolving keys to a scenario: reads every value, then refuses contradictions.

mod acks;
mod datagram;
mod flow;
mod host;
mod link;
mod packets;
mod program;

use fullpipe_units::Span;

use self::flow::flows;
pub(crate) use self::flow::tcp;
use self::host::{host, quic};
pub(crate) use self::link::link;
use self::link::path;
use self::packets::{check_packets, largest_packet};
use crate::error::Error;
use crate::expect::Conditions;
use crate::model::{Flow, Scenario, Table, Written};
use crate::profile::Applied;
use crate::raw;
use crate::raw_value::{RawValue, ReadValue};
use crate::source::Source;
use crate::stack::Stack;
use crate::topology;
use crate::values::{Delay, WarmUp, Whole};
use crate::workload::{Library, check_loads, workloads};

/// Context of the keys of every flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    /// Names of the links, the bottleneck first.
    pub(crate) links: &'a [&'a str],
    /// TCP that sets their defaults.
    pub(crate) stack: Stack,
    /// Length of the run.
    pub(crate) duration: Span,
    /// Text of the scenario, for errors.
    pub(crate) source: &'a Source,
}

pub(crate) fn resolve(
    raw: &raw::Scenario,
    source: Source,
    comment: Vec<String>,
    profile: Option<Applied>,
    library: &dyn Library,
) -> Result<Scenario, Error> {
    let Whole(seed) = raw.seed.get(&source, "seed")?;
    let Delay(send_jitter) = raw.send_jitter.get(&source, "send_jitter")?;
    let packet = largest_packet(raw, &source)?;
    let path = path(&raw.path, packet, &source)?;
    let more_links = topology::links(&raw.link, &path, packet, &source)?;
    let names: Vec<&str> = std::iter::once(&path.link)
        .chain(&more_links)
        .map(|link| link.name.as_str())
        .collect();
    let stack = raw.stack.get(&source, "stack")?;
    let duration = raw.duration.get(&source, "duration")?;
    let ground = Ground {
        links: &names,
        stack,
        duration,
        source: &source,
    };
    let flows = flows(raw, ground)?;
    let workloads = workloads(&raw.workload, &flows, ground, library)?;
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
    let WarmUp(measure_from) = raw.measure_from.get(&source, "measure_from")?;
    let mut scenario = Scenario {
        comment,
        profile,
        duration,
        measure_from: measure_from.unwrap_or(Span::ZERO),
        seed,
        start_jitter: raw.start_jitter.get(&source, "start_jitter")?,
        send_jitter,
        expect: optional(&raw.expect, &source, "expect")?
            .map_or_else(Vec::new, |Conditions(texts)| texts),
        path,
        more_links,
        stack,
        host: raw
            .host
            .as_ref()
            .map(|raw| host(raw, &source))
            .transpose()?
            .flatten(),
        quic: raw
            .quic
            .as_ref()
            .map(|raw| quic(raw, &source))
            .transpose()?
            .unwrap_or_default(),
        packet,
        flows,
        workloads,
        written: Written(source),
    };
    if measure_from.is_none() {
        scenario.measure_from = scenario.usual_warm_up();
    }
    check_times(&scenario, raw)?;
    datagram::check_host(&scenario)?;
    check_packets(&scenario)?;
    check_loads(&mut scenario, &raw.workload)?;
    Ok(scenario)
}

/// Refuses times outside the run.
fn check_times(scenario: &Scenario, raw: &raw::Scenario) -> Result<(), Error> {
    let times = Times { scenario, raw };
    times.check_run()?;
    times.check_changes()?;
    times.check_workloads()?;
    scenario
        .flows
        .iter()
        .try_for_each(|flow| times.check_flow(flow))
}

struct Times<'a> {
    scenario: &'a Scenario,
    raw: &'a raw::Scenario,
}

impl Times<'_> {
    fn refuse<T: ReadValue>(
        &self,
        key: &str,
        leaf: &RawValue<T>,
        problem: &str,
        fix: String,
    ) -> Result<(), Error> {
        Err(self.scenario.error(key, leaf.show(), problem, fix))
    }

    fn before_end(&self) -> String {
        let duration = self.scenario.duration;
        format!("give less than the duration, \"{duration}\", or increase the duration")
    }

    fn check_run(&self) -> Result<(), Error> {
        if self.scenario.duration == Span::ZERO {
            let fix = "give a duration like \"60s\"".to_owned();
            let problem = "must be greater than zero";
            return self.refuse("duration", &self.raw.duration, problem, fix);
        }
        if self.scenario.measure_from >= self.scenario.duration {
            let (problem, leaf) = ("no time is left to measure", &self.raw.measure_from);
            return self.refuse("measure_from", leaf, problem, self.before_end());
        }
        Ok(())
    }

    fn check_changes(&self) -> Result<(), Error> {
        for change in &self.scenario.path.changes {
            let at = &self.raw.path.change[change.table.0].at;
            let key = format!("path.change.{}.at", change.table.0);
            if change.at == Span::ZERO {
                let fix = "set the value in [path], or give a later time".to_owned();
                return self.refuse(&key, at, "a change at 0 s has no effect", fix);
            }
            if change.at >= self.scenario.duration {
                let problem = "the run ends before the path changes";
                return self.refuse(&key, at, problem, self.before_end());
            }
        }
        Ok(())
    }

    fn check_workloads(&self) -> Result<(), Error> {
        for workload in &self.scenario.workloads {
            let (start, Table::Workload(i)) = (workload.flow.start, workload.flow.table.0) else {
                continue;
            };
            if start >= self.scenario.duration {
                let (key, written) = (workload.key("start"), &self.raw.workload[i].start);
                let problem = "the run ends before a flow arrives";
                return self.refuse(&key, written, problem, self.before_end());
            }
        }
        Ok(())
    }

    fn check_flow(&self, flow: &Flow) -> Result<(), Error> {
        let duration = self.scenario.duration;
        let start = match flow.table.0 {
            Table::Flow(i) => &self.raw.flow[i].start,
            Table::Program(i) => &self.raw.program[i].start,
            Table::Workload(_) => return Ok(()),
        };
        if flow.start >= duration {
            let problem = "the run ends before the flow starts";
            return self.refuse(&flow.key("start"), start, problem, self.before_end());
        }
        if let Some((at, _)) = flow.app_schedule.last().filter(|(at, _)| *at >= duration) {
            let problem = format!("the run ends before the change at {at}");
            let schedule = match flow.table.0 {
                Table::Flow(i) => self.raw.flow[i].app_schedule.as_ref(),
                _ => None,
            };
            let written = schedule.map_or_else(String::new, RawValue::show);
            let key = flow.key("app_schedule");
            return Err(self
                .scenario
                .error(&key, written, problem, self.before_end()));
        }
        if flow.start + self.scenario.start_jitter > duration {
            let problem = format!("flow {} may start after the end of the run", flow.name);
            let most = duration - flow.start;
            let fix = format!("give at most \"{most}\", or increase the duration");
            return self.refuse("start_jitter", &self.raw.start_jitter, &problem, fix);
        }
        Ok(())
    }
}

pub(crate) fn optional<T: ReadValue>(
    leaf: &Option<RawValue<T>>,
    source: &Source,
    key: &str,
) -> Result<Option<T>, Error> {
    leaf.as_ref().map(|leaf| leaf.get(source, key)).transpose()
}
