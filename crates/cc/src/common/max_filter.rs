//! Kathleen Nichols' windowed maximum filter as in Linux, with three samples.

/// A sample and the tick at which it was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample {
    time: u64,
    value: f64,
}

/// The maximum over the last `window` ticks (usually rounds), in constant space.
///
/// The filter keeps the best sample, the best sample since then, and the best since the second. The
/// result is exact if there are samples in every quarter of the window, and never older than the
/// window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaxFilter {
    window: u64,
    best: [Sample; 3],
}

impl MaxFilter {
    /// Creates an empty filter over `window` ticks; its maximum is zero.
    pub const fn new(window: u64) -> MaxFilter {
        MaxFilter {
            window,
            best: [Sample {
                time: 0,
                value: 0.0,
            }; 3],
        }
    }

    /// Returns the maximum.
    #[inline]
    pub const fn max(&self) -> f64 {
        self.best[0].value
    }

    /// Changes the window: from now on samples count for `window` ticks.
    #[inline]
    pub fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Takes a sample at tick `time`, which must not decrease.
    #[inline]
    pub fn update(&mut self, time: u64, value: f64) {
        let sample = Sample { time, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || time - third.time > self.window {
            // A new maximum makes all older samples irrelevant, as does a gap longer than the
            // window.
            self.best = [sample; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (sample, sample);
        } else if value >= third.value {
            *third = sample;
        }
        self.age(sample);
    }

    /// Drops samples that have left the window, and spreads the runners-up over the window.
    fn age(&mut self, sample: Sample) {
        let age = sample.time - self.best[0].time;
        if age > self.window {
            self.best = [self.best[1], self.best[2], sample];
            // The second-best sample may be as old as the dropped best sample.
            if sample.time - self.best[0].time > self.window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].time == self.best[0].time && age > self.window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].time == self.best[1].time && age > self.window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_maximum_lasts_for_the_window() {
        let mut filter = MaxFilter::new(10);
        filter.update(0, 100.0);
        for time in 1..=10 {
            filter.update(time, 50.0);
            assert_eq!(filter.max(), 100.0, "at {time}");
        }
        filter.update(11, 50.0);
        assert_eq!(filter.max(), 50.0);
    }

    #[test]
    fn a_new_maximum_counts_at_once() {
        let mut filter = MaxFilter::new(10);
        filter.update(0, 1.0);
        filter.update(0, 3.0);
        filter.update(1, 2.0);
        assert_eq!(filter.max(), 3.0);
    }

    #[test]
    fn after_a_long_silence_only_the_new_sample_counts() {
        let mut filter = MaxFilter::new(10);
        filter.update(0, 9.0);
        filter.update(100, 1.0);
        assert_eq!(filter.max(), 1.0);
    }

    proptest! {
        #[test]
        fn lies_between_the_newest_sample_and_the_true_maximum(
            samples in prop::collection::vec((0_u64..4, 0.0..100.0), 1..200),
        ) {
            let mut filter = MaxFilter::new(10);
            let mut seen: Vec<(u64, f64)> = Vec::new();
            let mut now = 0;
            for (step, value) in samples {
                now += step;
                seen.push((now, value));
                filter.update(now, value);
                let exact = seen.iter().filter(|(time, _)| now - time <= 10).map(|s| s.1).fold(0.0, f64::max);
                prop_assert!(filter.max() <= exact && filter.max() >= value);
            }
        }
    }
}
