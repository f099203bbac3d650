//! Whether a number is steady within the measured window: a test of trend, and the end of the warm-up.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// Number of batches of the test of trend.
const BATCHES: usize = 12;
/// Number of pairs of batches.
const PAIRS: usize = BATCHES * (BATCHES - 1) / 2;

/// The course of a number within the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Mean of the first third of the window.
    pub first: f64,
    /// Mean of the last third.
    pub last: f64,
    /// Kendall's tau of twelve batch means and time: 1 if each is greater than the one before, -1 if
    /// each is less.
    pub tau: f64,
    /// End of the warm-up by MSER, if it is after `measure_from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_s: Option<f64>,
    /// Mean from that time on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<f64>,
}

/// The courses of a flow's numbers; `None` for one that is not tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FlowDrift {
    /// Goodput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<Drift>,
    /// Mean RTT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_s: Option<Drift>,
    /// Mean queueing delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_delay_s: Option<Drift>,
    /// Retransmission rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_fraction: Option<Drift>,
}

/// The courses of a workload's numbers; `None` for one that is not tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WorkloadDrift {
    /// Number of active flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<Drift>,
}

/// The courses of a link's numbers; `None` for one that is not tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkDrift {
    /// Utilization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization: Option<Drift>,
    /// Mean queueing delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_delay_s: Option<Drift>,
}

/// A part of a number: a sum, and its divisor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ratio {
    pub(crate) sum: f64,
    pub(crate) of: f64,
}

impl Drift {
    /// Returns the course of a number that is a mean, from its parts in the window; `None` if a batch has
    /// no sample.
    pub(crate) fn of(parts: &[Ratio]) -> Option<Drift> {
        let edge = |batch: usize| batch * parts.len() / BATCHES;
        let batches: [Ratio; BATCHES] =
            std::array::from_fn(|batch| sum(&parts[edge(batch)..edge(batch + 1)]));
        let mut means = [0.0; BATCHES];
        for (mean, batch) in means.iter_mut().zip(&batches) {
            *mean = batch.mean()?;
        }
        let third = BATCHES / 3;
        Some(Drift {
            first: sum(&batches[..third]).mean()?,
            last: sum(&batches[BATCHES - third..]).mean()?,
            tau: tau(&means),
            warm_up_s: None,
            settled: None,
        })
    }

    /// Adds the end of the warm-up, from the parts of the whole run; the first `before` precede the
    /// window. `edge` returns the time at which a part begins.
    pub(crate) fn with_warm_up(
        self,
        parts: &[Ratio],
        before: usize,
        edge: impl Fn(usize) -> f64,
    ) -> Drift {
        let end = mser(parts);
        let settled = end.filter(|end| *end > before).and_then(|end| {
            let settled = sum(&parts[end..]).mean()?;
            Some((edge(end), settled))
        });
        Drift {
            warm_up_s: settled.map(|(end, _)| end),
            settled: settled.map(|(_, settled)| settled),
            ..self
        }
    }
}

impl Ratio {
    fn mean(self) -> Option<f64> {
        (self.of > 0.0).then(|| self.sum / self.of)
    }
}

fn sum(parts: &[Ratio]) -> Ratio {
    parts.iter().fold(Ratio::default(), |all, part| Ratio {
        sum: all.sum + part.sum,
        of: all.of + part.of,
    })
}

/// Returns Kendall's rank correlation of values with their order; equal values count zero.
fn tau(values: &[f64]) -> f64 {
    let mut sum = 0_i32;
    for (index, early) in values.iter().enumerate() {
        for late in &values[index + 1..] {
            sum += i32::from(late > early) - i32::from(late < early);
        }
    }
    f64::from(sum) / (values.len() * (values.len() - 1) / 2) as f64
}

/// Returns the number of parts to leave out at the start so that the standard error of the mean of the
/// rest is least, at most half of all (MSER; White, "An effective truncation heuristic for bias
/// reduction in simulation output", Simulation 69(6), 1997). A part without a sample is left out.
fn mser(parts: &[Ratio]) -> Option<usize> {
    let values = || {
        let pairs = parts.iter().enumerate().rev();
        pairs.filter_map(|(index, part)| Some((index, part.mean()?)))
    };
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, None));
    // Relative to the last value, so that the difference of squares keeps its digits.
    let (_, base) = values().next()?;
    for (count, (index, value)) in (1..).zip(values()) {
        let value = value - base;
        sum += value;
        squares += value * value;
        let n = f64::from(count);
        let error = (squares - sum * sum / n).max(0.0) / (n * n);
        if index * 2 <= parts.len() && error <= best.0 {
            best = (error, Some(index));
        }
    }
    best.1
}

