//! A run that pauses for decisions from outside: access to steered controllers, and single rows of
//! the trace without a trace.

use fullpipe_cc::steered::Steered;
use fullpipe_cc::{AnyController, Conn};
use fullpipe_trace::{FlowRow, LinkRow};

use crate::engine::Simulation;

impl Simulation {
    /// Returns the controller of a flow with its connection, if it is steered from outside. The
    /// sender reads the controller's decision within its own events: an order takes effect with the
    /// timer that the controller has set.
    pub fn steered(&mut self, flow: usize) -> Option<(&mut Steered, &Conn)> {
        let (controller, conn) = self.flows[flow].source.tcp()?.steer();
        match controller {
            AnyController::Steered(steered) => Some((steered, conn)),
            _ => None,
        }
    }

    /// Returns whether all data of a flow was acknowledged.
    pub fn is_done(&mut self, flow: usize) -> bool {
        let sender = self.flows[flow].source.tcp();
        sender.is_some_and(|sender| sender.is_done())
    }

    /// Returns a flow's row of the trace for this time, without the columns of its algorithm; `None`
    /// for unresponsive traffic.
    pub fn flow_row(&mut self, flow: usize) -> Option<FlowRow> {
        crate::observe::row(self.now, &mut self.flows[flow])
    }

    /// Returns a link's row of the trace for this time.
    pub fn link_row(&mut self, link: usize) -> LinkRow {
        self.network.links[link].observe(self.now, link as u32)
    }
}
