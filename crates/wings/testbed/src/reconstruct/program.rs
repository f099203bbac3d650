//! Metrics of programs as flows, from the packets that the emulator saw. The near end sends.
//!
//! TCP: goodput is the data that arrived in order, by connection; retransmissions and RTTs come from
//! the headers at the sender's side, as for kernel TCP. QUIC: goodput is the payload of the UDP
//! packets that arrived. RTTs come from the spin bit if the stack sets it, else from the handshake.

mod ordered;
mod quic;

use std::collections::BTreeMap;
use std::path::Path;

use fullpipe_cc::ParamValue;
use fullpipe_scenario::{Flow as FlowSpec, Scenario};
use fullpipe_units::{Bytes, Span, Time};

use self::ordered::Ordered;
use self::quic::Quic;
use super::flow::Flow;
use super::packet::Packet;
use super::tracker::Tracker;
use crate::agent::{AgentError, Reader, RecordKind};
use crate::algorithms::kernel_name;
use crate::ports::Ports;

/// Length of an IPv4 header without options, and of a UDP header.
const IP: usize = 20;
const UDP: usize = 8;

/// Packets that the emulator saw of a program's flow.
#[derive(Default)]
pub(super) struct Watched {
    /// TCP connections by the client's port.
    tcp: BTreeMap<u16, Connection>,
    /// QUIC connections by the client's port.
    quic: BTreeMap<u16, Quic>,
    first: Option<Time>,
    /// Arrival of the last data at the client.
    last: Option<Time>,
    /// (time, bytes that have arrived by then).
    arrived: Vec<(Time, Bytes)>,
    total: Bytes,
    /// (time, RTT) each.
    rtts: Vec<(Time, Span)>,
    /// RTTs of handshakes, which count only without a spin bit.
    handshakes: Vec<(Time, Span)>,
    /// Whether any RTT came from a spin bit or from TCP.
    known: bool,
}

#[derive(Default)]
struct Connection {
    tracker: Tracker,
    received: Ordered,
}

/// A packet as recorded.
struct Seen<'a> {
    time: u64,
    at: Time,
    size: u32,
    headers: &'a [u8],
    place: Place,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// It left the sender.
    Sent,
    /// It came back to the sender.
    Back,
    /// It reached the client.
    Reached,
}

/// Passes the packets of programs to the meters of their flows. Returns the observations by flow.
pub(super) fn programs(
    scenario: &Scenario,
    log: &Path,
    ports: Ports,
    flows: &mut [Flow],
    at: impl Fn(u64) -> Time,
) -> Result<BTreeMap<u32, Watched>, AgentError> {
    let mut seen: BTreeMap<u32, Watched> = (0..)
        .zip(&scenario.flows)
        .filter(|(_, spec)| spec.program.is_some())
        .map(|(flow, _)| (flow, Watched::default()))
        .collect();
    if seen.is_empty() {
        return Ok(seen);
    }
    for record in Reader::open(log)? {
        let place = match (record.kind, record.data.first()) {
            (RecordKind::Packet, Some(1)) => Place::Sent,
            (RecordKind::Packet, _) => Place::Back,
            (RecordKind::Reached, _) => Place::Reached,
            _ => continue,
        };
        let Some((size, headers)) = record
            .data
            .get(1..)
            .and_then(|rest| rest.split_first_chunk())
        else {
            continue;
        };
        let port = |at: usize| {
            let bytes = headers.get(IP + at..IP + at + 2).unwrap_or(&[0, 0]);
            u16::from_be_bytes([bytes[0], bytes[1]])
        };
        let (source, destination) = (port(0), port(2));
        let Some((flow, _)) = ports.way(source, destination) else {
            continue;
        };
        let (Some(watched), Some(spec)) = (seen.get_mut(&flow), scenario.flows.get(flow as usize))
        else {
            continue;
        };
        let client = if place == Place::Back {
            source
        } else {
            destination
        };
        let packet = Seen {
            time: record.time,
            at: at(record.time),
            size: u32::from_le_bytes(*size),
            headers,
            place,
        };
        let least = scenario.rtt(spec);
        watched.on_packet(&packet, client, least, &mut flows[flow as usize]);
    }
    for (flow, watched) in &mut seen {
        watched.finish(&mut flows[*flow as usize]);
    }
    Ok(seen)
}

/// Returns the congestion control of a program's flow for its metrics: the kernel's that its
/// connections used, with the recipe if the scenario's `cc` names it. A program over UDP has one of
/// its own, even if its server listens for TCP, too: that which the recipe was asked for, else it is
/// not known.
pub(super) fn algorithm(spec: &FlowSpec, kernels: Option<&str>, watched: &Watched) -> String {
    let used = kernels.filter(|_| !watched.tcp.is_empty());
    let is_udp = watched.is_udp();
    let asked = match spec.params.get("cc") {
        Some(ParamValue::Word(word)) => Some(word.as_str()),
        _ => None,
    };
    let used = match (used, asked) {
        (Some(used), Some(asked)) if kernel_name(asked) == used => asked,
        (Some(used), _) => used,
        (None, Some(asked)) if is_udp => asked,
        (None, None) if is_udp => "UDP",
        (None, _) => return spec.cc.clone(),
    };
    match spec.recipe_of_cc() {
        Some(recipe) => format!("program:{recipe}:{used}"),
        None => used.to_owned(),
    }
}

