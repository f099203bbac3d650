//! The runs of a plan, as work for threads.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fullpipe_sim::Simulation;
use fullpipe_trace::Summary;
use fullpipe_trace::TraceLevel;

use super::plan::Plan;
use crate::pool::{Around, Running, Work, start};
use crate::rows::{Column, Rows};

/// Number of events between two checks of the stop flag: microseconds, or half a second with a
/// Python controller that takes five milliseconds per ACK.
const SLICE: u64 = 100;

impl Plan {
    /// Makes ranges of runs on `threads` threads, in shards that last about `shard`.
    pub fn start(
        self: &Arc<Plan>,
        ranges: &[Range<u64>],
        threads: usize,
        shard: Duration,
        around: Around,
    ) -> Running {
        start(self, ranges, threads, shard, around)
    }
}

impl Work for Plan {
    type Outcome = Summary;

    fn run(&self, run: u64, stop: &AtomicBool, around: Around) -> Option<(Summary, u64)> {
        let scenario = self.scenario(run);
        let mut simulation = Simulation::new(&scenario, self.registry(), TraceLevel::Off)
            .expect("a checked point can be built");
        let mut over = false;
        loop {
            (around.events)(&mut || over = simulation.advance(SLICE));
            if over {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                return None;
            }
        }
        let summary = simulation.finish().summary;
        let packets = summary.packets;
        Some((summary, packets))
    }

    fn columns(&self, runs: impl Iterator<Item = (u64, Summary)>) -> Vec<Column> {
        let mut rows = Rows::default();
        for (number, summary) in runs {
            let metrics = serde_json::to_value(summary).expect("metrics are numbers by name");
            rows.add(Plan::place(self, number).0, metrics)
                .expect("the metrics of a run");
        }
        rows.columns()
    }

    fn place(&self, run: u64) -> (usize, u64) {
        Plan::place(self, run)
    }
}
