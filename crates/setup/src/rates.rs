use fullpipe_scenario::Scenario;
use fullpipe_trace::LinkRow;
use fullpipe_units::{Rate, Time};

use crate::elements;

/// Returns the rate of the bottleneck over time, as pairs of a time and the rate from then on. With
/// a rate pattern these are means over `bins` equal parts of the run. A slower shaper limits the
/// rate.
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

/// Returns the rate of the link in each of its rows, in bit/s: the mean since its previous row, or
/// with a trace of opportunities over the last 100 ms if that is longer. A slower shaper limits it.
pub fn link_rates(scenario: &Scenario, rows: &[LinkRow]) -> Vec<f32> {
    let mut rates = vec![f32::NAN; rows.len()];
    for index in 0..scenario.links().count() {
        let places: Vec<usize> = (0..rows.len())
            .filter(|place| rows[*place].link as usize == index)
            .collect();
        let times: Vec<Time> = places.iter().map(|place| rows[*place].time).collect();
        let mut shapers = elements::shapers(scenario, index);
        for ((place, at), rate) in places
            .iter()
            .zip(&times)
            .zip(elements::transmitter(scenario, index).rates_until(&times))
        {
            let shaped = shapers.at(*at).map_or(Rate::MAX, |shaper| shaper.rate);
            rates[*place] = rate.min(shaped).as_f64() as f32;
        }
    }
    rates
}
