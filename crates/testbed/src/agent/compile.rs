//! From a checked scenario to the agents' plan. What a kernel can't do is refused by its key.

mod apps;
mod refuse;

use std::net::Ipv4Addr;

use fullpipe_scenario::{EcnSetting, Error, Flow, Pacing, ReceiveWindow, Scenario};
use fullpipe_units::{Bytes, Span};

use self::apps::app;
use self::refuse::refuse;
use super::plan::{AppPlan, FlowPlan, Plan, VERSION};
use crate::algorithms::{kernel_equivalent, kernel_name};
use crate::arriving::{self, Arrival, ExpandedWorkload};
use crate::ports::Ports;

/// Where a run takes place.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// Where the receivers listen.
    pub receiver: Ipv4Addr,
    /// The first flow's port; the next has the next.
    pub first_port: u16,
    /// Between two samples.
    pub interval: Span,
    /// The algorithms that the kernel offers, if that is known.
    pub offered: Option<&'a [String]>,
    /// The runner's name, for errors.
    pub runner: &'a str,
    /// Whether flows can arrive.
    pub arrivals: bool,
}

/// Connections have this long to open: four SYNs may be lost (after 1, 2, 4 and 8 s the next one
/// leaves).
const PATIENCE: Span = Span::from_secs(30);

/// Buffers are at least as large, and at least [so many](PLENTY) times what the path and its queues
/// hold: so neither limits, unless the scenario says that one shall.
const LEAST_BUFFER: u64 = 8 << 20;
const PLENTY: u64 = 4;

/// The kernel doubles what it is told, in an int.
const MOST_BUFFER: u64 = 512 << 20;

/// An application without a limit, that pauses later, writes so far ahead of what is sent: time at
/// the path's rate, and bytes.
const AHEAD: Span = Span::from_millis(5);
const LEAST_AHEAD: u64 = 16 << 10;

/// Samples come no more often, whatever a trace asks for: each is two system calls a flow.
pub(crate) const LEAST_INTERVAL: Span = Span::from_millis(1);

/// A rate that paces, and never limits.
const ANY_RATE: u64 = 1 << 40;

impl Plan {
    /// What the agents of a run of `scenario` do.
    ///
    /// # Errors
    /// When it asks for something that a kernel's TCP has not got.
    pub fn of(scenario: &Scenario, ends: &Ends) -> Result<Plan, Error> {
        refuse(scenario, ends)?;
        let at_once = arriving::check(
            scenario,
            Ports::room(ends.first_port, scenario).into(),
            ends.runner,
        )?;
        let expanded = ExpandedWorkload::of(scenario);
        let ports = Ports::new(ends.first_port, scenario, expanded.arrivals.len());
        let mut flows: Vec<FlowPlan> = scenario
            .flows
            .iter()
            .zip(ends.first_port..)
            .map(|(spec, port)| flow(scenario, spec, port))
            .collect();
        // Those of one workload have one listening socket, so that what it is given is the same for
        // all.
        let like: Vec<FlowPlan> = scenario
            .workloads
            .iter()
            .enumerate()
            .map(|(number, workload)| {
                let mut spec = workload.flow.clone();
                spec.extra_rtt = workload.rtts.longest();
                flow(scenario, &spec, ports.workload(number))
            })
            .collect();
        let arrivals = expanded
            .flows()
            .iter()
            .zip(&expanded.arrivals)
            .zip(ports.arrivals());
        flows.extend(
            arrivals.map(|((spec, arrival), port)| {
                arrives(spec, arrival, port, &like[arrival.workload])
            }),
        );
        Ok(Plan {
            version: VERSION,
            receiver: ends.receiver,
            duration: scenario.duration.as_nanos(),
            measure_from: scenario.measure_from.as_nanos(),
            interval: ends.interval.max(LEAST_INTERVAL).as_nanos(),
            patience: PATIENCE.as_nanos(),
            at_once,
            flows,
        })
    }
}

/// The largest buffer that auto-tuning may give it, if it has some.
fn auto_tuning(spec: &Flow) -> Option<u32> {
    match spec.receive_window {
        Some(ReceiveWindow::Auto { max }) => Some(max.get().min(MOST_BUFFER) as u32),
        _ => None,
    }
}

fn flow(scenario: &Scenario, spec: &Flow, port: u16) -> FlowPlan {
    let (window, equivalent) = (scenario.receive_window(spec), kernel_equivalent(&spec.cc));
    let plenty = (window.get().saturating_mul(PLENTY)).clamp(LEAST_BUFFER, MOST_BUFFER) as u32;
    let (receive_buffer, window_clamp) = match spec.receive_window {
        Some(ReceiveWindow::Auto { .. }) => (None, None),
        Some(ReceiveWindow::Fixed(window)) => {
            (Some(plenty), Some(window.get().min(MOST_BUFFER) as u32))
        }
        None => (Some(plenty), None),
    };
    let app = app(scenario, spec);
    // What is in the socket when the pause begins would be sent in it.
    let pauses = |first: &Option<u64>, changes: &[(u64, Option<u64>)]| {
        !changes.is_empty() && (first.is_none() || changes.iter().any(|(_, rate)| rate.is_none()))
    };
    let written_ahead = match &app {
        AppPlan::Writes { first, changes, .. } if pauses(first, changes) => Some(
            scenario
                .path
                .fastest()
                .bytes_in(AHEAD)
                .get()
                .clamp(LEAST_AHEAD, MOST_BUFFER) as u32,
        ),
        _ => None,
    };
    FlowPlan {
        name: spec.name.clone(),
        port,
        near_port: None,
        congestion: kernel_name(&spec.cc).to_owned(),
        receiver_congestion: equivalent
            .filter(|equivalent| equivalent.both_ends)
            .map(|equivalent| equivalent.kernel.to_owned()),
        start: scenario.start(spec).as_nanos(),
        app,
        ecn: spec.ecn == EcnSetting::Ect0,
        pacing_rate: (spec.pacing == Pacing::On).then_some(ANY_RATE),
        send_buffer: plenty,
        receive_buffer,
        auto_tuning: auto_tuning(spec),
        window_clamp,
        written_ahead,
    }
}

/// A flow that arrives, in all else like the others of its workload.
fn arrives(spec: &Flow, arrival: &Arrival, near_port: u16, like: &FlowPlan) -> FlowPlan {
    let app = match &arrival.chunks[..] {
        [] => AppPlan::Writes {
            first: None,
            changes: vec![],
            from_opening: true,
            bytes: spec.bytes.map(Bytes::get),
        },
        chunks => AppPlan::Chunks(
            chunks
                .iter()
                .map(|chunk| (chunk.offset.as_nanos(), chunk.bytes.get()))
                .collect(),
        ),
    };
    let (name, start) = (spec.name.clone(), spec.start.as_nanos());
    FlowPlan {
        name,
        near_port: Some(near_port),
        start,
        app,
        ..like.clone()
    }
}

#[cfg(test)]
mod tests;
