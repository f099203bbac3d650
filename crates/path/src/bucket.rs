//! A token bucket, the basis of policers and shapers.

use fullpipe_units::{Bytes, Rate, Span, Time};

/// Receives tokens at `rate` up to `burst`, and begins full. Tokens are counted in bit·ns/s, so
/// that no rounding error accumulates.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: u64,
    burst: u128,
    tokens: u128,
    updated: Time,
}

/// Tokens for one byte.
pub(crate) const BYTE: u128 = 8_000_000_000;

impl Bucket {
    /// Creates a full bucket.
    pub(crate) fn full(rate: Rate, burst: Bytes) -> Bucket {
        let burst = u128::from(burst.get()) * BYTE;
        Bucket {
            rate: rate.as_bps(),
            burst,
            tokens: burst,
            updated: Time::ZERO,
        }
    }

    /// Adds the tokens earned until `now`. `now` must not decrease from call to call.
    pub(crate) fn fill(&mut self, now: Time) {
        let earned = u128::from((now - self.updated).as_nanos()) * u128::from(self.rate);
        self.updated = now;
        self.tokens = self.burst.min(self.tokens + earned);
    }

    /// Takes the tokens for a packet of `size` if the bucket holds enough.
    pub(crate) fn take(&mut self, size: Bytes) -> bool {
        let price = price(size);
        let pays = price <= self.tokens;
        if pays {
            self.tokens -= price;
        }
        pays
    }

    /// Returns the first nanosecond at which the bucket holds the tokens for a packet of `size`,
    /// which is at most the burst.
    pub(crate) fn holds_at(&self, size: Bytes) -> Time {
        let lacking = price(size).saturating_sub(self.tokens);
        let ns = lacking.div_ceil(u128::from(self.rate));
        self.updated + Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

fn price(size: Bytes) -> u128 {
    u128::from(size.get()) * BYTE
}
