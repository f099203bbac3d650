//! Random loss.

use units::Rng;

/// Independent loss with one probability (i.i.d., Bernoulli), from a stream of its own.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    rng: Rng,
    /// Lost iff a draw of 64 bits is below it.
    threshold: u64,
}

impl Bernoulli {
    /// Loses each packet with probability `p` in 0..=1.
    pub fn new(p: f64, rng: Rng) -> Bernoulli {
        // The cast saturates: p = 1 loses all but one packet in 2^64.
        Bernoulli { rng, threshold: (p * 18_446_744_073_709_551_616.0) as u64 }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn loses_next(&mut self) -> bool {
        self.threshold > 0 && self.rng.next_u64() < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loses_its_share_and_only_when_asked() {
        let lost = |p: f64, n: u32| {
            let mut element = Bernoulli::new(p, Rng::stream(1, "link", "loss"));
            (0..n).filter(|_| element.loses_next()).count()
        };
        assert_eq!(lost(0.0, 100_000), 0);
        assert_eq!(lost(1.0, 100_000), 100_000);
        // 10^6 draws at 1 %: sigma is 99.5.
        assert!((lost(0.01, 1_000_000) as f64 - 10_000.0).abs() < 400.0);
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
