//! Flows that arrive, on a real stack. All of them are drawn before the run, from the simulator's
//! streams.

use fullpipe_scenario::{Error, Scenario};
use fullpipe_units::{Span, Time};
use fullpipe_workload::{Chunk, Delays, Jobs, Wire};

/// Highest port of the senders of arriving flows; higher ports are for the other flows.
pub(crate) const LAST_PORT: u16 = 60_000;

/// Largest number of concurrent flows, if the system allows each end enough descriptors.
const MOST_AT_ONCE: u64 = 10_000;

/// Descriptors that an end needs for other purposes.
const OTHER_FILES: u64 = 64;

/// Factor between real flows under way at once and those of ideal sharing: real flows also spend
/// time on slow start and round trips.
const SLOWER: u64 = 2;

/// An arriving flow, apart from its settings as a flow.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Index of its workload.
    pub(crate) workload: usize,
    /// Data that its application writes, with times; empty if it writes everything at its start.
    pub(crate) chunks: Vec<Chunk>,
    /// Time that it would take alone on the path.
    pub(crate) alone: Span,
    /// Its lowest propagation delays.
    pub(crate) delays: Delays,
}

/// A scenario with every arriving flow written out.
#[derive(Clone, Debug)]
pub(crate) struct ExpandedWorkload {
    /// The scenario's own flows first, then those that arrive, in order of time. Each has its
    /// start, so no draw remains.
    pub(crate) scenario: Scenario,
    /// The flows of workloads.
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
            let alone = coming.alone(arrival);
            arrivals.push(Arrival {
                workload,
                chunks: chunks.to_vec(),
                alone,
                delays: coming.delays(),
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

    /// Returns the settings of the flows of workloads.
    pub(crate) fn flows(&self) -> &[fullpipe_scenario::Flow] {
        &self.scenario.flows[self.scenario.flows.len() - self.arrivals.len()..]
    }

    /// Returns the most flows under way at once if those with the same slowest link shared it equally
    /// (processor sharing).
    fn at_once(&self, scenario: &Scenario) -> u64 {
        let workloads = scenario.workloads.iter();
        let slowest: Vec<usize> = workloads.map(|each| scenario.slowest(each)).collect();
        let first = |(workload, link): &(usize, &usize)| !slowest[..*workload].contains(link);
        let links = slowest.iter().enumerate().filter(first);
        links
            .map(|(workload, link)| {
                let wire = scenario.wire(&scenario.workloads[workload]);
                self.at_once_on(wire, |arrival| slowest[arrival.workload] == *link)
            })
            .sum()
    }

    /// Returns the most flows under way at once of those that share a link equally.
    fn at_once_on(&self, wire: Wire, shares: impl Fn(&Arrival) -> bool) -> u64 {
        let mut jobs = Jobs::new(wire);
        let start = |flow: &fullpipe_scenario::Flow| Time::ZERO + flow.start;
        let all = self.flows().iter().zip(&self.arrivals);
        let those: Vec<_> = all.filter(|(_, arrival)| shares(arrival)).collect();
        for (flow, arrival) in &those {
            jobs.add(
                start(flow),
                flow.bytes.unwrap_or_default(),
                &arrival.chunks,
                arrival.delays,
            );
        }
        let mut ends: Vec<Time> = jobs
            .shared()
            .into_iter()
            .zip(&those)
            .map(|(took, (flow, _))| start(flow) + took)
            .collect();
        ends.sort_unstable();
        let (mut gone, mut most) = (0, 0);
        for (come, (flow, _)) in those.iter().enumerate() {
            gone += ends[gone..]
                .iter()
                .take_while(|end| **end <= start(flow))
                .count();
            most = most.max(come + 1 - gone);
        }
        most as u64
    }
}

/// Returns the largest number of concurrent flows: each needs a descriptor at both ends.
fn most_at_once() -> u64 {
    use nix::sys::resource::{Resource, getrlimit};
    let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1_024, |(_, hard)| hard);
    MOST_AT_ONCE.min(files.saturating_sub(OTHER_FILES))
}

/// Refuses more flows than there are ports, or than can be open at once; returns the largest number
/// of concurrent flows.
///
/// # Errors
/// When a limit is exceeded; the error contains the estimate.
pub(crate) fn check(scenario: &Scenario, ports: u64, runner: &str) -> Result<u32, Error> {
    let Some(first) = scenario.workloads.first() else {
        return Ok(0);
    };
    let expected: u64 = scenario
        .workloads
        .iter()
        .map(|workload| scenario.arrivals(workload))
        .sum();
    let slower = "or give a load and a lower path.rate: fewer flows arrive, at the same load";
    let refuse = |problem: String, fix: String| {
        let value = format!("\"{}\"", scenario.duration);
        Err(scenario.error("duration", value, problem, format!("{fix}, {slower}")))
    };
    // Stop drawing at twice the limit: a trace may have a million flows.
    let too_many = |count: u64| {
        let fits = scenario.duration.mul_f64(0.9 * ports as f64 / count as f64);
        let (problem, seconds) = (
            format!("about {count} flows arrive, and --on {runner} has ports for {ports}"),
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
        let problem =
            format!("about {estimate} flows would be under way at once; this system allows {most}");
        let fix = "give a lower load, or raise the limit of open files as root (ulimit -Hn)";
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
