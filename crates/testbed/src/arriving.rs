//! Flows that arrive, on a real stack: all of them are drawn before the run, from the streams that
//! the simulator draws from.

use fullpipe_scenario::{Error, Scenario};
use fullpipe_units::{Span, Time};
use fullpipe_workload::{Chunk, Jobs};

/// No sender's port is beyond; those above are for flows that were there from the beginning.
pub(crate) const LAST_PORT: u16 = 60_000;

/// No more are under way at once, if the system gives each end so many descriptors.
const MOST_AT_ONCE: u64 = 10_000;

/// Descriptors that an end has besides.
const OTHER_FILES: u64 = 64;

/// Real flows take slow start and round trips: so many times as many are under way as where all
/// share the link without them.
const SLOWER: u64 = 2;

/// A flow that arrives, besides what it is like as a flow.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Whose it is.
    pub(crate) workload: usize,
    /// When its application writes what; empty where that is everything at its start.
    pub(crate) chunks: Vec<Chunk>,
    /// How long it would take with the path to itself.
    pub(crate) alone: Span,
}

/// A scenario with every flow written out that arrives in it.
#[derive(Clone, Debug)]
pub(crate) struct ExpandedWorkload {
    /// Its own flows first, then those that arrive, in order of time; each with its start, so that
    /// nothing is left to be drawn.
    pub(crate) scenario: Scenario,
    /// Those that arrive.
    pub(crate) arrivals: Vec<Arrival>,
}

impl ExpandedWorkload {
    pub(crate) fn of(scenario: &Scenario) -> ExpandedWorkload {
        let mut all = scenario.clone();
        all.start_jitter = Span::ZERO;
        all.flows
            .iter_mut()
            .zip(&scenario.flows)
            .for_each(|(flow, spec)| flow.start = scenario.start(spec));
        let mut coming: Vec<_> = scenario
            .workloads
            .iter()
            .map(|workload| scenario.coming(workload))
            .collect();
        let mut arrivals = Vec::new();
        let next = |coming: &[fullpipe_scenario::ArrivalGenerator]| {
            let times = coming
                .iter()
                .enumerate()
                .filter_map(|(workload, coming)| Some((coming.next_at()?, workload)));
            times.min()
        };
        while let Some((at, workload)) = next(&coming) {
            let coming = &mut coming[workload];
            let Some(arrival) = coming.arrive() else {
                break;
            };
            let (flow, chunks) = (coming.flow(), coming.chunks(arrival));
            let alone = coming
                .wire()
                .alone(arrival.bytes, chunks, scenario.rtt(flow));
            arrivals.push(Arrival {
                workload,
                chunks: chunks.to_vec(),
                alone,
            });
            let mut flow = flow.clone();
            flow.start = at.since(Time::ZERO);
            all.flows.push(flow);
        }
        ExpandedWorkload {
            scenario: all,
            arrivals,
        }
    }

    /// The flows that arrive, as flows.
    pub(crate) fn flows(&self) -> &[fullpipe_scenario::Flow] {
        &self.scenario.flows[self.scenario.flows.len() - self.arrivals.len()..]
    }

    /// How many would be under way at once where all share the slowest link equally (processor
    /// sharing).
    fn at_once(&self, scenario: &Scenario) -> u64 {
        let wires = scenario
            .workloads
            .iter()
            .map(|workload| scenario.wire(workload));
        let Some(wire) = wires.min_by_key(|wire| wire.rate) else {
            return 0;
        };
        let mut jobs = Jobs::new(wire);
        let start = |flow: &fullpipe_scenario::Flow| Time::ZERO + flow.start;
        for (flow, arrival) in self.flows().iter().zip(&self.arrivals) {
            jobs.add(
                start(flow),
                flow.bytes.unwrap_or_default(),
                &arrival.chunks,
                scenario.rtt(flow),
            );
        }
        let mut ends: Vec<Time> = jobs
            .shared()
            .into_iter()
            .zip(self.flows())
            .map(|(took, flow)| start(flow) + took)
            .collect();
        ends.sort_unstable();
        let (mut gone, mut most) = (0, 0);
        for (come, flow) in self.flows().iter().enumerate() {
            gone += ends[gone..]
                .iter()
                .take_while(|end| **end <= start(flow))
                .count();
            most = most.max(come + 1 - gone);
        }
        most as u64
    }
}

/// How many may be under way at once: each has a descriptor at both ends.
fn most_at_once() -> u64 {
    use nix::sys::resource::{Resource, getrlimit};
    let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1_024, |(_, hard)| hard);
    MOST_AT_ONCE.min(files.saturating_sub(OTHER_FILES))
}

/// Refuses more flows than there are ports, or than can be under way at once; else how many can.
///
/// # Errors
/// When there are, with the estimate.
pub(crate) fn check(scenario: &Scenario, ports: u64, runner: &str) -> Result<u32, Error> {
    let Some(first) = scenario.workloads.first() else {
        return Ok(0);
    };
    let expected: u64 = scenario
        .workloads
        .iter()
        .map(|workload| scenario.arrivals(workload))
        .sum();
    let slower = "or give a load and a lower path.rate: fewer arrive, at the same load";
    let refuse = |problem: String, fix: String| {
        let value = format!("\"{}\"", scenario.duration);
        Err(scenario.error("duration", value, problem, format!("{fix}, {slower}")))
    };
    // Twice as many are not drawn to see it: a trace has a million.
    let too_many = |count: u64| {
        let fits = scenario.duration.mul_f64(0.9 * ports as f64 / count as f64);
        let (problem, seconds) = (
            format!("some {count} flows arrive in it, and --on {runner} has ports for {ports}"),
            fits.as_nanos() / 1_000_000_000,
        );
        refuse(problem, format!("give at most \"{seconds}s\""))
    };
    if expected > 2 * ports {
        return too_many(expected);
    }
    let unfolded = ExpandedWorkload::of(scenario);
    let count = unfolded.arrivals.len() as u64;
    if count > ports {
        return too_many(count);
    }
    let (estimate, most) = (SLOWER * unfolded.at_once(scenario), most_at_once());
    if estimate > most {
        let problem = format!(
            "some {estimate} flows would be under way at once, and here that can be {most}"
        );
        let fix = "give a lower load, or let root raise the limit of open files (ulimit -Hn)";
        return Err(scenario.error(
            &first.key("load"),
            shown(first.load),
            problem,
            format!("{fix}, {slower}"),
        ));
    }
    Ok(most as u32)
}

fn shown(load: Option<f64>) -> String {
    load.map_or_else(String::new, |load| load.to_string())
}
