//! A logarithmic histogram of durations, with an exact mean and quantiles within 0.4 %.

use fullpipe_units::Span;

/// Number of values that a [`Sampler`] buffers.
const HELD: usize = 29;

/// A histogram for simulations with many flows. It buffers values in two cache lines and sorts them
/// in when these are full, because with ten thousand flows each histogram is cold at every access.
#[derive(Clone, Debug, Default)]
pub struct Sampler {
    held: [u32; HELD],
    count: u32,
    histogram: Box<Histogram>,
}

impl Sampler {
    /// Counts `value` once.
    #[inline(always)] // once for each packet
    pub fn add(&mut self, value: Span) {
        let Ok(ns) = u32::try_from(value.as_nanos()) else {
            return self.add_long(value);
        };
        self.held[self.count as usize] = ns;
        self.count += 1;
        if self.count as usize == HELD {
            self.settle();
        }
    }

    /// Not inlined, so that the usual case is small enough to be inlined into its callers.
    #[cold]
    fn add_long(&mut self, value: Span) {
        self.histogram.add(value);
    }

    #[inline(never)]
    fn settle(&mut self) {
        let count = core::mem::take(&mut self.count) as usize;
        self.histogram.add_all(&self.held[..count]);
    }

    /// Moves all values into `into`, and leaves this sampler empty.
    pub(crate) fn pour(&mut self, into: &mut Histogram) {
        into.add_all(&self.held[..core::mem::take(&mut self.count) as usize]);
        if self.histogram.weight > 0 {
            into.merge(&self.histogram);
            *self.histogram = Histogram::default();
        }
    }

    /// Returns the sum in nanoseconds and the number of all values, buffered ones included.
    pub(crate) fn total(&self) -> (u128, u64) {
        let held = &self.held[..self.count as usize];
        let sum: u64 = held.iter().map(|&ns| u64::from(ns)).sum();
        (
            self.histogram.sum + u128::from(sum),
            self.histogram.weight + held.len() as u64,
        )
    }

    /// Returns the histogram of all values, buffered ones included.
    pub fn histogram(&self) -> Histogram {
        let mut settled = self.clone();
        settled.settle();
        *settled.histogram
    }
}

/// Buckets per octave: neighboring bounds differ by at most 1/128, so the middle of a bucket is
/// within 1/256 of every value in it.
const SLOTS: usize = 128;
/// 2^42 ns are 73 minutes; longer values count in the last bucket.
const MAX_EXPONENT: u32 = 42;
const PAGES: usize = MAX_EXPONENT as usize - 6;

type Page = [u64; SLOTS];

/// A histogram of durations with weights. The buckets of an octave are allocated when first used,
/// so that the histograms of ten thousand flows fit in memory.
#[derive(Clone, Debug)]
pub struct Histogram {
    pages: [Option<Box<Page>>; PAGES],
    weight: u64,
    sum: u128,
    min: Span,
    max: Span,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            pages: [const { None }; PAGES],
            weight: 0,
            sum: 0,
            min: Span::MAX,
            max: Span::ZERO,
        }
    }
}

impl Histogram {
    /// Counts `value` once.
    #[inline]
    pub fn add(&mut self, value: Span) {
        self.add_weighted(value, 1);
    }

    /// Counts `value` with a weight, for example the number of nanoseconds for which the value
    /// held.
    #[inline(always)] // on the path of every packet
    pub fn add_weighted(&mut self, value: Span, weight: u64) {
        if weight == 0 {
            return;
        }
        let (page, slot) = bucket(value);
        self.pages[page].get_or_insert_with(|| Box::new([0; SLOTS]))[slot] += weight;
        self.weight += weight;
        self.sum += u128::from(value.as_nanos()) * u128::from(weight);
        // Rarely true: two branches cost less than two stores.
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
    }

    /// Counts each of these durations in nanoseconds once, with one update of the sums for all.
    fn add_all(&mut self, values: &[u32]) {
        let (mut sum, mut min, mut max) = (0, u32::MAX, 0);
        for &ns in values {
            let (page, slot) = bucket(Span::from_nanos(u64::from(ns)));
            self.pages[page].get_or_insert_with(|| Box::new([0; SLOTS]))[slot] += 1;
            sum += u64::from(ns);
            (min, max) = (min.min(ns), max.max(ns));
        }
        if !values.is_empty() {
            self.weight += values.len() as u64;
            self.sum += u128::from(sum);
            self.min = self.min.min(Span::from_nanos(u64::from(min)));
            self.max = self.max.max(Span::from_nanos(u64::from(max)));
        }
    }

