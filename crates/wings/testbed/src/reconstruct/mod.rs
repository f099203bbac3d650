//! Reconstructs the metrics and the trace that a simulation gives from the agents' recordings, with
//! `trace`'s meters and recorder.

mod arrivals;
mod flow;
mod info;
mod limits;
mod packet;
mod program;
mod queue;
mod recorded;
mod rows;
mod taps;
mod tracker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fullpipe_scenario::Scenario;
use fullpipe_setup::{changes, set_max_min_shares, window};
use fullpipe_tcp::LIMITS;
use fullpipe_trace::{
    FlowCounters, FlowSummary, LinkSummary, MeasuredTime, Steadiness, Summary, Trace, jain,
};
use fullpipe_units::{Bytes, Rate, Span, Time};
use serde::Deserialize;

use crate::agent::{AgentError, LEAST_INTERVAL, Reader};
use crate::arriving::ExpandedWorkload;
use crate::kernel::Outcome;
use crate::ports::Ports;
use arrivals::ArrivalResults;
use flow::{Flow, is_paced};
pub(crate) use info::Info;
use limits::Limits;
use packet::Packet;
use program::Watched as WatchedProgram;
use recorded::{Taps, complete, that_go};
use rows::Rows;

pub use queue::{Arrived, Dropped, Links, Loss, Passed};
pub use taps::Departs;

/// Facts about a run, from its runner.
#[derive(Clone, Debug, Deserialize)]
pub struct Facts {
    /// Name of the runner.
    pub runner: String,
    /// Port of the first flow; each further flow uses the next port.
    pub first_port: u16,
    /// Number of arriving flows that may be under way at once.
    #[serde(default)]
    pub at_once: u32,
    /// Whether the sender's device paces every flow (fq).
    #[serde(default)]
    pub paced: bool,
    /// Bit of a packet that the tap behind the bottleneck sees leave; `None` without such a tap.
    pub departs: Option<Departs>,
    /// Whether the whole propagation delay is on the ACKs' path: the receiver then has data half of
    /// the RTT earlier than in the model of the path, where each direction has one half.
    #[serde(default)]
    pub delay_on_acks: bool,
    /// Facts about the machine.
    #[serde(default)]
    pub host: BTreeMap<String, String>,
    /// Reasons not to trust the run.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The programs.
    #[serde(default)]
    pub(crate) programs: Vec<Outcome>,
}

/// Recordings of a run.
#[derive(Debug)]
pub struct Recording {
    /// Recording of `fullpipe-agent send`.
    pub send: PathBuf,
    /// Recording of `fullpipe-agent receive`.
    pub receive: PathBuf,
    /// Packets at the sender's side.
    pub sender: PathBuf,
    /// Observations of the links.
    pub links: Watched,
}

/// Source of observations of the links.
#[derive(Debug)]
pub enum Watched {
    /// Taps in front of the bottleneck and behind it, and on the way back of ACKs. Without the
    /// first, packets reach the bottleneck as they left the sender; without the last, no ACK is
    /// lost.
    Taps(Option<PathBuf>, PathBuf, Option<PathBuf>),
    /// The emulator, with the metrics that it measured.
    Emulator(Links, Vec<LinkSummary>),
}

impl Watched {
    /// Returns the events of the links, with their metrics if already measured.
    fn read(
        self,
        scenario: &Scenario,
        taps: Taps,
        sender: Vec<(u32, Packet, bool)>,
        departs: Option<Departs>,
        warnings: &mut Vec<String>,
        at: impl Fn(u64) -> Time + Copy,
    ) -> Result<(Links, Option<Vec<LinkSummary>>), AgentError> {
        match self {
            Watched::Emulator(links, summaries) => Ok((
                links,
                Some(summaries).filter(|summaries| !summaries.is_empty()),
            )),
            Watched::Taps(front, behind, acks) => {
                let seen = Seen::read(taps, warnings, sender, front, behind, acks)?;
                let departs = departs.unwrap_or(Departs::Last);
                let rate = scenario.path.link.sustained();
                Ok((seen.links(departs, rate, at), None))
            }
        }
    }
}

