//! Flows that arrived: a row for each, and by workload the metrics that a simulation gives, by the
//! same meter.

use fullpipe_scenario::Scenario;
use fullpipe_sim::Servers;
use fullpipe_tcp::{LIMITS, Limit};
use fullpipe_trace::{ActiveRow, MeasuredTime, Transfer, WorkloadMeter, WorkloadSummary};
use fullpipe_units::{Span, Time};

use super::Flow;
use super::limits::{self, SPOILS};
use crate::algorithms::twin;
use crate::arriving::ExpandedWorkload;

/// What came of them.
pub(super) struct ArrivalResults {
    pub(super) summaries: Vec<WorkloadSummary>,
    pub(super) warnings: Vec<String>,
    pub(super) transfers: Vec<Transfer>,
    turns: Vec<Turn>,
}

/// A flow comes, or is gone.
#[derive(Clone, Copy)]
struct Turn {
    at: Time,
    workload: usize,
    comes: bool,
}

impl ArrivalResults {
    /// Of the flows that arrived, in their order.
    pub(super) fn of(
        scenario: &Scenario,
        unfolded: &ExpandedWorkload,
        flows: Vec<Flow>,
        at_once: u32,
        paced: bool,
        window: MeasuredTime,
    ) -> ArrivalResults {
        let mut meters: Vec<_> = scenario
            .workloads
            .iter()
            .map(|_| WorkloadMeter::new(window, LIMITS.len()))
            .collect();
        let (mut servers, mut transfers, mut turns) =
            (Servers::new(scenario), Vec::new(), Vec::new());
        for ((mut flow, arrival), spec) in flows
            .into_iter()
            .zip(&unfolded.arrivals)
            .zip(unfolded.flows())
        {
            let workload = arrival.workload;
            let (meter, start) = (&mut meters[workload], flow.meter.started());
            if flow.refused {
                meter.on_refused(start);
                continue;
            }
            turns.push(Turn {
                at: start,
                workload,
                comes: true,
            });
            let (bytes, rtt) = (spec.bytes.unwrap_or_default(), scenario.rtt(spec));
            let end = flow.meter.ended();
            if let Some(end) = end {
                meter.on_complete(start, end, bytes);
                turns.push(Turn {
                    at: flow.closed.unwrap_or(window.to).max(end),
                    workload,
                    comes: false,
                });
            }
            let paced = paced
                || spec.pacing == fullpipe_scenario::Pacing::On
                || twin(&spec.cc).is_some_and(|twin| twin.paces);
            let until = end.unwrap_or(window.to);
            meter.on_limits(
                &limits::limits(start, flow.opened, until, &flow.samples, paced, window).1,
            );
            meter.take(&mut flow.meter);
            servers.add(start, bytes, &arrival.chunks, rtt);
            let completion = end.map(|end| end - start);
            transfers.push(Transfer {
                workload: workload as u32,
                start,
                bytes,
                rtt,
                alone: arrival.alone,
                completion,
            });
        }
        turns.sort_by_key(|turn| turn.at);
        let slowdowns = servers.slowdowns(&transfers, meters.len(), window);
        let (mut summaries, mut warnings) = (Vec::new(), Vec::new());
        let each = concurrent(meters, &turns).into_iter();
        for ((meter, workload), slowdown) in each.zip(&scenario.workloads).zip(slowdowns) {
            let spec = &workload.flow;
            let (name, cc) = (spec.name.clone(), spec.cc.clone());
            let summary = WorkloadSummary::new(name, cc, meter, slowdown, &LIMITS);
            warnings.extend(spoiled(spec, &summary, at_once));
            summaries.push(summary);
        }
        ArrivalResults {
            summaries,
            warnings,
            transfers,
            turns,
        }
    }

    /// How many were under way, at every `interval` until `end`.
    pub(super) fn active(&self, interval: Span, end: Time) -> Vec<ActiveRow> {
        let mut active = vec![0_u64; self.summaries.len()];
        let (mut turns, mut rows) = (self.turns.iter().peekable(), Vec::new());
        let mut time = Time::ZERO + interval;
        while time <= end {
            while let Some(turn) = turns.next_if(|turn| turn.at <= time) {
                let active = &mut active[turn.workload];
                *active = active.wrapping_add_signed(if turn.comes { 1 } else { -1 });
            }
            rows.extend((0..).zip(&active).map(|(workload, active)| ActiveRow {
                time,
                workload,
                active: *active,
            }));
            time += interval;
        }
        rows
    }
}

/// Tells meters when flows came and were gone.
fn concurrent(mut meters: Vec<WorkloadMeter>, turns: &[Turn]) -> Vec<WorkloadMeter> {
    for turn in turns {
        let meter = &mut meters[turn.workload];
        if turn.comes {
            meter.on_arrival(turn.at)
        } else {
            meter.on_departure(turn.at)
        }
    }
    meters
}

/// Flows that were turned away, or held back by what was to hold nothing back.
fn spoiled(spec: &fullpipe_scenario::Flow, summary: &WorkloadSummary, at_once: u32) -> Vec<String> {
    let name = &spec.name;
    let refused = (summary.refused > 0).then(|| {
        format!(
            "{} flows of {name} were turned away: {at_once} were under way at once",
            summary.refused
        )
    });
    let held = |limit: Limit, what: &str| {
        let share = summary
            .limited_by
            .get(LIMITS[limit as usize])
            .copied()
            .unwrap_or(0.0);
        (share > SPOILS).then(|| {
            format!(
                "flows of {name:?} were held back by their {what} for {:.0} % of the time: was the machine too busy?",
                share * 100.0
            )
        })
    };
    let window =
        held(Limit::ReceiveWindow, "receive windows").filter(|_| spec.receive_window.is_none());
    refused
        .into_iter()
        .chain(window)
        .chain(held(Limit::Host, "send buffers"))
        .collect()
}
