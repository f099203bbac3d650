//! A flow's way in one direction.

use fullpipe_network::Impairments;
use fullpipe_path::{DelayLine, Losses};
use fullpipe_scenario::{Flow, Scenario};
use fullpipe_setup::elements;

use crate::Direction;

/// Links and what is between them.
#[derive(Debug)]
pub(crate) struct DirectionalPath {
    /// In front of all: of data that is the first link's loss, of ACKs their receiver's.
    pub(crate) entry: Option<Box<Impairments>>,
    pub(crate) hops: Vec<Hop>,
    /// Behind the last link.
    pub(crate) line: DelayLine,
    /// The link that counts what befalls packets at the entry.
    pub(crate) counted_at: Option<usize>,
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
                let first = hops[0].loss.take();
                DirectionalPath {
                    entry: Impairments::new(Box::new([first]), elements::copies(scenario, flow)),
                    counted_at: Some(hops[0].link),
                    hops,
                    line: elements::line(scenario, flow),
                }
            }
            Direction::Reverse => {
                let hop = |link: &usize| Hop {
                    link: *link,
                    loss: elements::ack_loss(scenario, flow, *link),
                };
                let losses = Box::new([elements::reverse_loss(scenario, flow)]);
                DirectionalPath {
                    entry: Impairments::new(losses, elements::reverse_copies(scenario, flow)),
                    counted_at: None,
                    hops: flow.reverse_route.iter().map(hop).collect(),
                    line: elements::reverse_line(scenario, flow),
                }
            }
        }
    }
}
