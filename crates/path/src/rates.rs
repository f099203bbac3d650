//! The rate of a link over time: scheduled, periodic, or a random walk.

use fullpipe_units::{Rate, Rng, Span, Time};

use crate::Timeline;

/// A piecewise constant rate, whose changes are known or drawn in advance.
///
/// Times passed in must not decrease from call to call.
#[derive(Clone, Debug)]
pub enum Rates {
    /// Scheduled changes, or a constant rate.
    Steps(Timeline<Rate>),
    /// A repeated period.
    Cycle(Box<Cycle>),
    /// A random walk.
    Walk(Box<Walk>),
}

/// Number of steps in a period, all of equal length.
const STEPS: usize = 256;

/// A period of [`STEPS`] steps, repeated.
#[derive(Clone, Debug)]
pub struct Cycle {
    period: u64,
    rates: [Rate; STEPS],
    step: usize,
    next: Time,
}

/// A random walk between two rates, at which it is reflected.
#[derive(Clone, Debug)]
pub struct Walk {
    low: f64,
    range: f64,
    /// Current rate, as a distance from `low`.
    place: f64,
    /// Longest step.
    most: f64,
    every: Span,
    next: Time,
    rng: Rng,
}

/// Standard deviation of a walk's change over one second, as a fraction of its range. The value is
/// that of the link model of Sprout (Winstein et al., NSDI 2013, §3.1), whose rate is a Brownian
/// motion of 200 packets/s per √s within 0 to 1000.
const DEVIATION: f64 = 0.2;

impl Rates {
    /// Creates a sine from `low` to `high` that begins in the middle, rising. Each step has the
    /// value at its middle, so that a period's mean is the middle.
    pub fn sine(low: Rate, high: Rate, period: Span) -> Rates {
        let (middle, swing) = (
            (high.as_f64() + low.as_f64()) / 2.0,
            (high.as_f64() - low.as_f64()) / 2.0,
        );
        Rates::cycle(period, |phase| {
            middle + swing * libm::sin(phase * core::f64::consts::TAU)
        })
    }

    /// Creates a repeated line from `low` up to `high`. Each step has the value at its middle.
    pub fn saw(low: Rate, high: Rate, period: Span) -> Rates {
        Rates::cycle(period, |phase| {
            low.as_f64() + (high.as_f64() - low.as_f64()) * phase
        })
    }

    /// Creates a random walk: after each `every` it goes up or down by a uniformly drawn
    /// difference, with the variance of a Brownian motion of `DEVIATION` over that time. Its start
    /// is uniform between `low` and `high`, which is its distribution at any later time.
    pub fn walk(low: Rate, high: Rate, every: Span, mut rng: Rng) -> Rates {
        let range = high.as_f64() - low.as_f64();
        // Uniform in ±a has the variance a²/3.
        let most = DEVIATION * range * (3.0 * every.as_secs_f64()).sqrt();
        let place = rng.unit() * range;
        Rates::Walk(Box::new(Walk {
            low: low.as_f64(),
            range,
            place,
            most,
            every,
            next: Time::ZERO + every,
            rng,
        }))
    }

    fn cycle(period: Span, rate: impl Fn(f64) -> f64) -> Rates {
        let mut rates = [Rate::ZERO; STEPS];
        for (step, value) in rates.iter_mut().enumerate() {
            let phase = (step as f64 + 0.5) / STEPS as f64;
            *value = Rate::from_bps_f64(rate(phase) + 0.5);
        }
        let mut cycle = Cycle {
            period: period.as_nanos(),
            rates,
            step: 0,
            next: Time::ZERO,
        };
        cycle.locate(Time::ZERO);
        Rates::Cycle(Box::new(cycle))
    }

    /// Returns the rate at `now`; a change holds from its nanosecond on.
    #[inline]
    pub fn at(&mut self, now: Time) -> Rate {
        match self {
            Rates::Steps(timeline) => *timeline.at(now),
            Rates::Cycle(cycle) => {
                if now >= cycle.next {
                    cycle.locate(now);
                }
                cycle.rates[cycle.step]
            }
            Rates::Walk(walk) => {
                while now >= walk.next {
                    walk.go();
                }
                Rate::from_bps_f64(walk.low + walk.place)
            }
        }
    }

    /// Returns the time of the next change after the latest queried time, or [`Time::MAX`] after
    /// the last change.
    #[inline]
    pub fn next_change(&self) -> Time {
        match self {
            Rates::Steps(timeline) => timeline.next_change(),
            Rates::Cycle(cycle) => cycle.next,
            Rates::Walk(walk) => walk.next,
        }
    }

    /// Returns the rate, if it does not change any more.
    #[inline]
    pub(crate) fn settled(&self) -> Option<Rate> {
        match self {
            Rates::Steps(timeline) => timeline.settled().copied(),
            Rates::Cycle(_) | Rates::Walk(_) => None,
        }
    }

    /// Returns the rate, if it never changes.
    pub fn constant(&self) -> Option<Rate> {
        match self {
            Rates::Steps(timeline) => timeline.constant().copied(),
            Rates::Cycle(_) | Rates::Walk(_) => None,
        }
    }
}

impl From<Timeline<Rate>> for Rates {
    fn from(timeline: Timeline<Rate>) -> Rates {
        Rates::Steps(timeline)
    }
}

impl Cycle {
    /// Moves to the step of `now`: the last one that begins no later. Steps begin at
    /// ⌊step · period / [`STEPS`]⌋.
    fn locate(&mut self, now: Time) {
        let (now, period, steps) = (
            u128::from(now.as_nanos()),
            u128::from(self.period),
            STEPS as u128,
        );
        let (round, phase) = (now / period, now % period);
        let step = ((phase + 1) * steps - 1) / period;
        self.step = step as usize;
        let next = round * period + (step + 1) * period / steps;
        self.next = Time::from_nanos(u64::try_from(next).unwrap_or(u64::MAX));
    }
}