    /// Returns the sum of all values, each times its weight, in nanoseconds.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    /// Adds the content of `other`.
    fn merge(&mut self, other: &Histogram) {
        for (ours, theirs) in self.pages.iter_mut().zip(&other.pages) {
            let Some(theirs) = theirs else { continue };
            let ours = ours.get_or_insert_with(|| Box::new([0; SLOTS]));
            ours.iter_mut()
                .zip(theirs.iter())
                .for_each(|(ours, theirs)| *ours += theirs);
        }
        self.weight += other.weight;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the sum of the weights.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Returns the smallest value, exact; `None` when empty.
    pub fn min(&self) -> Option<Span> {
        (self.weight > 0).then_some(self.min)
    }

    /// Returns the largest value, exact; `None` when empty.
    pub fn max(&self) -> Option<Span> {
        (self.weight > 0).then_some(self.max)
    }

    /// Returns the exact weighted mean in seconds; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.weight > 0).then(|| self.sum as f64 / self.weight as f64 / 1e9)
    }

    /// Returns the smallest value at which the cumulative weight reaches the share `q` of the
    /// total, within 0.4 %; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<Span> {
        if self.weight == 0 {
            return None;
        }
        let target = (q * self.weight as f64).clamp(1.0, self.weight as f64);
        let mut cumulated = 0_u64;
        for (number, page) in self.pages.iter().enumerate() {
            let Some(page) = page else { continue };
            let behind = cumulated + page.iter().sum::<u64>();
            if (behind as f64) < target {
                cumulated = behind;
                continue;
            }
            for (slot, weight) in page.iter().enumerate() {
                cumulated += weight;
                if *weight > 0 && cumulated as f64 >= target {
                    return Some(middle(number, slot).clamp(self.min, self.max));
                }
            }
        }
        Some(self.max)
    }
}

/// Returns the page and slot of a value: below 128 ns each nanosecond has its own bucket; each
/// octave above has 128.
#[inline]
fn bucket(value: Span) -> (usize, usize) {
    let ns = value.as_nanos().min((1 << MAX_EXPONENT) - 1);
    if ns < SLOTS as u64 {
        return (0, ns as usize);
    }
    let exponent = 63 - ns.leading_zeros();
    (
        exponent as usize - 6,
        (ns >> (exponent - 7)) as usize & (SLOTS - 1),
    )
}

fn middle(page: usize, slot: usize) -> Span {
    if page == 0 {
        return Span::from_nanos(slot as u64);
    }
    let width = 1_u64 << (page - 1);
    Span::from_nanos((SLOTS + slot) as u64 * width + width / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_within_half_a_percent_and_means_exact(
            mut values in prop::collection::vec(0_u64..1 << 41, 1..400), q in 0.0..=1.0_f64,
        ) {
            let mut histogram = Histogram::default();
            for value in &values {
                histogram.add(Span::from_nanos(*value));
            }
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let ours = histogram.quantile(q).unwrap().as_nanos() as f64;
            prop_assert!((ours - exact).abs() <= exact * 0.004, "{ours} for {exact}");
            let mean = values.iter().map(|v| u128::from(*v)).sum::<u128>() as f64 / values.len() as f64 / 1e9;
            prop_assert!((histogram.mean().unwrap() - mean).abs() <= mean * 1e-12);
            prop_assert_eq!(histogram.min().unwrap().as_nanos(), values[0]);
            prop_assert_eq!(histogram.max().unwrap().as_nanos(), *values.last().unwrap());
        }
    }

    proptest! {
        /// So neither the order of a run's events nor the number of its flows changes a mean.
        #[test]
        fn a_mean_is_the_same_to_the_bit_in_any_order_and_over_any_samplers(
            mut values in prop::collection::vec(0_u64..1 << 41, 1..400), samplers in 1_usize..9,
        ) {
            let mut means = Vec::new();
            for _ in 0..2 {
                let mut all = vec![Sampler::default(); samplers];
                for (place, value) in values.iter().enumerate() {
                    all[place % samplers].add(Span::from_nanos(*value));
                }
                let mut histogram = Histogram::default();
                all.iter_mut().for_each(|each| each.pour(&mut histogram));
                means.push(histogram.mean().map(f64::to_bits));
                let mut whole = Sampler::default();
                values.iter().rev().for_each(|value| whole.add(Span::from_nanos(*value)));
                means.push(whole.histogram().mean().map(f64::to_bits));
                values.sort_unstable();
            }
            means.dedup();
            prop_assert_eq!(means.len(), 1);
        }
    }

    #[test]
    fn weights_count() {
        let mut histogram = Histogram::default();
        histogram.add_weighted(Span::from_millis(10), 900);
        histogram.add_weighted(Span::from_millis(100), 100);
        assert_eq!(histogram.mean(), Some(0.019));
        assert!(histogram.quantile(0.9).unwrap() < Span::from_millis(11));
        assert!(histogram.quantile(0.901).unwrap() > Span::from_millis(99));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
