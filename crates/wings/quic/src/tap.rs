//! Observation of packets on the path, as reported by the forwarder.

use fullpipe_emulator::{Direction, DropCause, EmulatedPacket, LinkTransit, PacketKind};
use fullpipe_scenario::Scenario;
use fullpipe_testbed::reconstruct::{Dropped, Links, Loss, Passed};
use fullpipe_testbed::{Frame, Header, Route, Side, Tap};
use fullpipe_trace::TraceLevel;
use fullpipe_trace::{FlowCounters, FlowMeter, LinkRow, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

/// Sampling interval of links if the flows' rows are at every ACK.
const LINK_INTERVAL: Span = Span::from_millis(1);

/// Returns the sampling interval of links, if there is a trace.
pub(crate) fn link_interval(level: TraceLevel) -> Option<Span> {
    match level {
        TraceLevel::Off => None,
        TraceLevel::Every(interval) => Some(interval),
        TraceLevel::Acks => Some(LINK_INTERVAL),
    }
}

/// Drops and marks of each flow.
#[derive(Debug)]
pub(crate) struct Tallies {
    window: MeasuredTime,
    flows: Vec<FlowCounters>,
}

impl Tallies {
    pub(crate) fn new(scenario: &Scenario) -> Tallies {
        Tallies {
            window: fullpipe_emulator::whole(scenario),
            flows: vec![FlowCounters::default(); scenario.flows.len()],
        }
    }

    pub(crate) fn dropped<P>(&mut self, at: Time, packet: &EmulatedPacket<P>) {
        if self.window.holds(at) {
            let tallied = &mut self.flows[packet.flow as usize];
            match packet.kind {
                PacketKind::Data => tallied.drops += 1,
                PacketKind::Ack => tallied.ack_drops += 1,
                PacketKind::Other => {}
            }
        }
    }

    pub(crate) fn passed<P>(&mut self, passage: &LinkTransit, packet: &EmulatedPacket<P>) {
        if passage.marked && packet.kind == PacketKind::Data {
            self.flows[packet.flow as usize].marks += u64::from(self.window.holds(passage.start));
        }
    }

    pub(crate) fn of(&self, flow: usize) -> FlowCounters {
        self.flows[flow]
    }
}

/// Returns the route of packets between two ends whose flows have ports from `first` on, the same
/// at both ends.
pub(crate) fn route(first: u16, flows: usize) -> impl Route {
    move |side: Side, header: &Header, packet: &[u8]| {
        let flow = header
            .ports
            .1
            .checked_sub(first)
            .filter(|flow| usize::from(*flow) < flows)?;
        let direction = if side == Side::Near {
            Direction::Forward
        } else {
            Direction::Reverse
        };
        Some((flow.into(), direction, counts(direction, packet)))
    }
}

/// Returns whether a packet counts as data or as an ACK. Packets with a long header belong to the
/// handshake (RFC 9000 §17.2) and count as neither, like TCP's SYN.
fn counts(direction: Direction, packet: &[u8]) -> PacketKind {
    const UDP_HEADER: usize = 8;
    let first = packet.get(usize::from(packet[0] & 0x0f) * 4 + UDP_HEADER);
    match direction {
        _ if first.is_none_or(|first| first & 0x80 != 0) => PacketKind::Other,
        Direction::Forward => PacketKind::Data,
        Direction::Reverse => PacketKind::Ack,
    }
}

/// The forwarder's observations.
#[derive(Debug)]
pub(crate) struct Seen {
    tallies: Tallies,
    /// Queueing delays of each flow's data.
    waits: Vec<FlowMeter>,
    /// Events of each link, with the sampling interval, if there is a trace.
    links: Option<(Links, Span)>,
}

impl Seen {
    pub(crate) fn new(scenario: &Scenario, level: TraceLevel) -> Seen {
        let window = fullpipe_emulator::whole(scenario);
        Seen {
            tallies: Tallies::new(scenario),
            waits: scenario
                .flows
                .iter()
                .map(|_| FlowMeter::new(window, Time::ZERO).with_course())
                .collect(),
            links: link_interval(level).map(|interval| (Links::default(), interval)),
        }
    }

    pub(crate) fn tallied(&self, flow: usize) -> FlowCounters {
        self.tallies.of(flow)
    }

    pub(crate) fn waits(&self, flow: usize) -> &FlowMeter {
        &self.waits[flow]
    }

    /// Returns the links' rows until `end`.
    pub(crate) fn rows(&self, links: usize, end: Time) -> Vec<LinkRow> {
        let Some((seen, interval)) = &self.links else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        (0..links).for_each(|link| seen.rows(link as u32, *interval, end, &mut rows));
        rows.sort_by_key(|row| (row.time, row.link));
        rows
    }
}

impl Tap for Seen {
    fn dropped(
        &mut self,
        at: Time,
        link: Option<usize>,
        cause: DropCause,
        packet: &EmulatedPacket<Frame>,
    ) {
        self.tallies.dropped(at, packet);
        if let Some((links, _)) = &mut self.links {
            let why = match cause {
                DropCause::Loss => Loss::Chance,
                DropCause::Queue => Loss::Queue,
                DropCause::Policer => Loss::Policer,
            };
            let (link, data) = (
                link.map(|link| link as u32),
                packet.kind == PacketKind::Data,
            );
            links.dropped.push(Dropped {
                link,
                flow: packet.flow,
                data,
                at,
                why,
            });
        }
    }

    fn passed(&mut self, passage: &LinkTransit, packet: &EmulatedPacket<Frame>) {
        self.tallies.passed(passage, packet);
        if let Some((links, _)) = &mut self.links {
            let LinkTransit {
                link,
                arrived,
                start,
                end,
                marked,
            } = *passage;
            links.passed.push(Passed {
                link: link as u32,
                flow: packet.flow,
                data: packet.kind == PacketKind::Data,
                size: packet.size.get() as u32,
                arrived,
                start,
                end,
                marked,
            });
        }
    }

    fn delivered(
        &mut self,
        at: Time,
        _due: Time,
        waited: Span,
        _side: Side,
        packet: &EmulatedPacket<Frame>,
    ) {
        if packet.direction == Direction::Forward && packet.kind == PacketKind::Data {
            self.waits[packet.flow as usize].on_delivered(at, waited, Bytes::ZERO);
        }
    }
}
