//! The path between a flow's endpoints.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_network::Impairments;
use fullpipe_path::{DelayLine, Serializer};
use fullpipe_tcp::{Ack, Block, DatagramReceiver};
use fullpipe_units::{Rng, Span, Time};

use crate::arrivals::KEPT;
use crate::flow::PacketInTransit;
use crate::host::ReceivingHost;
use crate::in_flight::InFlight;
use crate::lazy_timer::LazyTimer;
use crate::per_hop::PerHop;
use crate::received::Received;
use crate::reverse::ReverseHop;

/// The path between a flow's endpoints: its own access link and delays, and the FIFOs of packets in
/// flight to the network's links.
#[derive(Debug)]
pub(crate) struct FlowPath {
    pub(crate) access: Serializer,
    /// Random delay of each packet in front of the first link, up to this time.
    pub(crate) jitter: Option<(Rng, Span)>,
    pub(crate) last_entry: Time,
    /// Indices of the links of the route; the next field is a FIFO of packets in flight to each.
    pub(crate) route: PerHop<usize>,
    pub(crate) in_flights: PerHop<InFlight<PacketInTransit>>,
    /// Delay from the last link to the receiver, in addition to the links' own delays.
    pub(crate) line: DelayLine,
    /// Packets in flight to a receiver that must not read ahead, by arrival, then by departure.
    pub(crate) reordered: BTreeMap<(Time, u64), PacketInTransit>,
    pub(crate) arrivals: LazyTimer,
    /// Impairments in front of the links; `None` without any on the whole route.
    pub(crate) impairments: Option<Box<Impairments>>,
    /// The reverse route's links; the next field has a FIFO of ACKs in flight to each, and one to
    /// the sender.
    pub(crate) reverse_route: Box<[ReverseHop]>,
    pub(crate) acks_in_flight: PerHop<InFlight<Ack>>,
    pub(crate) reverse_line: DelayLine,
    pub(crate) reverse_impairments: Option<Box<Impairments>>,
    /// SACK blocks of all ACKs in flight that have any, in the order of sending.
    pub(crate) blocks: PerHop<VecDeque<Block>>,
    pub(crate) delayed_ack: LazyTimer,
    /// The receiver's host, if its processing takes time.
    pub(crate) host: Option<Box<ReceivingHost>>,
    /// The receiver of a datagram flow.
    pub(crate) datagrams: Option<Box<DatagramReceiver>>,
    /// The bytes of unresponsive traffic that have arrived, if there is a trace.
    pub(crate) received: Option<Box<Received>>,
    /// Account in which links with AQM queues count its packets.
    pub(crate) account: u32,
    /// Whether the flow has ended, so that packets still in flight are ignored.
    pub(crate) gone: bool,
}

/// A path's FIFOs of packets in flight, with their capacity.
pub(crate) type InFlights = (
    PerHop<InFlight<PacketInTransit>>,
    PerHop<InFlight<Ack>>,
    PerHop<VecDeque<Block>>,
);

impl FlowPath {
    /// Ends the flow at both ends, including its timers.
    pub(crate) fn close(&mut self) {
        self.gone = true;
        self.reordered.clear();
        (self.arrivals, self.delayed_ack, self.host) =
            (LazyTimer::default(), LazyTimer::default(), None);
    }

    /// Returns whether no packet is in flight to a link or to the sender.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_flights.iter().all(InFlight::is_empty)
            && self.acks_in_flight.iter().all(InFlight::is_empty)
    }

    /// Takes the empty FIFOs of packets in flight, for another flow.
    pub(crate) fn take_in_flights(&mut self) -> InFlights {
        let FlowPath {
            in_flights,
            acks_in_flight,
            blocks,
            ..
        } = self;
        in_flights
            .iter_mut()
            .for_each(|in_flight| in_flight.shrink_to(KEPT));
        acks_in_flight
            .iter_mut()
            .for_each(|in_flight| in_flight.shrink_to(KEPT));
        for blocks in blocks.iter_mut() {
            blocks.clear();
            blocks.shrink_to(KEPT);
        }
        (
            std::mem::take(in_flights),
            std::mem::take(acks_in_flight),
            std::mem::take(blocks),
        )
    }

    /// Returns the path with the FIFOs of packets in flight of an ended flow, whose route may have
    /// another length.
    pub(crate) fn with_in_flights(
        self,
        (mut in_flights, mut acks_in_flight, mut blocks): InFlights,
    ) -> FlowPath {
        in_flights.resize(self.in_flights.len());
        acks_in_flight.resize(self.acks_in_flight.len());
        blocks.resize(self.blocks.len());
        FlowPath {
            in_flights,
            acks_in_flight,
            blocks,
            ..self
        }
    }
}
