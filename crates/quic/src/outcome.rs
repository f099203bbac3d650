//! What a run leaves behind: the summary and the trace, as every runner's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::iter::Peekable;

use fullpipe_scenario::Scenario;
use fullpipe_setup::set_max_min_shares;
use fullpipe_tcp::LIMITS;
use fullpipe_trace::{FlowRow, FlowSummary, LinkRow, LinkSummary, Recorder, Summary, jain};
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::Time;

use crate::build::Runner;
use crate::peer::{DataSource, Sink};

/// A flow that is over.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) source: DataSource,
    pub(crate) sink: Sink,
    pub(crate) descriptor: &'static fullpipe_cc::Descriptor,
    /// What the path dropped and marked of it.
    pub(crate) tallied: fullpipe_trace::FlowCounters,
}

/// What there is besides the flows.
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

/// Everything in its place.
pub(crate) fn run(
    scenario: &Scenario,
    level: TraceLevel,
    finished: Vec<Finished>,
    rest: Rest,
) -> Run {
    let mut recorder = (level != TraceLevel::Off).then(|| Recorder::new(&LIMITS));
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut flows, mut rates, mut buffers, mut warnings) =
        (Vec::new(), Vec::new(), Vec::new(), rest.warnings);
    let mut meters = Vec::new();
    for (spec, flow) in scenario.flows.iter().zip(finished) {
        let Finished {
            source,
            sink,
            descriptor,
            tallied,
        } = flow;
        let (driver, unused, buffer) = source.into_parts();
        let (meter, held) = match (driver, unused) {
            (Some(mut driver), _) => driver.finish(rest.end),
            (None, meter) => (meter.expect("a meter waits for its driver"), Vec::new()),
        };
        let mut meter = meter.with_receiver(sink.meter().clone());
        meter.on_tally(tallied);
        rates.push(meter.goodput().as_f64());
        flows.push(FlowSummary::new(
            spec.name.clone(),
            spec.cc.clone(),
            &meter,
            &LIMITS,
            &held,
        ));
        meters.push(meter);
        if buffer.overwritten() > 0 {
            warnings.push(format!(
                "the trace of {} was full: its first {} rows are gone",
                spec.name,
                buffer.overwritten()
            ));
        }
        let group = recorder.as_mut().map_or(0, |recorder| {
            *groups.entry(descriptor.name).or_insert_with(|| {
                let fields = descriptor
                    .fields
                    .iter()
                    .map(|field| (field.name, field.unit, field.labels));
                recorder.declare(descriptor.name, fields)
            })
        });
        buffers.push((group, buffer));
    }
    set_max_min_shares(scenario, &mut flows, &meters);
    if let Some(recorder) = &mut recorder {
        // Each buffer is in order; no copy of them all, which may be half of the memory that there
        // is.
        let mut rows: Vec<_> = buffers
            .iter()
            .map(|(group, buffer)| (*group, buffer.rows().peekable()))
            .collect();
        let mut first: BinaryHeap<_> = rows
            .iter_mut()
            .zip(0..)
            .filter_map(|((_, rows), i)| next(rows, i))
            .collect();
        while let Some(Reverse((_, index))) = first.pop() {
            let (group, rows) = &mut rows[index];
            let (row, values) = rows.next().expect("it was looked at");
            recorder.flow(row, *group, |to| to.extend_from_slice(values));
            first.extend(next(rows, index));
        }
        let mut transitions: Vec<_> = buffers
            .iter()
            .flat_map(|(_, buffer)| buffer.transitions())
            .collect();
        transitions.sort_by_key(|row| (row.time, row.flow));
        transitions
            .into_iter()
            .for_each(|row| recorder.transition(row));
        rest.link_rows
            .into_iter()
            .for_each(|row| recorder.link(row));
    }
    let packets = rest.links.first().map_or_else(
        || flows.iter().map(|flow| flow.sent).sum(),
        |link| link.packets,
    );
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
        packets,
        events: rest.events,
    };
    Run {
        summary,
        trace: recorder.map(Recorder::finish),
    }
}

/// When the next row of a buffer is due, and whose it is.
fn next<'a>(
    rows: &mut Peekable<impl Iterator<Item = (FlowRow, &'a [f64])>>,
    buffer: usize,
) -> Option<Reverse<(Time, usize)>> {
    Some(Reverse((rows.peek()?.0.time, buffer)))
}
