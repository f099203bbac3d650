//! Estimates the memory of a run, so that a run that cannot fit is refused before it starts.

use fullpipe_scenario::{Change, Flow, Link, Path, Scenario};
use fullpipe_units::{Bytes, Rate, Span};

use crate::observe::LINK_INTERVAL;
use fullpipe_trace::TraceLevel;

/// Bytes per segment in flight: its record, its share of a burst, its ACK; doubled, since rings and
/// queues double when they grow.
const PER_SEGMENT: u64 = 2 * (16 + 32 + 20);
/// Bytes per packet in a link's queue: its place, or all of it in an AQM queue.
const PER_PLACE: u64 = 2 * 16;
const PER_PACKET: u64 = 2 * 72;
/// Bytes per ACK in an AQM queue: the queue's part, and that in the slab.
const PER_ACK: u64 = 2 * (72 + 112);
/// Bytes per flow: its state and its histograms.
const PER_FLOW: u64 = 16 * 1024;
/// Bytes per flow that arrives: its row among the transfers, its data at the source, and its jobs
/// for the ideal servers, doubled since all three may double when they grow; then its slowdown, and
/// its completion time with each server.
const PER_ARRIVAL: u64 = 2 * (56 + 40 + 40) + 56 + 2 * 24;
/// Simultaneously active arriving flows: many more than result from any load that a link can carry.
const UNDER_WAY: u64 = 10_000;
/// Bytes per row of a flow in a trace: its own columns and those of three algorithms; twice, since a column is
/// still packed while it is unpacked for a reader.
const PER_ROW: u64 = 2 * (69 + 3 * 30);
/// Bytes per row of a link or a workload, which becomes columns at the end.
const PER_LINK_ROW: u64 = 2 * 56 + 52;
/// Bytes per row of a flow in the queue of a link, which becomes columns, too.
const PER_QUEUE_ROW: u64 = 2 * 40 + 40;
/// Bytes per packet in a queue of known departures whose flows are recorded.
const PER_SHARE: u64 = 2 * 24;

/// Returns an upper estimate of the memory that a run of `scenario` holds at once.
pub fn memory_needed(scenario: &Scenario, level: TraceLevel) -> Bytes {
    let links: Vec<Largest> = scenario
        .links()
        .enumerate()
        .map(|(i, link)| Largest::new(scenario, i, link))
        .collect();
    let arrivals: u64 = scenario
        .workloads
        .iter()
        .map(|workload| scenario.arrivals(workload))
        .sum();
    let flows = scenario.flows.len() as u64 + arrivals.min(UNDER_WAY);
    let (rtt, late) = longest(&scenario.path);
    let segments = flows_segments(scenario, &links, rtt, late).min(paths_segments(
        scenario,
        &links,
        rtt + late,
        flows,
    ));
    let recorded = if level == TraceLevel::Off {
        0
    } else {
        PER_SHARE
    };
    Bytes::new(PER_SEGMENT + per_queued(scenario) + recorded) * segments
        + Bytes::new(PER_FLOW) * flows
        + Bytes::new(PER_ARRIVAL) * arrivals
        + trace(scenario, &links, level)
}

/// Returns the largest values of the path's schedule, even if they never coincide: RTT, and
/// additional delay of a packet and its ACK.
fn longest(path: &Path) -> (Span, Span) {
    let rtt = path
        .schedule(|change| change.rtt)
        .map(|(_, rtt)| rtt)
        .fold(path.rtt.max(path.longest_traced()), Span::max);
    let changed = path
        .changes
        .iter()
        .flat_map(|change| change.jitter.iter().chain(&change.reverse_jitter));
    let jitters = changed.chain([&path.jitter, &path.reverse_jitter]);
    let late = jitters
        .map(fullpipe_path::Jitter::latest)
        .max()
        .unwrap_or(Span::ZERO);
    let suspends = path
        .schedule(|change| change.suspend)
        .map(|(_, suspend)| suspend)
        .chain([path.suspend])
        .flatten();
    let hold = suspends.map(|suspend| suspend.hold).max();
    (rtt, late * 2 + hold.unwrap_or(Span::ZERO))
}

/// Returns the largest number of segments that the flows have in flight, computed for each flow
/// separately.
fn flows_segments(scenario: &Scenario, links: &[Largest], rtt: Span, late: Span) -> u64 {
    let workloads = scenario.workloads.iter().map(|workload| &workload.flow);
    let segments = |flow: &Flow| {
        let waits = flow.reverse_route.iter().map(|link| links[*link].wait);
        let back = waits.fold(Span::ZERO, |sum, wait| sum + wait);
        // A flow with a longer RTT than the path's at the start has a correspondingly longer
        // maximum RTT.
        let beyond = scenario.rtt(flow).saturating_sub(scenario.path.rtt);
        let longest = rtt + beyond + late + back;
        let rates = flow.route.iter().map(|link| links[*link].rate);
        let rate = rates.min().expect("a route has a link");
        let buffers = flow.route.iter().map(|link| links[*link].buffer);
        let buffers = buffers.fold(Bytes::ZERO, |sum, buffer| sum + buffer);
        // The capacity of the path and its buffers bounds inflight, even if the window allows more.
        // Slow start may exceed this capacity twofold before it detects a loss.
        let most = scenario
            .receive_window(flow)
            .min((rate.bytes_in(longest) + buffers) * 2);
        most.get() / flow.mss.get()
    };
    let flows = scenario.flows.iter().chain(workloads);
    flows.map(segments).fold(0, u64::saturating_add)
}

