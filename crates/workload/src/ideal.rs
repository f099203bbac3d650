//! Completion times of flows under ideal conditions, the reference for slowdowns.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::flows::Chunk;

/// A bottleneck, and the sizes of a flow's packets there.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Payload of a full packet.
    pub segment: Bytes,
    /// Bytes of a packet in addition to its payload.
    pub header: Bytes,
}

impl Wire {
    /// Returns the time that the bottleneck needs for `payload` bytes, in full packets and one for
    /// the rest.
    pub fn time_for(&self, payload: Bytes) -> Span {
        let packets = payload.get().div_ceil(self.segment.get());
        self.rate
            .time_for(payload + Bytes::new(packets * self.header.get()))
    }

    /// Returns the part of the rate left for payload, with full packets.
    pub fn capacity(&self) -> Rate {
        self.rate
            .mul_f64(self.segment.as_f64() / (self.segment + self.header).as_f64())
    }
}

/// The most that a link ever sends, as a token bucket: no more than `burst` beyond its rate, at its peak rate.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    /// Rate of the tokens.
    pub rate: Rate,
    /// Size of the bucket; zero for a link without one.
    pub burst: Bytes,
    /// Rate of packets that have tokens.
    pub peak: Rate,
}

/// Lowest propagation delays of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// From the sender to the receiver.
    pub way: Span,
    /// The same and back.
    pub round: Span,
}

impl Delays {
    /// Returns the delays with a part of the RTT that all packets have in addition.
    pub fn and(self, extra_rtt: Span) -> Delays {
        Delays {
            way: self.way + extra_rtt / 2,
            round: self.round + extra_rtt,
        }
    }
}

/// A route at its best: no flow is faster than alone on it.
#[derive(Clone, Debug)]
pub struct Best {
    /// Its links.
    pub links: Vec<Peak>,
    /// Payload of a full packet.
    pub segment: Bytes,
    /// Bytes of a packet in addition to its payload.
    pub header: Bytes,
    /// Delays of a flow without further ones.
    pub delays: Delays,
}

impl Best {
    /// Returns the time from a flow's arrival to its last byte at the receiver, alone on the path
    /// and with an unlimited window: a round trip for the handshake, each chunk as soon as it is
    /// written at the rate of the slowest link, and the way to the receiver.
    pub fn alone(&self, bytes: Bytes, chunks: &[Chunk], extra_rtt: Span) -> Span {
        let delays = self.delays.and(extra_rtt);
        let sent = |link: &Peak| {
            let mut served = delays.round;
            for chunk in each(&whole(bytes), chunks) {
                served = served.max(chunk.offset) + self.time_for(link, chunk.bytes);
            }
            served
        };
        let last = self.links.iter().map(sent).max();
        last.unwrap_or(delays.round) + delays.way
    }

    fn time_for(&self, link: &Peak, payload: Bytes) -> Span {
        let packets = payload.get().div_ceil(self.segment.get());
        let size = payload + Bytes::new(packets * self.header.get());
        let behind = size.saturating_sub(link.burst);
        link.peak.time_for(size).max(link.rate.time_for(behind))
    }
}

/// A chunk that arrives at the server as work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) at: Time,
    pub(crate) work: Span,
    pub(crate) flow: u32,
}

/// The flows that the ideal servers have to serve.
#[derive(Clone, Debug)]
pub struct Jobs {
    demands: Vec<Demand>,
    /// Start of each flow, and the time from the server to its receiver.
    flows: Vec<(Time, Span)>,
    wire: Wire,
}

impl Jobs {
    /// Creates an empty list of jobs, for a server as fast as the bottleneck.
    pub fn new(wire: Wire) -> Jobs {
        Jobs {
            demands: Vec::new(),
            flows: Vec::new(),
            wire,
        }
    }

    /// Returns the number of flows.
    pub(crate) fn count(&self) -> usize {
        self.flows.len()
    }

    /// Adds a flow that arrives at `start`. Each chunk reaches the server when it is written, but
    /// not before the handshake is complete.
    pub fn add(&mut self, start: Time, bytes: Bytes, chunks: &[Chunk], delays: Delays) {
        let flow = self.flows.len() as u32;
        for chunk in each(&whole(bytes), chunks) {
            let at = start + delays.round.max(chunk.offset);
            self.demands.push(Demand {
                at,
                work: self.wire.time_for(chunk.bytes),
                flow,
            });
        }
        self.flows.push((start, delays.way));
    }

    /// Returns the chunks in order of time, and of flows at the same time.
    pub(crate) fn in_order(&mut self) -> &[Demand] {
        self.demands
            .sort_unstable_by_key(|demand| (demand.at, demand.flow));
        &self.demands
    }

    /// Returns the completion time of each flow, given the times at which the server finished them.
    pub(crate) fn completions(&self, served: &[Time]) -> Vec<Span> {
        self.flows
            .iter()
            .zip(served)
            .map(|((start, way), at)| at.since(*start) + *way)
            .collect()
    }
}

fn whole(bytes: Bytes) -> [Chunk; 1] {
    [Chunk {
        offset: Span::ZERO,
        bytes,
    }]
}

/// Returns the chunks, or, without any, the whole flow as one chunk.
fn each<'a>(whole: &'a [Chunk], chunks: &'a [Chunk]) -> &'a [Chunk] {
    if chunks.is_empty() { whole } else { chunks }
}
