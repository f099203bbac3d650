//! Rows of the trace, and their times.

use fullpipe_cc::{AnyController, Conn, Controller};
use fullpipe_scenario::Scenario;
use fullpipe_setup::link_rates;
use fullpipe_tcp::{AckOutcome, LIMITS, Limit, Sender};
use fullpipe_trace::{AckRow, ActiveRow, FlowRow, NO_GROUP, PacketRow, Recorder, Trace, Transfer};
use fullpipe_units::{Bytes, Span, Time};

use crate::arrivals::Workloads;
use crate::event_queue::{EventKind, FlowKey};
use crate::flow::{AnySender, Flow, Network};
use crate::received::Received;
use fullpipe_trace::TraceLevel;

/// Interval at which links are sampled when flows are recorded at every ACK.
pub(crate) const LINK_INTERVAL: Span = Span::from_millis(1);

/// The recorder, if there is one, and its level.
#[derive(Debug)]
pub(crate) struct Measurement {
    recorder: Option<Recorder>,
    level: TraceLevel,
}

impl Measurement {
    pub(crate) fn new(level: TraceLevel) -> Measurement {
        let recorder = (level != TraceLevel::Off).then(|| Recorder::new(&LIMITS));
        Measurement { recorder, level }
    }

    /// Declares an algorithm's columns; returns their group.
    pub(crate) fn declare<Build>(&mut self, descriptor: &fullpipe_cc::Descriptor<Build>) -> usize {
        let fields = descriptor
            .fields
            .iter()
            .map(|field| (field.name, field.unit, field.labels));
        self.recorder
            .as_mut()
            .map_or(0, |recorder| recorder.declare(descriptor.name, fields))
    }

    /// Returns whether there is a trace.
    pub(crate) fn records(&self) -> bool {
        self.recorder.is_some()
    }

    #[inline]
    pub(crate) fn every_ack(&self) -> bool {
        self.level == TraceLevel::Acks
    }

    /// Returns the interval between samples, if there are samples.
    pub(crate) fn interval(&self) -> Option<Span> {
        match self.level {
            TraceLevel::Off => None,
            TraceLevel::Every(interval) => Some(interval),
            TraceLevel::Acks => Some(LINK_INTERVAL),
        }
    }

    /// Takes a sample.
    pub(crate) fn sample(
        &mut self,
        now: Time,
        flows: &mut [Flow],
        workloads: &Workloads,
        network: &mut Network,
    ) {
        let every_ack = self.every_ack();
        for flow in flows {
            // No ACK of unresponsive traffic arrives.
            if !every_ack || flow.path.received.is_some() {
                self.flow(now, flow);
            }
        }
        if let Some(recorder) = &mut self.recorder {
            for (workload, active) in workloads.active() {
                recorder.active(ActiveRow {
                    time: now,
                    workload,
                    active,
                });
            }
            for (index, link) in network.links.iter_mut().enumerate() {
                recorder.link(link.observe(now, index as u32));
                link.observe_shares(now, index as u32)
                    .for_each(|row| recorder.queue(row));
            }
        }
        if let Some(interval) = self.interval() {
            network
                .event_queue
                .push(now + interval, EventKind::Sample, FlowKey::other(0), 0);
        }
    }

