//! Flows that arrived: a row for each, and the metrics of each workload, by the simulator's meter.

use fullpipe_scenario::{Scenario, SendBuffer};
use fullpipe_setup::Servers;
use fullpipe_tcp::{LIMITS, Limit};
use fullpipe_trace::{ActiveRow, MeasuredTime, Transfer, WorkloadMeter, WorkloadSummary};
use fullpipe_units::{Span, Time};

use super::flow::{Flow, is_paced};
use super::limits::SPOILS;
use crate::arriving::{Arrival, ExpandedWorkload};

/// Results of the flows that arrived.
pub(super) struct ArrivalResults {
    pub(super) summaries: Vec<WorkloadSummary>,
    pub(super) warnings: Vec<String>,
    pub(super) transfers: Vec<Transfer>,
    turns: Vec<Turn>,
}

/// The arrival or departure of a flow.
#[derive(Clone, Copy)]
struct Turn {
    at: Time,
    workload: usize,
    comes: bool,
}

impl ArrivalResults {
    /// Evaluates the flows that arrived, in their order.
    pub(super) fn of(
        scenario: &Scenario,
        expanded: &ExpandedWorkload,
        flows: Vec<Flow>,
        at_once: u32,
        paced: bool,
        window: MeasuredTime,
    ) -> ArrivalResults {
        let meter = |_| WorkloadMeter::new(window, LIMITS.len());
        let mut arrived = Arrived {
            window,
            meters: scenario.workloads.iter().map(meter).collect(),
            servers: Servers::new(scenario),
            transfers: Vec::new(),
            turns: Vec::new(),
        };
        let specs = expanded.arrivals.iter().zip(expanded.flows());
        for (flow, (arrival, spec)) in flows.into_iter().zip(specs) {
            let rtt = scenario.rtt(spec);
            arrived.add(flow, arrival, spec, rtt, paced || is_paced(spec));
        }
        let Arrived {
            meters,
            servers,
            transfers,
            mut turns,
            ..
        } = arrived;
        turns.sort_by_key(|turn| turn.at);
        let slowdowns = servers.slowdowns(&transfers, meters.len(), window);
        let (mut summaries, mut warnings) = (Vec::new(), Vec::new());
        let each = concurrent(meters, &turns).into_iter();
        for ((meter, workload), slowdown) in each.zip(&scenario.workloads).zip(slowdowns) {
            let spec = &workload.flow;
            let (name, cc) = (spec.name.clone(), spec.called.clone());
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

    /// Returns the number of flows under way, at every `interval` until `end`.
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

/// Evaluation of the flows so far.
struct Arrived {
    window: MeasuredTime,
    meters: Vec<WorkloadMeter>,
    servers: Servers,
    transfers: Vec<Transfer>,
    turns: Vec<Turn>,
}

impl Arrived {
    fn add(
        &mut self,
        mut flow: Flow,
        arrival: &Arrival,
        spec: &fullpipe_scenario::Flow,
        rtt: Span,
        paced: bool,
    ) {
        let workload = arrival.workload;
        let (meter, start) = (&mut self.meters[workload], flow.meter.started());
        if flow.refused {
            return meter.on_refused(start);
        }
        let mut turn = |at, comes| {
            self.turns.push(Turn {
                at,
                workload,
                comes,
            })
        };
        turn(start, true);
        let (bytes, end) = (spec.bytes.unwrap_or_default(), flow.meter.ended());
        if let Some(end) = end {
            meter.on_complete(start, end, bytes);
            turn(flow.closed.unwrap_or(self.window.to).max(end), false);
        }
        meter.on_limits(&flow.limits(paced, self.window).1);
        meter.take(&mut flow.meter);
        self.servers
            .add(start, bytes, &arrival.chunks, arrival.delays);
        self.transfers.push(Transfer {
            workload: workload as u32,
            start,
            bytes,
            rtt,
            alone: arrival.alone,
            completion: end.map(|end| end - start),
        });
    }
}

/// Passes arrivals and departures to the meters.
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

/// Returns warnings about flows that were refused, or limited by the hosts unintentionally.
fn spoiled(spec: &fullpipe_scenario::Flow, summary: &WorkloadSummary, at_once: u32) -> Vec<String> {
    let name = &spec.name;
    let refused = (summary.refused > 0).then(|| {
        format!(
            "{} flows of {name} were refused: {at_once} were under way already",
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
                "flows of {name:?} were limited by their {what} for {:.0} % of the time: was the machine too busy?",
                share * 100.0
            )
        })
    };
    let window =
        held(Limit::ReceiveWindow, "receive windows").filter(|_| spec.receive_window.is_none());
    let buffer = held(Limit::SendBuffer, "send buffers")
        .filter(|_| spec.stack.send_buffer == SendBuffer::Unlimited);
    refused.into_iter().chain(window).chain(buffer).collect()
}
