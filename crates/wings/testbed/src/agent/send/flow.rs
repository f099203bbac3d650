//! One connection, from before it opens until it is closed.

use std::os::fd::OwnedFd;

use super::app::App;
use crate::agent::plan::FlowPlan;

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum State {
    /// Before its start.
    Waiting,
    Connecting,
    Open,
    Closed,
}

pub(super) struct Flow<'a> {
    pub(super) plan: &'a FlowPlan,
    pub(super) state: State,
    /// Time at which the flow needs attention.
    pub(super) due: u64,
    pub(super) socket: Option<OwnedFd>,
    /// Time at which its SYN left.
    pub(super) started: u64,
    pub(super) app: Option<App>,
    pub(super) written: u64,
    pub(super) failure: Option<String>,
}

impl Flow<'_> {
    pub(super) fn new(plan: &FlowPlan, epoch: u64) -> Flow<'_> {
        let due = epoch + plan.start;
        Flow {
            plan,
            state: State::Waiting,
            due,
            socket: None,
            started: 0,
            app: None,
            written: 0,
            failure: None,
        }
    }
}
