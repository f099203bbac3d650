//! Workloads, `[[workload]]`: flows that arrive during a run.
//!
//! A [`Flow`] describes the properties that all flows of a workload share; `crates/workload`
//! generates their sizes and times. A [`Library`] reads files of flows, since this crate does not
//! know their format.

mod coming;
mod kinds;
mod read;

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use fullpipe_units::Span;
use fullpipe_workload::{ArrivalSource, Best, Delays, Flows, Wire};

pub use self::coming::ArrivalGenerator;
pub(crate) use self::kinds::{Load, Text};
pub use self::kinds::{Model, Rtts};
pub(crate) use self::read::{check_loads, workloads};
use crate::model::{Flow, HEADER, Scenario, Written};
use crate::path_keys::Link;

/// Reads the files of flows that scenarios name.
pub trait Library: Debug + Send + Sync {
    /// Returns the flows of a file.
    ///
    /// # Errors
    /// A problem with the file, and its fix.
    fn flows(&self, path: &Path) -> Result<Arc<Flows>, (String, String)>;
}

/// The library of a program that cannot read files of flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoLibrary;

impl Library for NoLibrary {
    fn flows(&self, _: &Path) -> Result<Arc<Flows>, (String, String)> {
        Err((
            "this program cannot read files of flows".to_owned(),
            "run the scenario with the command fullpipe".to_owned(),
        ))
    }
}

/// Many flows of one kind that arrive during the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Properties of each flow except its name, start, bytes and RTT. Its name is the workload's,
    /// and its start the time from which flows arrive.
    pub flow: Flow,
    /// File or preset that the flows are generated from, if any.
    pub source: Option<String>,
    /// Model that generates the flows.
    pub model: Model,
    /// Mean load, as a share of the capacity of the route; `None` for the load of the source.
    pub load: Option<f64>,
    /// Time at which arrivals end; `None` for the end of the run.
    pub stop: Option<Span>,
    /// Propagation delays of the flows in addition to the path's.
    pub rtts: Rtts,
    /// Fingerprint of the source, if it is a file.
    pub fingerprint: Option<String>,
    /// Whether another seed changes the arrivals.
    pub is_random: bool,
    pub(crate) arriving: Written<ArrivalSource>,
}

impl Workload {
    /// Returns the source of arrivals, scaled to the load, with times from the workload's start.
    pub fn arriving(&self) -> &ArrivalSource {
        &self.arriving.0
    }

    /// Returns the dotted key of `name` in the workload's table, for [`Scenario::error`].
    pub fn key(&self, name: &str) -> String {
        self.flow.key(name)
    }

    /// Returns a link as a flow finds it when it is alone.
    fn on(&self, link: &Link) -> Wire {
        Wire {
            rate: link.sustained(),
            segment: self.flow.mss,
            header: HEADER,
        }
    }

    /// Returns whether flows can arrive at a time.
    fn arrives_at(&self, at: Span) -> bool {
        self.flow.start <= at && self.stop.is_none_or(|stop| at < stop)
    }
}

impl Scenario {
    /// Returns the mean number of flows of a workload that arrive in the run.
    pub fn arrivals(&self, workload: &Workload) -> u64 {
        let stop = workload.stop.unwrap_or(self.duration).min(self.duration);
        let lasts = stop.saturating_sub(workload.flow.start);
        workload.arriving().count(lasts)
    }

    /// Returns a workload's route with the highest rates and the lowest delays that it has in the run.
    pub fn best(&self, workload: &Workload) -> Best {
        let flow = &workload.flow;
        let (forward, back) = self.path.lowest_delays();
        let delay = |route: &[usize]| {
            let delays = self.route(route).map(|link| link.delay);
            delays.fold(Span::ZERO, |sum, delay| sum + delay)
        };
        let way = forward + delay(&flow.route);
        let peak = |index: &usize| match index {
            0 => self.path.peak(),
            further => self.more_links[further - 1].peak(),
        };
        Best {
            links: flow.route.iter().map(peak).collect(),
            segment: flow.mss,
            header: HEADER,
            delays: Delays {
                way,
                round: way + back + delay(&flow.reverse_route),
            },
        }
    }

    /// Returns the index of the slowest link of a workload's route.
    pub fn slowest(&self, workload: &Workload) -> usize {
        let route = workload.flow.route.iter().copied();
        let slowest = route.min_by_key(|index| self.link(*index).sustained());
        slowest.expect("a route has a link")
    }

    /// Returns the slowest link of a workload's route, as a flow finds it when it is alone.
    pub fn wire(&self, workload: &Workload) -> Wire {
        workload.on(self.link(self.slowest(workload)))
    }
}
