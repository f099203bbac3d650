//! What lies between a flow's endpoints.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_network::Impairments;
use fullpipe_path::{DelayLine, Serializer};
use fullpipe_tcp::{Ack, Block};
use fullpipe_units::{Rng, Span, Time};
use smallvec::SmallVec;

use crate::arrivals::KEPT;
use crate::flow::PacketInTransit;
use crate::host::ReceivingHost;
use crate::in_flight::InFlight;
use crate::lazy_timer::LazyTimer;
use crate::reverse::ReverseHop;

/// One item a hop; that of a dumbbell's one hop lies in the flow itself.
pub(crate) type PerHop<T> = SmallVec<[T; 1]>;

/// What lies between the endpoints: its own access link and delays, and the FIFOs of packets in
/// flight to the network's links.
#[derive(Debug)]
pub(crate) struct FlowPath {
    pub(crate) access: Serializer,
    /// Each packet reaches the first link up to this much later.
    pub(crate) jitter: Option<(Rng, Span)>,
    pub(crate) last_entry: Time,
    /// Indices of the links on the way, and a FIFO of packets in flight to each.
    pub(crate) route: PerHop<usize>,
    pub(crate) in_flights: PerHop<InFlight<PacketInTransit>>,
    /// From the last link to the receiver, beyond the links' own delays.
    pub(crate) line: DelayLine,
    /// What is received when its time comes: by arrival, then in order of departure.
    pub(crate) reordered: BTreeMap<(Time, u64), PacketInTransit>,
    pub(crate) arrivals: LazyTimer,
    /// What may befall packets in front of the links; none where nothing does on the whole route.
    pub(crate) impairments: Option<Box<Impairments>>,
    /// The same for ACKs: the links, a FIFO of packets in flight to each, and one to the sender.
    pub(crate) reverse_route: Box<[ReverseHop]>,
    pub(crate) acks_in_flight: PerHop<InFlight<Ack>>,
    pub(crate) reverse_line: DelayLine,
    pub(crate) reverse_impairments: Option<Box<Impairments>>,
    /// The blocks of all ACKs on the way that have some, in the order in which they were sent.
    pub(crate) blocks: PerHop<VecDeque<Block>>,
    pub(crate) delayed_ack: LazyTimer,
    /// The receiver's host, if it takes time.
    pub(crate) host: Option<Box<ReceivingHost>>,
    /// Where queues that decide count what befalls its packets.
    pub(crate) account: u32,
    /// Nobody listens to what is still on the way.
    pub(crate) gone: bool,
}

/// The FIFOs of packets in flight of a path, with the room that they have.
pub(crate) type InFlights = (
    PerHop<InFlight<PacketInTransit>>,
    PerHop<InFlight<Ack>>,
    PerHop<VecDeque<Block>>,
);

impl FlowPath {
    /// Nobody listens at either end any more, nor does a timer.
    pub(crate) fn close(&mut self) {
        self.gone = true;
        self.reordered.clear();
        (self.arrivals, self.delayed_ack, self.host) =
            (LazyTimer::default(), LazyTimer::default(), None);
    }

    /// Nothing is on its way to a link or to the sender.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_flights.iter().all(InFlight::is_empty)
            && self.acks_in_flight.iter().all(InFlight::is_empty)
    }

    /// The empty FIFOs of packets in flight, for another flow.
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

    /// The same with FIFOs of packets in flight that another flow has left, perhaps on a route of
    /// another length.
    pub(crate) fn with_in_flights(
        self,
        (mut in_flights, mut acks_in_flight, mut blocks): InFlights,
    ) -> FlowPath {
        in_flights.resize_with(self.in_flights.len(), InFlight::default);
        acks_in_flight.resize_with(self.acks_in_flight.len(), InFlight::default);
        blocks.resize_with(self.blocks.len(), VecDeque::new);
        FlowPath {
            in_flights,
            acks_in_flight,
            blocks,
            ..self
        }
    }
}