impl Walk {
    fn go(&mut self) {
        let moved = self.place + (2.0 * self.rng.unit() - 1.0) * self.most;
        // Reflected at both ends, however far the step went.
        let folded = moved.rem_euclid(2.0 * self.range);
        self.place = if folded > self.range {
            2.0 * self.range - folded
        } else {
            folded
        };
        self.next += self.every;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_units::Rng;
    use proptest::prelude::*;

    const LOW: Rate = Rate::from_mbps(20);
    const HIGH: Rate = Rate::from_mbps(100);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Returns the rate in Mbit/s at a time, from a fresh copy.
    fn mbps(rates: &Rates, time: Time) -> f64 {
        rates.clone().at(time).as_f64() / 1e6
    }

    /// Returns the work done until `to`, in bit·ns/s.
    fn integral(mut rates: Rates, to: Time) -> u128 {
        let (mut now, mut sum) = (Time::ZERO, 0);
        while now < to {
            let rate = rates.at(now).as_bps();
            let next = rates.next_change().min(to);
            sum += u128::from(rate) * u128::from((next - now).as_nanos());
            now = next;
        }
        sum
    }

    #[test]
    fn a_sine_begins_in_its_middle_and_reaches_both_ends() {
        let sine = Rates::sine(LOW, HIGH, Span::from_secs(10));
        // The first of 256 steps has the value at 1/512 of the period: 60 + 40 sin(2π/512) = 60.49.
        assert!((mbps(&sine, at(0)) - 60.4909).abs() < 1e-4);
        assert!((mbps(&sine, at(2_500)) - 100.0).abs() < 0.01);
        assert!((mbps(&sine, at(7_500)) - 20.0).abs() < 0.01);
        assert!((mbps(&sine, at(12_500)) - 100.0).abs() < 0.01);
        // 60 Mbit/s is the mean of each period; rounding to bit/s changes it by less than half a
        // bit/s.
        let carried = integral(sine, at(30_000)) / 1_000_000_000;
        assert!(carried.abs_diff(30 * 60_000_000) < 15, "{carried}");
    }

    #[test]
    fn a_saw_rises_evenly_and_falls_at_once() {
        let saw = Rates::saw(LOW, HIGH, Span::from_millis(256));
        // Each of 256 steps lasts 1 ms and is 80 / 256 = 0.3125 Mbit/s above the one before.
        for (ms, expected) in [
            (0, 20.15625),
            (1, 20.46875),
            (255, 99.84375),
            (256, 20.15625),
        ] {
            assert!((mbps(&saw, at(ms)) - expected).abs() < 1e-6, "at {ms} ms");
        }
        assert_eq!(integral(saw, at(512)), 60_000_000 * 512_000_000);
    }

    #[test]
    fn a_walk_fills_its_range_evenly_with_steps_of_its_deviation() {
        let every = Span::from_millis(200);
        let mut walk = Rates::walk(LOW, HIGH, every, Rng::stream(1, "link", "rate"));
        let places: Vec<f64> = (0..200_000)
            .map(|step| walk.at(at(200 * step)).as_f64() / 1e6)
            .collect();
        assert!(places.iter().all(|place| (20.0..=100.0).contains(place)));
        // Uniform: mean 60, deviation 80/√12 = 23.09. The walk forgets its place within about
        // (80/π/16)² · 2 = 5 s or 25 steps, so there are about 4000 independent ones: standard
        // errors of 0.4 and less.
        let mean = places.iter().sum::<f64>() / places.len() as f64;
        let variance = places
            .iter()
            .map(|place| (place - mean) * (place - mean))
            .sum::<f64>()
            / places.len() as f64;
        assert!((mean - 60.0).abs() < 1.6, "{mean}");
        assert!((variance.sqrt() - 23.09).abs() < 0.8, "{}", variance.sqrt());
        // Far from the ends, the deviation of a step is 0.2 · 80 · √0.2 = 7.155 Mbit/s.
        let steps: Vec<f64> = places
            .windows(2)
            .filter(|w| (40.0..80.0).contains(&w[0]))
            .map(|w| w[1] - w[0])
            .collect();
        let deviation =
            (steps.iter().map(|step| step * step).sum::<f64>() / steps.len() as f64).sqrt();
        assert!(
            (deviation - 7.155).abs() < 0.05,
            "{deviation} of {}",
            steps.len()
        );
        let other = Rates::walk(LOW, HIGH, every, Rng::stream(2, "link", "rate"));
        assert!(mbps(&other, at(0)) != places[0]);
    }

    proptest! {
        #[test]
        fn asked_in_order_at_any_times_it_says_the_same(
            kind in 0..3, period in 1_000_u64..2_000_000, gaps in prop::collection::vec(0_u64..1_000_000, 1..100),
        ) {
            let period = Span::from_nanos(period);
            let new = || match kind {
                0 => Rates::sine(LOW, HIGH, period),
                1 => Rates::saw(LOW, HIGH, period),
                _ => Rates::walk(LOW, HIGH, period, Rng::stream(1, "link", "rate")),
            };
            let (mut asked, mut followed) = (new(), new());
            let mut now = Time::ZERO;
            for gap in gaps {
                now += Span::from_nanos(gap);
                while followed.next_change() <= now {
                    let change = followed.next_change();
                    followed.at(change);
                    prop_assert!(followed.next_change() > change);
                }
                let rate = asked.at(now);
                prop_assert_eq!(rate, followed.at(now));
                prop_assert_eq!(asked.next_change(), followed.next_change());
                prop_assert!((LOW..=HIGH).contains(&rate));
            }
        }
    }
}