impl Recording {
    /// Returns the recordings in a folder: `send`, `receive`, `tap-sender`, `tap-in` in front of the
    /// bottleneck, if it is there, `tap-out`, `tap-acks` if ACKs are lost.
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

/// Results of a run.
#[derive(Debug)]
pub struct Measured {
    /// Metrics of the run.
    pub summary: Summary,
    /// Trace of the run, if requested.
    pub trace: Option<Trace>,
}

/// Reconstructs a run. With a trace, links have a row at every `interval`.
///
/// # Errors
/// When a file is missing or incomplete, or a flow failed.
pub fn reconstruct(
    scenario: &Scenario,
    recording: Recording,
    facts: Facts,
    interval: Option<Span>,
) -> Result<Measured, AgentError> {
    let window = window(scenario);
    let interval = interval.map(|interval| interval.max(LEAST_INTERVAL));
    let expanded = ExpandedWorkload::of(scenario);
    let (mut flows, epoch) = ends(
        &expanded.scenario,
        &recording,
        window,
        (interval.is_some(), facts.delay_on_acks),
    )?;
    let at = |time: u64| Time::from_nanos(time.saturating_sub(epoch));
    let ports = Ports::new(facts.first_port, scenario, expanded.arrivals.len());
    let (taps, mut warnings) = (Taps(ports), facts.warnings);
    let sender = taps.read(&recording.sender, &mut warnings)?;
    let is_program = |flow: u32| {
        let spec = scenario.flows.get(flow as usize);
        spec.is_some_and(|spec| spec.program.is_some())
    };
    for (flow, packet, forward) in sender.iter().filter(|(flow, ..)| !is_program(*flow)) {
        flows[*flow as usize].on_packet(packet, *forward, at(packet.time));
    }
    let programs = program::programs(scenario, &recording.sender, ports, &mut flows, at)?;
    let complete = facts.programs.iter().filter(|program| program.complete);
    for flow in complete.map(|program| program.flow) {
        if let Some(last) = programs.get(&flow).and_then(WatchedProgram::last) {
            flows[flow as usize].meter.on_complete(last);
        }
    }
    let (links, link_summaries) =
        recording
            .links
            .read(scenario, taps, sender, facts.departs, &mut warnings, at)?;
    let link_summaries = link_summaries.unwrap_or_else(|| on_links(scenario, &links, window));
    count(&mut flows, &links, window);
    for packet in links.dropped.iter().filter(|packet| packet.data) {
        // QUIC sends the data of a lost packet again in another one, which no observer can tell.
        if programs
            .get(&packet.flow)
            .is_some_and(WatchedProgram::is_udp)
        {
            flows[packet.flow as usize].meter.on_lost(packet.at);
        }
    }
    for (flow, watched) in &programs {
        warnings.extend(watched.warning(&scenario.flows[*flow as usize].name));
    }

    let paced = facts.paced;
    let arrived = flows.split_off(scenario.flows.len());
    let mut arrived =
        ArrivalResults::of(scenario, &expanded, arrived, facts.at_once, paced, window);
    warnings.extend(arrived.warnings.iter().cloned());
    let mut recorder =
        interval.map(|interval| rows(scenario, &links, &mut arrived, interval, window));
    let mut flows = summaries(scenario, &mut flows, paced, window, &mut recorder);
    for (flow, watched) in &programs {
        let spec = &scenario.flows[*flow as usize];
        let used = facts.programs.iter().find(|program| program.flow == *flow);
        let used = used.and_then(|program| program.algorithm.as_deref());
        flows[*flow as usize].cc = program::algorithm(spec, used, watched);
    }
    if let (Some(recorder), Some(interval)) = (&mut recorder, interval) {
        for (flow, watched) in &programs {
            recorder.program(*flow, watched, interval, window.to);
        }
    }
    for (spec, metrics) in scenario.flows.iter().zip(&flows) {
        warnings.extend(limits::spoiled(spec, metrics));
    }
    let rates: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let changes = changes(scenario, &flows);
    let steadiness = Steadiness::of(
        window,
        &flows,
        &arrived.summaries,
        &link_summaries,
        &changes,
    );
    let summary = Summary {
        version: env!("CARGO_PKG_VERSION"),
        runner: facts.runner,
        host: facts.host,
        warnings,
        seed: scenario.seed,
        duration_s: scenario.duration.as_secs_f64(),
        measure_from_s: scenario.measure_from.as_secs_f64(),
        flows,
        workloads: arrived.summaries,
        packets: link_summaries.first().map_or(0, |link| link.packets),
        links: link_summaries,
        jain: jain(&rates),
        steadiness,
        events: 0,
    };
    Ok(Measured {
        summary,
        trace: recorder.map(|rows| rows.finish(scenario)),
    })
}

/// Returns the flows as both ends recorded them, and the start of the run on their clock.
fn ends(
    scenario: &Scenario,
    recording: &Recording,
    window: MeasuredTime,
    (traced, delay_on_acks): (bool, bool),
) -> Result<(Vec<Flow>, u64), AgentError> {
    let send = Reader::open(&recording.send)?;
    let epoch = send.header.epoch;
    let at = |time: u64| Time::from_nanos(time.saturating_sub(epoch));
    let records = complete(send, &recording.send)?;
    let mut flows = flow::sent(scenario, records, window, at, traced)?;
    let own = flow::of_the_agents(scenario);
    for record in complete(Reader::open(&recording.receive)?, &recording.receive)? {
        let index = own[usize::from(record.flow)];
        let spec = &scenario.flows[index];
        let late = if delay_on_acks {
            scenario.path.rtt / 2 + spec.extra_rtt / 2
        } else {
            Span::ZERO
        };
        flows[index].on_received(spec, &record, |time| at(time) + late);
    }
    Ok((flows, epoch))
}

/// Computes the links' metrics from their events.
fn on_links(scenario: &Scenario, links: &Links, window: MeasuredTime) -> Vec<LinkSummary> {
    scenario
        .links()
        .zip(0..)
        .map(|(link, number)| links.summary(number, &link.name, window, scenario.path.rtt))
        .collect()
}

/// Passes the links' events to the meters of the packets' flows.
fn count(flows: &mut [Flow], links: &Links, window: MeasuredTime) {
    for packet in &links.arrived {
        let meter = &mut flows[packet.flow as usize].meter;
        meter.on_delivered(packet.at, packet.waited, Bytes::ZERO);
    }
    for packet in &links.dropped {
        let meter = &mut flows[packet.flow as usize].meter;
        if packet.data {
            meter.on_dropped(packet.at)
        } else {
            meter.on_ack_dropped(packet.at)
        }
    }
    let one = FlowCounters {
        marks: 1,
        ..FlowCounters::default()
    };
    let marked = links.passed.iter().filter(|packet| packet.marked);
    for packet in marked.filter(|packet| packet.data && window.holds(packet.start)) {
        flows[packet.flow as usize].meter.on_tally(one);
    }
}

/// Creates the rows of the links and of arriving flows.
fn rows(
    scenario: &Scenario,
    links: &Links,
    arrived: &mut ArrivalResults,
    interval: Span,
    window: MeasuredTime,
) -> Rows {
    let mut rows = Rows::new(scenario, links, interval, window.to);
    if !scenario.workloads.is_empty() {
        let active = arrived.active(interval, window.to);
        rows.arrived(active, std::mem::take(&mut arrived.transfers));
    }
    rows
}

/// Computes the metrics of the scenario's own flows, and adds their rows to the trace.
fn summaries(
    scenario: &Scenario,
    flows: &mut [Flow],
    paced: bool,
    window: MeasuredTime,
    recorder: &mut Option<Rows>,
) -> Vec<FlowSummary> {
    let mut summaries = Vec::with_capacity(flows.len());
    for (index, (flow, spec)) in flows.iter_mut().zip(&scenario.flows).enumerate() {
        let paced = paced || is_paced(spec);
        let (codes, held) = match spec.program {
            Some(_) => Limits::default(),
            None => flow.limits(paced, window),
        };
        let (name, cc) = (spec.name.clone(), spec.called.clone());
        summaries.push(FlowSummary::new(name, cc, &flow.meter, &LIMITS, &held));
        if let Some(recorder) = recorder {
            recorder.flow(index as u32, flow, &codes, paced);
        }
    }
    set_max_min_shares(
        scenario,
        &mut summaries,
        flows.iter().map(|flow| &flow.meter),
    );
    summaries
}

/// Packets that the taps saw.
struct Seen {
    sender: Vec<(u32, Packet, bool)>,
    front: Option<Vec<(u32, Packet, bool)>>,
    behind: Vec<(u32, Packet, bool)>,
    acks: Option<Vec<(u32, Packet, bool)>>,
}

impl Seen {
    fn read(
        taps: Taps,
        warnings: &mut Vec<String>,
        sender: Vec<(u32, Packet, bool)>,
        front: Option<PathBuf>,
        behind: PathBuf,
        acks: Option<PathBuf>,
    ) -> Result<Seen, AgentError> {
        let mut tap = |file: PathBuf| taps.read(&file, warnings);
        Ok(Seen {
            sender,
            front: front.map(&mut tap).transpose()?,
            acks: acks.map(&mut tap).transpose()?,
            behind: tap(behind)?,
        })
    }

    /// Derives the events of the links.
    fn links(self, departs: Departs, rate: Rate, at: impl Fn(u64) -> Time + Copy) -> Links {
        let behind = that_go(true, self.behind, true);
        let sent = that_go(true, self.sender.clone(), true);
        let came = that_go(false, self.sender, false);
        let front = match self.front {
            Some(front) => that_go(true, front, false),
            None => sent.clone(),
        };
        let mut links = taps::links(&sent, &front, &behind, departs, rate, at);
        if let Some(acks) = self.acks {
            let lost = taps::lost_acks(&that_go(false, acks, false), &came, at);
            links.dropped.extend(lost);
            links.dropped.sort_by_key(|packet| packet.at);
        }
        links
    }
}