impl Watched {
    fn on_packet(&mut self, packet: &Seen<'_>, client: u16, least: Span, flow: &mut Flow) {
        self.first.get_or_insert(packet.at);
        match packet.headers.get(9).copied().map(i32::from) {
            Some(libc::IPPROTO_TCP) => self.on_tcp(packet, client, flow),
            Some(libc::IPPROTO_UDP) => self.on_udp(packet, client, least, flow),
            _ => {}
        }
    }

    fn on_tcp(&mut self, seen: &Seen<'_>, client: u16, flow: &mut Flow) {
        let out = seen.place == Place::Sent;
        let Some(packet) = Packet::read(seen.time, out, seen.size, seen.headers) else {
            return;
        };
        let connection = self.tcp.entry(client).or_default();
        match seen.place {
            Place::Sent => {
                let again = connection.tracker.on_sent(&packet);
                if packet.payload > 0 {
                    flow.meter.on_sent(seen.at, again);
                }
            }
            Place::Back => {
                if let Some(rtt) = connection.tracker.on_ack(&packet) {
                    self.known = true;
                    self.rtt(seen.at, Span::from_nanos(rtt), flow);
                }
            }
            Place::Reached => {
                let new = connection.received.on_packet(&packet);
                self.got(seen.at, new, flow);
            }
        }
    }

    fn on_udp(&mut self, seen: &Seen<'_>, client: u16, least: Span, flow: &mut Flow) {
        let payload = seen.size.saturating_sub((IP + UDP) as u32);
        let begin = seen.headers.get(IP + UDP..).unwrap_or_default();
        let connection = self.quic.entry(client).or_default();
        match seen.place {
            Place::Sent => {
                flow.meter.on_sent(seen.at, false);
                connection.on_sent(seen.at, begin, least);
            }
            Place::Back => {
                if let Some(rtt) = connection.on_back(seen.at, payload, begin, least) {
                    self.handshakes.push((seen.at, rtt));
                }
            }
            Place::Reached => self.got(seen.at, u64::from(payload), flow),
        }
    }

    fn rtt(&mut self, at: Time, rtt: Span, flow: &mut Flow) {
        flow.meter.on_rtt(at, rtt);
        self.rtts.push((at, rtt));
    }

    fn got(&mut self, at: Time, bytes: u64, flow: &mut Flow) {
        if bytes > 0 {
            flow.meter.on_received(at, Bytes::new(bytes));
            self.last = Some(at);
            self.total += Bytes::new(bytes);
            self.arrived.push((at, self.total));
        }
    }

    fn finish(&mut self, flow: &mut Flow) {
        if let Some(first) = self.first {
            flow.meter.restart(first);
        }
        let spins: Vec<(Time, Span)> = self
            .quic
            .values()
            .filter(|connection| connection.spins())
            .flat_map(|connection| connection.rtts.iter().copied())
            .collect();
        let rtts = match (self.known, spins.is_empty()) {
            (true, _) => Vec::new(),
            (false, false) => spins,
            (false, true) => std::mem::take(&mut self.handshakes),
        };
        for (at, rtt) in rtts {
            self.rtt(at, rtt, flow);
        }
    }

    /// Returns a warning if nothing arrived.
    pub(super) fn warning(&self, name: &str) -> Option<String> {
        let nothing = self.last.is_none();
        nothing.then(|| format!("program {name:?} sent no data over the path"))
    }

    /// Returns the bytes that had arrived by `time`.
    pub(super) fn arrived_by(&self, time: Time) -> Bytes {
        let count = self.arrived.partition_point(|(at, _)| *at <= time);
        let last = count.checked_sub(1);
        last.map_or(Bytes::ZERO, |last| self.arrived[last].1)
    }

    /// Returns the latest RTT at `time`.
    pub(super) fn rtt_at(&self, time: Time) -> Option<Span> {
        let count = self.rtts.partition_point(|(at, _)| *at <= time);
        count.checked_sub(1).map(|last| self.rtts[last].1)
    }

    /// Returns the times between which it was active.
    pub(super) fn active(&self) -> Option<(Time, Time)> {
        Some((self.first?, self.last?))
    }

    /// Returns whether the flow sent UDP packets.
    pub(super) fn is_udp(&self) -> bool {
        !self.quic.is_empty()
    }

    /// Returns the arrival of the last data at the client.
    pub(super) fn last(&self) -> Option<Time> {
        self.last
    }
}
