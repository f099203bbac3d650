//! The trace: the kernel's samples as rows of the simulator's columns.

use std::collections::BTreeMap;

use fullpipe_scenario::Scenario;
use fullpipe_setup::link_rates;
use fullpipe_tcp::LIMITS;
use fullpipe_trace::{
    ActiveRow, FlowRow, LinkRow, NO_BYTE, NO_GROUP, Recorder, Trace, Transfer, TransitionRow,
};
use fullpipe_units::{Bytes, Span, Time};

use super::program::Watched;
use super::{Flow, Links, info};
use crate::algorithms::{kernel_equivalent, kernel_name};

/// Reason of a transition: a kernel does not report any.
const SEEN: &str = "sampled";

/// Rows, collected until the trace is complete.
pub(super) struct Rows {
    recorder: Recorder,
    /// The kernel's name of each flow's algorithm, and the group of its columns.
    algorithms: Vec<(String, usize)>,
    flows: Vec<(FlowRow, Vec<f64>)>,
    links: Vec<LinkRow>,
    responses: Vec<(u32, fullpipe_trace::Response)>,
    asks: bool,
}

impl Rows {
    pub(super) fn new(scenario: &Scenario, links: &Links, interval: Span, end: Time) -> Rows {
        let mut recorder = Recorder::new(&LIMITS);
        let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
        let algorithms = scenario.flows.iter().map(|flow| {
            if flow.program.is_some() {
                return (String::new(), NO_GROUP);
            }
            let kernel = kernel_name(&flow.cc);
            let ours =
                kernel_equivalent(&flow.cc).map_or(flow.cc.as_str(), |equivalent| equivalent.ours);
            let group = groups
                .entry(ours)
                .or_insert_with(|| recorder.declare(ours, info::fields(kernel).iter().copied()));
            (kernel.to_owned(), *group)
        });
        let algorithms = algorithms.collect();
        let mut rows = Vec::new();
        (0..scenario.links().count())
            .for_each(|link| links.rows(link as u32, interval, end, &mut rows));
        Rows {
            recorder,
            algorithms,
            flows: vec![],
            links: rows,
            responses: vec![],
            asks: false,
        }
    }

    /// Adds a flow's rows, one per sample.
    pub(super) fn flow(&mut self, index: u32, flow: &mut Flow, limits: &[u8], paced: bool) {
        let (kernel, _) = &self.algorithms[index as usize];
        for (place, (time, sample)) in flow.samples.iter().enumerate() {
            let latest = flow.rtts.partition_point(|(at, _)| at <= time);
            let packets = |count: u64| Bytes::new(count * sample.mss);
            let row = FlowRow {
                time: *time,
                flow: index,
                cwnd: packets(sample.cwnd),
                inflight: packets(sample.inflight),
                ssthresh: sample.ssthresh.map_or(Bytes::MAX, packets),
                pacing_rate: sample.pacing_rate.filter(|_| paced),
                delivery_rate: sample.delivery_rate,
                rtt: latest.checked_sub(1).map(|latest| flow.rtts[latest].1),
                srtt: sample.srtt,
                min_rtt: sample.min_rtt,
                delivered: sample.delivered,
                acked: sample.acked,
                lost: sample.retransmitted,
                limited_by: limits[place],
            };
            let mut values = Vec::new();
            info::read_cc(kernel, &flow.cc[place], &mut values);
            values.resize(info::fields(kernel).len(), f64::NAN);
            self.flows.push((row, values));
        }
        if let Some(answers) = flow.meter.take_responses() {
            self.asks = true;
            self.responses
                .extend(answers.into_iter().map(|answer| (index, answer)));
        }
    }

    /// Adds a program's rows, one at every `interval` while it is active. Only its endpoints know
    /// the rest.
    pub(super) fn program(&mut self, flow: u32, of: &Watched, interval: Span, end: Time) {
        let Some((first, last)) = of.active() else {
            return;
        };
        let mut time = Time::ZERO + interval;
        while time <= end {
            if time >= first && time.since(last) <= interval {
                let row = FlowRow {
                    time,
                    flow,
                    cwnd: Bytes::MAX,
                    inflight: Bytes::MAX,
                    ssthresh: Bytes::MAX,
                    pacing_rate: None,
                    delivery_rate: None,
                    rtt: of.rtt_at(time),
                    srtt: Span::MAX,
                    min_rtt: Span::MAX,
                    delivered: of.arrived_by(time),
                    acked: Bytes::MAX,
                    lost: Bytes::MAX,
                    limited_by: NO_BYTE,
                };
                self.flows.push((row, Vec::new()));
            }
            time += interval;
        }
    }

    /// Adds the rows of the flows that arrived.
    pub(super) fn arrived(&mut self, active: Vec<ActiveRow>, transfers: Vec<Transfer>) {
        active.into_iter().for_each(|row| self.recorder.active(row));
        self.recorder.transfers(transfers);
    }

    pub(super) fn finish(mut self, scenario: &Scenario) -> Trace {
        self.flows.sort_by_key(|(row, _)| (row.time, row.flow));
        self.transitions();
        for (row, values) in self.flows {
            let (_, group) = self.algorithms[row.flow as usize];
            self.recorder.flow(row, group, |into| into.extend(values));
        }
        self.links.sort_by_key(|row| (row.time, row.link));
        self.links
            .into_iter()
            .for_each(|row| self.recorder.link(row));
        let rates = link_rates(scenario, self.recorder.link_rows());
        self.recorder.link_rates(rates);
        if self.asks {
            self.responses
                .sort_by_key(|(flow, answer)| (answer.end, *flow));
            self.recorder.responses(self.responses);
        }
        self.recorder.finish()
    }

    /// Adds a transition where the state of a kernel's algorithm differs between two samples.
    fn transitions(&mut self) {
        let mut states: BTreeMap<u32, f64> = BTreeMap::new();
        for (row, values) in &self.flows {
            let (kernel, _) = &self.algorithms[row.flow as usize];
            let Some((_, _, labels @ [_, ..])) = info::fields(kernel).first() else {
                continue;
            };
            let state = values[0];
            let before = states.insert(row.flow, state);
            let name = |state: f64| {
                labels
                    .get(state as usize)
                    .copied()
                    .filter(|_| !state.is_nan())
            };
            if let Some((from, to)) = before
                .filter(|before| *before != state)
                .and_then(|from| name(from).zip(name(state)))
            {
                let Rows { recorder, .. } = self;
                recorder.transition(TransitionRow {
                    time: row.time,
                    flow: row.flow,
                    from,
                    to,
                    reason: SEEN,
                });
            }
        }
    }
}