/// Returns the largest number of segments that all flows together have in flight: the capacity of
/// the path and its buffers.
fn paths_segments(scenario: &Scenario, links: &[Largest], rtt: Span, flows: u64) -> u64 {
    let delays = scenario.links().fold(rtt, |sum, link| sum + link.delay);
    let back = links
        .iter()
        .map(|link| link.wait)
        .max()
        .filter(|_| scenario.flows.iter().any(has_way_back));
    let longest = delays + back.unwrap_or(Span::ZERO);
    let capacity = links
        .iter()
        .map(|link| link.rate.bytes_in(longest) + link.buffer)
        .fold(Bytes::ZERO, |sum, a| sum + a);
    (capacity.get() / smallest_mss(scenario).get())
        .saturating_mul(4)
        .saturating_add(flows.saturating_mul(64))
}

fn smallest_mss(scenario: &Scenario) -> Bytes {
    let workloads = scenario.workloads.iter().map(|workload| &workload.flow);
    let flows = scenario.flows.iter().chain(workloads);
    flows.map(|flow| flow.mss).min().unwrap_or(scenario.packet)
}

/// Returns the number of bytes that a queue holds per segment.
fn per_queued(scenario: &Scenario) -> u64 {
    let decides = scenario
        .links()
        .any(|link| link.queue.descriptor().decides());
    match (decides, scenario.flows.iter().any(has_way_back)) {
        (true, true) => PER_PACKET + PER_ACK,
        (true, false) => PER_PACKET,
        (false, _) => PER_PLACE,
    }
}

fn trace(scenario: &Scenario, links: &[Largest], level: TraceLevel) -> Bytes {
    let samples = |interval: Span| scenario.duration.as_secs_f64() / interval.as_secs_f64();
    // Number of rows of flows, and of rows of each link and workload.
    let (rows, sampled) = match level {
        TraceLevel::Off => (0.0, 0.0),
        TraceLevel::Every(interval) => (
            samples(interval) * scenario.flows.len() as f64,
            samples(interval),
        ),
        TraceLevel::Acks => {
            let carried = links.iter().map(|link| link.carried.as_f64()).sum::<f64>()
                / 8.0
                / smallest_mss(scenario).as_f64();
            let sampled = samples(LINK_INTERVAL);
            let unresponsive = scenario.flows.iter().filter(|flow| flow.is_unresponsive());
            let most = (carried * scenario.duration.as_secs_f64()).min(acks(scenario));
            (most + sampled * unresponsive.count() as f64, sampled)
        }
    };
    let others = sampled * (links.len() + scenario.workloads.len()) as f64;
    let workloads = scenario.workloads.iter().map(|workload| &workload.flow);
    let crossed = |flow: &Flow| flow.route.len() + flow.reverse_route.len();
    let queues: usize = scenario.flows.iter().chain(workloads).map(crossed).sum();
    Bytes::from_f64(
        rows * PER_ROW as f64
            + others * PER_LINK_ROW as f64
            + sampled * queues as f64 * PER_QUEUE_ROW as f64,
    )
}

/// Returns the largest number of ACKs that have a row, if every flow is a transfer that ends: one
/// for each time that a segment arrives.
fn acks(scenario: &Scenario) -> f64 {
    let path = &scenario.path;
    let most = |each: fn(&Change) -> Option<f64>, first| {
        path.schedule(each)
            .map(|(_, now)| now)
            .fold(first, f64::max)
    };
    let copies = (1.0 + most(|change| change.duplicate, path.duplicate))
        * (1.0 + most(|change| change.reverse_duplicate, path.reverse_duplicate));
    let responsive = scenario.flows.iter().filter(|flow| !flow.is_unresponsive());
    // Twice, since spurious retransmissions are possible.
    let segments = |flow: &Flow| match (flow.bytes, &flow.app) {
        (Some(bytes), None) => 2.0 * (bytes.get() / flow.mss.get() + 64) as f64,
        _ => f64::INFINITY,
    };
    responsive.map(segments).sum::<f64>() * copies
}

/// The largest values of a link's schedule, even if they never coincide.
struct Largest {
    rate: Rate,
    /// Most that the link can carry in the long run.
    carried: Rate,
    buffer: Bytes,
    /// Longest time that a packet may wait in its buffer.
    wait: Span,
}

impl Largest {
    fn new(scenario: &Scenario, index: usize, link: &Link) -> Largest {
        let path = &scenario.path;
        let bottleneck = index == 0;
        let changed = path
            .schedule(|change| change.limit)
            .map(|(_, limit)| limit)
            .filter(|_| bottleneck);
        let buffer = changed
            .chain([link.limit])
            .map(|limit| limit.bytes(scenario.packet))
            .max()
            .unwrap_or(Bytes::ZERO);
        let rates = path
            .schedule(|change| change.rate)
            .map(|(_, rate)| rate)
            .filter(|_| bottleneck);
        let slowest = rates.fold(link.sustained(), Rate::min);
        let rate = if bottleneck {
            path.fastest()
        } else {
            link.fastest()
        };
        // The fullest millisecond of a trace does not represent the whole trace.
        let carried = match &link.rate_pattern {
            Some(pattern @ fullpipe_path::RatePattern::Mahimahi(..)) => pattern.mean(),
            _ => rate,
        };
        Largest {
            rate,
            carried,
            buffer,
            wait: slowest.time_for(buffer),
        }
    }
}

fn has_way_back(flow: &Flow) -> bool {
    !flow.reverse_route.is_empty()
}
