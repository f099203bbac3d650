//! The max-min fair rates of a scenario's flows, and the share of its fair rate that each flow
//! achieved.
//!
//! Progressive filling (Bertsekas and Gallager, Data Networks, 2nd edition, §6.5.2): the rates of
//! all flows grow together; a flow stops at its demand, or when a link of its route is full.

use std::collections::BTreeMap;

use fullpipe_scenario::{Flow, Scenario};
use fullpipe_trace::{FlowMeter, FlowSummary};
use fullpipe_units::{Rate, Span, Time};

use crate::elements;

/// Demand without a rate limit.
const NO_DEMAND: f64 = f64::INFINITY;

/// Sets the max-min share of each flow: its goodput over its max-min fair rate.
///
/// The fair rate of a flow is a mean over stretches of time in which the same flows are active,
/// weighted by their lengths. In each stretch, the capacity of a link is its mean rate, counted in
/// payload of the largest full packets, and unresponsive flows are served first. A flow with
/// smaller packets has the same rate with headers, so less payload.
///
/// The share stays `None` for an unresponsive flow, a flow that was never active, and a flow with a
/// fair rate of zero. It stays `None` for all flows if the scenario does not determine a demand or
/// a rate (workloads, an `app` with pauses or requests, a radio with overheads or silences), or if
/// there are too many flows of different kinds.
pub fn set_max_min_shares<'a>(
    scenario: &Scenario,
    flows: &mut [FlowSummary],
    meters: impl IntoIterator<Item = &'a FlowMeter>,
) {
    let path = &scenario.path;
    let radio = path.wifi.is_some()
        || path.suspend.is_some()
        || path.schedule(|change| change.wifi).next().is_some()
        || path.schedule(|change| change.suspend).next().is_some();
    let asks = |flow: &Flow| flow.app.is_some();
    if radio || !scenario.workloads.is_empty() || scenario.flows.iter().any(asks) {
        return;
    }
    let active: Vec<_> = meters.into_iter().map(FlowMeter::active_from_to).collect();
    let Some(fair) = fair_rates(scenario, &active) else {
        return;
    };
    for ((flow, spec), fair) in flows.iter_mut().zip(&scenario.flows).zip(fair) {
        let judged = !spec.is_unresponsive() && fair > 0.0;
        flow.max_min_share = judged.then(|| flow.goodput_bps / fair);
    }
}

/// Largest number of filling steps. Each stretch takes the square of the number of kinds of flow.
const MOST_STEPS: usize = 100_000_000;

/// Returns the mean max-min fair rate of each flow while it is active, in bit/s of payload. Active
/// flows of one kind, with the same route and application, have the same rate.
fn fair_rates(scenario: &Scenario, active: &[(Time, Time)]) -> Option<Vec<f64>> {
    let times = stretches(scenario, active);
    let (kinds, kind_of) = kinds(&scenario.flows);
    if times.len() * kinds.len() * kinds.len() > MOST_STEPS {
        return None;
    }
    let capacities: Vec<Vec<f64>> = (0..scenario.links().count())
        .map(|link| capacity(scenario, link, &times))
        .collect();
    let mut changes = vec![Vec::new(); times.len()];
    let place = |at: Time| times.binary_search(&at).expect("a stretch ends then");
    for (kind, (from, to)) in kind_of
        .iter()
        .zip(active)
        .filter(|(_, (from, to))| from < to)
    {
        changes[place(*from)].push((*kind, 1));
        changes[place(*to)].push((*kind, -1));
    }
    let share = |flow: &Flow| payload(flow) / largest_payload(&scenario.flows);
    let mut counts = vec![0_i64; kinds.len()];
    // For each kind, the integral of its rate from the start to the end of each stretch.
    let mut areas = vec![vec![0.0]; kinds.len()];
    for (index, stretch) in times.windows(2).enumerate() {
        for (kind, change) in &changes[index] {
            counts[*kind] += change;
        }
        let mut left: Vec<f64> = capacities.iter().map(|of| of[index]).collect();
        let mut rates = vec![0.0; kinds.len()];
        for first in [true, false] {
            let filling: Vec<usize> = (0..kinds.len())
                .filter(|kind| counts[*kind] > 0 && kinds[*kind].is_unresponsive() == first)
                .collect();
            let of: Vec<Filling> = filling
                .iter()
                .map(|kind| Filling {
                    route: &kinds[*kind].route,
                    demand: demand(kinds[*kind], stretch[0]) / share(kinds[*kind]),
                    flows: counts[*kind] as f64,
                })
                .collect();
            for (kind, rate) in filling.iter().zip(fill(&mut left, &of)) {
                rates[*kind] = rate * share(kinds[*kind]);
            }
        }
        let seconds = (stretch[1] - stretch[0]).as_secs_f64();
        for (area, rate) in areas.iter_mut().zip(&rates) {
            area.push(area[index] + rate * seconds);
        }
    }
    let mean = |(kind, (from, to)): (&usize, &(Time, Time))| {
        let area = &areas[*kind];
        (area[place(*to)] - area[place(*from)]) / to.since(*from).as_secs_f64()
    };
    Some(kind_of.iter().zip(active).map(mean).collect())
}

