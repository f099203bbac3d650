//! From what agents wrote down to the metrics and the trace that a simulation gives: by `trace`'s
//! meters and recorder, fed with what really happened.

mod arrivals;
mod info;
mod limits;
mod packet;
mod queue;
mod rows;
mod taps;
mod tracker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fullpipe_scenario::Scenario;
use fullpipe_setup::set_max_min_shares;
use fullpipe_tcp::{LIMITS, Limit};
use fullpipe_trace::{
    FlowMeter, FlowSummary, LinkSummary, MeasuredTime, Response, Summary, Trace, jain,
};
use fullpipe_units::{Bytes, Span, Time};
use serde::Deserialize;

use crate::agent::{AgentError, LEAST_INTERVAL, Reader, Record, RecordKind};
use crate::algorithms::twin;
use crate::arriving::ExpandedWorkload;
use crate::ports::Ports;
use arrivals::ArrivalResults;
use info::Info;
use packet::Packet;
use tracker::Tracker;

pub use queue::{Arrived, Dropped, Links, Loss, Passed};
pub use taps::Departs;

/// What the runner says of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct Facts {
    /// Its name.
    pub runner: String,
    /// Of the first flow; the next has the next.
    pub first_port: u16,
    /// How many flows that arrive may be under way at once.
    #[serde(default)]
    pub at_once: u32,
    /// Whether the sender's device paces every flow (fq).
    #[serde(default)]
    pub paced: bool,
    /// What the tap behind the bottleneck sees, where there is one.
    pub departs: Option<Departs>,
    /// Of the machine.
    #[serde(default)]
    pub host: BTreeMap<String, String>,
    /// What spoils the run.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What was written down.
#[derive(Debug)]
pub struct Recording {
    /// By `fullpipe-agent send`.
    pub send: PathBuf,
    /// By `fullpipe-agent receive`.
    pub receive: PathBuf,
    /// Packets at the sender's side.
    pub sender: PathBuf,
    /// What the links did.
    pub links: Watched,
}

/// Who saw what the links did.
#[derive(Debug)]
pub enum Watched {
    /// Taps in front of the bottleneck and behind it, and of ACKs on their way back. Without the
    /// first, packets come there as they left the sender; without the last, all ACKs come.
    Taps(Option<PathBuf>, PathBuf, Option<PathBuf>),
    /// The emulator, which has its own metrics.
    Emulator(Links, Vec<LinkSummary>),
}

