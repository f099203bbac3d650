//! The max-min fair rates of a scenario's flows, and what share of its own each flow got.
//!
//! Progressive filling (Bertsekas and Gallager, Data Networks, 2nd edition, §6.5.2): the rates of
//! all flows grow together; a flow stops at its demand, or when a link of its route is full.

use fullpipe_scenario::{Flow, PACKET, PAYLOAD, Scenario};
use fullpipe_trace::{FlowMeter, FlowSummary};
use fullpipe_units::{Rate, Span, Time};

use crate::elements;

/// The demand of a flow that takes whatever it gets.
const NO_DEMAND: f64 = f64::INFINITY;

/// Sets of each flow its goodput over its max-min fair rate.
///
/// The fair rates are those of each stretch of time in which the same flows are active, weighted by
/// its length: of the mean rate of each link in that stretch, counted in payload of full packets.
/// What unresponsive flows send is served first. None for an unresponsive flow, a flow that was
/// never active or was left nothing, and where a demand is not known from the scenario: flows
/// arrive, or an application pauses or answers.
pub fn set_max_min_shares<'a>(
    scenario: &Scenario,
    flows: &mut [FlowSummary],
    meters: impl IntoIterator<Item = &'a FlowMeter>,
) {
    if !scenario.workloads.is_empty() || scenario.flows.iter().any(|flow| flow.app.is_some()) {
        return;
    }
    let active: Vec<_> = meters.into_iter().map(FlowMeter::active_from_to).collect();
    let fair = fair_rates(scenario, &active);
    for ((flow, spec), fair) in flows.iter_mut().zip(&scenario.flows).zip(fair) {
        let judged = !spec.is_unresponsive() && fair > 0.0;
        flow.max_min_share = judged.then(|| flow.goodput_bps / fair);
    }
}

/// The mean max-min fair rate of each flow while it is active, bit/s of payload.
fn fair_rates(scenario: &Scenario, active: &[(Time, Time)]) -> Vec<f64> {
    let times = stretches(scenario, active);
    let capacities: Vec<Vec<f64>> = (0..scenario.links().count())
        .map(|link| capacity(scenario, link, &times))
        .collect();
    let mut sums = vec![0.0; active.len()];
    for (index, stretch) in times.windows(2).enumerate() {
        let (from, to) = (stretch[0], stretch[1]);
        let mut left: Vec<f64> = capacities.iter().map(|of| of[index]).collect();
        for first in [true, false] {
            let filling: Vec<usize> = (0..active.len())
                .filter(|flow| active[*flow].0 <= from && to <= active[*flow].1)
                .filter(|flow| scenario.flows[*flow].is_unresponsive() == first)
                .collect();
            let of: Vec<(&[usize], f64)> = filling
                .iter()
                .map(|flow| &scenario.flows[*flow])
                .map(|flow| (&flow.route[..], demand(flow, from)))
                .collect();
            for (flow, rate) in filling.iter().zip(fill(&mut left, &of)) {
                sums[*flow] += rate * (to - from).as_secs_f64();
            }
        }
    }
    sums.iter()
        .zip(active)
        .map(|(sum, (from, to))| sum / to.since(*from).as_secs_f64())
        .collect()
}

/// When a flow comes or goes, or the path or an application changes, while a flow is active.
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

/// The times at which a schedule sets another value than the one before.
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

/// What a link carries of payload in the mean of each stretch, bit/s; no more than a shaper or a
/// policer lets through.
fn capacity(scenario: &Scenario, number: usize, times: &[Time]) -> Vec<f64> {
    let mut shapers = elements::shapers(scenario, number);
    let mut policers = elements::policers(scenario, number);
    let payload = PAYLOAD.as_f64() / PACKET.as_f64();
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

/// What the application provides at that time, bit/s.
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

/// The rates of flows with these routes and demands; takes them from what the links have left.
fn fill(left: &mut [f64], flows: &[(&[usize], f64)]) -> Vec<f64> {
    let mut rates = vec![0.0; flows.len()];
    let mut growing: Vec<usize> = (0..flows.len()).collect();
    while !growing.is_empty() {
        let crossing = |link: usize| {
            growing
                .iter()
                .filter(|flow| flows[**flow].0.contains(&link))
                .count()
        };
        let by_link = (0..left.len())
            .map(|link| (link, crossing(link)))
            .filter(|(_, count)| *count > 0)
            .map(|(link, count)| left[link] / count as f64);
        let by_demand = growing.iter().map(|flow| flows[*flow].1 - rates[*flow]);
        let step = by_link
            .chain(by_demand)
            .fold(f64::INFINITY, f64::min)
            .max(0.0);
        let before: Vec<usize> = (0..left.len()).map(crossing).collect();
        let full: Vec<bool> = left
            .iter()
            .zip(&before)
            .map(|(left, count)| *count > 0 && left / *count as f64 <= step)
            .collect();
        for (left, count) in left.iter_mut().zip(&before) {
            *left = (*left - step * *count as f64).max(0.0);
        }
        growing.iter().for_each(|flow| rates[*flow] += step);
        growing.retain(|flow| {
            let (route, demand) = flows[*flow];
            rates[*flow] < demand && !route.iter().any(|link| full[*link])
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

    /// Bertsekas and Gallager, Figure 6.9: all links of rate 1.
    #[test]
    fn flows_of_different_routes_share_as_in_the_textbook() {
        let routes: [&[usize]; 3] = [&[0, 1], &[0], &[1]];
        let flows: Vec<_> = routes.iter().map(|route| (*route, NO_DEMAND)).collect();
        close(fill(&mut [1.0, 2.0], &flows), &[0.5, 0.5, 1.5]);
    }

    #[test]
    fn a_parking_lot_by_hand() {
        // One flow over three links of 10, 4 and 9, one flow over each alone.
        let flows: [(&[usize], f64); 4] = [
            (&[0, 1, 2], NO_DEMAND),
            (&[0], NO_DEMAND),
            (&[1], NO_DEMAND),
            (&[2], NO_DEMAND),
        ];
        let mut left = [10.0, 4.0, 9.0];
        close(fill(&mut left, &flows), &[2.0, 8.0, 2.0, 7.0]);
        assert_eq!(left, [0.0; 3]);
    }

    #[test]
    fn what_one_does_not_want_the_others_share() {
        let flows: [(&[usize], f64); 3] = [(&[0], 1.0), (&[0], NO_DEMAND), (&[0], 6.0)];
        close(fill(&mut [10.0], &flows), &[1.0, 4.5, 4.5]);
        close(fill(&mut [20.0], &flows), &[1.0, 13.0, 6.0]);
        close(fill(&mut [10.0], &[(&[0], 3.0)]), &[3.0]);
        close(fill(&mut [0.0], &[(&[0], 3.0)]), &[0.0]);
    }
}
