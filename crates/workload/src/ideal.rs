//! How long a flow would take if it were alone: what its slowdown is a multiple of.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::flows::Chunk;

/// A bottleneck, and the packets that it sees of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Of the bottleneck.
    pub rate: Rate,
    /// Payload of a full packet.
    pub segment: Bytes,
    /// What each packet has besides.
    pub header: Bytes,
}

impl Wire {
    /// The time that the bottleneck takes for so much payload, in full packets and one for the
    /// rest.
    pub fn time_for(&self, payload: Bytes) -> Span {
        let packets = payload.get().div_ceil(self.segment.get());
        self.rate
            .time_for(payload + Bytes::new(packets * self.header.get()))
    }

    /// What is left of the rate for payload, in full packets.
    pub fn capacity(&self) -> Rate {
        self.rate
            .mul_f64(self.segment.as_f64() / (self.segment + self.header).as_f64())
    }

    /// From a flow's arrival to its last byte at the receiver, with the path to itself and a window
    /// without bound: a round trip for the handshake, each chunk as soon as it is written, at the
    /// bottleneck's rate, and the way to the receiver.
    pub fn alone(&self, bytes: Bytes, chunks: &[Chunk], rtt: Span) -> Span {
        let mut served = rtt;
        for chunk in each(&whole(bytes), chunks) {
            served = served.max(chunk.offset) + self.time_for(chunk.bytes);
        }
        served + rtt / 2
    }
}

/// A chunk that brings work to the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) at: Time,
    pub(crate) work: Span,
    pub(crate) flow: u32,
}

/// A flow that asks to be served: what the servers are told.
#[derive(Clone, Debug)]
pub struct Jobs {
    demands: Vec<Demand>,
    /// What each flow's way from the server to its receiver adds, and its start.
    flows: Vec<(Time, Span)>,
    wire: Wire,
}

impl Jobs {
    /// None yet, for a server as fast as the bottleneck.
    pub fn new(wire: Wire) -> Jobs {
        Jobs {
            demands: Vec::new(),
            flows: Vec::new(),
            wire,
        }
    }

    /// How many flows.
    pub(crate) fn count(&self) -> usize {
        self.flows.len()
    }

    /// A flow that arrives at `start`: each chunk gets to the server when it is written, not before
    /// the handshake is done.
    pub fn add(&mut self, start: Time, bytes: Bytes, chunks: &[Chunk], rtt: Span) {
        let flow = self.flows.len() as u32;
        for chunk in each(&whole(bytes), chunks) {
            let at = start + rtt.max(chunk.offset);
            self.demands.push(Demand {
                at,
                work: self.wire.time_for(chunk.bytes),
                flow,
            });
        }
        self.flows.push((start, rtt / 2));
    }

    /// In order of time; of one time, in that of the flows.
    pub(crate) fn in_order(&mut self) -> &[Demand] {
        self.demands
            .sort_unstable_by_key(|demand| (demand.at, demand.flow));
        &self.demands
    }

    /// How long each flow took that was served at these times.
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

/// The chunks, or all at once where there are none.
fn each<'a>(whole: &'a [Chunk], chunks: &'a [Chunk]) -> &'a [Chunk] {
    if chunks.is_empty() { whole } else { chunks }
}
