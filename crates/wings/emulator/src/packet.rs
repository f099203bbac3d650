//! Packets, and the observer of what happens to them.

use fullpipe_network::{DropCause, PacketKind};
use fullpipe_path::EcnCodepoint;
use fullpipe_units::{Bytes, Span, Time};

/// Direction in which a packet travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// The direction of the flow's data, along its `route`.
    Forward,
    /// The direction of the ACKs, along its `reverse_route`.
    Reverse,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatedPacket<P> {
    /// Flow of the scenario whose path the packet takes.
    pub flow: u32,
    /// Direction of travel.
    pub direction: Direction,
    /// Kind of packet for the counters.
    pub kind: PacketKind,
    /// Key by which flow queues know the packet's flow; stands for the hash of its addresses and
    /// ports.
    pub key: u32,
    /// Bytes on the wire, from the IP header on: at most those of the largest packet that the scenario
    /// allows, since a shaper never lets a packet pass that exceeds its burst.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: EcnCodepoint,
    /// The caller's data, passed through unchanged.
    pub payload: P,
}

impl<P> EmulatedPacket<P> {
    /// Creates a packet that is not ECN-capable, with a key that depends on flow and direction: in
    /// flow queues, data and ACKs are separate flows, as in the simulator.
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

/// A packet's passage of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTransit {
    /// Index of the link, as numbered by the scenario.
    pub link: usize,
    /// Time of arrival.
    pub arrived: Time,
    /// First bit out.
    pub start: Time,
    /// Last bit out; may be in the future.
    pub end: Time,
    /// Whether the queue set the packet's ECN field to CE.
    pub marked: bool,
}

/// Callbacks for packets, in order of time, except for [`LinkTransit`]s, which are reported as soon
/// as they are known.
pub trait Observer<P> {
    /// A packet was dropped: in front of a link, or, by its receiver's own loss, in front of all
    /// links.
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

    /// A packet arrives at the other end, with its ECN field at that point, after `waited` in
    /// queues.
    fn delivered(&mut self, at: Time, waited: Span, packet: EmulatedPacket<P>);
}
