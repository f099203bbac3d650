//! Slowdowns of the flows that arrived, compared with two ideal servers of the same flows.

use fullpipe_scenario::{Link, Scenario};
use fullpipe_trace::slowdown::{Completion, Served, Slowdowns};
use fullpipe_trace::{MeasuredTime, Transfer};
use fullpipe_units::{Bytes, Time};
use fullpipe_workload::{Chunk, Delays, Jobs};

/// The flows that the ideal servers serve; `None` if the path has no equivalent server of a
/// constant rate.
#[derive(Debug)]
pub struct Servers(Option<Jobs>);

impl Servers {
    /// Creates servers as fast as the slowest link of the route, if all workloads have the same
    /// route and its rates are constant.
    pub fn new(scenario: &Scenario) -> Servers {
        let Some(first) = scenario.workloads.first() else {
            return Servers(None);
        };
        let stays = |link: &Link| link.rate_pattern.is_none() && link.shaper.is_none();
        let route = &first.flow.route;
        let one = scenario
            .workloads
            .iter()
            .all(|workload| workload.flow.route == *route)
            && scenario.route(route).all(stays)
            && scenario
                .path
                .changes
                .iter()
                .all(|change| change.rate.is_none());
        Servers(one.then(|| Jobs::new(scenario.wire(first))))
    }

    /// Adds a flow, in the order of the transfers.
    pub fn add(&mut self, start: Time, bytes: Bytes, chunks: &[Chunk], delays: Delays) {
        if let Some(jobs) = &mut self.0 {
            jobs.add(start, bytes, chunks, delays);
        }
    }

    /// Returns the slowdowns of each of the `workloads`, for the flows that arrived within the
    /// window.
    pub fn slowdowns(
        self,
        transfers: &[Transfer],
        workloads: usize,
        window: MeasuredTime,
    ) -> Vec<Slowdowns> {
        let served = self
            .0
            .map(|mut jobs| (jobs.shortest_remaining_first(), jobs.shared()));
        let mut runs: Vec<Vec<Completion>> = vec![Vec::new(); workloads];
        for (row, transfer) in transfers
            .iter()
            .enumerate()
            .filter(|(_, transfer)| window.holds(transfer.start))
        {
            let served = served.as_ref().map(|(srpt, ps)| Served {
                srpt: srpt[row],
                ps: ps[row],
            });
            let Transfer {
                bytes,
                alone,
                completion,
                ..
            } = *transfer;
            runs[transfer.workload as usize].push(Completion {
                bytes,
                alone,
                took: completion,
                served,
            });
        }
        runs.iter().map(|runs| Slowdowns::of(runs)).collect()
    }
}