impl Recording {
    /// The files of a folder: `send`, `receive`, `tap-sender`, `tap-in` where something is lost
    /// before, `tap-out`, `tap-acks` where ACKs are lost.
    pub fn in_folder(folder: &Path) -> Recording {
        let file = |name: &str| folder.join(name);
        let made = |name| Some(file(name)).filter(|file| file.exists());
        let links = Watched::Taps(made("tap-in"), file("tap-out"), made("tap-acks"));
        Recording {
            send: file("send"),
            receive: file("receive"),
            sender: file("tap-sender"),
            links,
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Measured {
    /// Its metrics.
    pub summary: Summary,
    /// Its trace, if one was asked for.
    pub trace: Option<Trace>,
}

/// One flow, as it is pieced together.
struct Flow {
    meter: FlowMeter,
    opened: Option<Time>,
    tracker: Tracker,
    /// (when, how long) each, for the trace.
    rtts: Vec<(Time, Span)>,
    samples: Vec<(Time, Info)>,
    cc: Vec<Vec<u8>>,
    read: u64,
    /// The sender knows that the receiver has everything.
    closed: Option<Time>,
    /// It arrived, and was turned away.
    refused: bool,
}

/// A limit that nobody asked for spoils a run when it holds for a larger share of the time.
const SPOILS: f64 = 0.01;

/// Puts it together; with a trace, links have a row at every `interval`.
///
/// # Errors
/// When a file is missing or broken off, or a flow failed.
pub fn reconstruct(
    scenario: &Scenario,
    recording: Recording,
    facts: Facts,
    interval: Option<Span>,
) -> Result<Measured, AgentError> {
    let window = MeasuredTime {
        from: Time::ZERO + scenario.measure_from,
        to: Time::ZERO + scenario.duration,
    };
    let send = Reader::open(&recording.send)?;
    let epoch = send.header.epoch;
    let at = |time: u64| Time::from_nanos(time.saturating_sub(epoch));
    let unfolded = ExpandedWorkload::of(scenario);
    let mut flows = sent(
        &unfolded.scenario,
        complete(send, &recording.send)?,
        window,
        at,
        interval.is_some(),
    )?;
    let received = complete(Reader::open(&recording.receive)?, &recording.receive)?;
    let all = &unfolded.scenario;
    received
        .into_iter()
        .for_each(|record| flows[usize::from(record.flow)].on_received(all, &record, at));
    let taps = Taps(Ports::new(
        facts.first_port,
        scenario,
        unfolded.arrivals.len(),
    ));
    let mut warnings = facts.warnings;
    let mut tap = |path: &Path| taps.read(path, &mut warnings);
    let sender = tap(&recording.sender)?;
    for (flow, packet, forward) in &sender {
        flows[*flow as usize].on_packet(packet, *forward, at(packet.time));
    }
    let (links, mut summaries) = match recording.links {
        Watched::Emulator(links, summaries) => (links, summaries),
        Watched::Taps(front, behind, acks) => {
            let mut optional = |file: Option<PathBuf>| file.map(|file| tap(&file)).transpose();
            let (front, acks) = (optional(front)?, optional(acks)?);
            let behind = that_go(true, tap(&behind)?, true);
            let (sent, came) = (
                that_go(true, sender.clone(), true),
                that_go(false, sender, false),
            );
            let front = front.map_or_else(|| sent.clone(), |front| that_go(true, front, false));
            let (departs, rate) = (
                facts.departs.unwrap_or(Departs::Last),
                scenario.path.link.sustained(),
            );
            let mut links = taps::links(&sent, &front, &behind, departs, rate, at);
            if let Some(acks) = acks {
                links
                    .dropped
                    .extend(taps::lost_acks(&that_go(false, acks, false), &came, at));
                links.dropped.sort_by_key(|packet| packet.at);
            }
            (links, Vec::new())
        }
    };
    if summaries.is_empty() {
        let summary = |(link, number): (&fullpipe_scenario::Link, u32)| {
            links.summary(number, &link.name, window, scenario.path.rtt)
        };
        summaries = scenario.links().zip(0..).map(summary).collect();
    }
    for packet in &links.arrived {
        flows[packet.flow as usize]
            .meter
            .on_delivered(packet.at, packet.waited, Bytes::ZERO);
    }
    for packet in &links.dropped {
        let meter = &mut flows[packet.flow as usize].meter;
        if packet.data {
            meter.on_dropped(packet.at)
        } else {
            meter.on_ack_dropped(packet.at)
        }
    }
    for packet in links
        .passed
        .iter()
        .filter(|packet| packet.marked && packet.data && window.holds(packet.start))
    {
        flows[packet.flow as usize]
            .meter
            .on_tally(fullpipe_trace::FlowCounters {
                marks: 1,
                ..fullpipe_trace::FlowCounters::default()
            });
    }
    let arrived = flows.split_off(scenario.flows.len());
    let arrived = ArrivalResults::of(
        scenario,
        &unfolded,
        arrived,
        facts.at_once,
        facts.paced,
        window,
    );
    warnings.extend(arrived.warnings.iter().cloned());
    let interval = interval.map(|interval| interval.max(LEAST_INTERVAL));
    let mut recorder =
        interval.map(|interval| rows::Rows::new(scenario, &links, interval, window.to));
    if let (Some(recorder), Some(interval), [_, ..]) =
        (&mut recorder, interval, &scenario.workloads[..])
    {
        recorder.arrived(arrived.active(interval, window.to), arrived.transfers);
    }
    let mut summary = Vec::with_capacity(flows.len());
    for (index, (flow, spec)) in flows.iter_mut().zip(&scenario.flows).enumerate() {
        let paced = facts.paced
            || spec.pacing == fullpipe_scenario::Pacing::On
            || twin(&spec.cc).is_some_and(|twin| twin.paces);
        let ended = flow.meter.ended().unwrap_or(window.to);
        let (codes, held) = limits::limits(
            flow.meter.started(),
            flow.opened,
            ended,
            &flow.samples,
            paced,
            window,
        );
        let metrics = FlowSummary::new(
            spec.name.clone(),
            spec.cc.clone(),
            &flow.meter,
            &LIMITS,
            &held,
        );
        warnings.extend(spoiled(spec, &metrics));
        summary.push(metrics);
        if let Some(recorder) = &mut recorder {
            recorder.flow(index as u32, flow, &codes, paced);
        }
    }
    set_max_min_shares(scenario, &mut summary, flows.iter().map(|flow| &flow.meter));
    let rates: Vec<f64> = summary.iter().map(|flow| flow.goodput_bps).collect();
    let summary = Summary {
        version: env!("CARGO_PKG_VERSION"),
        runner: facts.runner,
        host: facts.host,
        warnings,
        seed: scenario.seed,
        duration_s: scenario.duration.as_secs_f64(),
        measure_from_s: scenario.measure_from.as_secs_f64(),
        flows: summary,
        workloads: arrived.summaries,
        packets: summaries.first().map_or(0, |link| link.packets),
        links: summaries,
        jain: jain(&rates),
        events: 0,
    };
    Ok(Measured {
        summary,
        trace: recorder.map(rows::Rows::finish),
    })
}

/// All records of a file.
fn complete(reader: Reader, path: &Path) -> Result<Vec<Record>, AgentError> {
    let mut records: Vec<Record> = reader.collect();
    match records.pop() {
        Some(Record {
            kind: RecordKind::Done,
            ..
        }) => Ok(records),
        _ => Err(AgentError::new(format!(
            "{}: the recording breaks off: its agent was ended",
            path.display()
        ))),
    }
}

/// The flows, as their senders tell of them.
fn sent(
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
            let meter = FlowMeter::new(window, Time::ZERO + scenario.start(spec));
            let asks = matches!(spec.app, Some(fullpipe_scenario::App::Request { .. }));
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
    let mut cc = Vec::new();
    for record in records {
        let flow = &mut flows[usize::from(record.flow)];
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

impl Flow {
    /// What the receiver's application saw.
    fn on_received(&mut self, scenario: &Scenario, record: &Record, at: impl Fn(u64) -> Time) {
        let time = at(record.time);
        match record.kind {
            RecordKind::Read => {
                let read = record.number(0);
                self.meter.on_received(time, Bytes::new(read - self.read));
                self.read = read;
                let total = scenario.flows[usize::from(record.flow)].bytes;
                if total.is_some_and(|total| read >= total.get()) {
                    self.meter.on_complete(time);
                }
            }
            RecordKind::Answer => {
                let (asked, bytes) = (record.number(0), Bytes::new(record.number(1)));
                // The first is asked for with the SYN, of which the receiver does not know when it
                // left.
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

    /// What passed the sender's device.
    fn on_packet(&mut self, packet: &Packet, forward: bool, time: Time) {
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

/// Who knows the flows by their ports.
#[derive(Clone, Copy)]
struct Taps(Ports);

impl Taps {
    /// The packets of a tap, with their flows and whether they go forward.
    fn read(
        self,
        path: &Path,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<(u32, Packet, bool)>, AgentError> {
        let mut packets = Vec::new();
        for record in complete(Reader::open(path)?, path)? {
            match record.kind {
                RecordKind::Packet => packets.extend(self.packet(&record)),
                RecordKind::Missed if record.number(0) > 0 => {
                    let name = path.file_name().unwrap_or_default().display();
                    warnings.push(format!(
                        "{} packets were not seen by {name}: the machine was too busy",
                        record.number(0)
                    ));
                }
                _ => {}
            }
        }
        // A kernel stamps packets on several CPUs.
        packets.sort_by_key(|(_, packet, _): &(u32, Packet, bool)| packet.time);
        Ok(packets)
    }

    fn packet(self, record: &Record) -> Option<(u32, Packet, bool)> {
        let (out, rest) = record.data.split_first()?;
        let (size, headers) = rest.split_first_chunk::<4>()?;
        let packet = Packet::read(record.time, *out == 1, u32::from_le_bytes(*size), headers)?;
        self.0
            .way(packet.source, packet.destination)
            .map(|(flow, forward)| (flow, packet, forward))
    }
}

/// What goes forward or comes back, of what leaves an interface or comes to it.
fn that_go(forward: bool, packets: Vec<(u32, Packet, bool)>, out: bool) -> Vec<taps::Seen> {
    let those = packets
        .into_iter()
        .filter(|(_, packet, way)| *way == forward && packet.out == out);
    those.map(|(flow, packet, _)| (flow, packet)).collect()
}

/// A flow that was held back by what was to hold nothing back.
fn spoiled(spec: &fullpipe_scenario::Flow, metrics: &FlowSummary) -> Vec<String> {
    let share = |limit: Limit| {
        metrics
            .limited_by
            .get(LIMITS[limit as usize])
            .copied()
            .unwrap_or(0.0)
    };
    let words = |limit, what: &str, fix: &str| {
        let share = share(limit);
        let text = || {
            format!(
                "flow {:?} was held back by its {what} for {:.0} % of the time: {fix}",
                spec.name,
                share * 100.0
            )
        };
        (share > SPOILS).then(text)
    };
    let window = words(
        Limit::ReceiveWindow,
        "receive window",
        "the receiver did not read in time, or its kernel gave less",
    );
    let window = window.filter(|_| spec.receive_window.is_none());
    let buffer = words(
        Limit::Host,
        "send buffer",
        "the sender did not write in time: was the machine too busy?",
    );
    window.into_iter().chain(buffer).collect()
}
