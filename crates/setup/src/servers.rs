//! Slowdowns of the flows that arrived, beside what two servers would have made of the same flows.

use fullpipe_scenario::{Link, Scenario};
use fullpipe_trace::slowdown::{Completion, Served, Slowdowns};
use fullpipe_trace::{MeasuredTime, Transfer};
use fullpipe_units::{Bytes, Span, Time};
use fullpipe_workload::{Chunk, Jobs};

/// What the servers are told while flows arrive; nothing where no server of one rate stands for the
/// path.
#[derive(Debug)]
pub struct Servers(Option<Jobs>);

impl Servers {
    /// A server as fast as the slowest link of the route, if that is one route and the rate stays
    /// as it is.
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

    /// The next row among the transfers.
    pub fn add(&mut self, start: Time, bytes: Bytes, chunks: &[Chunk], rtt: Span) {
        if let Some(jobs) = &mut self.0 {
            jobs.add(start, bytes, chunks, rtt);
        }
    }

    /// The slowdowns of each of so many workloads: of the flows that arrived within the window.
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
