//! A flow's way in one direction.

use fullpipe_path::{DelayLine, Duplicator, Losses};
use fullpipe_scenario::{Flow, Scenario};
use fullpipe_setup::elements;
use fullpipe_units::Time;

use crate::{Direction, PacketKind};

/// Links and what is between them.
#[derive(Debug)]
pub(crate) struct DirectionalPath {
    /// In front of all: of data that is the first link's loss, of ACKs their receiver's.
    pub(crate) loss: Option<Losses>,
    copies: Option<Duplicator>,
    pub(crate) hops: Vec<Hop>,
    /// Behind the last link.
    pub(crate) line: DelayLine,
    /// Whether what comes in is counted at the first link.
    pub(crate) counts: bool,
}

#[derive(Debug)]
pub(crate) struct Hop {
    pub(crate) link: usize,
    pub(crate) loss: Option<Losses>,
}

impl DirectionalPath {
    pub(crate) fn new(scenario: &Scenario, flow: &Flow, direction: Direction) -> DirectionalPath {
        match direction {
            Direction::Forward => {
                let hop = |link: &usize| Hop {
                    link: *link,
                    loss: elements::loss(scenario, flow, *link),
                };
                let mut hops: Vec<Hop> = flow.route.iter().map(hop).collect();
                let loss = hops[0].loss.take();
                DirectionalPath {
                    loss,
                    copies: elements::copies(scenario, flow),
                    hops,
                    line: elements::line(scenario, flow),
                    counts: true,
                }
            }
            Direction::Reverse => {
                let hop = |link: &usize| Hop {
                    link: *link,
                    loss: elements::ack_loss(scenario, flow, *link),
                };
                DirectionalPath {
                    loss: elements::reverse_loss(scenario, flow),
                    copies: elements::reverse_copies(scenario, flow),
                    hops: flow.reverse_route.iter().map(hop).collect(),
                    line: elements::reverse_line(scenario, flow),
                    counts: false,
                }
            }
        }
    }

    /// Whether a packet that comes in comes twice.
    pub(crate) fn doubles(&mut self, now: Time, kind: PacketKind) -> bool {
        kind != PacketKind::Other
            && self
                .copies
                .as_mut()
                .is_some_and(|copies| copies.doubles(now))
    }
}

/// Whether chance takes a packet.
pub(crate) fn takes(loss: &mut Option<Losses>, now: Time, kind: PacketKind) -> bool {
    loss.as_mut()
        .is_some_and(|loss| loss.takes(now, kind != PacketKind::Other))
}
