//! Compiles a checked scenario into the agents' plan. An error names the key that a kernel can't
//! support.

mod apps;
mod refuse;

use std::net::Ipv4Addr;

use fullpipe_scenario::{EcnSetting, Error, Flow, Pacing, ReceiveWindow, Scenario, SendBuffer};
use fullpipe_units::{Bytes, Span};

use self::apps::app;
use self::refuse::refuse;
use super::plan::{AppPlan, FlowPlan, Plan, VERSION};
use crate::algorithms::{kernel_equivalent, offered_name};
use crate::arriving::{self, Arrival, ExpandedWorkload};
use crate::ports::Ports;

/// Addresses, limits and name of the runner that carries out a plan.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// Address at which the receivers listen.
    pub receiver: Ipv4Addr,
    /// Port of the first flow; each further flow uses the next port.
    pub first_port: u16,
    /// Time between two samples.
    pub interval: Span,
    /// Algorithms that the kernel offers, if known.
    pub offered: Option<&'a [String]>,
    /// Name of the runner, for errors.
    pub runner: &'a str,
    /// Whether the runner supports workloads.
    pub arrivals: bool,
    /// Whether the runner runs programs as flows.
    pub programs: bool,
    /// Whether the runner sets up devices and routes for a scenario: MTU and initial window.
    pub routes: bool,
}

/// Time that connections have to open: enough to lose four SYNs (the next ones follow after 1, 2, 4
/// and 8 s).
const PATIENCE: Span = Span::from_secs(30);

/// Smallest buffer of a socket. Each buffer also holds [`PLENTY`] times what the path and its
/// queues hold, so that it does not limit a flow unless the scenario sets a limit.
const LEAST_BUFFER: u64 = 8 << 20;
const PLENTY: u64 = 4;

/// Largest buffer of a socket: the kernel doubles the requested size, in an int.
const MOST_BUFFER: u64 = 512 << 20;

/// Lead of an unlimited application over the data sent, if it pauses later: a time at the path's
/// rate, and a minimum in bytes.
const AHEAD: Span = Span::from_millis(5);
const LEAST_AHEAD: u64 = 16 << 10;

/// Lower limit of the sampling interval of any trace: a sample costs two system calls per flow.
pub(crate) const LEAST_INTERVAL: Span = Span::from_millis(1);

/// A pacing rate that turns pacing on and never limits a flow.
const ANY_RATE: u64 = 1 << 40;

impl Plan {
    /// Compiles the plan for the agents of a run of `scenario`.
    ///
    /// # Errors
    /// When the scenario uses something that a kernel's TCP does not have.
    pub fn of(scenario: &Scenario, ends: &Ends) -> Result<Plan, Error> {
        refuse(scenario, ends)?;
        let offered = ends.offered.unwrap_or_default();
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
            .filter(|(spec, _)| spec.program.is_none())
            .map(|(spec, port)| flow(scenario, spec, port, offered))
            .collect();
        // The flows of a workload share one listening socket, so its settings are the same for all.
        let like: Vec<FlowPlan> = scenario
            .workloads
            .iter()
            .enumerate()
            .map(|(number, workload)| {
                let mut spec = workload.flow.clone();
                spec.extra_rtt = workload.rtts.longest();
                flow(scenario, &spec, ports.workload(number), offered)
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

/// Returns the largest buffer that auto-tuning may use; `None` if the flow does not auto-tune.
fn auto_tuning(spec: &Flow) -> Option<u32> {
    match spec.receive_window {
        Some(ReceiveWindow::Auto { max }) => Some(max.get().min(MOST_BUFFER) as u32),
        _ => None,
    }
}

/// Returns the largest send buffer that auto-tuning may use; `None` if the buffer has no limit.
fn send_tuning(spec: &Flow) -> Option<u32> {
    match spec.stack.send_buffer {
        SendBuffer::Auto { max } => Some(max.get().min(MOST_BUFFER) as u32),
        SendBuffer::Unlimited => None,
    }
}

fn flow(scenario: &Scenario, spec: &Flow, port: u16, offered: &[String]) -> FlowPlan {
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
    // Data that is in the socket when a pause begins would be sent during the pause.
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
        congestion: offered_name(&spec.cc, offered),
        receiver_congestion: equivalent
            .filter(|equivalent| equivalent.both_ends)
            .map(|equivalent| equivalent.kernel.to_owned()),
        start: scenario.start(spec).as_nanos(),
        app,
        ecn: spec.ecn == EcnSetting::Ect0,
        segment: spec.mss.get() as u32,
        pacing_rate: (spec.pacing == Pacing::On).then_some(ANY_RATE),
        send_buffer: send_tuning(spec).is_none().then_some(plenty),
        send_tuning: send_tuning(spec),
        receive_buffer,
        auto_tuning: auto_tuning(spec),
        window_clamp,
        written_ahead,
    }
}

/// Plans a flow that arrives. Its other settings are those of its workload, `like`.
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
