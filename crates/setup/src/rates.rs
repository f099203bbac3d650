use fullpipe_scenario::Scenario;
use fullpipe_units::{Rate, Time};

use crate::elements;

/// The rate at which the bottleneck can send over time: (from, rate) each, of a rate that varies by
/// a pattern the means of `bins` equal parts of the run. Where a shaper is slower, it is the
/// shaper's.
pub fn rate_over_time(scenario: &Scenario, bins: u64) -> Vec<(Time, Rate)> {
    let path = &scenario.path;
    let mut times: Vec<Time> = path
        .changes
        .iter()
        .map(|change| Time::ZERO + change.at)
        .collect();
    let end = Time::ZERO + scenario.duration;
    if path.link.rate_pattern.is_some() {
        times.extend(
            (1..bins).map(|bin| Time::ZERO + scenario.duration.mul_f64(bin as f64 / bins as f64)),
        );
    }
    times.extend([Time::ZERO, end]);
    times.sort_unstable();
    times.dedup();
    let rates = elements::transmitter(scenario, elements::BOTTLENECK).mean_rates(&times);
    let shaped = |at: Time| {
        let changed = path
            .schedule(|change| change.shaper)
            .take_while(|(from, _)| Time::ZERO + *from <= at)
            .last();
        changed
            .map_or(path.link.shaper, |(_, shaper)| shaper)
            .map_or(Rate::MAX, |shaper| shaper.rate)
    };
    times
        .iter()
        .zip(rates)
        .map(|(at, rate)| (*at, rate.min(shaped(*at))))
        .collect()
}
