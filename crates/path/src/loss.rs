//! Random loss.

use units::{Rng, Time};

use crate::Timeline;

/// Independent loss with one probability at a time (i.i.d., Bernoulli), from a stream of its own.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    rng: Rng,
    /// Lost iff a draw of 64 bits is below it.
    threshold: Timeline<u64>,
}

impl Bernoulli {
    /// Loses each packet with the probability, 0 to 1, of its time; nothing to be asked if that is zero throughout.
    pub fn new(p: Timeline<f64>, rng: Rng) -> Option<Bernoulli> {
        // The cast saturates: p = 1 loses all but one packet in 2^64.
        let threshold = p.map(|p| (p * 18_446_744_073_709_551_616.0) as u64);
        (threshold.constant() != Some(&0)).then_some(Bernoulli { rng, threshold })
    }

    /// Whether a packet that comes at `now` is lost. Times must be told in order.
    #[inline]
    pub fn loses(&mut self, now: Time) -> bool {
        let threshold = *self.threshold.at(now);
        threshold > 0 && self.rng.next_u64() < threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loses_its_share_and_only_when_asked() {
        let stream = || Rng::stream(1, "link", "loss");
        let lost = |p: f64, n: u32| {
            let mut element = Bernoulli::new(p.into(), stream()).expect("it loses some");
            (0..n).filter(|_| element.loses(Time::ZERO)).count()
        };
        assert!(Bernoulli::new(0.0.into(), stream()).is_none());
        assert_eq!(lost(1.0, 100_000), 100_000);
        // 10^6 draws at 1 %: sigma is 99.5.
        assert!((lost(0.01, 1_000_000) as f64 - 10_000.0).abs() < 400.0);
    }

    #[test]
    fn probabilities_hold_for_their_time() {
        let at = Time::from_nanos;
        let schedule = Timeline::new(0.0, [(at(10), 1.0), (at(20), 0.0)]);
        let mut element = Bernoulli::new(schedule, Rng::stream(1, "link", "loss")).expect("it loses some");
        let lost: Vec<u64> = (0..30).filter(|ns| element.loses(at(*ns))).collect();
        assert_eq!(lost, (10..20).collect::<Vec<u64>>());
    }

    #[test]
    fn streams_of_different_use_are_independent() {
        let draw = |name: &str, usage: &str| Rng::stream(7, name, usage).next_u64();
        assert_eq!(draw("a", "loss"), draw("a", "loss"));
        assert_ne!(draw("a", "loss"), draw("b", "loss"));
        assert_ne!(draw("a", "loss"), draw("a", "jitter"));
        assert_ne!(draw("ab", "c"), draw("a", "bc"));
    }
}
