//! Random numbers: one named stream for each use, so that adding a flow or an element never changes
//! the draws of another.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// A stream of random numbers, the same on every machine.
///
/// Streams are keyed by (seed, element or flow name, use); see [`Rng::stream`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    drawn: Xoshiro256PlusPlus,
    key: u64,
}

impl Rng {
    /// Returns the stream for one `usage` of the element `name`: `Rng::stream(1, "bottleneck",
    /// "loss")`.
    pub fn stream(seed: u64, name: &str, usage: &str) -> Rng {
        // FNV-1a distinguishes the names, SplitMix64 spreads the bits. 0xff does not occur in
        // UTF-8, so ("ab", "c") and ("a", "bc") differ.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let bytes = seed.to_le_bytes();
        for byte in bytes
            .iter()
            .chain(name.as_bytes())
            .chain(&[0xff])
            .chain(usage.as_bytes())
        {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng::of(hash)
    }

    /// Returns the stream of a [key](Rng::key), from its beginning.
    pub fn of(key: u64) -> Rng {
        Rng {
            drawn: Xoshiro256PlusPlus::from_rng(&mut SplitMix64::seed_from_u64(key)),
            key,
        }
    }

    /// Returns the number that tells this stream from others, whatever was drawn from it.
    pub const fn key(&self) -> u64 {
        self.key
    }

    /// Returns 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.drawn.next_u64()
    }

    /// Returns a uniform number in [0, 1) with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns a uniform number in 0..n, or 0 if n is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        // Lemire's multiply-shift; its bias, n / 2^64, is too small to show in a run.
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Returns true with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}
