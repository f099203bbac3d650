//! The results of a run: the summary and the trace, in the format of all runners.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::iter::Peekable;

use fullpipe_cc::Descriptor;
use fullpipe_scenario::Scenario;
use fullpipe_setup::{changes, link_rates, set_max_min_shares, window};
use fullpipe_tcp::LIMITS;
use fullpipe_trace::{
    FlowCounters, FlowMeter, FlowRow, FlowSummary, LinkRow, LinkSummary, Recorder, Steadiness,
    Summary, Trace, jain,
};
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::{Span, Time};

use crate::check::Runner;
use crate::data_source::DataSource;
use crate::sink::Sink;
use crate::trace_buffer::TraceBuffer;

/// A flow that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) source: DataSource,
    pub(crate) sink: Sink,
    pub(crate) descriptor: &'static Descriptor,
    /// Drops and marks of the flow on the path.
    pub(crate) tallied: FlowCounters,
}

/// The results other than those of the flows.
#[derive(Debug)]
pub(crate) struct Rest {
    pub(crate) runner: Runner,
    pub(crate) end: Time,
    pub(crate) links: Vec<LinkSummary>,
    pub(crate) link_rows: Vec<LinkRow>,
    pub(crate) events: u64,
    pub(crate) facts: BTreeMap<String, String>,
    pub(crate) warnings: Vec<String>,
}

/// Assembles the results of a run.
pub(crate) fn run(
    scenario: &Scenario,
    level: TraceLevel,
    finished: Vec<Finished>,
    rest: Rest,
) -> Run {
    let mut warnings = rest.warnings;
    let (mut flows, mut meters, mut traces) = (Vec::new(), Vec::new(), Vec::new());
    for (spec, flow) in scenario.flows.iter().zip(finished) {
        let descriptor = flow.descriptor;
        let (meter, held, buffer) = measured(flow, rest.end);
        let (name, cc) = (spec.name.clone(), spec.called.clone());
        flows.push(FlowSummary::new(name, cc, &meter, &LIMITS, &held));
        meters.push(meter);
        if buffer.overwritten() > 0 {
            warnings.push(format!(
                "the trace of {} was full: its first {} rows were overwritten",
                spec.name,
                buffer.overwritten()
            ));
        }
        traces.push((descriptor, buffer));
    }
    let rates: Vec<f64> = meters
        .iter()
        .map(|meter| meter.goodput().as_f64())
        .collect();
    set_max_min_shares(scenario, &mut flows, &meters);
    let packets = rest.links.first().map_or_else(
        || flows.iter().map(|flow| flow.sent).sum(),
        |link| link.packets,
    );
    let changes = changes(scenario, &flows);
    let steadiness = Steadiness::of(window(scenario), &flows, &[], &rest.links, &changes);
    let summary = Summary {
        version: env!("CARGO_PKG_VERSION"),
        runner: rest.runner.name().to_owned(),
        host: rest.facts,
        warnings,
        seed: scenario.seed,
        duration_s: scenario.duration.as_secs_f64(),
        measure_from_s: scenario.measure_from.as_secs_f64(),
        flows,
        workloads: Vec::new(),
        links: rest.links,
        jain: jain(&rates),
        steadiness,
        packets,
        events: rest.events,
    };
    let trace = (level != TraceLevel::Off).then(|| trace(&traces, rest.link_rows, scenario));
    Run { summary, trace }
}

/// Returns the measurements of both ends of a flow, the time during which each limit applied, and
/// the flow's trace.
fn measured(flow: Finished, end: Time) -> (FlowMeter, Vec<Span>, TraceBuffer) {
    let (driver, unused, buffer) = flow.source.into_parts();
    let (meter, held) = match (driver, unused) {
        (Some(mut driver), _) => driver.finish(end),
        (None, meter) => (
            meter.expect("the meter is kept until a driver takes it"),
            Vec::new(),
        ),
    };
    let mut meter = meter.with_receiver(flow.sink.meter().clone());
    meter.on_tally(flow.tallied);
    (meter, held, buffer)
}

/// Returns the trace of all flows, with the links' rows.
fn trace(
    flows: &[(&'static Descriptor, TraceBuffer)],
    links: Vec<LinkRow>,
    scenario: &Scenario,
) -> Trace {
    let mut recorder = Recorder::new(&LIMITS);
    let groups = declare(&mut recorder, flows);
    // Each buffer is in order of time. Merge them without a copy, since they may use half of the
    // memory.
    let mut rows: Vec<_> = groups
        .into_iter()
        .zip(flows)
        .map(|(group, (_, buffer))| (group, buffer.rows().peekable()))
        .collect();
    let mut first: BinaryHeap<_> = rows
        .iter_mut()
        .zip(0..)
        .filter_map(|((_, rows), i)| next(rows, i))
        .collect();
    while let Some(Reverse((_, index))) = first.pop() {
        let (group, rows) = &mut rows[index];
        let (row, values) = rows.next().expect("the row was peeked");
        recorder.flow(row, *group, |to| to.extend_from_slice(values));
        first.extend(next(rows, index));
    }
    let mut transitions: Vec<_> = flows
        .iter()
        .flat_map(|(_, buffer)| buffer.transitions())
        .collect();
    transitions.sort_by_key(|row| (row.time, row.flow));
    transitions
        .into_iter()
        .for_each(|row| recorder.transition(row));
    links.into_iter().for_each(|row| recorder.link(row));
    recorder.link_rates(link_rates(scenario, recorder.link_rows()));
    recorder.finish()
}

/// Returns the group of trace columns of each flow's algorithm; each group is declared once.
fn declare(recorder: &mut Recorder, flows: &[(&'static Descriptor, TraceBuffer)]) -> Vec<usize> {
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    let group = |(descriptor, _): &(&'static Descriptor, TraceBuffer)| {
        *groups.entry(descriptor.name).or_insert_with(|| {
            let fields = descriptor
                .fields
                .iter()
                .map(|field| (field.name, field.unit, field.labels));
            recorder.declare(descriptor.name, fields)
        })
    };
    flows.iter().map(group).collect()
}

/// Returns the time of the next row of a buffer, with the buffer's index.
fn next<'a>(
    rows: &mut Peekable<impl Iterator<Item = (FlowRow, &'a [f64])>>,
    buffer: usize,
) -> Option<Reverse<(Time, usize)>> {
    Some(Reverse((rows.peek()?.0.time, buffer)))
}
