//! What travels, and who is told what becomes of it.

use fullpipe_network::{DropCause, PacketKind};
use fullpipe_path::EcnCodepoint;
use fullpipe_units::{Bytes, Span, Time};

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// As the flow's data: over its `route`.
    Forward,
    /// As its ACKs: over its `reverse_route`.
    Reverse,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatedPacket<P> {
    /// The scenario's flow whose way it goes.
    pub flow: u32,
    /// There or back.
    pub direction: Direction,
    /// What it counts as.
    pub kind: PacketKind,
    /// What queues that tell flows apart know it by: stands for the hash of its addresses and
    /// ports.
    pub key: u32,
    /// Bytes on the wire, from the IP header on.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: EcnCodepoint,
    /// Carried along.
    pub payload: P,
}

impl<P> EmulatedPacket<P> {
    /// A packet that is not ECN-capable. Queues know it by its flow; as in the simulator, ACKs are
    /// another flow there than data.
    pub fn new(
        flow: u32,
        direction: Direction,
        kind: PacketKind,
        size: Bytes,
        payload: P,
    ) -> EmulatedPacket<P> {
        let back = u32::from(direction == Direction::Reverse) << 31;
        EmulatedPacket {
            flow,
            direction,
            kind,
            key: flow | back,
            size,
            ecn: EcnCodepoint::NotEct,
            payload,
        }
    }
}

/// How a packet passed a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTransit {
    /// Its link, as numbered by the scenario.
    pub link: usize,
    /// When it came.
    pub arrived: Time,
    /// First bit out.
    pub start: Time,
    /// Last bit out; may lie ahead.
    pub end: Time,
    /// The queue set its ECN field to CE.
    pub marked: bool,
}

/// Is told of packets, in order of time but for [`LinkTransit`]s, which are told of as soon as they
/// are known.
pub trait Observer<P> {
    /// A packet was dropped, in front of a link or, by its receiver's own loss, in front of all of
    /// them.
    fn dropped(
        &mut self,
        _at: Time,
        _link: Option<usize>,
        _cause: DropCause,
        _packet: &EmulatedPacket<P>,
    ) {
    }

    /// A packet passes a link.
    fn passed(&mut self, _transit: &LinkTransit, _packet: &EmulatedPacket<P>) {}

    /// A packet is at its other end, its ECN field as it is there, after waiting so long in queues.
    fn delivered(&mut self, at: Time, waited: Span, packet: EmulatedPacket<P>);
}
