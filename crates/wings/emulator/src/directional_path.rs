//! A flow's path in one direction.

use fullpipe_network::Impairments;
use fullpipe_path::{DelayLine, Losses};
use fullpipe_scenario::{Flow, Scenario};
use fullpipe_setup::elements;

use crate::Direction;

/// The links of a path, with impairments and delay.
#[derive(Debug)]
pub(crate) struct DirectionalPath {
    /// Impairments in front of all hops: for data the loss of the first link, for ACKs that of
    /// their receiver.
    pub(crate) entry: Option<Box<Impairments>>,
    pub(crate) hops: Vec<Hop>,
    /// Delay behind the last link.
    pub(crate) line: DelayLine,
    /// Link whose metrics count the effects of `entry`.
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