/// Returns one flow of each kind, and the index of the kind of each flow.
fn kinds(flows: &[Flow]) -> (Vec<&Flow>, Vec<usize>) {
    let mut kinds: Vec<&Flow> = Vec::new();
    let mut numbers = BTreeMap::new();
    let of = flows.iter().map(|flow| {
        let rate = flow.app_rate;
        let key = (
            flow.mss,
            flow.is_unresponsive(),
            &flow.route,
            rate,
            &flow.app_schedule,
        );
        *numbers.entry(key).or_insert_with(|| {
            kinds.push(flow);
            kinds.len() - 1
        })
    });
    let of = of.collect();
    (kinds, of)
}

/// Returns the ends of the stretches: the times at which a flow starts or ends, or the path or an
/// application changes.
fn stretches(scenario: &Scenario, active: &[(Time, Time)]) -> Vec<Time> {
    let path = &scenario.path;
    let rates = path.schedule(|change| change.rate);
    let shapers = path.schedule(|change| change.shaper);
    let policers = path.schedule(|change| change.policer);
    let demands = scenario
        .flows
        .iter()
        .flat_map(|flow| differing(flow.app_rate, flow.app_schedule.iter().copied()));
    let mut times: Vec<Time> = differing(path.link.rate, rates)
        .chain(differing(path.link.shaper, shapers))
        .chain(differing(path.link.policer, policers))
        .chain(demands)
        .map(|at| Time::ZERO + at)
        .chain(active.iter().flat_map(|(from, to)| [*from, *to]))
        .collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// Returns the times at which a schedule changes the value.
fn differing<T: PartialEq + Copy>(
    first: T,
    schedule: impl Iterator<Item = (Span, T)>,
) -> impl Iterator<Item = Span> {
    schedule
        .scan(first, |now, (at, value)| {
            let differs = core::mem::replace(now, value) != value;
            Some(differs.then_some(at))
        })
        .flatten()
}

/// Returns the mean payload rate that a link can carry in each stretch, in bit/s, limited by its
/// shaper and policer.
fn capacity(scenario: &Scenario, number: usize, times: &[Time]) -> Vec<f64> {
    let mut shapers = elements::shapers(scenario, number);
    let mut policers = elements::policers(scenario, number);
    let payload = largest_payload(&scenario.flows);
    elements::transmitter(scenario, number)
        .mean_rates(times)
        .iter()
        .zip(times)
        .map(|(rate, at)| {
            let shaped = shapers.at(*at).map_or(Rate::MAX, |shaper| shaper.rate);
            let policed = policers.at(*at).map_or(Rate::MAX, |policer| policer.rate);
            (*rate).min(shaped).min(policed).as_f64() * payload
        })
        .collect()
}

/// Returns the largest share of payload in the flows' full packets, which doesn't depend on their order.
fn largest_payload(flows: &[Flow]) -> f64 {
    flows.iter().map(payload).fold(0.0, f64::max)
}

/// Returns the share of payload in a flow's full packets.
fn payload(flow: &Flow) -> f64 {
    flow.mss.as_f64() / flow.packet().as_f64()
}

/// Returns the rate at which the application writes data at a time, in bit/s.
fn demand(flow: &Flow, at: Time) -> f64 {
    let scheduled = flow
        .app_schedule
        .iter()
        .take_while(|(from, _)| Time::ZERO + *from <= at)
        .last();
    scheduled
        .map_or(flow.app_rate, |(_, rate)| *rate)
        .map_or(NO_DEMAND, Rate::as_f64)
}

/// Flows of one kind, which all have the same rate.
struct Filling<'a> {
    route: &'a [usize],
    demand: f64,
    flows: f64,
}

