//! Reconstruction of one flow.

use fullpipe_scenario::{App, Scenario};
use fullpipe_trace::{FlowMeter, MeasuredTime, Response};
use fullpipe_units::{Bytes, Span, Time};

use super::info::Info;
use super::limits::{self, Limits};
use super::packet::Packet;
use super::tracker::Tracker;
use crate::agent::{AgentError, Record, RecordKind};
use crate::algorithms::paces;

/// State of one flow during its reconstruction.
pub(super) struct Flow {
    pub(super) meter: FlowMeter,
    pub(super) opened: Option<Time>,
    pub(super) tracker: Tracker,
    /// (time, RTT) each, for the trace.
    pub(super) rtts: Vec<(Time, Span)>,
    pub(super) samples: Vec<(Time, Info)>,
    pub(super) cc: Vec<Vec<u8>>,
    pub(super) read: u64,
    /// Time at which the sender learned that the receiver has everything.
    pub(super) closed: Option<Time>,
    /// Whether the flow arrived and was refused.
    pub(super) refused: bool,
}

/// Returns the flows as their senders recorded them.
pub(super) fn sent(
    scenario: &Scenario,
    records: Vec<Record>,
    window: MeasuredTime,
    at: impl Fn(u64) -> Time,
    traced: bool,
) -> Result<Vec<Flow>, AgentError> {
    let mut flows: Vec<Flow> = scenario
        .flows
        .iter()
        .map(|spec| {
            let meter = FlowMeter::new(window, Time::ZERO + scenario.start(spec)).with_course();
            let asks = matches!(spec.app, Some(App::Request { .. }));
            let meter = if asks {
                meter.with_responses(traced)
            } else {
                meter
            };
            Flow {
                meter,
                opened: None,
                tracker: Tracker::default(),
                rtts: vec![],
                samples: vec![],
                cc: vec![],
                read: 0,
                closed: None,
                refused: false,
            }
        })
        .collect();
    let own = of_the_agents(scenario);
    let mut cc = Vec::new();
    for record in records {
        let flow = &mut flows[own[usize::from(record.flow)]];
        match record.kind {
            RecordKind::Failure => {
                return Err(AgentError::new(String::from_utf8_lossy(&record.data)));
            }
            RecordKind::Start => flow.meter.restart(at(record.time)),
            RecordKind::Open => flow.opened = Some(at(record.time)),
            RecordKind::End => flow.closed = Some(at(record.time)),
            RecordKind::Refused => flow.refused = true,
            RecordKind::CcInfo => cc = record.data,
            RecordKind::Info => {
                flow.samples
                    .push((at(record.time), Info::read(&record.data)));
                flow.cc.push(std::mem::take(&mut cc));
            }
            _ => {}
        }
    }
    Ok(flows)
}

/// Returns the index of each flow of the agents' plan, which has no programs.
pub(super) fn of_the_agents(scenario: &Scenario) -> Vec<usize> {
    let flows = scenario.flows.iter().enumerate();
    flows
        .filter(|(_, spec)| spec.program.is_none())
        .map(|(index, _)| index)
        .collect()
}

/// Returns whether the kernel paces the flow, even if the device does not.
pub(super) fn is_paced(spec: &fullpipe_scenario::Flow) -> bool {
    spec.pacing == fullpipe_scenario::Pacing::On || paces(&spec.cc)
}

impl Flow {
    /// Returns what limited the flow, at each sample and in total.
    pub(super) fn limits(&self, paced: bool, window: MeasuredTime) -> Limits {
        let (started, opened) = (self.meter.started(), self.opened);
        let ended = self.meter.ended().unwrap_or(window.to);
        limits::limits(started, opened, ended, &self.samples, paced, window)
    }

    /// Handles a record of the receiver's application.
    pub(super) fn on_received(
        &mut self,
        spec: &fullpipe_scenario::Flow,
        record: &Record,
        at: impl Fn(u64) -> Time,
    ) {
        let time = at(record.time);
        match record.kind {
            RecordKind::Read => {
                let read = record.number(0);
                self.meter.on_received(time, Bytes::new(read - self.read));
                self.read = read;
                if spec.bytes.is_some_and(|total| read >= total.get()) {
                    self.meter.on_complete(time);
                }
            }
            RecordKind::Answer => {
                let (asked, bytes) = (record.number(0), Bytes::new(record.number(1)));
                // The SYN is the first request, and the receiver does not know when it left.
                let start = if asked == 0 {
                    self.meter.started()
                } else {
                    at(asked)
                };
                self.meter.on_response(Response {
                    start,
                    end: time,
                    bytes,
                });
            }
            _ => {}
        }
    }

    /// Handles a packet that passed the sender's device.
    pub(super) fn on_packet(&mut self, packet: &Packet, forward: bool, time: Time) {
        if forward {
            let again = self.tracker.on_sent(packet);
            if packet.payload > 0 {
                self.meter.on_sent(time, again);
            }
        } else if let Some(rtt) = self.tracker.on_ack(packet) {
            let rtt = Span::from_nanos(rtt);
            self.meter.on_rtt(time, rtt);
            self.rtts.push((time, rtt));
        }
    }
}