    /// Records a row of a flow.
    pub(crate) fn flow(&mut self, now: Time, flow: &mut Flow) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        // A flow has rows from its start to its last ACK.
        if now < flow.meter.started() || flow.finished {
            return;
        }
        let Some(sender) = flow.source.tcp() else {
            return self.flow_without_tcp(now, flow);
        };
        flow.finished = sender.is_done();
        let row = row_of(now, flow.key, flow.last, sender);
        recorder.flow(row, flow.group, |values| {
            sender.controller().observe(values)
        });
        if let (Some(group), Some(controller)) = (flow.window_group, flow.receiver.controller()) {
            recorder.more(group, |values| controller.observe(values));
        }
    }

    /// Records a row of unresponsive traffic or of a flow of datagrams.
    #[cold]
    fn flow_without_tcp(&mut self, now: Time, flow: &mut Flow) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        if let Some(received) = &mut flow.path.received {
            return recorder.flow(unresponsive(flow.key, now, received), NO_GROUP, |_| ());
        }
        let Some(row) = row(now, flow) else {
            return;
        };
        if let AnySender::Datagram(sender) = &flow.source {
            recorder.flow(row, flow.group, |values| {
                sender.controller().observe(values)
            });
        }
    }

    /// Returns a copy of the trace so far: rows of flows, links and queues, and changes of states.
    pub(crate) fn so_far(&self, flows: &[Flow], scenario: &Scenario) -> Option<Trace> {
        let mut recorder = self.recorder.clone()?;
        recorder.link_rates(link_rates(scenario, recorder.link_rows()));
        let mut transitions: Vec<_> = flows
            .iter()
            .flat_map(|flow| flow.transitions.rows.iter().cloned())
            .collect();
        transitions.sort_by_key(|row| (row.time, row.flow));
        transitions
            .into_iter()
            .for_each(|row| recorder.transition(row));
        Some(recorder.finish())
    }

    /// Returns the trace.
    pub(crate) fn finish(
        self,
        flows: &mut [Flow],
        transfers: Option<Vec<Transfer>>,
        logged: Option<(Vec<PacketRow>, Vec<AckRow>, bool)>,
        scenario: &Scenario,
    ) -> Option<Trace> {
        let mut recorder = self.recorder?;
        recorder.link_rates(link_rates(scenario, recorder.link_rows()));
        if let Some(transfers) = transfers {
            recorder.transfers(transfers);
        }
        if let Some((packets, acks, _)) = logged {
            recorder.packets(packets, acks);
        }
        let mut transitions: Vec<_> = flows
            .iter_mut()
            .flat_map(|flow| flow.transitions.rows.drain(..))
            .collect();
        transitions.sort_by_key(|row| (row.time, row.flow));
        transitions
            .into_iter()
            .for_each(|row| recorder.transition(row));
        let of = |flow: &mut Flow| Some((flow.key.number(), flow.meter.take_responses()?));
        let responses: Vec<_> = flows.iter_mut().filter_map(of).collect();
        if !responses.is_empty() {
            let each = |(flow, rows): (u32, Vec<_>)| rows.into_iter().map(move |row| (flow, row));
            let mut rows: Vec<_> = responses.into_iter().flat_map(each).collect();
            rows.sort_by_key(|(flow, response)| (response.end, *flow));
            recorder.responses(rows);
        }
        Some(recorder.finish())
    }
}

/// Returns the row of a flow whose sender has a controller.
pub(crate) fn row(now: Time, flow: &mut Flow) -> Option<FlowRow> {
    if let AnySender::Datagram(sender) = &mut flow.source {
        let limit = sender.limits().current();
        let conn = sender.conn();
        let windows = (sender.cwnd(), sender.ssthresh(), conn.delivered);
        return Some(row_with(now, flow.key, flow.last, windows, limit, conn));
    }
    let sender = flow.source.tcp()?;
    Some(row_of(now, flow.key, flow.last, sender))
}

/// Returns the row of a flow with this TCP sender.
#[inline(always)] // for each ACK, if they have rows
fn row_of(
    now: Time,
    key: FlowKey,
    last: AckOutcome,
    sender: &mut Sender<AnyController>,
) -> FlowRow {
    let limit = sender.limits().current();
    let windows = (sender.cwnd(), sender.ssthresh(), sender.acked());
    row_with(now, key, last, windows, limit, sender.conn())
}

/// Returns a row with a window, a threshold, the data acknowledged cumulatively, and the rest of a connection's
/// state.
#[inline(always)] // as above
fn row_with(
    now: Time,
    key: FlowKey,
    last: AckOutcome,
    (cwnd, ssthresh, acked): (Bytes, Bytes, Bytes),
    limit: Limit,
    conn: &Conn,
) -> FlowRow {
    FlowRow {
        time: now,
        flow: key.number(),
        cwnd,
        inflight: conn.inflight,
        ssthresh,
        pacing_rate: conn.pacing(),
        delivery_rate: last.rate,
        rtt: last.rtt,
        srtt: conn.srtt,
        min_rtt: conn.min_rtt,
        delivered: conn.delivered,
        acked,
        lost: conn.lost,
        limited_by: limit as u8,
    }
}

/// Returns the row of unresponsive traffic, which has no window and gets no ACKs.
fn unresponsive(key: FlowKey, now: Time, received: &mut Received) -> FlowRow {
    let delivered = received.until(now);
    FlowRow {
        time: now,
        flow: key.number(),
        cwnd: Bytes::MAX,
        inflight: Bytes::MAX,
        ssthresh: Bytes::MAX,
        pacing_rate: None,
        delivery_rate: None,
        rtt: None,
        srtt: Span::MAX,
        min_rtt: Span::MAX,
        delivered,
        acked: Bytes::MAX,
        lost: Bytes::MAX,
        limited_by: Limit::Application as u8,
    }
}