/// Returns the rate of one flow of each kind, and subtracts the rates of all flows from the
/// remaining capacities of the links, `left`.
fn fill(left: &mut [f64], kinds: &[Filling]) -> Vec<f64> {
    let mut rates = vec![0.0; kinds.len()];
    let mut growing: Vec<usize> = (0..kinds.len()).collect();
    while !growing.is_empty() {
        let mut crossing = vec![0.0; left.len()];
        for kind in growing.iter().map(|kind| &kinds[*kind]) {
            kind.route
                .iter()
                .for_each(|link| crossing[*link] += kind.flows);
        }
        let links = || {
            left.iter()
                .zip(&crossing)
                .filter(|(_, flows)| **flows > 0.0)
        };
        let by_link = links().map(|(left, flows)| left / flows);
        let by_demand = growing
            .iter()
            .map(|kind| kinds[*kind].demand - rates[*kind]);
        let step = by_link
            .chain(by_demand)
            .fold(f64::INFINITY, f64::min)
            .max(0.0);
        let full: Vec<bool> = left
            .iter()
            .zip(&crossing)
            .map(|(left, flows)| *flows > 0.0 && left / flows <= step)
            .collect();
        for (left, flows) in left.iter_mut().zip(&crossing) {
            *left = (*left - step * flows).max(0.0);
        }
        growing.iter().for_each(|kind| rates[*kind] += step);
        growing.retain(|kind| {
            let Filling { route, demand, .. } = &kinds[*kind];
            rates[*kind] < *demand && !route.iter().any(|link| full[*link])
        });
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(rates: Vec<f64>, expected: &[f64]) {
        let off = |(rate, expected): (&f64, &f64)| (rate - expected).abs() > 1e-9;
        assert!(
            rates.len() == expected.len() && !rates.iter().zip(expected).any(off),
            "{rates:?} for {expected:?}"
        );
    }

    fn kind(route: &[usize], demand: f64, flows: f64) -> Filling<'_> {
        Filling {
            route,
            demand,
            flows,
        }
    }

    #[test]
    fn a_flow_over_two_links_gets_what_the_fuller_one_leaves_it() {
        let flows = [
            kind(&[0, 1], NO_DEMAND, 1.0),
            kind(&[0], NO_DEMAND, 1.0),
            kind(&[1], NO_DEMAND, 1.0),
        ];
        close(fill(&mut [1.0, 2.0], &flows), &[0.5, 0.5, 1.5]);
    }

    #[test]
    fn a_parking_lot_by_hand() {
        // One flow over three links of 10, 4 and 9, one flow over each alone.
        let flows = [
            kind(&[0, 1, 2], NO_DEMAND, 1.0),
            kind(&[0], NO_DEMAND, 1.0),
            kind(&[1], NO_DEMAND, 1.0),
            kind(&[2], NO_DEMAND, 1.0),
        ];
        let mut left = [10.0, 4.0, 9.0];
        close(fill(&mut left, &flows), &[2.0, 8.0, 2.0, 7.0]);
        assert_eq!(left, [0.0; 3]);
    }

    #[test]
    fn what_one_does_not_want_the_others_share() {
        let flows = [
            kind(&[0], 1.0, 1.0),
            kind(&[0], NO_DEMAND, 1.0),
            kind(&[0], 6.0, 1.0),
        ];
        close(fill(&mut [10.0], &flows), &[1.0, 4.5, 4.5]);
        close(fill(&mut [20.0], &flows), &[1.0, 13.0, 6.0]);
        close(fill(&mut [10.0], &[kind(&[0], 3.0, 1.0)]), &[3.0]);
        close(fill(&mut [0.0], &[kind(&[0], 3.0, 1.0)]), &[0.0]);
    }

    #[test]
    fn flows_of_one_kind_share_as_if_each_stood_alone() {
        let alone = [
            kind(&[0], NO_DEMAND, 1.0),
            kind(&[0], NO_DEMAND, 1.0),
            kind(&[0, 1], 1.5, 1.0),
        ];
        let together = [kind(&[0], NO_DEMAND, 2.0), kind(&[0, 1], 1.5, 1.0)];
        let [one, two] = [&alone[..], &together].map(|flows| fill(&mut [10.0, 4.0], flows));
        assert_eq!(one, [two[0], two[0], two[1]]);
    }
}
