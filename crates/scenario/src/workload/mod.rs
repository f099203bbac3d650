//! Flows that arrive while a run goes on: a table `[[workload]]`.
//!
//! What they are like in all but size and time is a [`Flow`]; what arrives comes from
//! `crates/workload`. Files of flows are read by whoever has a [`Library`]: this crate knows their
//! columns only.

mod coming;
mod kinds;
mod read;

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use fullpipe_units::Span;
use fullpipe_workload::{ArrivalSource, Flows, Wire};

pub use self::coming::ArrivalGenerator;
pub(crate) use self::kinds::{Load, Text};
pub use self::kinds::{Model, Rtts};
pub(crate) use self::read::{check_loads, workloads};
use crate::model::{Flow, PACKET, PAYLOAD, Scenario, Written};
use crate::path_keys::Link;

/// Reads the files of flows that scenarios name.
pub trait Library: Debug + Send + Sync {
    /// The flows of a file.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    fn flows(&self, path: &Path) -> Result<Arc<Flows>, (String, String)>;
}

/// Where nobody reads such files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoLibrary;

impl Library for NoLibrary {
    fn flows(&self, _: &Path) -> Result<Arc<Flows>, (String, String)> {
        Err((
            "nothing here reads files of flows".to_owned(),
            "run it by the command fullpipe".to_owned(),
        ))
    }
}

/// Flows that arrive.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// What each is like, but for its name, its start, its bytes and its RTT; the name is the
    /// workload's.
    pub flow: Flow,
    /// The file or preset that it is made of, if it needs one.
    pub source: Option<String>,
    /// How flows are made of it.
    pub model: Model,
    /// What they carry, as a share of what their route can carry; as in the source if it is not
    /// given.
    pub load: Option<f64>,
    /// From when on none arrives.
    pub stop: Option<Span>,
    /// What RTTs have on top of the path's.
    pub rtts: Rtts,
    /// Of the file of its source, if it is one.
    pub fingerprint: Option<String>,
    /// Whether another seed brings other arrivals.
    pub is_random: bool,
    pub(crate) arriving: Written<ArrivalSource>,
}

impl Workload {
    /// What arrives, at its load, from its start on.
    pub fn arriving(&self) -> &ArrivalSource {
        &self.arriving.0
    }

    /// The dotted key of `name` in its table, for [`Scenario::error`].
    pub fn key(&self, name: &str) -> String {
        self.flow.key(name)
    }
}

impl Scenario {
    /// How many flows of a workload arrive in the run, in the mean.
    pub fn arrivals(&self, workload: &Workload) -> u64 {
        let stop = workload.stop.unwrap_or(self.duration).min(self.duration);
        let lasts = stop.saturating_sub(workload.flow.start);
        workload.arriving().count(lasts)
    }

    /// The slowest link of a workload's route, as its flows see it when they are alone.
    pub fn wire(&self, workload: &Workload) -> Wire {
        let rate = self
            .route(&workload.flow.route)
            .map(Link::sustained)
            .min()
            .expect("a route has a link");
        Wire {
            rate,
            segment: PAYLOAD,
            header: PACKET - PAYLOAD,
        }
    }
}