/// Returns the probability that Kendall's tau of twelve independent values is at least as far from zero
/// as `tau`: the share of permutations with such a number of inversions.
pub fn trend_p(tau: f64) -> f64 {
    static PERMUTATIONS: LazyLock<[u64; PAIRS + 1]> = LazyLock::new(permutations);
    let far = |inversions: usize| {
        let other = 1.0 - 2.0 * inversions as f64 / PAIRS as f64;
        other.abs() >= tau.abs() - 1e-9
    };
    let those: u64 = (0..)
        .zip(PERMUTATIONS.iter())
        .filter_map(|(inversions, count)| far(inversions).then_some(*count))
        .sum();
    let all: u64 = PERMUTATIONS.iter().sum();
    those as f64 / all as f64
}

/// Returns the numbers of permutations of twelve values by their number of inversions.
fn permutations() -> [u64; PAIRS + 1] {
    let mut counts = [0; PAIRS + 1];
    counts[0] = 1;
    for values in 2..=BATCHES {
        let fewer = counts;
        for (inversions, count) in counts.iter_mut().enumerate() {
            let least = inversions.saturating_sub(values - 1);
            *count = fewer[least..=inversions].iter().sum();
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::PARTS;

    fn parts(value: impl Fn(usize) -> f64, count: usize) -> Vec<Ratio> {
        (0..count)
            .map(|index| Ratio {
                sum: value(index),
                of: 1.0,
            })
            .collect()
    }

    #[test]
    fn a_number_that_only_grows_has_a_tau_of_one() {
        let drift = Drift::of(&parts(|index| index as f64, PARTS)).unwrap();
        assert_eq!((drift.first, drift.last, drift.tau), (9.5, 49.5, 1.0));
        let even = Drift::of(&parts(|_| 3.0, PARTS)).unwrap();
        assert_eq!((even.first, even.last, even.tau), (3.0, 3.0, 0.0));
    }

    #[test]
    fn batches_of_fewer_parts_differ_by_one_part() {
        let drift = Drift::of(&parts(|index| index as f64, 54)).unwrap();
        assert_eq!((drift.first, drift.last, drift.tau), (8.5, 44.5, 1.0));
    }

    #[test]
    fn a_batch_without_a_sample_gives_no_course() {
        let mut gap = parts(|_| 3.0, PARTS);
        gap[10..15].fill(Ratio::default());
        assert_eq!(Drift::of(&gap), None);
    }

    #[test]
    fn mser_leaves_out_a_start_that_differs_from_the_rest() {
        let wave = |index: usize| f64::from(u8::from(index.is_multiple_of(2)));
        let late = |index: usize| if index < 20 { 9.0 } else { wave(index) };
        assert_eq!(mser(&parts(late, 72)), Some(20));
        assert_eq!(mser(&parts(|_| 1.0, 72)), Some(0));
        let beyond_half = |index: usize| if index < 50 { 9.0 } else { 1.0 };
        assert!(mser(&parts(beyond_half, 72)).unwrap() <= 36);
        let drift = Drift::of(&parts(late, 72)[12..]).unwrap();
        let end = |before| {
            let whole = drift.with_warm_up(&parts(late, 72), before, |part| part as f64);
            (whole.warm_up_s, whole.settled)
        };
        assert_eq!(end(12), (Some(20.0), Some(0.5)));
        assert_eq!(end(20), (None, None));
    }

    /// Kendall, "Rank Correlation Methods", appendix table 1, for n = 12: P(S >= 24) = 0.058.
    #[test]
    fn the_probability_is_that_of_the_tables() {
        let p = |s: f64| trend_p(s / PAIRS as f64);
        assert!((p(24.0) / 2.0 - 0.058).abs() < 5e-4, "{}", p(24.0) / 2.0);
        assert!((p(40.0) / 2.0 - 0.0031).abs() < 5e-4, "{}", p(40.0) / 2.0);
        assert!((p(0.0) - 1.0).abs() < 1e-12);
        assert!((p(66.0) * 479_001_600.0 - 2.0).abs() < 1e-6);
    }
}
