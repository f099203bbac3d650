//! Counts of the path's actions on packets.

use fullpipe_emulator::{DropCause, EmulatedPacket, LinkTransit, Observer, PacketKind};
use fullpipe_scenario::Scenario;
use fullpipe_units::{Span, Time};

use super::Payload;
use crate::tap::Tallies;

/// An observer of the path.
pub(super) struct Watcher {
    pub(super) delivered: Vec<(Span, EmulatedPacket<Payload>)>,
    pub(super) tallies: Tallies,
    /// Drops and marks of each link so far.
    pub(super) links: Vec<(u64, u64)>,
}

impl Watcher {
    pub(super) fn new(scenario: &Scenario) -> Watcher {
        Watcher {
            delivered: Vec::new(),
            tallies: Tallies::new(scenario),
            links: vec![(0, 0); scenario.links().count()],
        }
    }
}

impl Observer<Payload> for Watcher {
    fn dropped(
        &mut self,
        at: Time,
        link: Option<usize>,
        cause: DropCause,
        packet: &EmulatedPacket<Payload>,
    ) {
        self.tallies.dropped(at, packet);
        if let Some(link) =
            link.filter(|_| packet.kind == PacketKind::Data && cause != DropCause::Loss)
        {
            self.links[link].0 += 1;
        }
    }

    fn passed(&mut self, passage: &LinkTransit, packet: &EmulatedPacket<Payload>) {
        self.tallies.passed(passage, packet);
        self.links[passage.link].1 += u64::from(passage.marked && packet.kind == PacketKind::Data);
    }

    fn delivered(&mut self, _: Time, waited: Span, packet: EmulatedPacket<Payload>) {
        self.delivered.push((waited, packet));
    }
}
